"""Questions as JSON has them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from .errors import expect, listed
from .filters import Where, to_wire

__all__ = ["SearchOptions"]

Language: TypeAlias = Literal["en", "ja", "ko"]
Retriever: TypeAlias = str
Day: TypeAlias = datetime.date | str


class Filters(TypedDict, total=False):
    """Which results are acceptable."""

    where: Where | None
    """What the metadata of a document has to be: `field("year") >= 2020`, or the wire's JSON."""
    languages: Sequence[str] | None
    """Only passages in one of these: `en`, `ja`, `ko`."""
    path_glob: str | None
    """Only documents whose path matches, such as `guide/**/*.md`."""
    tags: Sequence[str] | None
    """Only documents with one of these labels."""
    since: Day | None
    """Only documents from this day on."""
    until: Day | None
    """Only documents to this day."""
    min_relevance: float | None
    """The least score of a result, 0–1; 0 by default."""
    entity_types: Sequence[str] | None
    """Only passages that mention an entity of one of these types."""
    file_ids: Sequence[str] | None
    """Only these documents, by id."""


class SearchOptions(Filters, total=False):
    """How to search. What is left out, or `None`, is as the engine has it."""

    limit: int | None
    """How many results, 1–100; 20 by default."""
    offset: int | None
    """How many results to skip, at most 10,000."""
    cursor: str | None
    """The `next_cursor` of the page before, with the same question."""
    strategies: Sequence[Retriever] | None
    """Which retrievers run: `keyword`, `semantic`, `graph`; all by default."""
    weights: Mapping[Retriever, float] | None
    """The weight of each retriever; they sum to 1."""
    rerank: bool | None
    """Whether the first passages are read together with the question."""
    thorough: bool | None
    """Whether many of them are read, not only the first few: slower."""
    crag: bool | None
    """Whether the evidence is graded and corrected."""
    explain: bool | None
    """Whether each result says how it came to its place."""
    highlights: bool | None
    """Whether results carry what matched."""
    diverse: bool | None
    """Whether results that say the same give way to others."""
    per_file: int | None
    """Most results of one document, 1–100."""
    adjoining: bool | None
    """Whether a passage is a result next to a better one that it adjoins."""
    min_similarity: float | None
    """The least relevance of a hit of the semantic retriever, 0–1."""
    result_types: Sequence[str] | None
    """Which types of results: `chunk`, `entity`, `community`; all by default."""
    timeout_ms: int | None
    """How long the search may take, 1–600,000 ms."""


_FILTERS = {
    "languages": "languages",
    "path_glob": "pathGlob",
    "tags": "tags",
    "min_relevance": "minRelevance",
    "entity_types": "entityTypes",
    "file_ids": "fileIds",
}
_OPTIONS = {
    "limit": "limit",
    "offset": "offset",
    "cursor": "cursor",
    "strategies": "strategies",
    "weights": "weights",
    "rerank": "rerankEnabled",
    "thorough": "thorough",
    "crag": "cragEnabled",
    "explain": "explain",
    "highlights": "includeHighlights",
    "diverse": "diverse",
    "per_file": "perFile",
    "adjoining": "adjoining",
    "min_similarity": "minSimilarity",
    "result_types": "resultTypes",
    "timeout_ms": "timeoutMs",
}
_LISTS = ("languages", "tags", "entity_types", "file_ids", "strategies", "result_types")


def day(value: Day, name: str) -> str:
    """Return a day as JSON has it."""
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    expect(value, str, name, "a `datetime.date`")
    return value


def parts_of(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the filters and the options of a search as JSON has them."""
    filters: dict[str, Any] = {}
    chosen: dict[str, Any] = {}
    days: dict[str, str] = {}
    for name, value in options.items():
        if value is None:
            continue
        if name in _FILTERS:
            filters[_FILTERS[name]] = _names(value, name) if name in _LISTS else value
        elif name in _OPTIONS:
            chosen[_OPTIONS[name]] = _names(value, name) if name in _LISTS else value
        elif name == "where":
            filters["where"] = to_wire(value)
        elif name in ("since", "until"):
            days["start" if name == "since" else "end"] = day(value, name)
        else:
            raise TypeError(f"a search has no option {name!r}")
    if days:
        filters["dateRange"] = days
    return filters, chosen


def _names(value: Any, name: str) -> list[Any]:
    return [value] if isinstance(value, str) else listed(value, name, "a list of names")


def query_of(text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question as JSON has it."""
    expect(text, str, "text", "a question of 1–1,000 characters")
    filters, chosen = parts_of(options)
    return {"text": text, "filters": filters, "options": chosen}
