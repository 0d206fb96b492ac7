"""What hits show of themselves."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .types import Hit, Offsets

__all__: list[str] = []


def spans_of(text: str, offsets: list[Offsets]) -> tuple[tuple[int, int], ...]:
    """Return spans of UTF-8 bytes as spans of code points."""
    if text.isascii():
        return tuple((one.start, one.end) for one in offsets)
    data = text.encode()

    def place(byte: int) -> int:
        return len(data[:byte].decode())

    return tuple((place(one.start), place(one.end)) for one in offsets)


def line_of(hit: Hit) -> str:
    """Return a hit in a line."""
    text = " ".join(hit.text.split())
    shown = text if len(text) <= 40 else text[:39] + "…"
    where = f" {hit.path!r}" if hit.path else ""
    return f"<Hit {hit.score:.2f}{where} {shown!r}>"


def table_of(hits: list[Hit]) -> str:
    """Return hits as a table of HTML."""
    rows = "".join(
        f"<tr><td>{hit.score:.2f}</td><td>{html.escape(hit.path)}</td><td>{_marked(hit)}</td></tr>"
        for hit in hits
    )
    head = "<tr><th>score</th><th>path</th><th>text</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _marked(hit: Hit) -> str:
    for highlight in hit.highlights:
        if highlight.field == "text":
            parts: list[str] = []
            end = 0
            for start, stop in highlight.spans:
                parts.append(html.escape(highlight.fragment[end:start]))
                parts.append(f"<mark>{html.escape(highlight.fragment[start:stop])}</mark>")
                end = stop
            return "".join(parts) + html.escape(highlight.fragment[end:])
    return html.escape(hit.text[:150])
