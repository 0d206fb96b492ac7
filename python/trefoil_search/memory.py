"""Governed memory on an engine: observe, remember, recall, forget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import types
from .errors import expect, invalid, listed
from .wire import dumps, loads, without_none

if TYPE_CHECKING:
    from .native import Native

__all__ = ["Boundary", "Memory"]

Scope: TypeAlias = Literal["session", "project", "principle"]
BoundaryClass: TypeAlias = Literal["public", "internal", "pii", "secret"]


@dataclass(frozen=True, slots=True)
class Boundary:
    """What a caller may see of memory: a question can only narrow it.

    What is left out is as by default: all scopes, what is public or internal, for answering a
    task.
    """

    scope: Sequence[Scope] = ("session", "project", "principle")
    allow: Sequence[str] = ("answer:task",)
    boundary_classes: Sequence[BoundaryClass] = ("public", "internal")
    invariants: Sequence[Mapping[str, Any]] = ()

    def to_wire(self) -> dict[str, Any]:
        """Return the boundary as JSON has it."""
        return {
            "scope": listed(self.scope, "scope", "a list of scopes"),
            "allow": listed(self.allow, "allow", "a list of tags"),
            "boundaryClasses": listed(
                self.boundary_classes, "boundary_classes", "a list of boundary classes"
            ),
            "invariants": listed(self.invariants, "invariants", "a list of invariants"),
        }


Query: TypeAlias = str | types.RecallQuery | Mapping[str, Any]


def _query(query: Query) -> dict[str, Any]:
    if isinstance(query, str):
        return {"q": query}
    if isinstance(query, types.RecallQuery):
        return query.to_wire()
    expect(query, Mapping, "query", "a question, or a `RecallQuery`")
    return dict(query)


def _wire(value: Any, kind: type[Any]) -> dict[str, Any]:
    if isinstance(value, kind):
        wire: dict[str, Any] = value.to_wire()
        return wire
    expect(value, Mapping, kind.__name__, f"a `{kind.__name__}`, or its JSON")
    return dict(value)


class Memory:
    """The memory of an engine; `Engine.memory` gives it.

    What it writes is durable when a call returns. What was observed is learnt in the background;
    `Engine.drain` waits for it.
    """

    __slots__ = ("_native",)

    def __init__(self, native: Native) -> None:
        self._native = native

    def observe(
        self, observation: str | types.ObservationDraft | Mapping[str, Any]
    ) -> types.Observation:
        """Store what happened, without what the policy cuts out; a text is a message.

        Raises `BoundaryDenied` for what may not be stored.
        """
        if isinstance(observation, str):
            draft: Any = {"kind": "message", "content": observation}
        else:
            draft = _wire(observation, types.ObservationDraft)
        return types.Observation.from_json(self._answer("observe", draft))

    def recall(self, query: Query, *, boundary: Boundary | None = None) -> types.RecalledClaims:
        """Find claims that answer, within a boundary."""
        return types.RecalledClaims.from_json(self._ask("recall", boundary, query=_query(query)))

    def episodes(self, query: Query, *, boundary: Boundary | None = None) -> types.RecalledEpisodes:
        """Find what was said that answers, within a boundary."""
        asked = {"profile": "episodes", **_query(query)}
        return types.RecalledEpisodes.from_json(self._ask("episodes", boundary, query=asked))

    def context(
        self,
        query: Query,
        *,
        window: int | None = None,
        context: Sequence[str] | None = None,
        boundary: Boundary | None = None,
    ) -> types.PackedContext:
        """Pack what to tell a model, within its window of tokens and a boundary."""
        asked = {"query": _query(query), **without_none(window=window, context=context)}
        return types.PackedContext.from_json(self._ask("context", boundary, request=asked))

    def find(
        self,
        query: Query,
        options: types.FindOptions | Mapping[str, Any] | None = None,
        *,
        boundary: Boundary | None = None,
    ) -> types.FoundUnits:
        """Find units of every kind, within a boundary."""
        chosen: dict[str, Any] = {} if options is None else _wire(options, types.FindOptions)
        return types.FoundUnits.from_json(
            self._ask("find", boundary, query=_query(query), options=chosen)
        )

    def feedback(
        self, feedback: Iterable[types.FeedbackInput | Mapping[str, Any]]
    ) -> list[types.FeedbackOutcome]:
        """Correct claims by what is said of them: all of it, or nothing."""
        inputs = [
            _wire(one, types.FeedbackInput)
            for one in listed(feedback, "feedback", "a list of `FeedbackInput`")
        ]
        return [types.FeedbackOutcome.from_wire(one) for one in self._call("feedback", inputs)]

    def insert_claims(
        self, claims: Iterable[types.ClaimDraft | Mapping[str, Any]]
    ) -> list[types.Claim]:
        """Store claims: all of them, or none. Raises `DuplicateClaim`."""
        drafts = [
            _wire(one, types.ClaimDraft) for one in listed(claims, "claims", "a list of claims")
        ]
        return [types.Claim.from_wire(one) for one in self._call("insertClaims", drafts)]

    def forget(
        self,
        *,
        subject: str | None = None,
        unit: str | None = None,
        document: str | None = None,
    ) -> types.ForgetReceipt:
        """Erase a subject, a unit or a document from every file, and prove it."""
        given = without_none(subject=subject, unit=unit, document=document)
        if len(given) != 1:
            raise invalid("forget", sorted(given), "one of `subject`, `unit` and `document`")
        return types.ForgetReceipt.from_json(self._long("forget", given))

    def maintain(
        self, *, dry_run: bool = False, with_personal_data: bool = False
    ) -> types.MaintenanceReport:
        """Look after memory once: claims fade and age, and what has expired goes."""
        asked = {"dryRun": dry_run, "withPersonalData": with_personal_data}
        return types.MaintenanceReport.from_json(self._long("maintain", asked))

    def record(self, id: str) -> types.UnitRecord | None:
        """Return all that is known of a unit; no boundary is asked."""
        found = self._call("record", {"id": id})
        return None if found is None else types.UnitRecord.from_wire(found)

    def policy(self, version: str | None = None) -> str:
        """Return the policy that holds, or one of a version, as it was written."""
        return str(self._call("policy", {"version": version}))

    def apply_policy(self, yaml: str, *, dry_run: bool = False) -> str:
        """Let a policy hold, or only check it; its version."""
        return str(self._call("applyPolicy", {"yaml": yaml, "dryRun": dry_run}))

    def create_session(self, project_path: str, *, owner: str | None = None) -> types.Session:
        """Begin a session of work on the project in a folder."""
        asked = {"projectPath": project_path, "owner": owner}
        return types.Session.from_json(self._answer("createSession", asked))

    def end_session(self, id: str, summary: str) -> types.Session:
        """End a session with what was done in it."""
        return types.Session.from_json(self._answer("endSession", {"id": id, "summary": summary}))

    def _ask(self, name: str, boundary: Boundary | None, **asked: Any) -> bytes:
        if boundary is not None:
            asked["boundary"] = boundary.to_wire()
        return self._answer(name, asked)

    def _call(self, name: str, arguments: Any) -> Any:
        return loads(self._answer(name, arguments))

    def _answer(self, name: str, arguments: Any) -> bytes:
        return self._native.call(f"memory.{name}", dumps(arguments))

    def _long(self, name: str, arguments: Any) -> bytes:
        return self._native.call_long(f"memory.{name}", dumps(arguments))
