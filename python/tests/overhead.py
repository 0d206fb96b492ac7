"""What a call costs beyond the library, and what it leaves of the interpreter to others.

    cargo build --release -p benches --bin library
    target/release/library make target/benches/library 10000
    python python/tests/overhead.py target/release/library target/benches/library

Library and package do the same by turns, in one run, on the same index, with the same vectors.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy

import trefoil_search as trefoil

ROUNDS = 2_000
THREADS = 8
SECONDS = 10


class Library:
    """The library, in a process of its own."""

    def __init__(self, program: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [program, "answer", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, command: str) -> float:
        """Return the figure of a command."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(command, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


class Asked:
    """The questions of the fixtures with their vectors."""

    def __init__(self, folder: Path) -> None:
        told = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
        self.texts: list[str] = [one["text"] for one in told]
        self.vectors: list[Any] = [numpy.array(one["embedding"], dtype="f4") for one in told]

    def __len__(self) -> int:
        return len(self.texts)

    def search(self, engine: trefoil.Engine, number: int) -> trefoil.types.SearchResult:
        place = number % len(self)
        vector = self.vectors[place]
        return engine.search(self.texts[place], embedding=vector, limit=10, rerank=False)


def compare(what: str, ours: list[float], theirs: list[float]) -> None:
    mine, of = statistics.median(ours) * 1e3, statistics.median(theirs) * 1e3
    print(f"{what}: p50 {mine:.2f} ms, library {of:.2f}, beyond {mine - of:.2f}")


def calls(engine: trefoil.Engine, library: Library, asked: Asked) -> None:
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(ROUNDS):
        theirs.append(library(f"search {number}"))
        ours.append(seconds(partial(asked.search, engine, number)))
    compare("search, 10 hits", ours[len(asked) :], theirs[len(asked) :])
    ours, theirs = [], []
    for number in range(ROUNDS):
        vector = asked.vectors[number % len(asked)]
        theirs.append(library(f"vector {number}"))
        ours.append(seconds(partial(engine.search_vector, vector, limit=10, rerank=False)))
    compare("search_vector, 10 hits", ours[len(asked) :], theirs[len(asked) :])


def many(engine: trefoil.Engine, library: Library, asked: Asked) -> None:
    """Ask by several threads at once."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(5):
        theirs.append(library(f"many {THREADS} {SECONDS}"))
        until = time.perf_counter() + SECONDS
        done = [0] * THREADS

        def work(place: int, done: list[int] = done, until: float = until) -> None:
            while time.perf_counter() < until:
                asked.search(engine, place * 7 + done[place])
                done[place] += 1

        began = time.perf_counter()
        threads = [threading.Thread(target=work, args=(place,)) for place in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ours.append(sum(done) / (time.perf_counter() - began))
    mine, of = statistics.median(ours), statistics.median(theirs)
    print(f"{THREADS} threads: {mine:.0f} searches/s, library {of:.0f}: {mine / of:.2f}")


def ingest(library: Library, folder: Path) -> None:
    """Store the documents with their vectors in a new index, and wait for both."""
    told = json.loads((folder / "documents.json").read_text(encoding="utf-8"))
    rows = numpy.array([one["embedding"] for one in told], dtype="f4")
    given = [
        trefoil.Document(one["path"], one["body"], one["title"], format="whole") for one in told
    ]
    model = trefoil.External("fixtures", rows.shape[1])
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(7):
        theirs.append(library("ingest"))
        with (
            tempfile.TemporaryDirectory() as place,
            trefoil.open(place, model=model) as engine,
        ):

            def work(engine: trefoil.Engine = engine) -> None:
                engine.ingest(given, embeddings=rows)
                engine.drain()

            ours.append(seconds(work))
    mine, of = len(given) / statistics.median(ours), len(given) / statistics.median(theirs)
    print(f"ingest: {mine:.0f} documents/s, library {of:.0f}: {mine / of:.2f}")


def pace(engine: trefoil.Engine, asked: Asked) -> None:
    """Count while a call of about 300 ms computes in the library, and while nothing does."""

    def counted(during: float) -> float:
        until, count = time.perf_counter() + during, 0
        while time.perf_counter() < until:
            count += 1
        return count / during

    with tempfile.TemporaryDirectory() as place, trefoil.open(place, model="none") as busy:
        # No search takes that long here: this one reads words that stand in every passage.
        body = " ".join(f"walrus zebra tea rain w{number}" for number in range(400))
        busy.ingest([trefoil.Document(f"{number}", f"{body} {number}") for number in range(2_000)])
        one = min(seconds(lambda: heavy(busy)) for _ in range(3))
        alone = counted(1)
        stopped = threading.Event()

        def work() -> None:
            while not stopped.is_set():
                heavy(busy)

        thread = threading.Thread(target=work)
        thread.start()
        next_to = counted(3)
        stopped.set()
        thread.join()
    print(f"a counting thread next to searches of {one * 1e3:.0f} ms: {next_to / alone:.0%}")


def heavy(engine: trefoil.Engine) -> object:
    return engine.search(
        "walrus zebra tea rain " + " ".join(f"w{n}" for n in range(120)), rerank=False
    )


def run_on(cores: Iterable[int]) -> None:
    """Let every thread of this process run on these cores only."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), cores)


async def awaits(engine: trefoil.Engine, library: Library, asked: Asked) -> None:
    """Await at once as many searches as there are cores, and a hundred.

    A search has more than one thread, so that many at once take longer than one in the library
    too. With a core for each, they are to take as long as one that has a core.
    """
    cores = os.cpu_count() or 1
    async with trefoil.AsyncEngine(engine) as awaited:

        async def one(number: int) -> object:
            place = number % len(asked)
            return await awaited.search(
                asked.texts[place], embedding=asked.vectors[place], limit=10, rerank=False
            )

        async def rounds(at_once: int) -> float:
            began = time.perf_counter()
            for number in range(300):
                await asyncio.gather(*(one(number) for _ in range(at_once)))
            return (time.perf_counter() - began) / 300

        ours: list[float] = []
        theirs: list[float] = []
        with_a_core: list[float] = []
        for _ in range(5):
            one_at_once, many_at_once = library("many 1 3"), library(f"many {cores} 3")
            theirs.append(cores * one_at_once / many_at_once)
            alone, together = await rounds(1), await rounds(cores)
            ours.append(together / alone)
            run_on(range(1))
            with_a_core.append(together / await rounds(1))
            run_on(range(cores))
        mine, of = statistics.median(ours), statistics.median(theirs)
        print(f"{cores} awaits at once on {cores} cores: {mine:.2f} × one, library {of:.2f} ×")
        print(f"… {statistics.median(with_a_core):.2f} × one on one core")
        lags: list[float] = []
        ended = False

        async def tick() -> None:
            while not ended:
                before = time.perf_counter()
                await asyncio.sleep(0.001)
                lags.append(time.perf_counter() - before - 0.001)

        ticking = asyncio.create_task(tick())
        for _ in range(20):
            await asyncio.gather(*(one(number) for number in range(100)))
        ended = True
        await ticking
        p99 = statistics.quantiles(lags, n=100)[98] * 1e3
        print(f"100 awaits at once: the loop lags {p99:.1f} ms (p99 of {len(lags)})")


def main() -> None:
    program, folder = sys.argv[1], Path(sys.argv[2])
    asked = Asked(folder)
    library = Library(program, folder)
    model = trefoil.External("fixtures", len(asked.vectors[0]))
    parts = sys.argv[3:] or ["calls", "many", "ingest", "pace", "awaits"]
    engine = trefoil.open(folder / "index", model=model, read_only=True)
    if "calls" in parts:
        calls(engine, library, asked)
    if "many" in parts:
        many(engine, library, asked)
    if "ingest" in parts:
        ingest(library, folder)
    if "pace" in parts:
        pace(engine, asked)
    if "awaits" in parts:
        asyncio.run(awaits(engine, library, asked))
    engine.close()


if __name__ == "__main__":
    main()
