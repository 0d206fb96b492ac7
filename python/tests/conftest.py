from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trefoil_search as trefoil

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "fixtures" / "corpus"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Where a test may make an index."""
    return tmp_path / "index"


@pytest.fixture
def engine(index: Path) -> Iterator[trefoil.Engine]:
    """An engine without a model."""
    with trefoil.open(index, model="none") as engine:
        yield engine
