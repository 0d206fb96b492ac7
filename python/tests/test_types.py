"""The types are those of the schemas, and the whole is light to import."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import trefoil_search._native as native

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
