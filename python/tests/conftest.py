from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import trefoil_search as trefoil

# Tests tell nobody that they run.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "fixtures" / "corpus"


def examples(page: str) -> list[str]:
    """Return the examples in Python of a page of the documentation."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Where a test may make an index."""
    return tmp_path / "index"


@pytest.fixture
def engine(index: Path) -> Iterator[trefoil.Engine]:
    """An engine without a model."""
    with trefoil.open(index, model="none") as engine:
        yield engine
