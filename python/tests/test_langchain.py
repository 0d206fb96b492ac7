"""LangChain's own suites, on both settings of vectors, and a chain that cites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import CORPUS
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langchain_tests.integration_tests.vectorstores import VectorStoreIntegrationTests

import trefoil_search as trefoil
from trefoil_search.langchain import LangChainEmbedder, TrefoilRetriever, TrefoilVectorStore


class TestVectorsOfLangChain(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, index: Path) -> Iterator[VectorStore]:
        store = TrefoilVectorStore(str(index), self.get_embeddings())
        yield store
        store.engine.close()


class TestVectorsOfTheEngine(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, index: Path) -> Iterator[VectorStore]:
        store = TrefoilVectorStore(str(index), model=MODEL)
        yield store
        store.engine.close()


MODEL = (
    "default"
    if any(one.present and one.role == "embedder" for one in trefoil.models.list())
    else LangChainEmbedder(DeterministicFakeEmbedding(size=64))
)


class TestRetriever(RetrieversIntegrationTests):
    engine: trefoil.Engine

    @pytest.fixture(scope="class", autouse=True)
    def filled(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        path = tmp_path_factory.mktemp("retriever") / "index"
        with trefoil.open(path, model="none") as engine:
            engine.ingest_path(CORPUS)
            type(self).engine = engine
            yield

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return TrefoilRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"engine": self.engine, "min_relevance": 0.0}

    @property
    def retriever_query_example(self) -> str:
        return "what is stored in a postings list?"


def test_metadata_has_a_key_of_its_own(engine: trefoil.Engine) -> None:
    engine.ingest([trefoil.Document("a.md", "The walrus sleeps.", metadata={"path": "mine"})])
    retriever = TrefoilRetriever(engine=engine)
    [found] = retriever.invoke("walrus")
    assert found.metadata["path"] == "mine"
    told = found.metadata["trefoil"]
    assert (told["path"], told["lines"], told["chunk_id"]) == ("a.md", [1, 1], found.id)
    assert retriever.invoke("zebra") == []
    assert retriever.invoke("walrus", where=trefoil.field("path") == "other") == []


def test_options_reach_the_search(engine: trefoil.Engine) -> None:
    engine.ingest([trefoil.Document("a.md", "The walrus sleeps.")])
    asked: list[dict[str, Any]] = []

    class Told:
        def search(self, query: str, **options: Any) -> Any:
            asked.append(options)
            return engine.search(query, **options)

    retriever = TrefoilRetriever(engine=Told(), thorough=True, crag=True)
    assert len(retriever.invoke("walrus")) == len(retriever.invoke("walrus", thorough=False)) == 1
    assert [one["thorough"] for one in asked] == [True, False] and asked[0]["crag"] is True


def test_a_store_filters_scores_and_leaves_its_arguments_alone(index: Path) -> None:
    store = TrefoilVectorStore(str(index), DeterministicFakeEmbedding(size=6))
    given = [Document(page_content="walrus", metadata={"n": n, "deep": {"x": n}}) for n in (1, 2)]
    ids = store.add_documents(given)
    assert [one.id for one in given] == [None, None]
    [only] = store.similarity_search("walrus", filter={"deep.x": 2})
    assert (only.id, only.metadata) == (ids[1], given[1].metadata)
    scored = store.similarity_search_with_relevance_scores("walrus", k=2)
    assert all(0 <= score <= 1 for _, score in scored)
    vector = DeterministicFakeEmbedding(size=6).embed_query("walrus")
    assert len(store.similarity_search_by_vector(vector, k=1)) == 1
    assert len(store.max_marginal_relevance_search("walrus", k=2)) == 2
    assert store.add_texts(["", "zebra"], ids=["empty", "z"]) == ["empty", "z"]
    assert [one.page_content for one in store.get_by_ids(["z", "no", "empty"])] == ["zebra", ""]
    assert store.delete() and store.similarity_search("walrus") == []
    store.engine.close()
