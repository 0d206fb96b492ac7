"""Engines that stores open when they first need them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .engine import Engine

__all__: list[str] = []


class Opening:
    """An engine that is opened when it is first needed, by one of the threads that need it.

    Copied and pickled it is not open.
    """

    __slots__ = ("_engine", "_lock")

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def engine(self, open: Callable[[], Engine]) -> Engine:
        """Return the engine, opened if it is not."""
        engine = self._engine
        if engine is None:
            with self._lock:
                engine = self._engine
                if engine is None:
                    engine = self._engine = open()
        return engine

    def close(self) -> None:
        """Close the engine, which is opened again when it is needed."""
        with self._lock:
            engine, self._engine = self._engine, None
            if engine is not None:
                engine.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Opening, ())
