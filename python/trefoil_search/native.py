"""What answers calls in JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from .types import SearchResult

__all__: list[str] = []

Progress: TypeAlias = Callable[[int, int], bool | None]


class Native(Protocol):
    """What answers calls in JSON: an engine in this process, or a server."""

    def call(self, name: str, arguments: bytes) -> bytes:
        """Answer a call by its name."""
        ...

    def call_long(self, name: str, arguments: bytes, progress: Progress | None = None) -> bytes:
        """Answer a call that may take long."""
        ...

    def search(self, query: bytes, vector: Any | None = None) -> SearchResult:
        """Answer a question, with its vector if that is given."""
        ...

    def ingest(
        self,
        documents: bytes,
        vectors: Any | None = None,
        places: Sequence[int] = (),
        progress: Progress | None = None,
    ) -> bytes:
        """Store documents."""
        ...
