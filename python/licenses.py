"""Writes the licences of the crates that are in the wheel: `python python/licenses.py FILE`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CRATE = "trefoil-python"


def linked() -> list[dict[str, Any]]:
    """Return the packages of others that end up in the wheel on any platform."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    told = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    packages = {one["id"]: one for one in told["packages"]}
    needs = {one["id"]: one["deps"] for one in told["resolve"]["nodes"]}
    waiting = [id for id, one in packages.items() if one["name"] == CRATE]
    found: set[str] = set()
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            kinds = ((one["pkg"], {kind["kind"] for kind in one["dep_kinds"]}) for one in needs[id])
            waiting += [package for package, kind in kinds if None in kind]
    others = [packages[id] for id in found if packages[id]["source"]]
    return sorted(others, key=lambda one: (one["name"], one["version"]))


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Go through the licences in the sources of a package."""
    for file in sorted(folder.iterdir()):
        if file.is_file() and file.name.upper().startswith(("LICEN", "COPYING", "NOTICE", "UNLIC")):
            yield file.name, file.read_text(encoding="utf-8", errors="replace").strip()


def main() -> None:
    parts = ["Licences of the crates that are in the wheel.\n"]
    without: list[str] = []
    # Most have the same text: it stands once.
    places: dict[str, str] = {}
    for one in linked():
        name = f"{one['name']} {one['version']}"
        parts.append(f"\n{'=' * 80}\n{name}: {one['license'] or 'see its file'}\n")
        found = list(texts(Path(one["manifest_path"]).parent))
        if not found:
            without.append(name)
        for file, text in found:
            same = places.setdefault(" ".join(text.split()), f"{name}, {file}")
            is_first = same == f"{name}, {file}"
            parts.append(f"\n{file}:\n{text}\n" if is_first else f"\n{file}: as of {same}\n")
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(parts), encoding="utf-8")
    print(f"{len(parts)} parts; without a file of their own: {', '.join(without) or 'none'}")


if __name__ == "__main__":
    main()
