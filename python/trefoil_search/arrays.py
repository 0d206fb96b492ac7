"""Vectors on their way to and from the engine. NumPy is used where it is, and not needed."""

from __future__ import annotations

import array
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from ._native import are_finite
from .errors import invalid, listed

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
    Vectors: TypeAlias = NDArray[numpy.float32] | list[list[float]]

__all__ = ["Matrix", "Vector"]

Vector: TypeAlias = Union[Sequence[float], "Array"]
Matrix: TypeAlias = Union[Sequence[Sequence[float]], Sequence["Array"], "Array"]

_NUMBERS = "a one-dimensional sequence of finite numbers"


def _numpy() -> Any:
    """Return NumPy if somebody has imported it."""
    if sys.modules.get("numpy") is None:
        return None
    try:
        # Another thread may be about to: this waits until it is done.
        import numpy
    except ImportError:
        return None
    return numpy


def vector(value: Any, name: str) -> Any:
    """Return a contiguous buffer of `float32`; that of the value itself if it is one."""
    numpy = _numpy()
    if numpy is not None and (isinstance(value, numpy.ndarray) or hasattr(value, "__array__")):
        return _of_numpy(numpy, value, name, dimensions=1)
    if isinstance(value, (str, bytes, bytearray)) or not hasattr(value, "__iter__"):
        raise invalid(name, value, _NUMBERS)
    try:
        numbers = array.array("f", value if type(value) in (list, tuple) else iter(value))
    except Exception as error:
        raise invalid(name, value, _NUMBERS) from error
    if not numbers or not are_finite(numbers):
        raise invalid(name, value, _NUMBERS)
    return numbers


def _of_numpy(numpy: Any, value: Any, name: str, dimensions: int) -> Any:
    shape = "one-dimensional" if dimensions == 1 else "two-dimensional"
    allowed = f"a {shape} array of finite numbers"
    try:
        given = value if type(value) is numpy.ndarray else numpy.asarray(value)
        if given.ndim != dimensions or given.dtype.kind not in "fiub":
            raise invalid(name, f"of shape {given.shape} and type {given.dtype}", allowed)
        if given.dtype == numpy.float32 and given.flags.c_contiguous:
            numbers = given
        else:
            with numpy.errstate(over="ignore"):
                numbers = numpy.ascontiguousarray(given, dtype=numpy.float32)
        finite = not numbers.size or are_finite(numbers)
    except (TypeError, ValueError, OverflowError) as error:
        if hasattr(error, "code"):
            raise
        raise invalid(name, value, allowed) from error
    if not numbers.size:
        raise invalid(name, f"of shape {numbers.shape}", allowed)
    if not finite:
        raise invalid(name, "NaN or an infinity", allowed)
    return numbers


def matrix(value: Any, rows: int, name: str) -> tuple[Any, int]:
    """Return a contiguous buffer of `float32` with so many rows, and how long a row is."""
    numpy = _numpy()
    if numpy is not None and isinstance(value, numpy.ndarray):
        if rows == 0 and value.size == 0:
            return array.array("f"), 0
        numbers = _of_numpy(numpy, value, name, dimensions=2)
        if numbers.shape[0] != rows:
            raise invalid(name, f"of {numbers.shape[0]} rows", f"{rows} rows, one for each text")
        return numbers, int(numbers.shape[1])
    given = listed(value, name, f"{rows} rows of numbers")
    if len(given) != rows:
        raise invalid(name, f"of {len(given)} rows", f"{rows} rows, one for each text")
    numbers = array.array("f")
    length = 0
    for place, row in enumerate(given):
        one = vector(row, f"{name}[{place}]")
        if place and len(one) != length:
            raise invalid(f"{name}[{place}]", f"of length {len(one)}", f"of length {length}")
        length = len(one)
        numbers.frombytes(memoryview(one).cast("B"))
    return numbers, length


def rows_of(data: bytearray, rows: int) -> Vectors:
    """Return vectors as an array, or as lists without NumPy."""
    try:
        import numpy
    except ImportError:
        numbers = array.array("f", bytes(data)).tolist()
        length = len(numbers) // rows if rows else 0
        return [numbers[place * length : (place + 1) * length] for place in range(rows)]
    values = numpy.frombuffer(data, dtype=numpy.float32)
    return values.reshape(rows, -1) if rows else values.reshape(0, 0)
