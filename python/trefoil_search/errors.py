"""What goes wrong, one class for each kind that a program can act on."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

__all__ = [
    "BoundaryDenied",
    "Cancelled",
    "Closed",
    "ContextExpired",
    "Corrupt",
    "DuplicateClaim",
    "EmbeddingFailed",
    "Field",
    "ForkedError",
    "InvalidInput",
    "Locked",
    "ModelMismatch",
    "ModelMissing",
    "NotFound",
    "ReadOnly",
    "SearchFailed",
    "TimedOut",
    "TrefoilError",
    "Unreachable",
]

T = TypeVar("T")


class Field(NamedTuple):
    """A field with a value that is not allowed."""

    name: str
    value: str
    allowed: str


class TrefoilError(Exception):
    """An error of Trefoil.

    `code` is one stable word for each kind, `message` says what to do, and `fields` names what
    has a value that is not allowed.
    """

    code: str
    message: str
    fields: tuple[Field, ...]

    def __init__(self, code: str, message: str, fields: tuple[Field, ...] = ()) -> None:
        super().__init__(code, message, fields)
        self.code = code
        self.message = message
        self.fields = fields

    def __str__(self) -> str:
        return self.message


class InvalidInput(TrefoilError, ValueError):
    """Something that was given is not what it may be."""


class NotFound(TrefoilError, LookupError):
    """There is no such thing."""

    __str__ = TrefoilError.__str__


class BoundaryDenied(TrefoilError, PermissionError):
    """A boundary, a policy or a token does not admit what was asked."""

    __str__ = TrefoilError.__str__


class Locked(TrefoilError):
    """Another process writes to the index."""


class ReadOnly(TrefoilError):
    """A write was asked of an index that is open to read."""


class ModelMissing(TrefoilError):
    """A model is not where it should be; `trefoil models pull` fetches it."""


class ModelMismatch(TrefoilError):
    """The vectors of the index are of another model."""


class Corrupt(TrefoilError):
    """A file of the index is damaged; `trefoil repair` saves what can be read."""


class DuplicateClaim(TrefoilError):
    """A claim says what another one says already."""


class ContextExpired(TrefoilError):
    """A saved context is too old to be used."""


class EmbeddingFailed(TrefoilError):
    """An embedder could not embed a text. Its own exception is the cause."""


class SearchFailed(TrefoilError):
    """Every retriever of a search failed."""


class Cancelled(TrefoilError):
    """The work was given up by who asked for it."""


class TimedOut(TrefoilError, TimeoutError):
    """The time was up before the work began."""

    __str__ = TrefoilError.__str__


class Closed(TrefoilError):
    """The engine was closed."""


class ForkedError(TrefoilError):
    """The engine belongs to the process that this one is a fork of."""


class Unreachable(TrefoilError, ConnectionError):
    """The server cannot be reached."""

    __str__ = TrefoilError.__str__


_OF_CODE: dict[str, type[TrefoilError]] = {
    "boundary_denied": BoundaryDenied,
    "cancelled": Cancelled,
    "checksum": Corrupt,
    "chunk_missing": NotFound,
    "closed": Closed,
    "context_expired": ContextExpired,
    "corrupt": Corrupt,
    "dimension_mismatch": InvalidInput,
    "duplicate_claim": DuplicateClaim,
    "embedding_failed": EmbeddingFailed,
    "embedding_shape": EmbeddingFailed,
    "forbidden": BoundaryDenied,
    "forked": ForkedError,
    "index_missing": NotFound,
    "locked": Locked,
    "malformed_request": InvalidInput,
    "model_mismatch": ModelMismatch,
    "model_missing": ModelMissing,
    "model_unusable": InvalidInput,
    "not_found": NotFound,
    "policy_missing": NotFound,
    "read_only": ReadOnly,
    "reentered": InvalidInput,
    "search_failed": SearchFailed,
    "timed_out": TimedOut,
    "unauthorized": BoundaryDenied,
    "unknown_claim": NotFound,
    "unknown_retriever": InvalidInput,
    "unreachable": Unreachable,
    "unreadable_document": InvalidInput,
}


def error_of(code: str, message: str, fields: list[tuple[str, str, str]] = []) -> TrefoilError:
    """Return the error of a code; an unknown one gives a plain `TrefoilError`."""
    kind = _OF_CODE.get(code)
    if kind is None:
        kind = InvalidInput if code.startswith("invalid_") else TrefoilError
    return kind(code, message, tuple(Field(*field) for field in fields))


def expect(value: object, kind: type[Any], name: str, allowed: str) -> None:
    """Raise `InvalidInput` for a value of another kind, whatever its annotation promises."""
    if not isinstance(value, kind):
        raise invalid(name, value, allowed)


def listed(values: Iterable[T], name: str, allowed: str) -> list[T]:
    """Return values as a list, or say what cannot be gone through."""
    try:
        return list(values)
    except Exception as error:
        raise invalid(name, values, allowed) from error


def path_text(path: str | os.PathLike[str], name: str) -> str:
    """Return a path of the file system as text, or say what is none."""
    try:
        return os.fsdecode(path)
    except Exception as error:
        raise invalid(name, path, "a path") from error


def invalid(name: str, value: object, allowed: str) -> InvalidInput:
    """Return the error of a value that is not allowed."""
    try:
        shown = repr(value)
    except Exception:
        shown = f"a {type(value).__name__}"
    if len(shown) > 80:
        shown = shown[:80] + "…"
    shown = shown.encode("utf-8", "backslashreplace").decode()
    message = f"`{name}` is {shown}; allowed: {allowed}"
    return InvalidInput("invalid_input", message, (Field(name, shown, allowed),))
