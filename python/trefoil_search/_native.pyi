from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, TypeVar, final

from .types import SearchResult

__all__ = [
    "NativeEngine",
    "Reader",
    "after_fork",
    "are_finite",
    "before_fork",
    "care_for",
    "leave",
    "models",
    "run",
    "schemas",
]

_T = TypeVar("_T")

@final
class Reader:
    def __new__(
        cls,
        classes: list[
            tuple[type[Any], list[tuple[str, str, Any, type[Any] | EllipsisType | None]]]
        ],
    ) -> Reader: ...
    def read(self, class_: type[_T], json: bytes) -> _T: ...

@final
class NativeEngine:
    def __new__(
        cls,
        settings: bytes,
        reader: Reader,
        embed: Callable[[bool, list[str]], Any] | None = None,
        score: Callable[[str, list[str]], Sequence[float]] | None = None,
    ) -> NativeEngine: ...
    def call(self, name: str, arguments: bytes) -> bytes: ...
    def call_long(
        self,
        name: str,
        arguments: bytes,
        progress: Callable[[int, int], bool | None] | None = None,
    ) -> bytes: ...
    def search(self, query: bytes, vector: Any | None = None) -> SearchResult: ...
    def search_vector(self, vector: Any, filters: bytes, options: bytes) -> SearchResult: ...
    def ingest(
        self,
        documents: bytes,
        vectors: Any | None = None,
        places: Sequence[int] = ...,
        progress: Callable[[int, int], bool | None] | None = None,
    ) -> bytes: ...
    def vectors(self, paths: Sequence[str]) -> tuple[bytearray, int]: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...

def leave() -> None: ...
def before_fork() -> None: ...
def after_fork(is_child: bool) -> None: ...
def run(arguments: Sequence[str]) -> int: ...
def are_finite(numbers: Any) -> bool: ...
def schemas() -> bytes: ...
def care_for(
    call: str, arguments: bytes, progress: Callable[[int, int], bool | None] | None
) -> bytes: ...
def models(arguments: bytes, progress: Callable[[int, int], bool | None] | None) -> bytes: ...
