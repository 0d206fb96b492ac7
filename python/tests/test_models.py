"""Embedders, rerankers and vectors of the caller."""

from __future__ import annotations

import array
import math
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest

import trefoil_search as trefoil
from trefoil_search import Document, External, field


class Letters:
    """How often each letter stands in a text."""

    name, dimensions = "letters", 26

    def embed_query(self, text: str) -> list[float]:
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: list[str]) -> list[list[float]]:
        letters = "abcdefghijklmnopqrstuvwxyz"
        return [[text.lower().count(one) + 1e-3 for one in letters] for text in texts]


def given(path: str, embedding: Any) -> Document:
    return Document(path, f"text of {path}", format="whole", embedding=embedding)


def test_an_embedder_of_python_makes_vectors(index: Path) -> None:
    with trefoil.open(index, model=Letters()) as engine:
        engine.ingest([Document("a", "listen"), Document("b", "zoo"), Document("c", "apple")])
        assert engine.drain().waiting == 0
        found = engine.search("silent", strategies=["semantic"], limit=1, rerank=False)
        assert found[0].path == "a" and found.degraded == []
        vectors = engine.vectors(["b", "a"])
        assert vectors.shape == (2, 26) and vectors.dtype == numpy.float32  # type: ignore[union-attr]
        assert vectors.flags.writeable  # type: ignore[union-attr]
        assert math.isclose(float(numpy.linalg.norm(vectors[0])), 1, abs_tol=1e-6)
    with pytest.raises(trefoil.ModelMismatch):
        trefoil.open(index, model=External("other", 26))


def test_the_model_of_token_vectors_is_a_name_a_folder_or_none(index: Path) -> None:
    for token_model in ("default", "none", "some-model", index.parent / "none"):
        with trefoil.open(index, model="none", token_model=token_model) as engine:
            engine.ingest([Document("a", "The walrus sleeps.")])
            assert engine.search("walrus")[0].path == "a"
    with pytest.raises(trefoil.InvalidInput, match="token_model"):
        trefoil.open(index, model="none", token_model=7)  # type: ignore[arg-type]


def test_an_embedder_that_raises_is_the_cause(index: Path) -> None:
    class Broken(Letters):
        def embed_query(self, text: str) -> list[float]:
            raise KeyError("no such word")

    with trefoil.open(index, model=Broken()) as engine:
        engine.ingest([Document("a", "listen")])
        engine.drain()
        with pytest.raises(trefoil.SearchFailed, match="KeyError") as caught:
            engine.search("silent", strategies=["semantic"])
        assert isinstance(caught.value.__cause__, KeyError)
        found = engine.search("listen")
        assert found[0].path == "a" and "KeyError" in found.degraded[0].reason


@pytest.mark.parametrize("vectors", [[[1.0]], [[0.0] * 26], [["a"] * 26], None, [[math.nan] * 26]])
def test_an_embedder_that_gives_what_it_should_not_fails_by_name(index: Path, vectors: Any) -> None:
    class Wrong(Letters):
        def embed_passages(self, texts: list[str]) -> Any:
            return vectors

    with trefoil.open(index, model=Wrong()) as engine:
        engine.ingest([Document("a", "listen")])
        counts = engine.drain(timeout=20)
        assert counts.waiting + counts.running + counts.failed == 1
        assert engine.search("listen")[0].path == "a"


def test_an_embedder_that_calls_its_engine_is_refused(index: Path) -> None:
    class Circular(Letters):
        engine: trefoil.Engine

        def embed_query(self, text: str) -> list[float]:
            self.engine.search("again")
            raise AssertionError("it was answered")

    embedder = Circular()
    with trefoil.open(index, model=embedder) as engine:
        embedder.engine = engine
        engine.ingest([Document("a", "listen")])
        engine.drain()
        reason = engine.search("listen").degraded[0].reason
        assert "cannot call the engine" in reason


def test_an_engine_that_is_dropped_amid_embedding_ends(index: Path) -> None:
    begun = threading.Event()

    class Slow(Letters):
        def embed_passages(self, texts: list[str]) -> list[list[float]]:
            begun.set()
            time.sleep(0.05)
            return super().embed_passages(texts)

    for number in range(5):
        begun.clear()
        engine = trefoil.open(index, model=Slow())
        engine.ingest(
            [Document(f"{number}-{place}", f"text {number} {place}") for place in range(300)]
        )
        assert begun.wait(30)
        del engine
    with trefoil.open(index, model=Letters()) as engine:
        assert engine.drain().waiting == 0


def test_a_reranker_of_python_orders(index: Path) -> None:
    class Longest:
        name = "longest"

        def score(self, question: str, passages: list[str]) -> list[float]:
            return [min(1.0, len(passage) / 100) for passage in passages]

    with trefoil.open(index, model="none", reranker=Longest()) as engine:
        engine.ingest([Document("a", "walrus"), Document("b", "walrus " + "and so on " * 8)])
        found = engine.search("walrus", rerank=True)
        read = {hit.path: hit.relevance.rerank for hit in found}
        assert read == {"a": pytest.approx(0.06), "b": pytest.approx(0.86)}


def strided(values: list[float]) -> Any:
    return numpy.repeat(values, 2)[::2]


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        partial(array.array, "d"),
        partial(numpy.array, dtype="f4"),
        partial(numpy.array, dtype="f8"),
        strided,
    ],
)
def test_vectors_of_the_caller_are_kept_and_found(index: Path, make: Any) -> None:
    with trefoil.open(index, model=External("mine", 3)) as engine:
        engine.ingest([given("a", make([3, 0, 0])), given("b", make([0, 0.5, 0]))])
        engine.ingest([Document("c", "only words", format="whole")])
        assert [hit.path for hit in engine.search_vector(make([0.1, 1, 0]))] == ["b", "a"]
        assert numpy.asarray(engine.vectors(["a", "b"])).tolist() == [[3, 0, 0], [0, 0.5, 0]]
        found = engine.search("text", embedding=make([0, 1, 0]), rerank=False)
        assert found[0].path == "b" and not found.degraded
        assert "embedding" in engine.search("words").degraded[0].reason
    with trefoil.open(index, model=External("mine", 3), read_only=True) as engine:
        assert engine.search_vector([1, 0, 0], where=field("x").exists(False))[0].path == "a"


def test_embeddings_are_rows_of_an_array(index: Path) -> None:
    rows = numpy.eye(4, 3, dtype="f8") + 0.1
    with trefoil.open(index, model=External("mine", 3)) as engine:
        documents = [Document(f"{place}", "text", format="whole") for place in range(4)]
        engine.ingest(documents, embeddings=rows)
        assert numpy.allclose(engine.vectors(["0", "1", "2", "3"]), rows)
        with pytest.raises(trefoil.InvalidInput, match="4 rows"):
            engine.ingest(documents, embeddings=rows[:3])


BAD: list[tuple[str, Any]] = [
    ("nothing", []),
    ("a text", "abc"),
    ("bytes", b"abc"),
    ("texts", ["a", "b", "c"]),
    ("a number", 1.0),
    ("None in it", [1.0, None, 0.0]),
    ("NaN", [math.nan, 0.0, 1.0]),
    ("infinity", [math.inf, 0.0, 1.0]),
    ("too large", [1e300, 0.0, 1.0]),
    ("a huge integer", [10**400, 0, 1]),
    ("zeros", [0.0, 0.0, 0.0]),
    ("too short", [1.0, 0.0]),
    ("two dimensions", numpy.ones((1, 3))),
    ("complex", numpy.ones(3, dtype="c16")),
    ("objects", numpy.array([object()] * 3)),
    ("dates", numpy.array(["2020-01-01"] * 3, dtype="M8[D]")),
    ("NaN in an array", numpy.array([math.nan, 1, 1])),
    ("a large array", numpy.array([1e300, 1, 1])),
]


@pytest.mark.parametrize(("what", "value"), BAD, ids=[what for what, _ in BAD])
def test_what_is_no_vector_is_refused(index: Path, what: str, value: Any) -> None:
    with trefoil.open(index, model=External("mine", 3)) as engine:
        engine.ingest([given("a", [1, 0, 0])])
        for call in (
            lambda: engine.search_vector(value),
            lambda: engine.search("text", embedding=value),
            lambda: engine.ingest([given("b", value)]),
        ):
            with pytest.raises(trefoil.InvalidInput):
                call()
        assert engine.stats().files == 1


def test_models_are_listed(tmp_path: Path) -> None:
    listed = trefoil.models.list(home=tmp_path)
    assert {one.role for one in listed} >= {"runtime", "embedder", "reranker"}
    assert not any(one.present for one in listed)
    with pytest.raises(trefoil.ModelMissing):
        trefoil.models.pull(home=tmp_path, offline=True)


def test_an_embedder_cannot_close_its_engine_but_let_it_go(index: Path) -> None:
    class Last(Letters):
        engine: trefoil.Engine | None = None
        said = ""
        has_it, let_go = threading.Event(), threading.Event()

        def embed_passages(self, texts: list[str]) -> list[list[float]]:
            assert self.has_it.wait(30)
            if self.engine is not None:
                try:
                    self.engine.close()
                except trefoil.TrefoilError as error:
                    self.said = str(error)
                self.engine = None
                self.let_go.set()
            return super().embed_passages(texts)

    embedder = Last()
    with trefoil.open(index, model="none") as engine:
        engine.ingest([Document("a", "listen")])
    embedder.engine = trefoil.open(index, model=embedder)
    embedder.has_it.set()
    assert embedder.let_go.wait(30)
    assert "cannot call the engine" in embedder.said
    # It ends, and lets the index go.
    for _ in range(300):
        try:
            with trefoil.open(index, model=Letters()) as engine:
                assert engine.search("listen")[0].path == "a"
            break
        except trefoil.Locked:
            time.sleep(0.1)
    else:
        raise AssertionError("it did not end")
