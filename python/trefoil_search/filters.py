"""Conditions on the metadata of documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from .errors import expect, listed

__all__ = ["Condition", "Field", "Where", "field"]

Operator: TypeAlias = Literal["==", "!=", ">", ">=", "<", "<=", "in", "notIn", "contains", "exists"]


class Condition:
    """What the metadata of a document has to be; `&`, `|` and `~` combine conditions."""

    __slots__ = ("_wire",)
    _wire: dict[str, Any]

    def __init__(self, wire: Mapping[str, Any]) -> None:
        self._wire = dict(wire)

    def to_wire(self) -> dict[str, Any]:
        """Return the condition as JSON has it."""
        return self._wire

    def __and__(self, other: Condition) -> Condition:
        return self._joined("and", other)

    def __or__(self, other: Condition) -> Condition:
        return self._joined("or", other)

    def _joined(self, word: str, other: object) -> Condition:
        if not isinstance(other, Condition):
            return NotImplemented  # type: ignore[no-any-return]  # as a method of `&` may
        parts: list[dict[str, Any]] = []
        for one in (self, other):
            parts.extend(one._wire[word] if isinstance(one._wire.get(word), list) else [one._wire])
        return Condition({word: parts})

    def __invert__(self) -> Condition:
        return Condition({"not": self._wire})

    def __bool__(self) -> bool:
        raise TypeError("conditions are combined with `&`, `|` and `~`, not `and`, `or`, `not`")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self._wire == other._wire

    def __hash__(self) -> int:
        return hash(repr(self._wire))

    def __repr__(self) -> str:
        return f"Condition({self._wire!r})"


class Field:
    """A field of the metadata of a document, to be compared with values."""

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        self.name = name

    def _is(self, op: Operator, value: object) -> Condition:
        return Condition({"field": self.name, "op": op, "value": value})

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]
        return self._is("==", value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]
        return self._is("!=", value)

    def __gt__(self, value: float | str) -> Condition:
        return self._is(">", value)

    def __ge__(self, value: float | str) -> Condition:
        return self._is(">=", value)

    def __lt__(self, value: float | str) -> Condition:
        return self._is("<", value)

    def __le__(self, value: float | str) -> Condition:
        return self._is("<=", value)

    def in_(self, values: Iterable[object]) -> Condition:
        """Hold for a value among `values`."""
        return self._is("in", listed(values, "values", "a list of values"))

    def not_in(self, values: Iterable[object]) -> Condition:
        """Hold for a value of the type of one of `values` that is none of them."""
        return self._is("notIn", listed(values, "values", "a list of values"))

    def contains(self, value: object) -> Condition:
        """Hold for a list with `value` in it, or a text with the text `value` in it."""
        return self._is("contains", value)

    def exists(self, exists: bool = True) -> Condition:
        """Hold for a field that is there and not null."""
        return self._is("exists", exists)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"field({self.name!r})"


def field(name: str) -> Field:
    """Return a field of the metadata, with a dot before each key below the first.

    >>> (field("year") >= 2020) & ~field("topics").contains("draft")
    Condition({'and': [{'field': 'year', 'op': '>=', 'value': 2020}, {'not': {'field': 'topics', \
'op': 'contains', 'value': 'draft'}}]})
    """
    expect(name, str, "field", "a name, such as `author.name`")
    return Field(name)


Where: TypeAlias = Condition | Mapping[str, Any]


def to_wire(where: Where) -> Mapping[str, Any]:
    """Return a condition as JSON has it."""
    if isinstance(where, Condition):
        return where.to_wire()
    expect(where, Mapping, "where", "a condition such as `field('year') >= 2020`, or its JSON")
    return where
