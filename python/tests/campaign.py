"""What the tests do in small, many times: `python python/tests/campaign.py KIND ROUNDS`.

Each round has a number that decides what is done in it; `TREFOIL_FIRST=500` begins with that one.
A round that fails, hangs or crashes ends the campaign with its number.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

import trefoil_search as trefoil
from trefoil_search import Boundary, Document

Class: TypeAlias = Literal["public", "internal", "pii", "secret"]

WORDS = "walrus zebra rain tea harbour engine ledger 天気 東京 날씨 서울 index postings".split()
TIMEOUT = 120
"""Seconds after which a round hangs."""


class Slow:
    """An embedder that takes its time."""

    name, dimensions = "slow", 4

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.begun = threading.Event()

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0, 0.0, float(len(text))]

    def embed_passages(self, texts: list[str]) -> list[list[float]]:
        self.begun.set()
        time.sleep(self.seconds)
        return [[1.0, 0.5, 0.0, float(len(text))] for text in texts]


def documents(number: int, count: int) -> list[Document]:
    numbers = random.Random(number)
    return [
        Document(f"{number}-{place}", " ".join(numbers.choices(WORDS, k=12)))
        for place in range(count)
    ]


def sound(index: Path) -> None:
    """Fail unless the index is sound and answers."""
    with trefoil.open(index, model="none") as engine:
        assert engine.verify().sound is True
        engine.search("walrus")


def drop(rounds: range, folder: Path) -> None:
    """Let the last reference go while an embedder of Python runs."""
    for number in rounds:
        numbers = random.Random(number)
        embedder = Slow(numbers.choice([0.0, 0.001, 0.01]))
        engine = trefoil.open(folder / f"{number % 16}", model=embedder)
        engine.ingest(documents(number, 20))
        assert embedder.begun.wait(TIMEOUT)
        time.sleep(numbers.uniform(0, 0.005))
        if numbers.random() < 0.5:
            keeper = threading.Thread(target=engine.search, args=("walrus",))
            keeper.start()
            del engine
            keeper.join(TIMEOUT)
            assert not keeper.is_alive()
        else:
            del engine
        gc.collect()
    for one in folder.iterdir():
        with trefoil.open(one, model=Slow(0)) as engine:
            assert engine.drain(timeout=TIMEOUT).waiting == 0
            assert engine.verify().sound is True


def run(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(Path(__file__).parent), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


EXIT = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import campaign, trefoil_search as trefoil
path, number = sys.argv[2], int(sys.argv[3])
embedder = campaign.Slow(0.02)
engine = trefoil.open(path, model=embedder)
engine.ingest(campaign.documents(number, 60))
if number % 4 == 1:
    embedder.begun.wait()
if number % 4 == 2:
    def search():
        while True:
            engine.search("walrus")
    threading.Thread(target=search, daemon=True).start()
if number % 4 == 3:
    sys.exit(3)
"""


def leave(rounds: range, folder: Path) -> None:
    """End an interpreter whose engine is open and busy."""
    for number in rounds:
        ended = run(EXIT, str(folder / f"{number % 16}"), str(number))
        _, errors = ended.communicate(timeout=TIMEOUT)
        assert (ended.returncode, errors) == (3 if number % 4 == 3 else 0, ""), (number, errors)
    for one in folder.iterdir():
        with trefoil.open(one, model=Slow(0)) as engine:
            assert engine.verify().sound is True


def fork(rounds: range, folder: Path) -> None:
    """Use an engine in a fork of the process that opened it, and let it go there."""
    held = [trefoil.open(folder / "index", model=Slow(0.002))]
    held[0].ingest(documents(-1, 50))
    for number in rounds:
        if number % 10 == 0:
            held[0].ingest(documents(number, 5))
        child = os.fork()
        if not child:
            os._exit(forked(held, number, folder))
        until = time.monotonic() + TIMEOUT
        ended, status = 0, 0
        while not ended:
            ended, status = os.waitpid(child, os.WNOHANG)
            if time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
                raise AssertionError(f"round {number} hangs")
            time.sleep(0.001)
        assert os.waitstatus_to_exitcode(status) == 0, (number, status)
        shutil.rmtree(folder / f"{number}", ignore_errors=True)
        assert held[0].search("walrus").results
    held[0].close()


def forked(held: list[trefoil.Engine], number: int, folder: Path) -> int:
    """Do in the child what it cannot and what it can; 0 if all is as it should be."""
    calls: list[Callable[[trefoil.Engine], object]] = [
        lambda engine: engine.search("walrus"),
        lambda engine: engine.ingest(documents(number, 1)),
        lambda engine: engine.drain(),
        lambda engine: engine.memory.recall("walrus"),
        lambda engine: engine.close(),
    ]
    try:
        for call in calls:
            try:
                call(held[0])
            except trefoil.ForkedError:
                continue
            return 2
        held.clear()
        gc.collect()
        if number % 5 == 0:
            with trefoil.open(folder / "index", model=Slow(0), read_only=True) as own:
                return 0 if own.search("walrus").results else 3
        if number % 5 == 1:
            with trefoil.open(folder / f"{number}", model=Slow(0)) as own:
                own.ingest(documents(number, 5))
                own.drain(timeout=TIMEOUT)
                return 0 if own.search("walrus zebra rain").results else 5
        return 0
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        return 4


INTERRUPT = """
import sys
sys.path.insert(0, sys.argv[1])
import campaign, trefoil_search as trefoil
path, number = sys.argv[2], int(sys.argv[3])
engine = trefoil.open(path, model="none")
given = campaign.documents(number, 4_000)
print("begins", flush=True)
try:
    engine.ingest(given)
    engine.drain()
except KeyboardInterrupt:
    left = engine.stats().files
    engine.close()
    print(left)
    sys.exit(7)
print("done")
"""


def interrupt(rounds: range, folder: Path) -> None:
    """Press Ctrl-C amid an ingest: the index is sound after."""
    came = 0
    for number in rounds:
        index = folder / f"{number}"
        child = run(INTERRUPT, str(index), str(number))
        assert child.stdout is not None and child.stdout.readline() == "begins\n"
        time.sleep(random.Random(number).uniform(0, 0.6))
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=TIMEOUT)
        if child.returncode == 7:
            came += 1
            with trefoil.open(index, model="none", read_only=True) as engine:
                assert engine.stats().files == int(output)
        else:
            # It had ended, or was not yet in a call of the engine.
            is_interrupt = "KeyboardInterrupt" in errors
            assert child.returncode == 0 or is_interrupt, (number, child.returncode, errors)
        sound(index)
    print(f"{came} of {len(rounds)} interrupts came while the engine worked")


class Bad(Slow):
    """An embedder that does what it should not."""

    def __init__(self, number: int) -> None:
        super().__init__(0)
        self.numbers = random.Random(number)
        self.engine: trefoil.Engine | None = None

    def embed_query(self, text: str) -> list[float]:
        self.embed_passages([text])
        return super().embed_query(text)

    def embed_passages(self, texts: list[str]) -> list[list[float]]:
        does = self.numbers.randrange(5)
        if does == 0:
            raise self.numbers.choice([KeyError, MemoryError, SystemExit, KeyboardInterrupt])("x")
        if does == 1:
            time.sleep(self.numbers.uniform(0, 0.02))
        if does == 2 and self.engine is not None:
            self.engine.search("walrus")
        if does == 3 and self.engine is not None:
            self.engine.close()
        vectors = super().embed_passages(texts)
        return vectors[1:] if does == 4 else vectors


def embedder(rounds: range, folder: Path) -> None:
    """Give the engine an embedder that raises, sleeps, calls the engine or gives too little."""
    for number in rounds:
        bad = Bad(number)
        with trefoil.open(folder / f"{number % 16}", model=bad) as engine:
            bad.engine = engine
            engine.ingest(documents(number, 4))
            with contextlib.suppress(trefoil.EmbeddingFailed):
                engine.drain(timeout=0.05)
            assert engine.search("walrus").results is not None
            bad.engine = None
    for one in folder.iterdir():
        with trefoil.open(one, model=Slow(0)) as engine:
            assert engine.verify().sound is True


def resident() -> int:
    """Return kB of memory that the process has."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def searches(rounds: range, folder: Path) -> None:
    """Search again and again: memory stays as it is."""
    with trefoil.open(folder / "index", model=Slow(0)) as engine:
        engine.ingest(documents(0, 200))
        engine.drain()
        after_a_tenth = 0
        for number in rounds:
            numbers = random.Random(number)
            words = " ".join(numbers.choices(WORDS, k=2))
            engine.search(words, limit=numbers.choice([1, 10, 20]), rerank=False)
            if number == rounds.start + len(rounds) // 10:
                after_a_tenth = resident()
            if number % (len(rounds) // 10 or 1) == 0:
                print(f"{number} searches, {resident() / 1024:.1f} MB", flush=True)
        end = resident()
    grown = end / after_a_tenth - 1
    print(
        f"{after_a_tenth / 1024:.1f} MB after a tenth, {end / 1024:.1f} MB at the end: {grown:+.1%}"
    )
    assert abs(grown) <= 0.02


def opens(rounds: range, folder: Path) -> None:
    """Open and close again and again: no descriptor and no thread is left."""

    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    with trefoil.open(folder / "index", model="none") as engine:
        engine.ingest(documents(0, 20))
    before = (0, 0)
    for number in rounds:
        with trefoil.open(folder / "index", model="none", read_only=number % 2 == 0) as engine:
            engine.search("walrus")
        if number == rounds.start:
            before = held()
    gc.collect()
    print(f"descriptors and threads: {before} after one, {held()} after {len(rounds)}")
    assert held() == before


def leak(rounds: range, folder: Path) -> None:
    """Ask memory for what is above a boundary: no word of it comes back."""
    classes: list[Class] = ["public", "internal", "pii", "secret"]
    with trefoil.open(folder / "index", model="none") as engine:
        memory = engine.memory
        told: list[tuple[str, str, Class]] = []
        for number in range(400):
            numbers = random.Random(number)
            secret, word = f"zq{number:04d}xv", numbers.choice(WORDS[:6])
            above = classes[number % 4]
            draft = {
                "kind": "message",
                "content": f"Mika: my {word} is called {secret}.",
                "boundaryClass": above,
            }
            try:
                memory.observe(draft)
            except trefoil.BoundaryDenied:
                continue
            told.append((secret, word, above))
        engine.drain()
        assert {above for *_, above in told} >= {"public", "internal", "pii"}
        seen = 0
        for number in rounds:
            numbers = random.Random(number)
            secret, word, _ = numbers.choice(told)
            shown: list[Class] = numbers.choice([["public"], ["public", "internal"]])
            boundary = Boundary(boundary_classes=shown)
            asked = numbers.choice([word, secret, f"what is my {word} called?"])
            ask = numbers.choice([memory.recall, memory.episodes, memory.context, memory.find])
            answer = ask(asked, boundary=boundary)
            # What the caller asked with comes back as the question.
            data = pickle.dumps(answer).replace(asked.encode(), b"")
            for one, _, above in told:
                if one.encode() in data:
                    assert above in shown, (number, asked, above, shown)
                    seen += 1
    print(f"{seen} words within the boundary came back")
    assert seen


KINDS: dict[str, Callable[[range, Path], None]] = {
    "drop": drop,
    "leave": leave,
    "fork": fork,
    "interrupt": interrupt,
    "embedder": embedder,
    "searches": searches,
    "opens": opens,
    "leak": leak,
}


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: campaign.py {'|'.join(KINDS)} ROUNDS")
    first = int(os.environ.get("TREFOIL_FIRST", "0"))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        KINDS[sys.argv[1]](range(first, first + int(sys.argv[2])), Path(folder))
    print(f"{sys.argv[1]}: {sys.argv[2]} rounds, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
