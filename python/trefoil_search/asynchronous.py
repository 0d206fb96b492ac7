"""The same calls, awaitable, on a pool of threads."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from . import types
from .arrays import Matrix, Vector
from .client import Client
from .document import Document
from .engine import Engine, Path
from .engine import open as open_engine
from .errors import error_of
from .filters import Where
from .memory import Boundary, Memory, Query
from .native import Progress
from .query import Filters, SearchOptions
from .searcher import Searcher

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Self

    from typing_extensions import Unpack

    from .arrays import Vectors

__all__ = [
    "AsyncClient",
    "AsyncEngine",
    "AsyncMemory",
    "AsyncSearcher",
    "connect_async",
    "open_async",
]

P = ParamSpec("P")
T = TypeVar("T")


class _Pool:
    """As many threads as there are cores."""

    def __init__(self) -> None:
        cores = os.cpu_count() or 1
        self._threads = ThreadPoolExecutor(cores, thread_name_prefix="trefoil")
        self._closed = False

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._closed:
            raise error_of("closed", "this was closed; open it again")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, functools.partial(call, *args, **kwargs))

    def close(self) -> None:
        self._closed = True
        self._threads.shutdown(wait=False)


class _Opening:
    """An engine that opens when it is awaited or entered."""

    def __init__(self, open: Callable[[], Engine]) -> None:
        self._open = open
        self._engine: AsyncEngine | None = None

    async def _opened(self) -> AsyncEngine:
        pool = _Pool()
        try:
            return AsyncEngine(await pool.run(self._open), pool)
        except BaseException:
            pool.close()
            raise

    def __await__(self) -> Generator[Any, None, AsyncEngine]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncEngine:
        self._engine = await self._opened()
        return self._engine

    async def __aexit__(self, *_: object) -> None:
        if self._engine is not None:
            await self._engine.close()


def open_async(path: Path, **settings: Any) -> _Opening:
    """Open the index in the directory `path` as `open` does: `await` it, or `async with` it.

    >>> import asyncio, tempfile, trefoil_search as trefoil
    >>> async def main(folder):
    ...     async with trefoil.open_async(folder + "/notes.trefoil", model="none") as engine:
    ...         await engine.ingest([trefoil.Document("a.md", "The walrus sleeps.")])
    ...         return [hit.path for hit in await engine.search("walrus")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(main(folder))
    ['a.md']
    """
    return _Opening(functools.partial(open_engine, path, **settings))


class AsyncSearcher:
    """What an `AsyncEngine` and an `AsyncClient` have in common; see `Searcher` for each call.

    A call whose await is cancelled ends by itself, and its result is dropped.
    """

    __slots__ = ("_memory", "_pool", "_searcher")

    def __init__(self, searcher: Searcher, pool: _Pool | None = None) -> None:
        self._searcher = searcher
        self._pool = pool or _Pool()
        self._memory = AsyncMemory(searcher.memory, self._pool)

    @property
    def memory(self) -> AsyncMemory:
        """The memory."""
        return self._memory

    async def close(self) -> None:
        """Close it and its threads."""
        self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Async{repr(self._searcher)[1:]}"

    async def search(
        self, text: str, *, embedding: Vector | None = None, **options: Unpack[SearchOptions]
    ) -> types.SearchResult:
        """Await `Searcher.search`."""
        return await self._pool.run(self._searcher.search, text, embedding=embedding, **options)

    async def why_not(
        self,
        text: str,
        *,
        chunk: str | None = None,
        path: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> types.Lost | None:
        """Await `Searcher.why_not`."""
        call = self._searcher.why_not
        return await self._pool.run(call, text, chunk=chunk, path=path, **options)

    async def ingest(
        self,
        documents: Iterable[Document],
        *,
        embeddings: Matrix | None = None,
        progress: Progress | None = None,
    ) -> types.Ingested:
        """Await `Searcher.ingest`."""
        call = self._searcher.ingest
        return await self._pool.run(call, documents, embeddings=embeddings, progress=progress)

    async def drain(
        self, *, timeout: float | None = None, progress: Progress | None = None
    ) -> types.JobCounts:
        """Await `Searcher.drain`."""
        return await self._pool.run(self._searcher.drain, timeout=timeout, progress=progress)

    async def remove(self, paths: Iterable[str]) -> int:
        """Await `Searcher.remove`."""
        return await self._pool.run(self._searcher.remove, paths)

    async def documents(
        self, *, where: Where | None = None, limit: int | None = None
    ) -> AsyncIterator[types.FileInfo]:
        """Go through `Searcher.documents`."""
        listed = self._searcher.documents(where=where, limit=limit)
        while True:
            one = await self._pool.run(next, listed, None)
            if one is None:
                return
            yield one

    async def document(self, path: str) -> types.StoredDocument | None:
        """Await `Searcher.document`."""
        return await self._pool.run(self._searcher.document, path)

    async def chunk(self, id: str) -> types.ChunkInContext:
        """Await `Searcher.chunk`."""
        return await self._pool.run(self._searcher.chunk, id)

    async def texts(self, paths: Iterable[str]) -> list[list[str]]:
        """Await `Searcher.texts`."""
        return await self._pool.run(self._searcher.texts, paths)

    async def entities(
        self, *, limit: int = 20, **filters: Unpack[Filters]
    ) -> list[types.EntityView]:
        """Await `Searcher.entities`."""
        call = functools.partial(self._searcher.entities, limit=limit, **filters)
        return await self._pool.run(call)

    async def entity(
        self, name: str, *, limit: int = 20, **filters: Unpack[Filters]
    ) -> types.EntityView | None:
        """Await `Searcher.entity`."""
        return await self._pool.run(
            functools.partial(self._searcher.entity, name, limit=limit, **filters)
        )

    async def subgraph(
        self, around: str | None = None, *, limit: int = 20, **filters: Unpack[Filters]
    ) -> types.Subgraph:
        """Await `Searcher.subgraph`."""
        call = functools.partial(self._searcher.subgraph, around, limit=limit, **filters)
        return await self._pool.run(call)

    async def communities(self) -> list[types.Community]:
        """Await `Searcher.communities`."""
        return await self._pool.run(self._searcher.communities)

    async def stats(self) -> types.EngineStats:
        """Await `Searcher.stats`."""
        return await self._pool.run(self._searcher.stats)


class AsyncEngine(AsyncSearcher):
    """An `Engine` whose calls are awaited; see there for what each does."""

    __slots__ = ("_engine",)

    def __init__(self, engine: Engine, pool: _Pool | None = None) -> None:
        super().__init__(engine, pool)
        self._engine = engine

    @property
    def engine(self) -> Engine:
        """The engine itself, whose calls block."""
        return self._engine

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._engine.closed

    async def close(self) -> None:
        """Close the engine and its threads."""
        await asyncio.get_running_loop().run_in_executor(None, self._engine.close)
        self._pool.close()

    async def search_vector(
        self, embedding: Vector, **options: Unpack[SearchOptions]
    ) -> types.SearchResult:
        """Await `Engine.search_vector`."""
        return await self._pool.run(self._engine.search_vector, embedding, **options)

    async def plan(self, text: str, **options: Unpack[SearchOptions]) -> types.Plan:
        """Await `Engine.plan`."""
        return await self._pool.run(self._engine.plan, text, **options)

    async def ingest_path(
        self, path: Path, *, prune: bool = False, progress: Progress | None = None
    ) -> types.Ingested:
        """Await `Engine.ingest_path`."""
        call = self._engine.ingest_path
        return await self._pool.run(call, path, prune=prune, progress=progress)

    async def ingest_paths(
        self, paths: Iterable[Path], *, prune: bool = False, progress: Progress | None = None
    ) -> types.Ingested:
        """Await `Engine.ingest_paths`."""
        call = self._engine.ingest_paths
        return await self._pool.run(call, paths, prune=prune, progress=progress)

    async def remove_below(self, prefix: str) -> int:
        """Await `Engine.remove_below`."""
        return await self._pool.run(self._engine.remove_below, prefix)

    async def update_metadata(self, paths: Iterable[str], patch: Mapping[str, Any]) -> int:
        """Await `Engine.update_metadata`."""
        return await self._pool.run(self._engine.update_metadata, paths, patch)

    async def vectors(self, paths: Iterable[str]) -> Vectors:
        """Await `Engine.vectors`."""
        return await self._pool.run(self._engine.vectors, paths)

    async def verify(self) -> types.Verification:
        """Await `Engine.verify`."""
        return await self._pool.run(self._engine.verify)

    async def doctor(self, *, sample: int | None = None) -> types.HealthReport:
        """Await `Engine.doctor`."""
        return await self._pool.run(self._engine.doctor, sample=sample)

    async def rebuild(self, *, progress: Progress | None = None) -> types.JobCounts:
        """Await `Engine.rebuild`."""
        return await self._pool.run(self._engine.rebuild, progress=progress)

    async def export(self, file: Path, *, progress: Progress | None = None) -> types.Snapshot:
        """Await `Engine.export`."""
        return await self._pool.run(self._engine.export, file, progress=progress)


class AsyncClient(AsyncSearcher):
    """A `Client` whose calls are awaited."""

    __slots__ = ()


def connect_async(
    url: str, *, token: str | None = None, index: str | None = None, timeout: float = 60
) -> AsyncClient:
    """Return an awaitable client of the server at `url`; see `connect`."""
    return AsyncClient(Client(url, token=token, index=index, timeout=timeout))


class AsyncMemory:
    """A `Memory` whose calls are awaited; see there for what each does."""

    __slots__ = ("_memory", "_pool")

    def __init__(self, memory: Memory, pool: _Pool) -> None:
        self._memory = memory
        self._pool = pool

    async def observe(
        self, observation: str | types.ObservationDraft | Mapping[str, Any]
    ) -> types.Observation:
        """Await `Memory.observe`."""
        return await self._pool.run(self._memory.observe, observation)

    async def recall(
        self, query: Query, *, boundary: Boundary | None = None
    ) -> types.RecalledClaims:
        """Await `Memory.recall`."""
        return await self._pool.run(self._memory.recall, query, boundary=boundary)

    async def episodes(
        self, query: Query, *, boundary: Boundary | None = None
    ) -> types.RecalledEpisodes:
        """Await `Memory.episodes`."""
        return await self._pool.run(self._memory.episodes, query, boundary=boundary)

    async def context(
        self,
        query: Query,
        *,
        window: int | None = None,
        context: Sequence[str] | None = None,
        boundary: Boundary | None = None,
    ) -> types.PackedContext:
        """Await `Memory.context`."""
        call = self._memory.context
        return await self._pool.run(call, query, window=window, context=context, boundary=boundary)

    async def find(
        self,
        query: Query,
        options: types.FindOptions | Mapping[str, Any] | None = None,
        *,
        boundary: Boundary | None = None,
    ) -> types.FoundUnits:
        """Await `Memory.find`."""
        return await self._pool.run(self._memory.find, query, options, boundary=boundary)

    async def feedback(
        self, feedback: Iterable[types.FeedbackInput | Mapping[str, Any]]
    ) -> list[types.FeedbackOutcome]:
        """Await `Memory.feedback`."""
        return await self._pool.run(self._memory.feedback, feedback)

    async def insert_claims(
        self, claims: Iterable[types.ClaimDraft | Mapping[str, Any]]
    ) -> list[types.Claim]:
        """Await `Memory.insert_claims`."""
        return await self._pool.run(self._memory.insert_claims, claims)

    async def forget(
        self,
        *,
        subject: str | None = None,
        unit: str | None = None,
        document: str | None = None,
    ) -> types.ForgetReceipt:
        """Await `Memory.forget`."""
        call = self._memory.forget
        return await self._pool.run(call, subject=subject, unit=unit, document=document)

    async def maintain(
        self, *, dry_run: bool = False, with_personal_data: bool = False
    ) -> types.MaintenanceReport:
        """Await `Memory.maintain`."""
        call = self._memory.maintain
        return await self._pool.run(call, dry_run=dry_run, with_personal_data=with_personal_data)

    async def record(self, id: str) -> types.UnitRecord | None:
        """Await `Memory.record`."""
        return await self._pool.run(self._memory.record, id)

    async def policy(self, version: str | None = None) -> str:
        """Await `Memory.policy`."""
        return await self._pool.run(self._memory.policy, version)

    async def apply_policy(self, yaml: str, *, dry_run: bool = False) -> str:
        """Await `Memory.apply_policy`."""
        return await self._pool.run(self._memory.apply_policy, yaml, dry_run=dry_run)

    async def create_session(self, project_path: str, *, owner: str | None = None) -> types.Session:
        """Await `Memory.create_session`."""
        return await self._pool.run(self._memory.create_session, project_path, owner=owner)

    async def end_session(self, id: str, summary: str) -> types.Session:
        """Await `Memory.end_session`."""
        return await self._pool.run(self._memory.end_session, id, summary)
