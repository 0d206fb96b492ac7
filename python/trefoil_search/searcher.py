"""What an engine in this process and a server have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from . import types
from .arrays import Matrix, Vector, vector
from .document import Document, with_vectors
from .errors import expect, invalid, listed
from .filters import Where, to_wire
from .memory import Memory
from .native import Native, Progress
from .query import Filters, SearchOptions, parts_of, query_of
from .wire import dumps, loads, without_none

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Searcher"]


class Searcher:
    """What an `Engine` and a `Client` of a server have in common."""

    __slots__ = ("__weakref__", "_memory", "_native")

    def __init__(self, native: Native) -> None:
        self._native = native
        self._memory = Memory(native)

    # Search

    def search(
        self, text: str, *, embedding: Vector | None = None, **options: Unpack[SearchOptions]
    ) -> types.SearchResult:
        """Answer a question; see `SearchOptions` for how.

        `embedding` is its vector, needed where the vectors are the caller's. Raises
        `InvalidInput` for what is out of range, and `SearchFailed` if every retriever failed: one
        that fails is named in the result's `degraded`.
        """
        given = None if embedding is None else vector(embedding, "embedding")
        return self._native.search(dumps(query_of(text, options)), given)

    def why_not(
        self,
        text: str,
        *,
        chunk: str | None = None,
        path: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> types.Lost | None:
        """Name the stage at which a passage, or that of a document which came farthest, was lost.

        `None` if the document has no passage.
        """
        if (chunk is None) == (path is None):
            raise invalid("chunk", chunk, "either `chunk` or `path`")
        asked = without_none(chunk=chunk, path=path)
        lost = self._call("whyNot", {"query": query_of(text, options), **asked})
        return None if lost is None else types.Lost.from_wire(lost)

    # Documents

    def ingest(
        self,
        documents: Iterable[Document],
        *,
        embeddings: Matrix | None = None,
        progress: Progress | None = None,
    ) -> types.Ingested:
        """Index documents; one with the path of another replaces it.

        They are durable and found by their words when this returns; vectors follow (`drain`).
        `embeddings` has a row for each document, where the vectors are the caller's. `progress`
        is called with how many are stored and how many there are, and ends it by returning
        `False`.
        """
        wires, vectors, places = with_vectors(documents, embeddings)
        return types.Ingested.from_json(
            self._native.ingest(dumps(wires), vectors, places, progress)
        )

    def drain(
        self, *, timeout: float | None = None, progress: Progress | None = None
    ) -> types.JobCounts:
        """Wait until every passage has its vector, or none more can be had.

        Returns which are left: without a model, all of them. After `timeout` seconds, or when
        `progress` returns `False`, the work goes on and the call returns.
        """
        return types.JobCounts.from_json(self._long("drain", {"timeout": timeout}, progress))

    def remove(self, paths: Iterable[str]) -> int:
        """Remove the documents at exactly these paths; how many there were."""
        return int(self._call("remove", {"paths": paths_of(paths)}))

    def documents(
        self, *, where: Where | None = None, limit: int | None = None
    ) -> Iterator[types.FileInfo]:
        """Go through the documents by path: those with metadata like `where`, or all."""
        filters = {} if where is None else {"where": to_wire(where)}
        after: str | None = None
        left = limit
        while left is None or left > 0:
            size = 1000 if left is None else min(left, 1000)
            asked = {"filters": filters, "after": after, "limit": size}
            page = self._call("documents", asked)
            for one in page:
                yield types.FileInfo.from_wire(one)
            if len(page) < size:
                return
            after = page[-1]["path"]
            left = None if left is None else left - size

    def document(self, path: str) -> types.StoredDocument | None:
        """Return the document at exactly `path` with its passages, if it is there."""
        found = self._call("document", {"id": path})
        return None if found is None else types.StoredDocument.from_wire(found)

    def chunk(self, id: str) -> types.ChunkInContext:
        """Return a passage with its neighbours. Raises `NotFound` if there is none."""
        return types.ChunkInContext.from_json(self._ask("chunk", {"id": id}))

    def texts(self, paths: Iterable[str]) -> list[list[str]]:
        """Return the texts of the passages of each document; none of one that is not there."""
        found: list[list[str]] = self._call("texts", {"paths": paths_of(paths)})
        return found

    # Graph

    def entities(self, *, limit: int = 20, **filters: Unpack[Filters]) -> list[types.EntityView]:
        """Return the most important entities."""
        asked = {"filters": parts_of(filters)[0], "limit": limit}
        return [types.EntityView.from_wire(one) for one in self._call("entities", asked)]

    def entity(
        self, name: str, *, limit: int = 20, **filters: Unpack[Filters]
    ) -> types.EntityView | None:
        """Return the entity of this name, with what its passages say and what it is related to."""
        asked = {"name": name, "filters": parts_of(filters)[0], "limit": limit}
        found = self._call("entity", asked)
        return None if found is None else types.EntityView.from_wire(found)

    def subgraph(
        self, around: str | None = None, *, limit: int = 20, **filters: Unpack[Filters]
    ) -> types.Subgraph:
        """Return the most important entities, or one and what is near, with their relations."""
        asked = {"name": around, "filters": parts_of(filters)[0], "limit": limit}
        return types.Subgraph.from_json(self._ask("subgraph", asked))

    def communities(self) -> list[types.Community]:
        """Return the communities of the graph with their reports."""
        return [types.Community.from_wire(one) for one in self._call("communities", {})]

    # Memory

    @property
    def memory(self) -> Memory:
        """The memory of the engine."""
        return self._memory

    def stats(self) -> types.EngineStats:
        """Return sizes and counts."""
        return types.EngineStats.from_json(self._ask("stats", {}))

    def _call(self, name: str, arguments: Any) -> Any:
        return loads(self._ask(name, arguments))

    def _ask(self, name: str, arguments: Any) -> bytes:
        return self._native.call(name, dumps(arguments))

    def _long(self, name: str, arguments: Any, progress: Progress | None) -> bytes:
        return self._native.call_long(name, dumps(arguments), progress)


def paths_of(paths: Iterable[str]) -> list[str]:
    """Return the paths of documents that are given."""
    allowed = "paths of documents"
    given = [paths] if isinstance(paths, str) else listed(paths, "paths", allowed)
    for path in given:
        expect(path, str, "paths", allowed)
    try:
        "".join(given).encode()
    except UnicodeEncodeError as error:
        raise invalid("paths", error.object[error.start], "text without lone surrogates") from None
    return given
