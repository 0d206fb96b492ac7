"""Hybrid search and governed memory in one directory: words, meaning and a graph, fused.

>>> import tempfile, trefoil_search as trefoil
>>> folder = tempfile.TemporaryDirectory()
>>> with trefoil.open(folder.name + "/notes.trefoil", model="none") as engine:
...     _ = engine.ingest([trefoil.Document("天気.md", "明日の東京は晴れです。")])
...     [hit.path for hit in engine.search("東京の天気", result_types=["chunk"])]
['天気.md']
>>> folder.cleanup()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import errors, models, types
from .document import Document
from .engine import Engine, open
from .errors import (
    BoundaryDenied,
    Cancelled,
    Closed,
    ContextExpired,
    Corrupt,
    DuplicateClaim,
    EmbeddingFailed,
    ForkedError,
    InvalidInput,
    Locked,
    ModelMismatch,
    ModelMissing,
    NotFound,
    ReadOnly,
    SearchFailed,
    TimedOut,
    TrefoilError,
    Unreachable,
)
from .filters import Condition, field
from .memory import Boundary, Memory
from .model import Embedder, External, Reranker
from .query import SearchOptions
from .searcher import Searcher

if TYPE_CHECKING:
    from .asynchronous import (
        AsyncClient,
        AsyncEngine,
        AsyncMemory,
        connect_async,
        open_async,
    )
    from .client import Client, connect

__all__ = [
    "AsyncClient",
    "AsyncEngine",
    "AsyncMemory",
    "Boundary",
    "BoundaryDenied",
    "Cancelled",
    "Client",
    "Closed",
    "Condition",
    "ContextExpired",
    "Corrupt",
    "Document",
    "DuplicateClaim",
    "Embedder",
    "EmbeddingFailed",
    "Engine",
    "External",
    "ForkedError",
    "InvalidInput",
    "Locked",
    "Memory",
    "ModelMismatch",
    "ModelMissing",
    "NotFound",
    "ReadOnly",
    "Reranker",
    "SearchFailed",
    "SearchOptions",
    "Searcher",
    "TimedOut",
    "TrefoilError",
    "Unreachable",
    "connect",
    "connect_async",
    "errors",
    "field",
    "models",
    "open",
    "open_async",
    "types",
]

# What is imported when it is first asked for.
_LATE = {
    "AsyncClient": "asynchronous",
    "AsyncEngine": "asynchronous",
    "AsyncMemory": "asynchronous",
    "Client": "client",
    "connect": "client",
    "connect_async": "asynchronous",
    "open_async": "asynchronous",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LATE[name]}", __name__), name)
