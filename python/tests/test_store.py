"""An engine whose rows are in PostgreSQL, shared by several."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

import trefoil_search as trefoil


@pytest.fixture
def store() -> str:
    """The URL of a new index in the database that `tests/postgres/start.py` has started."""
    url = os.environ.get("TREFOIL_POSTGRES")
    if url is None:
        if "TREFOIL_POSTGRES_REQUIRED" in os.environ:
            pytest.fail("TREFOIL_POSTGRES is not set")
        pytest.skip("no database: run it by tests/postgres/start.py")
    url = f"{url}?index={uuid.uuid4().hex}"
    init = [sys.executable, "-m", "trefoil_search", "--store", url, "cluster", "init"]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
    return url


def found(engine: trefoil.Engine, word: str) -> list[str]:
    return [hit.path for hit in engine.search(word, result_types=["chunk"])]


def test_nodes_share_what_is_written_to_any(store: str, tmp_path: Path) -> None:
    with (
        trefoil.open(tmp_path / "one", model="none", store=store) as one,
        trefoil.open(tmp_path / "two", model="none", store=store, role="searcher") as two,
    ):
        one.ingest([trefoil.Document("a.md", "The walrus sleeps on the ice.")])
        two.ingest([trefoil.Document("b.md", "A walrus and a seal.")])
        # What it wrote, an engine sees; what the other wrote, soon.
        assert "b.md" in found(two, "walrus")
        until = time.monotonic() + 30
        while not found(one, "walrus") == found(two, "walrus") == ["b.md", "a.md"]:
            assert time.monotonic() < until
            time.sleep(0.02)
        assert two.remove(["a.md"]) == 1
        assert found(two, "walrus") == ["b.md"]
        # So it is with memory: what the node that leads refuses is the same error here.
        told = two.memory.observe("The walrus likes clams.")
        claim = {"content": "The walrus likes clams.", "origin": {"observed": told.id}}
        two.memory.insert_claims([claim])
        for engine in (one, two):
            assert engine.memory.record(told.id) is not None
        with pytest.raises(trefoil.TrefoilError) as refused:
            two.memory.insert_claims([claim])
        assert refused.value.code == "duplicate_claim"
        receipt = two.memory.forget(document="b.md")
        assert receipt.hits == 0 and receipt.removed["file"] == 1
        assert found(two, "walrus") == []


def test_a_store_that_is_none_or_does_not_answer_is_named(tmp_path: Path) -> None:
    for url, role in (("notes.trefoil", "auto"), ("postgres://db@127.0.0.1/a?index=b", "reader")):
        with pytest.raises(trefoil.InvalidInput):
            trefoil.open(tmp_path / "cache", store=url, role=role)  # type: ignore[arg-type]
    url = "postgres://app:clover@127.0.0.1:1/app?index=notes"
    with pytest.raises(trefoil.TrefoilError) as refused:
        trefoil.open(tmp_path / "cache", model="none", store=url)
    assert refused.value.code == "unavailable"
    assert "clover" not in str(refused.value)
