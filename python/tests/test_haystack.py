"""Haystack's own suites, and its component in a pipeline."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import haystack.testing.document_store as suites
import haystack.testing.document_store_async as async_suites
import pytest
from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError

from trefoil_search.haystack import TrefoilDocumentStore, TrefoilRetriever


def all_suites() -> tuple[type, ...]:
    """Every class of tests that Haystack has for stores, apart from those made of others."""
    found: list[type] = []
    for module in (suites, async_suites):
        for name, one in vars(module).items():
            if inspect.isclass(one) and name.endswith("Test") and one.__module__ == module.__name__:
                found.append(one)
    return tuple(found)


def close(one: Document, other: Document) -> bool:
    vectors = [one.embedding or [], other.embedding or []]
    return len(vectors[0]) == len(vectors[1]) and all(
        abs(a - b) <= 1e-6 * max(1, abs(b)) for a, b in zip(*vectors, strict=True)
    )


class Same:
    """Vectors are kept as 32-bit numbers; all else is exact."""

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        assert len(received) == len(expected)
        for one, other in zip(received, expected, strict=True):
            assert close(one, other)
            assert {**one.to_dict(flatten=False), "embedding": None} == {
                **other.to_dict(flatten=False),
                "embedding": None,
            }


class Written:
    """What the suites leave to the store: without a policy, a document that is there fails."""

    def test_write_documents(self, document_store: Any) -> None:
        one = Document(content="test doc")
        assert document_store.write_documents([one]) == 1
        assert document_store.filter_documents() == [one]
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([one])

    async def test_write_documents_async(self, document_store: Any) -> None:
        one = Document(content="test doc")
        assert await document_store.write_documents_async([one]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([one])


class Stored(Written):
    @pytest.fixture
    def document_store(self, index: Path) -> Iterator[TrefoilDocumentStore]:
        store = TrefoilDocumentStore(str(index), embedding_dimensions=768)
        yield store
        store.close()


TestDocumentStore = type("TestDocumentStore", (Same, Stored, *all_suites()), {})


class TestExtended(Same, Stored, suites.DocumentStoreBaseExtendedTests):
    pass


def test_every_suite_is_there() -> None:
    names = {one.__name__ for one in all_suites()}
    assert {"CountDocumentsTest", "FilterDocumentsAsyncTest", "UpdateByFilterTest"} <= names
    assert len(names) >= 20


@pytest.fixture
def store(index: Path) -> Iterator[TrefoilDocumentStore]:
    store = TrefoilDocumentStore(str(index), embedding_dimensions=2)
    yield store
    store.close()


def test_documents_come_back_whole(store: TrefoilDocumentStore) -> None:
    given = [
        Document(id="text", content=" kept to the byte\n", meta={"n": 1.0, "none": None}),
        Document(id="nothing", embedding=[1.0, 0.5]),
        Document(id="blank", content=" "),
        Document(id="blob", blob=ByteStream(b"\x00\x01", mime_type="x/y"), content="words"),
    ]
    assert store.write_documents(given) == 4
    assert store.filter_documents() == given
    assert store.write_documents(given[:1], DuplicatePolicy.SKIP) == 0
    assert type(store.filter_documents()[0].meta["n"]) is float


def test_dates_compare_as_instants(store: TrefoilDocumentStore) -> None:
    store.write_documents([Document(content="x", meta={"at": "2024-01-01T12:00:00+09:00"})])

    def found(operator: str, value: Any) -> int:
        return len(
            store.filter_documents({"field": "meta.at", "operator": operator, "value": value})
        )

    assert found("==", "2024-01-01T03:00:00") == 1
    assert found(">", "2024-01-01T02:59:59Z") == 1
    assert found(">", "2024-01-01T11:00:00") == 0
    assert found("in", ["2024-01-01T03:00:00Z"]) == 1
    with pytest.raises(FilterError):
        found("like", "2024")


def test_a_pipeline_answers_and_is_made_again(store: TrefoilDocumentStore) -> None:
    store.write_documents(
        [
            Document(id="w", content="The walrus sleeps.", embedding=[1.0, 0.0]),
            Document(id="z", content="A zebra runs.", embedding=[0.0, 1.0]),
        ]
    )
    pipeline = Pipeline()
    pipeline.add_component("retriever", TrefoilRetriever(store, min_relevance=0.0, thorough=True))
    text = pipeline.dumps()
    [first, *_] = pipeline.run({"retriever": {"query": "walrus"}})["retriever"]["documents"]
    assert first.id == "w" and first.score and first.meta["trefoil"]["path"] == "w"
    asked = {"query": "animal", "query_embedding": [0.0, 1.0], "top_k": 1}
    [near] = pipeline.run({"retriever": asked})["retriever"]["documents"]
    assert near.id == "z"
    store.close()
    again = Pipeline.loads(text, allowed_modules=["trefoil_search.haystack"])
    [found, *_] = again.run({"retriever": {"query": "zebra"}})["retriever"]["documents"]
    assert found.id == "z"
    retriever = again.get_component("retriever")
    assert isinstance(retriever, TrefoilRetriever) and retriever.thorough is True
    retriever.document_store.close()


async def test_the_component_is_awaited(store: TrefoilDocumentStore) -> None:
    await store.write_documents_async([Document(id="w", content="The walrus sleeps.")])
    found = await TrefoilRetriever(store).run_async("walrus")
    assert [one.id for one in found["documents"]] == ["w"]
    assert (await TrefoilRetriever(store).run_async("zebra"))["documents"] == []
