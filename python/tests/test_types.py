"""The types are those of the schemas, and the whole is light to import."""

from __future__ import annotations

import datetime
import importlib.util
import json
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import trefoil_search._native as native
from trefoil_search import InvalidInput
from trefoil_search.types import READER, ItemMetadata, LineSpan, SearchResult

PYTHON = Path(__file__).parents[1]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_types", PYTHON / "generate_types.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_types_are_made_of_the_schemas() -> None:
    written = (PYTHON / "trefoil_search" / "types.py").read_text(encoding="utf-8")
    made = generator().generated(native.schemas())
    assert written == made, "run `python python/generate_types.py`"


def test_numpy_and_frameworks_are_imported_late() -> None:
    code = (
        "import sys, trefoil_search;"
        "late = {'numpy', 'langchain_core', 'haystack', 'llama_index', 'httpx', 'asyncio'};"
        "print(sorted(late & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout == "[]\n", ended.stderr


METADATA: dict[str, Any] = {
    "headingPath": ["A", "B"],
    "language": "en",
    "lines": {"start": 3, "end": 9},
    "path": "a.md",
    "tags": [],
    "title": "",
}


def test_a_value_is_made_of_what_its_schema_says() -> None:
    made = ItemMetadata.from_wire({**METADATA, "date": "2026-02-28", "of a later version": {}})
    assert made == ItemMetadata(
        ["A", "B"], "en", LineSpan(9, 3), "a.md", [], "", datetime.date(2026, 2, 28), {}
    )
    assert made.to_wire() == {**METADATA, "date": "2026-02-28", "metadata": {}}
    assert ItemMetadata.from_wire(METADATA).date is None
    assert pickle.loads(pickle.dumps(made)) == made and hash(made.lines) == hash(LineSpan(9, 3))
    with pytest.raises(AttributeError):
        made.title = "changed"  # type: ignore[misc]


@pytest.mark.parametrize("name", METADATA)
def test_what_is_missing_is_named(name: str) -> None:
    wire = {key: value for key, value in METADATA.items() if key != name}
    with pytest.raises(InvalidInput, match=f"`ItemMetadata` needs `{name}`"):
        ItemMetadata.from_wire(wire)


@pytest.mark.parametrize("json", [b"", b"{", b"\xff", b'{"lines": {}}', b"null", b"[]", b"7"])
def test_what_is_no_answer_is_refused(json: bytes) -> None:
    with pytest.raises(InvalidInput):
        SearchResult.from_json(json)


def test_a_class_that_is_not_of_the_schemas_is_refused() -> None:
    for other in (int, list, type("Hit", (), {})):
        with pytest.raises(TypeError):
            READER.read(other, b"{}")
    for rows in (
        [("start", "start", None, None), ("missing", "missing", None, None)],
        [("to_wire", "start", None, None)],
        [("start", "start", 7, None)],
        [("start", "start", None, 7)],
    ):
        with pytest.raises((TypeError, AttributeError)):
            native.Reader([(LineSpan, rows)])  # type: ignore[list-item]


PLAIN = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-(2**63), 2**64 - 1)
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(),
    lambda parts: some.lists(parts) | some.dictionaries(some.text(), parts),
    max_leaves=20,
)


# How fast a machine is does not matter.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(some.dictionaries(some.text(), PLAIN))
def test_fields_of_the_callers_own_are_those_of_json(metadata: dict[str, Any]) -> None:
    made = ItemMetadata.from_wire({**METADATA, "metadata": metadata})
    assert made.metadata == json.loads(json.dumps(metadata))
    assert all(type(made.metadata[name]) is type(one) for name, one in metadata.items())
