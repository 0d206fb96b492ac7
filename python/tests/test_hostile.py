"""Whatever is given: an answer, or a typed error."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

import trefoil_search as trefoil
from trefoil_search import Boundary, Document, Engine, External, TrefoilError, field

EXAMPLES = int(os.environ.get("TREFOIL_EXAMPLES", "300"))


class Raises:
    """Raises whatever is asked of it."""

    def __index__(self) -> int:
        raise RuntimeError("index")

    def __float__(self) -> float:
        raise RuntimeError("float")

    def __fspath__(self) -> str:
        raise RuntimeError("fspath")

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("iter")

    def __str__(self) -> str:
        raise RuntimeError("str")

    def __repr__(self) -> str:
        raise RuntimeError("repr")


def circle() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["self"] = made
    return made


def deep() -> list[Any]:
    made: list[Any] = []
    for _ in range(5_000):
        made = [made]
    return made


texts = some.one_of(
    some.text(max_size=30),
    some.sampled_from(
        ["", " ", "\0", "a\0b", "\ud800", "x" * 5_000, "walrus", "\u202e", "{", "%s"]
    ),
)
numbers = some.one_of(
    some.integers(),
    some.floats(),
    some.sampled_from([10**400, -(2**63), 2**64, math.nan, -math.inf, True, 1e300]),
)
odd = some.one_of(
    some.none(),
    some.builds(Raises),
    some.builds(circle),
    some.builds(deep),
    some.binary(max_size=9),
    some.just(object()),
    some.just({1: 2}),
    some.just({(1, 2): 3}),
    some.just({"a": {b"b": 1}}),
)
values = some.recursive(
    some.one_of(texts, numbers, odd),
    lambda inner: some.one_of(
        some.lists(inner, max_size=3), some.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path = tmp_path_factory.mktemp("hostile") / "index"
    with trefoil.open(path, model=trefoil.External("mine", 3)) as engine:
        engine.ingest([Document("walrus", "A walrus.", format="whole", embedding=[1, 0, 0])])
        yield engine


OPTIONS = [
    "where", "languages", "path_glob", "tags", "since", "until", "min_relevance", "entity_types",
    "file_ids", "limit", "offset", "cursor", "strategies", "weights", "rerank", "thorough", "crag",
    "explain", "highlights", "diverse", "per_file", "adjoining", "min_similarity",
    "result_types", "timeout_ms", "embedding",
]  # fmt: skip


def telling(value: Any) -> Callable[[int, int], Any]:
    def told(done: int, total: int) -> Any:
        return value

    return told


def soon(value: Any) -> Any:
    """Whatever is no number: a test waits for nothing."""
    return value if isinstance(value, (str, bytes)) else 0


def other(value: Any) -> Any:
    """Whatever is no part of the path of the document that has to stay, and no list of it."""
    if isinstance(value, (list, dict)):
        members = cast("Iterable[Any]", value)
        return [one for one in members if one != "walrus"]
    return "x" if isinstance(value, str) and "walrus".startswith(value) else value


def nowhere(value: Any) -> Any:
    """Whatever is no path of this machine."""
    return f"/nowhere/{value!r}" if isinstance(value, (str, bytes)) else value


CALLS: dict[str, Callable[[Engine, Any, Any], object]] = {
    "search": lambda e, a, b: e.search(a),
    "search_vector": lambda e, a, b: e.search_vector(a),
    "document": lambda e, a, b: e.document(a),
    "chunk": lambda e, a, b: e.chunk(a),
    "texts": lambda e, a, b: e.texts(a),
    "vectors": lambda e, a, b: e.vectors(a),
    "remove": lambda e, a, b: e.remove(other(a)),
    "remove below": lambda e, a, b: e.remove_below(other(a)),
    "ingest path": lambda e, a, b: e.ingest_path(nowhere(a), prune=b),
    "ingest paths": lambda e, a, b: e.ingest_paths([nowhere(a), nowhere(b)]),
    "progress": lambda e, a, b: e.ingest([Document("x", "text")], progress=telling(a)),
    "callback": lambda e, a, b: e.ingest([Document("x", "text")], progress=a),
    "rows": lambda e, a, b: e.ingest([Document("x", "text", format="whole")], embeddings=a),
    "doctor": lambda e, a, b: e.doctor(sample=a),
    "export": lambda e, a, b: e.export(nowhere(a)),
    "import": lambda e, a, b: Engine.import_(nowhere(a), nowhere(b)),
    "repair": lambda e, a, b: Engine.repair(nowhere(a), model=b),
    "reindex": lambda e, a, b: Engine.reindex(nowhere(a), model=b),
    "subgraph filters": lambda e, a, b: e.subgraph(where=a, tags=b),
    "update": lambda e, a, b: e.update_metadata(a, b),
    "documents": lambda e, a, b: list(e.documents(where=a, limit=3)),
    "entity": lambda e, a, b: e.entity(a, limit=b),
    "subgraph": lambda e, a, b: e.subgraph(a, limit=3),
    "entities": lambda e, a, b: e.entities(limit=a),
    "why_not": lambda e, a, b: e.why_not(a, path=b),
    "plan": lambda e, a, b: e.plan(a),
    "ingest": lambda e, a, b: e.ingest(a),
    "document path": lambda e, a, b: e.ingest([Document(other(a), "text")]),
    "document body": lambda e, a, b: e.ingest([Document("x", a)]),
    "document metadata": lambda e, a, b: e.ingest([Document("x", "text", metadata=a)]),
    "document tags": lambda e, a, b: e.ingest([Document("x", "text", tags=a, date=b)]),
    "document vector": lambda e, a, b: e.ingest([Document("x", "y", format="whole", embedding=a)]),
    "field": lambda e, a, b: e.search("walrus", where=field(a) == b),
    "order": lambda e, a, b: e.search("walrus", where=field("n") > a),
    "among": lambda e, a, b: e.search("walrus", where=field("n").in_(a)),
    "observe": lambda e, a, b: e.memory.observe(a),
    "recall": lambda e, a, b: e.memory.recall(a, boundary=Boundary()),
    "boundary": lambda e, a, b: e.memory.recall("walrus", boundary=Boundary(a, b)),
    "classes": lambda e, a, b: e.memory.find("tea", boundary=Boundary(boundary_classes=a)),
    "episodes": lambda e, a, b: e.memory.episodes(a),
    "forget subject": lambda e, a, b: e.memory.forget(subject=a),
    "forget unit": lambda e, a, b: e.memory.forget(unit=a),
    "forget document": lambda e, a, b: e.memory.forget(document=other(a)),
    "maintain": lambda e, a, b: e.memory.maintain(dry_run=True, with_personal_data=a),
    "policy of": lambda e, a, b: e.memory.policy(a),
    "context": lambda e, a, b: e.memory.context(a, window=b),
    "find": lambda e, a, b: e.memory.find(a, b),
    "feedback": lambda e, a, b: e.memory.feedback([a]),
    "claims": lambda e, a, b: e.memory.insert_claims([a]),
    "record": lambda e, a, b: e.memory.record(a),
    "policy": lambda e, a, b: e.memory.apply_policy(a, dry_run=True),
    "session": lambda e, a, b: e.memory.create_session(a, owner=b),
    "end": lambda e, a, b: e.memory.end_session(a, b),
    "drain": lambda e, a, b: e.drain(timeout=soon(a)),
    "open": lambda e, a, b: trefoil.open(a, read_only=True),
    "model": lambda e, a, b: trefoil.open("/nowhere", model=a, read_only=True),
    "external": lambda e, a, b: trefoil.open("/nowhere", model=External(a, b), read_only=True),
    "reranker": lambda e, a, b: trefoil.open("/nowhere", reranker=a, home=b, read_only=True),
    "home": lambda e, a, b: trefoil.models.list(home=nowhere(a)),
    "pull": lambda e, a, b: trefoil.models.pull(a, home="/nowhere", offline=True),
    "connect": lambda e, a, b: trefoil.connect(a, token=b),
    "threads": lambda e, a, b: trefoil.open("/nowhere", threads=a, profile=b, read_only=True),
}


# What Python itself says of an argument of another type is a typed error too.
TYPED = (TrefoilError, TypeError)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(call=some.sampled_from(sorted(CALLS)), a=values, b=values)
def test_every_call_answers_or_says_why_not(hostile: Engine, call: str, a: Any, b: Any) -> None:
    try:
        CALLS[call](hostile, a, b)
    except TYPED:
        pass
    assert "walrus" in [hit.path for hit in hostile.search("walrus")]


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(option=some.sampled_from(OPTIONS), value=values)
def test_every_option_is_taken_or_refused(hostile: Engine, option: str, value: Any) -> None:
    options: Any = {option: value}
    try:
        hostile.search("walrus", **options)
    except TYPED:
        pass


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=some.data())
def test_arrays_of_every_kind_are_read_or_refused(hostile: Engine, data: some.DataObject) -> None:
    kinds = some.one_of(
        arrays.scalar_dtypes(), some.sampled_from([numpy.dtype("O"), numpy.dtype("V4")])
    )
    kind = data.draw(kinds)
    shape = data.draw(arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    made: Any = numpy.zeros(shape, dtype=kind)
    if kind.kind in "fiub" and made.size:
        made = data.draw(arrays.arrays(kind, shape))
    if made.ndim and data.draw(some.booleans()):
        made = made[::-1]
    try:
        found = hostile.search_vector(made)
        assert made.shape == (3,) and found is not None
    except trefoil.InvalidInput:
        pass
