"""What frameworks are told of a hit besides its text."""

from __future__ import annotations

from typing import Any

from . import types

__all__: list[str] = []

KEY = "trefoil"
"""The key under which it stands, so that the caller's own keys never collide."""

LEAST_RELEVANCE = 0.3
"""The least score that a retriever of a framework shows, unless it is told otherwise."""


def provenance(hit: types.Hit, result: types.SearchResult) -> dict[str, Any]:
    """Return where a hit comes from and how good it is."""
    about = hit.document
    return {
        "path": hit.path,
        "lines": [about.lines.start, about.lines.end] if about else None,
        "chunk_id": hit.chunk_id,
        "title": hit.title,
        "heading": list(about.heading_path) if about else [],
        "language": hit.language,
        "score": hit.score,
        "answerability": result.answerability,
    }
