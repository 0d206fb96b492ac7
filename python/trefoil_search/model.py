"""Models of the caller: embedders, rerankers, and vectors that come with the documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, Union, runtime_checkable

from .arrays import Matrix, Vector, matrix, vector
from .errors import expect, path_text

__all__ = ["Embedder", "External", "Model", "Reranker"]


@runtime_checkable
class Embedder(Protocol):
    """What turns texts into vectors.

    It is called from other threads, one call at a time unless it has `thread_safe = True`. It may
    tell by `cosine_range` which cosine counts as unrelated and which as a perfect match; 0 and 1
    otherwise. Its vectors need no length of 1.
    """

    @property
    def name(self) -> str:
        """What the vectors are of; those of another name do not compare."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed_query(self, text: str, /) -> Vector:
        """Return the vector of a question."""
        ...

    def embed_passages(self, texts: list[str], /) -> Matrix:
        """Return the vectors of passages, in their order."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """What reads passages together with a question."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def score(self, question: str, passages: list[str], /) -> Sequence[float]:
        """Return how well each passage answers the question, 0–1."""
        ...


@dataclass(frozen=True, slots=True)
class External:
    """Vectors that come with the documents and the questions.

    `name` says what made them: vectors of another name do not compare. `dimensions` is how many
    numbers each has.
    """

    name: str
    dimensions: int


Model: TypeAlias = Union[str, "os.PathLike[str]", Embedder, External]
Embed: TypeAlias = Callable[[bool, list[str]], Any]


def name_or_folder(model: str | os.PathLike[str], what: str) -> Any:
    """Return how the engine is told of a model that is a name or a folder."""
    if not isinstance(model, str):
        return {"folder": path_text(model, what)}
    if model in ("default", "none"):
        return model
    is_folder = model.startswith(".") or "/" in model or os.sep in model
    return {"folder" if is_folder else "named": model}


def settings_of(model: Model) -> tuple[Any, Embed | None]:
    """Return how the engine is told of a model, and what it calls."""
    if isinstance(model, External):
        return {"external": {"name": model.name, "dimensions": model.dimensions}}, None
    if isinstance(model, (str, os.PathLike)):
        return name_or_folder(model, "model"), None
    allowed = "a name, a folder, `External(…)`, or an object with `name`, `dimensions`, "
    expect(model, Embedder, "model", allowed + "`embed_query` and `embed_passages`")
    low, high = getattr(model, "cosine_range", (0.0, 1.0))
    settings = {
        "name": model.name,
        "dimensions": model.dimensions,
        "threadSafe": bool(getattr(model, "thread_safe", False)),
        "cosineRange": [low, high],
    }
    return {"python": settings}, caller_of(model)


def caller_of(embedder: Embedder) -> Embed:
    """Return what the engine calls to embed texts."""

    def embed(is_question: bool, texts: list[str]) -> Any:
        if is_question and len(texts) == 1:
            return vector(embedder.embed_query(texts[0]), "the vector of the embedder")
        if is_question:
            vectors: Any = [embedder.embed_query(text) for text in texts]
        else:
            vectors = embedder.embed_passages(texts)
        return matrix(vectors, len(texts), "the vectors of the embedder")[0]

    return embed
