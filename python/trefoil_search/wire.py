"""JSON as it goes over the boundary."""

from __future__ import annotations

import json
from typing import Any

from .errors import InvalidInput

__all__: list[str] = []


def dumps(value: Any) -> bytes:
    """Return the JSON of a value, or say what cannot be JSON."""
    try:
        return _ENCODER.encode(value).encode()
    except RecursionError:
        reason = "it is nested too deep"
    except InvalidInput:
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
    raise InvalidInput("invalid_input", f"this cannot be written as JSON: {reason}")


def _other(value: Any) -> Any:
    """Return what JSON has for a value that it does not know: dates, numbers of NumPy."""
    isoformat = getattr(value, "isoformat", None)
    if callable(isoformat):
        return isoformat()
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        return item()
    raise TypeError(f"a {type(value).__name__} is no JSON")


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_other
)


def loads(data: bytes) -> Any:
    """Return the value of JSON."""
    return json.loads(data)


def without_none(**fields: Any) -> dict[str, Any]:
    """Return the fields that are given."""
    return {name: value for name, value in fields.items() if value is not None}
