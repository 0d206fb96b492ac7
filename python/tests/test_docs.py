"""The examples of the documentation run as they stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import examples

PAGES = ["README.md", "docs/PYTHON.md"]


EXAMPLES = {
    f"{page}-{n}{'-langchain' if 'langchain' in code else ''}": code
    for page in PAGES
    for n, code in enumerate(examples(page))
}


@pytest.mark.parametrize("code", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_runs(code: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "notes.md").write_text("# Notes\n\nThe walrus sleeps.\n")
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    if "print(" in code:
        assert "天気.md" in ended.stdout
