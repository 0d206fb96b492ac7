"""Documents as they go into an engine."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .arrays import Matrix, Vector, matrix, vector
from .errors import expect, invalid, listed
from .query import day

__all__ = ["Document"]

Format: TypeAlias = Literal["text", "markdown", "code", "records", "whole"]


@dataclass(frozen=True, slots=True)
class Document:
    """A text under a path of the caller's choosing.

    `path` is its key, unique within an index; `/` separates folders. `format` says how the body
    is cut: `whole` is one passage, kept to the byte. `metadata`, at most 16 KiB of JSON, comes
    back with results and is filtered by. `embedding` is its vector, where the vectors are the
    caller's and the format is `whole`.
    """

    path: str
    body: str
    title: str = ""
    format: Format = "text"
    language: str | None = None
    tags: Sequence[str] = ()
    date: datetime.date | str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    embedding: Vector | None = field(default=None, repr=False, compare=False)

    def to_wire(self) -> dict[str, Any]:
        """Return the document as JSON has it, without its vector."""
        expect(self.metadata, Mapping, "metadata", "a mapping of names to values")
        if isinstance(self.tags, str):
            raise invalid("tags", self.tags, "a list of labels")
        wire: dict[str, Any] = {
            "path": self.path,
            "body": self.body,
            "title": self.title,
            "format": self.format,
            "language": self.language,
            "tags": listed(self.tags, "tags", "a list of labels"),
            "date": None if self.date is None else day(self.date, "date"),
        }
        if self.metadata:
            wire["metadata"] = dict(self.metadata)
        return wire


def with_vectors(
    documents: Iterable[Document], embeddings: Matrix | None
) -> tuple[list[dict[str, Any]], Any, list[int]]:
    """Return documents as JSON has them, the vectors of some, and the places of those."""
    allowed = "documents, such as `Document(path, body)`"
    if isinstance(documents, Document):
        documents = [documents]
    given = listed(documents, "documents", allowed)
    for one in given:
        expect(one, Document, "documents", allowed)
    wires = [one.to_wire() for one in given]
    if embeddings is not None:
        if any(one.embedding is not None for one in given):
            raise invalid("embeddings", "given twice", "vectors of the documents, or `embeddings`")
        return wires, matrix(embeddings, len(given), "embeddings")[0], list(range(len(given)))
    own = [(place, one.embedding) for place, one in enumerate(given) if one.embedding is not None]
    if not own:
        return wires, None, []
    rows = [vector(one, f"the embedding of document {place}") for place, one in own]
    return wires, matrix(rows, len(rows), "the embeddings")[0], [place for place, _ in own]
