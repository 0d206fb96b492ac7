"""Models on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from . import types
from ._native import models as _models
from .errors import path_text
from .wire import dumps, loads

__all__ = ["list", "pull"]


def pull(
    *names: str,
    home: str | os.PathLike[str] | None = None,
    offline: bool = False,
    progress: Callable[[int, int], bool | None] | None = None,
) -> Sequence[types.ModelInfo]:
    """Fetch models by name, or the default ones, and return what there is.

    `progress` is called with the bytes that are done, and how many there are, of one step after
    the other.
    """
    return _answer({"home": _path(home), "pull": names, "offline": offline}, progress)


def list(*, home: str | os.PathLike[str] | None = None) -> Sequence[types.ModelInfo]:
    """Return the models that there are, here or to be fetched."""
    return _answer({"home": _path(home)}, None)


def _path(home: str | os.PathLike[str] | None) -> str | None:
    return None if home is None else path_text(home, "home")


def _answer(asked: dict[str, Any], progress: Any) -> Sequence[types.ModelInfo]:
    return tuple(types.ModelInfo.from_wire(one) for one in loads(_models(dumps(asked), progress)))
