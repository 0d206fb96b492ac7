"""LangChain on an engine: a retriever over any index, and a vector store."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .arrays import Matrix, Vector
from .document import Document as Written
from .engine import Engine
from .engine import open as open_engine
from .filters import Condition, Where, field
from .provenance import KEY, LEAST_RELEVANCE, provenance

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from pydantic import ConfigDict
except ImportError as error:
    raise ImportError(
        "LangChain is missing; run `pip install trefoil-search[langchain]`"
    ) from error

__all__ = ["LangChainEmbedder", "TrefoilRetriever", "TrefoilVectorStore"]


class LangChainEmbedder:
    """An embedder of LangChain as one of an engine: `open(path, model=LangChainEmbedder(…))`.

    `name` says what makes the vectors; the name of the class if it is left out. A text is embedded
    to tell `dimensions`, unless they are given.
    """

    def __init__(
        self, embeddings: Embeddings, *, name: str | None = None, dimensions: int | None = None
    ) -> None:
        self.embeddings = embeddings
        model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None)
        kind = type(embeddings).__name__
        self.name = name or (f"{kind} {model}" if isinstance(model, str) else kind)
        self.dimensions = dimensions or len(embeddings.embed_query("dimensions"))

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        return self.embeddings.embed_query(text)

    def embed_passages(self, texts: list[str]) -> Matrix:
        """Return the vectors of passages."""
        return self.embeddings.embed_documents(texts)


class TrefoilRetriever(BaseRetriever):
    """Ranks passages of any index with all retrievers.

    `engine` is an `Engine`, or a `Client` of a server. A question that the index does not answer
    gives few or no documents, unless `min_relevance` is 0. Each option can be given to `invoke`
    too: `retriever.invoke(question, k=3)`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: Any
    k: int = 4
    where: Any = None
    rerank: bool | None = None
    thorough: bool | None = None
    min_relevance: float = LEAST_RELEVANCE
    crag: bool | None = None
    per_file: int | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        chosen = {
            "where": self.where,
            "rerank": self.rerank,
            "thorough": self.thorough,
            "min_relevance": self.min_relevance,
            "crag": self.crag,
            "per_file": self.per_file,
            "result_types": ["chunk"],
            **options,
        }
        found = self.engine.search(query, limit=chosen.pop("k", self.k), **chosen)
        return [
            Document(
                id=hit.chunk_id,
                page_content=hit.text,
                metadata={**hit.metadata, KEY: provenance(hit, found)},
            )
            for hit in found
        ]


class TrefoilVectorStore(VectorStore):
    """A vector store over an engine. Ids are paths, and a document is one passage.

    With `embedding`, its vectors are searched; without, those of the engine's model. Searches
    rank by words and meaning, without a threshold.
    """

    def __init__(
        self,
        engine: Engine | str | None = None,
        embedding: Embeddings | None = None,
        **settings: Any,
    ) -> None:
        self._embedding = embedding
        if not isinstance(engine, (str, type(None))):
            self.engine: Any = engine
            return
        if engine is None:
            raise ValueError("give an engine, or the path of an index")
        if embedding is not None:
            settings["model"] = LangChainEmbedder(embedding)
        self.engine = open_engine(engine, **settings)

    @property
    def embeddings(self) -> Embeddings | None:
        """The embedder of LangChain, if there is one."""
        return self._embedding

    # Writing

    def add_documents(
        self, documents: list[Document], *, wait: bool = True, **kwargs: Any
    ) -> list[str]:
        """Store documents, each in the place of the one with its id, and return the ids.

        Returns when they are found by meaning too; at once with `wait=False`.
        """
        given = kwargs.get("ids") or [one.id for one in documents]
        ids = [one or str(uuid.uuid4()) for one in given]
        if len(ids) != len(documents):
            raise ValueError(f"there are {len(ids)} ids for {len(documents)} documents")
        self.engine.ingest(
            Written(id, one.page_content, format="whole", metadata=one.metadata)
            for id, one in zip(ids, documents, strict=True)
        )
        if wait:
            self.engine.drain()
        return ids

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts with their metadata."""
        given = list(texts)
        told = metadatas or [{} for _ in given]
        documents = [
            Document(page_content=text, metadata=metadata)
            for text, metadata in zip(given, told, strict=True)
        ]
        return self.add_documents(documents, ids=ids, **kwargs)

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Remove documents by id, all of them without ids. An unknown id is no error."""
        if ids is None:
            ids = [one.path for one in self.engine.documents()]
        self.engine.remove(ids)
        return True

    # Reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents in the order of the ids, without the unknown."""
        found = ((id, self.engine.document(id)) for id in ids)
        return [
            Document(
                id=id,
                page_content="".join(chunk.text for chunk in one.chunks),
                metadata=dict(one.metadata),
            )
            for id, one in found
            if one is not None
        ]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the `k` documents that answer best.

        `filter` is a dict of fields, or a condition.
        """
        return [document for document, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Where | None = None, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their scores, 0–1."""
        chosen = {"min_relevance": 0.0, "result_types": ["chunk"], **options}
        found = self.engine.search(query, limit=k, where=condition_of(filter), **chosen)
        return [(_document(hit), hit.score) for hit in found]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, *, filter: Where | None = None, **options: Any
    ) -> list[Document]:
        """Return the documents nearest to a vector."""
        found = self.engine.search_vector(
            embedding, limit=k, where=condition_of(filter), result_types=["chunk"], **options
        )
        return [_document(hit) for hit in found]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Where | None = None,
        **options: Any,
    ) -> list[Document]:
        """Return documents that answer and differ.

        The engine chooses among its own candidates, with its own weight of novelty: `fetch_k` and
        `lambda_mult` change nothing.
        """
        return self.similarity_search(query, k, filter=filter, diverse=True, **options)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return float

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        engine: Engine | None = None,
        path: str | None = None,
        **settings: Any,
    ) -> TrefoilVectorStore:
        """Make a store over an engine, or the index at `path`, and store texts in it."""
        store = cls(engine if engine is not None else path, embedding, **settings)
        store.add_texts(texts, metadatas, ids=ids)
        return store


def condition_of(filter: Where | None) -> Where | None:
    """Return a dict of fields and their values as a condition."""
    if filter is None or isinstance(filter, Condition):
        return filter
    if not filter:
        return None
    if filter.keys() & {"and", "or", "not"} or set(filter) == {"field", "op", "value"}:
        return filter
    parts = [field(name) == value for name, value in filter.items()]
    return Condition({"and": [part.to_wire() for part in parts]})


def _document(hit: Any) -> Document:
    return Document(id=hit.path, page_content=hit.text, metadata=dict(hit.metadata))
