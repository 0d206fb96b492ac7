"""Many threads on one engine, with and without a lock on the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trefoil_search as trefoil
from trefoil_search import Document, Engine, External, arrays

THREADS = 8
ROUNDS = int(os.environ.get("TREFOIL_ROUNDS", "1"))


@pytest.fixture(params=range(ROUNDS))
def again(request: pytest.FixtureRequest) -> int:
    """Which round of a test this is."""
    return int(request.param)


repeated = pytest.mark.usefixtures("again")


def at_once(work: Callable[[int], None]) -> None:
    """Let threads work at once, and raise what one of them raised."""
    failed: list[BaseException] = []
    ready = threading.Barrier(THREADS)

    def run(number: int) -> None:
        try:
            ready.wait(60)
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def alone(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


class Lengths:
    """An embedder that may be called by several threads: which of the first letters a text has."""

    name, dimensions, thread_safe = "lengths", THREADS, True

    def embed_query(self, text: str) -> list[float]:
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: list[str]) -> list[list[float]]:
        return [[float(text.count(f"n{one}")) + 1e-3 for one in range(THREADS)] for text in texts]


def test_the_native_half_turns_no_lock_on() -> None:
    has_lock = not sysconfig.get_config_var("Py_GIL_DISABLED")
    told = alone(
        """
        import sys, trefoil_search, trefoil_search.client, trefoil_search.asynchronous
        print(getattr(sys, "_is_gil_enabled", lambda: True)())
        """
    )
    assert (told.stdout, told.stderr, told.returncode) == (f"{has_lock}\n", "", 0)


@repeated
def test_many_threads_search_and_write(engine: Engine) -> None:
    engine.ingest([Document("rain.md", "Rain in Tokyo.")])

    def work(number: int) -> None:
        for step in range(5):
            engine.ingest([Document(f"{number}-{step}", f"walrus {number}")])
            assert engine.search("rain", result_types=["chunk"], rerank=False)[0].path == "rain.md"

    at_once(work)
    assert engine.stats().files == 1 + THREADS * 5


@repeated
def test_each_thread_has_the_answer_to_its_own_question(index: Path) -> None:
    with trefoil.open(index, model=Lengths()) as engine:
        engine.ingest(Document(f"{one}", f"n{one} and no more") for one in range(THREADS))
        engine.drain()

        def work(number: int) -> None:
            for _ in range(10):
                found = engine.search(f"n{number}", strategies=["semantic"], limit=1, rerank=False)
                assert (found[0].path, found.degraded) == (f"{number}", [])
                near = engine.search_vector(Lengths().embed_query(f"n{number}"), limit=1)
                assert near[0].path == f"{number}"
                assert engine.texts([f"{number}"]) == [[f"n{number} and no more"]]
                with pytest.raises(trefoil.InvalidInput, match=f"`{number + 1}000`"):
                    engine.search("walrus", limit=(number + 1) * 1_000)

        at_once(work)


@repeated
def test_threads_open_and_close_engines_of_their_own(index: Path) -> None:
    def work(number: int) -> None:
        for step in range(4):
            with trefoil.open(index / f"{number}", model="none") as engine:
                engine.ingest([Document(f"{step}", "A walrus.")])
                assert (
                    len(engine.search("walrus", result_types=["chunk"], rerank=False).results)
                    == step + 1
                )

    at_once(work)


@repeated
def test_an_engine_that_is_closed_amid_calls_says_so(index: Path) -> None:
    engine = trefoil.open(index, model="none")
    engine.ingest([Document("a", "A walrus.")])
    calls: list[Callable[[], object]] = [
        lambda: engine.search("walrus", rerank=False),
        lambda: engine.stats(),
        lambda: engine.ingest([Document("b", "A seal.")]),
        lambda: engine.drain(),
        lambda: engine.memory.recall("walrus"),
    ]

    def work(number: int) -> None:
        if number == 0:
            engine.search("walrus", rerank=False)
            engine.close()
        with pytest.raises(trefoil.Closed):
            while True:
                calls[number % len(calls)]()

    at_once(work)
    assert engine.closed


@repeated
def test_memory_is_told_and_asked_by_many_threads(engine: Engine) -> None:
    def work(number: int) -> None:
        for step in range(5):
            engine.memory.observe(f"Mika: I live in Kyoto, {number}-{step}. I prefer green tea.")
            engine.memory.recall("tea")
            engine.memory.find("walrus")

    at_once(work)
    engine.drain()
    assert engine.memory.recall("tea").claims


@repeated
def test_a_store_that_many_threads_need_is_opened_once(index: Path) -> None:
    pytest.importorskip("haystack")
    from trefoil_search.haystack import TrefoilDocumentStore

    store = TrefoilDocumentStore(str(index))
    engines: list[Engine] = []
    for _ in range(5):
        at_once(lambda _: engines.append(store.engine))
        assert len({id(engine) for engine in engines[-THREADS:]}) == 1
        store.close()
        assert engines[-1].closed


@repeated
def test_a_vector_store_that_many_threads_need_is_opened_once(index: Path) -> None:
    pytest.importorskip("llama_index.core")
    from trefoil_search.llama_index import TrefoilVectorStore

    store = TrefoilVectorStore(path=str(index), dimensions=3)
    engines: list[Engine] = []
    at_once(lambda _: engines.append(store.client))
    assert len({id(engine) for engine in engines}) == 1
    other = store.model_copy(deep=True)
    store.close()
    assert other.client is not engines[0]
    other.close()


def test_vectors_are_taken_while_another_thread_imports_numpy(tmp_path: Path) -> None:
    # A NumPy that takes a second to be there.
    (tmp_path / "numpy.py").write_text(
        "import main\nmain.begun.set()\nmain.done.wait(1)\nndarray = list\n"
    )
    (tmp_path / "main.py").write_text(
        "import threading\nbegun, done = threading.Event(), threading.Event()\n"
    )
    told = alone(
        """
        import sys, threading
        sys.path.insert(0, sys.argv[1])
        import main
        from trefoil_search.arrays import vector
        other = threading.Thread(target=__import__, args=("numpy",))
        other.start()
        main.begun.wait(60)
        try:
            print(len(vector((1.0, 2.0), "embedding")))
        finally:
            main.done.set()
            other.join()
        """,
        str(tmp_path),
    )
    assert (told.stdout, told.stderr, told.returncode) == ("2\n", "", 0)


@repeated
def test_the_interpreter_ends_while_threads_open_engines(index: Path) -> None:
    told = alone(
        """
        import sys, threading, trefoil_search as trefoil
        begun = threading.Barrier(5)
        def work(number):
            begun.wait(60)
            kept = []
            while True:
                kept.append(trefoil.open(f"{sys.argv[1]}/{number}/{len(kept)}", model="none"))
        for number in range(4):
            threading.Thread(target=work, args=(number,), daemon=True).start()
        begun.wait(60)
        kept = [trefoil.open(f"{sys.argv[1]}/{number}", model="none") for number in (4, 5)]
        """,
        str(index),
    )
    assert (told.stdout, told.stderr, told.returncode) == ("", "", 0)


@repeated
def test_an_array_is_read_by_many_threads(index: Path) -> None:
    numpy: Any = pytest.importorskip("numpy")
    rows = numpy.eye(THREADS, dtype=numpy.float32)
    with trefoil.open(index, model=External("rows", THREADS)) as engine:
        paths = [f"{one}" for one in range(THREADS)]
        engine.ingest(
            (Document(path, path, format="whole") for path in paths),
            embeddings=rows,
        )

        def work(number: int) -> None:
            for _ in range(10):
                assert engine.search_vector(rows[:, number], limit=1)[0].path == f"{number}"
                assert numpy.array_equal(engine.vectors(paths), rows)
                assert len(arrays.vector(rows[number], "row")) == THREADS

        at_once(work)
