"""Makes `trefoil_search/types.py` of the JSON Schemas of the native half.

`python python/generate_types.py` writes it; a test makes it again and compares.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TARGET = HERE / "trefoil_search" / "types.py"

HEAD = '''"""What goes into an engine and comes out of it, one class for each schema.

Made by `python/generate_types.py`; do not change it by hand.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as _field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from ._native import Reader
from .hits import line_of, spans_of, table_of
from .wire import dumps

if TYPE_CHECKING:
    from typing import Self

'''

BASE = '''

class Value:
    """A value that goes over the boundary as JSON."""

    __slots__ = ()

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> Self:
        """Return what JSON says."""
        return cls.from_json(dumps(wire))

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Return what the bytes of JSON say."""
        return READER.read(cls, data)
'''

# Names that read better in Python.
CLASSES = {"SearchResultItem": "Hit"}
FIELDS = {("Hit", "metadata"): "document"}

# What conditions are made of: `filters.py` makes them.
LEFT_OUT = {"All", "Any", "Comparison", "Not", "Operator"}

# Short ways, by class.
WAYS = {
    "Highlight": '''
    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """What matched, as half-open spans of code points of `fragment`."""
        return spans_of(self.fragment, self.offsets)
''',
    "Hit": '''
    @property
    def text(self) -> str:
        """What it says."""
        return self.content.text

    @property
    def path(self) -> str:
        """The path of its document; empty for what is no passage."""
        return self.document.path if self.document else ""

    @property
    def title(self) -> str:
        """The title of its document, else the last part of the path, else its id."""
        if not self.document:
            return self.id
        return self.document.title or self.document.path.rsplit("/", 1)[-1]

    @property
    def lines(self) -> LineSpan | None:
        """The lines of the passage in its document."""
        return self.document.lines if self.document else None

    @property
    def language(self) -> Language | None:
        """The language of the passage."""
        return self.document.language if self.document else None

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that its document was given."""
        return self.document.metadata if self.document else {}

    @property
    def chunk_id(self) -> str | None:
        """The id of the passage, if it is one."""
        return self.sources.chunk_id

    def __repr__(self) -> str:
        return line_of(self)
''',
    "SearchResult": """
    def __iter__(self) -> Iterator[Hit]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> list[Hit]: ...
    def __getitem__(self, place: int | slice) -> Hit | list[Hit]:
        return self.results[place]

    def __repr__(self) -> str:
        best = f", best {line_of(self.results[0])}" if self.results else ""
        return f"<SearchResult {len(self.results)} of {self.total_count}{best}>"

    def _repr_html_(self) -> str:
        return table_of(self.results)
""",
}


class Types:
    """The types of all schemas, by name."""

    def __init__(self, schemas: dict[str, dict[str, Any]]) -> None:
        # What is only taken follows what is given.
        every = {**schemas["taken"], **schemas["given"]}
        self.schemas = {name: one for name, one in every.items() if name not in LEFT_OUT}

    def text(self) -> str:
        """Return the module."""
        aliases = [name for name in self.schemas if not self.is_class(name)]
        classes = [name for name in self.schemas if self.is_class(name)]
        named = sorted([class_of(name) for name in classes] + aliases)
        lines = [HEAD, "__all__ = [\n", *(f'    "{name}",\n' for name in named), "]\n\n"]
        lines += [self.alias(name) for name in sorted(aliases)]
        lines.append(BASE)
        lines += [self.dataclass(name) for name in sorted(classes)]
        lines.append(self.reader(classes))
        return "".join(lines)

    def reader(self, classes: list[str]) -> str:
        """Return what makes instances of the classes: the first is that of an answer."""
        lines = ["\n\nREADER = Reader(\n    [\n"]
        for name in sorted(classes, key=lambda one: (one != "SearchResult", one)):
            lines.append(f"        ({class_of(name)}, [\n")
            lines += [f"            {row},\n" for row in self.rows(name)]
            lines.append("        ]),\n")
        lines.append('    ]\n)\n"""What makes objects of JSON."""\n')
        return "".join(lines)

    def rows(self, name: str) -> Iterator[str]:
        """Go through the fields as `Reader` takes them."""
        for python, wire, one, required in self.fields(name):
            missing = "None"
            if required:
                missing = "..."
            elif not self.is_nullable(one):
                missing = self.empty(one) or "None"
            yield f'("{python}", "{wire}", {self.kind(one)}, {missing})'
        others = others_of(self.schemas[name])
        if others is not None:
            yield f'("others", "", {self.kind(others)}, None)'

    def kind(self, schema: Any) -> str:
        """Return what a value of JSON becomes, as `Reader` takes it."""
        if not isinstance(schema, dict):
            return "None"
        there = self.there(schema)
        if there is not schema:
            return self.kind(there)
        if "anyOf" in schema:
            return "None"
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            return class_of(name) if self.is_class(name) else self.kind(self.schemas[name])
        kinds = schema.get("type")
        if kinds == "array":
            one = self.kind(schema.get("items"))
            return "None" if one == "None" else f"[{one}]"
        if kinds == "object" and (others := others_of(schema)) is not None:
            one = self.kind(others)
            return "None" if one == "None" else f"({one},)"
        if kinds == "string" and schema.get("format") == "date":
            return "datetime.date"
        return "None"

    def is_class(self, name: str) -> bool:
        return bool(self.schemas[name].get("properties"))

    def alias(self, name: str) -> str:
        schema = self.schemas[name]
        told = comment(schema)
        return f"{name}: TypeAlias = {self.type_of(schema, quoted=True)}\n{told}"

    def type_of(self, schema: Any, quoted: bool = False) -> str:
        """Return the type of a schema."""
        if not isinstance(schema, dict):
            return "Any"
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            found = class_of(name)
            return f'"{found}"' if quoted else found
        constants = [one["const"] for one in schema.get("oneOf", []) if "const" in one]
        if constants and len(constants) == len(schema["oneOf"]):
            return f"Literal[{', '.join(json.dumps(one) for one in constants)}]"
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(one) for one in schema['enum'])}]"
        if "const" in schema:
            return f"Literal[{json.dumps(schema['const'])}]"
        there = self.there(schema)
        if there is not schema:
            return f"{self.type_of(there, quoted)} | None"
        if "anyOf" in schema or "oneOf" in schema:
            return "dict[str, Any]"
        kinds = schema.get("type")
        if kinds == "array":
            return f"list[{self.type_of(schema.get('items'), quoted)}]"
        if kinds == "object":
            return f"dict[str, {self.type_of(others_of(schema), quoted)}]"
        if kinds == "string" and schema.get("format") == "date":
            return "datetime.date"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(
            kinds, "Any"
        )

    def write(self, schema: Any, value: str) -> str:
        """Return the expression that makes JSON of a value."""
        if not isinstance(schema, dict):
            return value
        there = self.there(schema)
        if there is not schema:
            plain = self.write(there, value)
            return value if plain == value else f"None if {value} is None else {plain}"
        if "anyOf" in schema:
            return value
        kinds = schema.get("type")
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            if self.is_class(name):
                return f"{value}.to_wire()"
            return self.write(self.schemas[name], value)
        if kinds == "array":
            one = self.write(schema.get("items"), "one")
            return value if one == "one" else f"[{one} for one in {value}]"
        if kinds == "object" and (others := others_of(schema)) is not None:
            one = self.write(others, "one")
            return value if one == "one" else f"{{key: {one} for key, one in {value}.items()}}"
        if kinds == "string" and schema.get("format") == "date":
            return f"{value}.isoformat()"
        return value

    def fields(self, name: str) -> Iterator[tuple[str, str, dict[str, Any], bool]]:
        """Go through the fields: names in Python and JSON, schema, whether it has to be there."""
        schema = self.schemas[name]
        required = schema.get("required", [])
        ordered = sorted(schema["properties"].items(), key=lambda item: item[0] not in required)
        for wire, one in ordered:
            found = FIELDS.get((class_of(name), wire)) or python_name(wire)
            yield found, wire, one, wire in required

    def is_nullable(self, schema: dict[str, Any]) -> bool:
        nulls = [one for one in schema.get("anyOf", []) if one.get("type") == "null"]
        return bool(nulls) or "null" in schema.get("type", [])

    def empty(self, schema: dict[str, Any]) -> str | None:
        """Return what makes an empty list or mapping."""
        schema = self.resolved(schema)
        if schema.get("type") in ("array", "object") and not schema.get("properties"):
            return {"array": "list", "object": "dict"}[schema["type"]]
        return None

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return what a reference leads to."""
        if "$ref" in schema:
            return self.schemas[schema["$ref"].rsplit("/", 1)[-1]]
        return schema

    def there(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of a value that is not null."""
        parts = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
        if len(parts) == 1:
            return parts[0]
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return {**schema, "type": next(one for one in kinds if one != "null")}
        return schema

    def dataclass(self, name: str) -> str:
        schema = self.schemas[name]
        found = class_of(name)
        ways = WAYS.get(found, "")
        shown = "" if "__repr__" not in ways else ", repr=False"
        lines = [f"\n\n@dataclass(frozen=True, slots=True{shown})\nclass {found}(Value):\n"]
        description = " ".join(schema.get("description", found).split())
        lines.append(f'    """{plain(description)}"""\n\n')
        writes, optional = [], []
        for python, wire, one, required in self.fields(name):
            annotation = self.type_of(one)
            empty = self.empty(one)
            if required:
                lines.append(f"    {python}: {annotation}\n")
                writes.append((wire, self.write(one, f"self.{python}")))
            elif empty and not self.is_nullable(one):
                made = self.type_of(self.resolved(one), quoted=True)
                lines.append(f"    {python}: {annotation} = _field(default_factory={made})\n")
                writes.append((wire, self.write(one, f"self.{python}")))
            else:
                is_nullable = annotation.endswith("| None")
                lines.append(
                    f"    {python}: {annotation}{'' if is_nullable else ' | None'} = None\n"
                )
                optional.append((wire, python, self.write(self.there(one), f"self.{python}")))
            lines.append(comment(one, "    "))
        others = others_of(schema)
        if others is not None:
            kind = f"dict[str, {self.type_of(others)}]"
            lines.append(f"    others: {kind} = _field(default_factory={kind})\n")
        lines.append(ways)
        lines.append("\n    def to_wire(self) -> dict[str, Any]:\n")
        lines.append('        """Return it as JSON has it."""\n')
        required_part = ", ".join(f'"{wire}": {value}' for wire, value in writes)
        spread = "**self.others, " if others is not None else ""
        lines.append(f"        wire: dict[str, Any] = {{{spread}{required_part}}}\n")
        for wire, python, value in optional:
            lines.append(
                f'        if self.{python} is not None:\n            wire["{wire}"] = {value}\n'
            )
        lines.append("        return wire\n")
        return "".join(lines)


def others_of(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return what values of an object are that no field has, if any: those of all names, or of
    the names of a pattern.
    """
    others = [schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()]
    return next((one for one in others if isinstance(one, dict)), None)


def class_of(name: str) -> str:
    return CLASSES.get(name, name)


def python_name(wire: str) -> str:
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", wire).lower()
    return f"{snake}_" if keyword.iskeyword(snake) else snake


def plain(text: str) -> str:
    """Return a description without the links of Rust."""
    text = re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", text)
    return text.replace("\\", "\\\\").replace('"""', "'''")


def comment(schema: Any, indent: str = "") -> str:
    text = schema.get("description", "") if isinstance(schema, dict) else ""
    text = plain(" ".join(text.split()))
    return f'{indent}"""{text}"""\n' if text else ""


def generated(schemas: bytes) -> str:
    """Return the module that these schemas make."""
    return Types(json.loads(schemas)).text()


if __name__ == "__main__":
    import importlib.util
    import sys

    native = next((HERE / "trefoil_search").glob("_native*.so"), None)
    if native is None:
        found = importlib.util.find_spec("trefoil_search._native")
        native = Path(found.origin) if found and found.origin else None
    if native is None:
        sys.exit("build the native half first: `just python-build`")
    spec = importlib.util.spec_from_file_location("_native", native)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    TARGET.write_text(generated(module.schemas()), encoding="utf-8")
