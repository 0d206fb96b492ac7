"""What goes into an engine and comes out of it, one class for each schema.

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

__all__ = [
    "ActiveContext",
    "Affect",
    "AffectLabel",
    "AllowTag",
    "Answerability",
    "BoundaryClass",
    "ByteSpan",
    "Check",
    "CheckResult",
    "ChunkId",
    "ChunkInContext",
    "ChunkLevel",
    "Claim",
    "ClaimDraft",
    "ClaimEvidence",
    "ClaimId",
    "ClaimKind",
    "ClaimScores",
    "Community",
    "CommunityId",
    "Condition",
    "Content",
    "ContentHash",
    "ContextId",
    "ContextItem",
    "ContextNote",
    "ContextPack",
    "ContextRequest",
    "Correction",
    "CorrectionOutcome",
    "CragAction",
    "CragBasis",
    "CragPlan",
    "CragRelevance",
    "CragReport",
    "CragScore",
    "Cursor",
    "DateRange",
    "Degraded",
    "Document",
    "DocumentFormat",
    "Duration",
    "Embedding",
    "EngineStats",
    "EntityFacet",
    "EntityFacts",
    "EntityId",
    "EntityType",
    "EntityView",
    "EpistemicStatus",
    "EvidenceId",
    "EvidenceMethod",
    "Explanation",
    "Feedback",
    "FeedbackId",
    "FeedbackInput",
    "FeedbackOutcome",
    "FeedbackSignal",
    "FileId",
    "FileInfo",
    "FindOptions",
    "Finding",
    "ForgetReceipt",
    "FoundUnits",
    "Fusion",
    "GitProvenance",
    "HealthReport",
    "Highlight",
    "Hit",
    "Importance",
    "Ingested",
    "ItemMetadata",
    "JobCounts",
    "Kept",
    "KeyEvent",
    "Language",
    "Layer",
    "LineSpan",
    "LinkedClaim",
    "Lost",
    "MaintenanceAction",
    "MaintenanceReport",
    "MaintenanceStep",
    "MemoryEntity",
    "MemoryRelation",
    "Metadata",
    "ModelInfo",
    "NamedEntity",
    "Observation",
    "ObservationDraft",
    "ObservationId",
    "ObservationKind",
    "Offsets",
    "Origin",
    "OutOfReach",
    "PackItem",
    "PackSection",
    "PackedContext",
    "PathStep",
    "Plan",
    "PlannedRetriever",
    "PolicyVersion",
    "Proof",
    "Provenance",
    "QueryClassification",
    "QueryRewrite",
    "QueryText",
    "QueryType",
    "Question",
    "Rating",
    "RecallProfile",
    "RecallQuery",
    "RecalledClaims",
    "RecalledEpisode",
    "RecalledEpisodes",
    "RecordedEvent",
    "Reflection",
    "ReflectionReason",
    "RelatedEntity",
    "RelatedUnit",
    "RelationId",
    "RelationType",
    "RelationView",
    "RelationshipPath",
    "Relevance",
    "RepairReport",
    "Requester",
    "RerankPlan",
    "RetrieverHit",
    "RetrieverId",
    "RetrieverMetric",
    "RetrieverMetrics",
    "RrfConfig",
    "Salvaged",
    "ScannedFile",
    "Scope",
    "Score",
    "ScoreBreakdown",
    "ScoredClaim",
    "ScoringParams",
    "SearchFilters",
    "SearchOptions",
    "SearchQuery",
    "SearchResult",
    "SearchResultType",
    "SearchStrategy",
    "SearchWeights",
    "SectionKind",
    "Seen",
    "Selection",
    "Seq",
    "Session",
    "SessionId",
    "SharedErasure",
    "SharedLoop",
    "SharedState",
    "Skipped",
    "Snapshot",
    "SourcePassage",
    "SourceTag",
    "SourceType",
    "Sources",
    "Stage",
    "StageMetric",
    "StagePlace",
    "StoredChunk",
    "StoredDocument",
    "Subgraph",
    "SubgraphEdge",
    "SubgraphNode",
    "SummaryBody",
    "TableSaved",
    "Tags",
    "Trust",
    "Ttl",
    "UncleanNode",
    "UnitId",
    "UnitKind",
    "UnitRecord",
    "UnitState",
    "Verification",
    "View",
    "WebMetadata",
    "WebPage",
    "WeightedTerm",
]

AffectLabel: TypeAlias = Literal["joy", "sadness", "anger", "fear", "neutral"]
"""A feeling, as coarse as rules can tell it."""
AllowTag: TypeAlias = str
"""What a request says of itself (`answer:task`, `tool:calendar`), or a pattern of such tags: `*` is all of them, and a `*` at the end any that begin so."""
Answerability: TypeAlias = Literal["supported", "partial", "unsupported", "uncalibrated"]
"""Whether the corpus answers a question."""
BoundaryClass: TypeAlias = Literal["public", "internal", "pii", "secret"]
"""Who may see a unit, from everybody to nobody. What is derived takes the maximum of its sources, and no class is ever lowered."""
Check: TypeAlias = dict[str, Any]
"""A check of the doctor."""
ChunkId: TypeAlias = str
"""A chunk: a hash of its file, heading path, text and occurrence, so that indexing the same text again gives the same id."""
ChunkLevel: TypeAlias = Literal["leaf", "parent"]
"""The role of a chunk."""
ClaimId: TypeAlias = str
"""A claim: something that is held to be so."""
ClaimKind: TypeAlias = Literal["fact", "preference", "task", "policy_hint"]
"""What a claim says."""
CommunityId: TypeAlias = str
"""A community of entities."""
Condition: TypeAlias = dict[str, Any]
"""A condition on the `Metadata` of a document. A field that is missing is null. Values of unlike types match no comparison, `!=` included; null, numbers, strings, booleans, lists and objects are unlike each other. Two strings that are both times of RFC 3339 compare as instants. ``` use trefoil_core::{Condition, Metadata}; let condition: Condition = serde_json::from_str( r#"{"and": [ {"field": "price.eur", "op": "<=", "value": 20}, {"not": {"field": "topics", "op": "contains", "value": "draft"}} ]}"#, )?; let metadata: Metadata = serde_json::from_str(r#"{"price": {"eur": 19.5}, "topics": ["rain"]}"#)?; assert!(condition.admits(&metadata)); # Ok::<(), serde_json::Error>(()) ```"""
ContentHash: TypeAlias = str
"""What a text says, whatever its spaces: equal hashes are one claim. `sha256:` and 64 hexadecimal digits of the text after NFC, with runs of white space (line ends too) as one space and none at the ends. ``` use trefoil_memory_core::ContentHash; assert_eq!(ContentHash::of("Owls \\r\\n hunt."), ContentHash::of(" Owls hunt.")); ```"""
ContextId: TypeAlias = str
"""What one recall brought, as it was saved."""
ContextNote: TypeAlias = dict[str, str]
"""The circumstances of an observation: short texts by name, such as `place` and `at the desk`. ``` use trefoil_memory_core::ContextNote; let note = ContextNote::new([("place", "at the desk"), ("screen", "the calendar")])?; assert_eq!(note.get("place"), Some("at the desk")); assert!(ContextNote::new([("Place", "at the desk")]).is_err()); # Ok::<(), trefoil_core::Error>(()) ```"""
Correction: TypeAlias = Literal["feedback", "neighbours", "graph", "fuzzy", "languages"]
"""A way to find more where the evidence is weak."""
CragAction: TypeAlias = Literal["keep", "refine", "expand", "discard", "web_search"]
"""What grading did with the evidence."""
CragBasis: TypeAlias = Literal["rerank", "retrieved"]
"""What the scores that were graded are."""
CragRelevance: TypeAlias = Literal["correct", "ambiguous", "incorrect"]
"""How relevant the evidence is."""
Cursor: TypeAlias = str
"""Where a page of results ended, to go on from there: to a caller, opaque text. It names an item by its place in the order, not by a number, so that items of equal score are neither shown twice nor left out, and what was added above since does not push shown items onto the next page."""
DocumentFormat: TypeAlias = Literal["text", "markdown", "code", "records", "whole"]
"""How a document's body is written, which decides how it is cut into chunks."""
Embedding: TypeAlias = list[float]
"""A vector of a question or a document: finite and not all zero. Its length is checked against the index."""
EntityId: TypeAlias = str
"""An entity of the graph."""
EntityType: TypeAlias = str
"""What an entity is: a label in capitals, from the core list or free."""
EpistemicStatus: TypeAlias = Literal["unknown", "inferred", "verified"]
"""What is known of whether a claim is so."""
EvidenceId: TypeAlias = str
"""What speaks for a claim."""
EvidenceMethod: TypeAlias = Literal["rule", "llm", "manual"]
"""How it was found that something speaks for a claim."""
FeedbackId: TypeAlias = str
"""What somebody said of a claim's worth."""
FeedbackSignal: TypeAlias = Literal["helpful", "harmful", "outdated", "duplicate"]
"""What somebody says of a claim that was recalled."""
FileId: TypeAlias = str
"""A file or document: a hash of its path."""
Fusion: TypeAlias = str
"""How lists become one. On the wire it is its [name](Self::name)."""
Importance: TypeAlias = Literal["S0", "S1", "S2", "S3"]
"""How much is lost with a claim, from the most."""
Language: TypeAlias = Literal["en", "ja", "ko"]
"""The languages that the engine analyses with care. Text in any other language that is written in Latin, Greek or Cyrillic letters is treated like English."""
Layer: TypeAlias = int
"""How much is told of what was found, from the least."""
MaintenanceAction: TypeAlias = Literal["downgraded", "summarized", "consolidated", "discarded", "scrubbed", "removed", "kept"]
"""What was done to a unit."""
Metadata: TypeAlias = dict[str, Any]
"""Fields of a document that its caller chooses: a JSON object of at most 16 KiB, written without white space. Results carry it, and filters ask for its fields."""
ObservationId: TypeAlias = str
"""An observation: something that happened, as it was told."""
ObservationKind: TypeAlias = Literal["tool_use", "bash", "error", "success", "note", "message"]
"""What was observed."""
Origin: TypeAlias = dict[str, Any]
"""What a claim comes from."""
OutOfReach: TypeAlias = Literal["caches", "nodes", "rows", "freeSpace", "log", "archives", "backups"]
"""A place that may hold what was erased, and that no node of the shard rids of it."""
PolicyVersion: TypeAlias = str
"""The version of a policy: `n.n.n`, then `-pre` and `+build` if wanted."""
QueryRewrite: TypeAlias = dict[str, Any]
"""How the text of a question is rewritten for the retrievers that take [rewrites](crate::Retriever::rewrites)."""
QueryText: TypeAlias = str
"""A question: 1–1,000 characters after trimming. Any Unicode is data, operators and quotes included, so that a question can never fail to parse."""
QueryType: TypeAlias = Literal["local", "global", "relationship", "hybrid"]
"""What kind of answer a question wants."""
Rating: TypeAlias = float
"""What somebody says of how much a claim was worth, −1 to 1. Kept, and never used."""
RecallProfile: TypeAlias = Literal["hybrid", "keyword_first", "episodes"]
"""How memory is searched."""
ReflectionReason: TypeAlias = Literal["failure", "test", "file", "note", "program", "said", "doubt", "feeling"]
"""A sign from which reflection told what it did."""
RelationId: TypeAlias = str
"""A relation between two entities."""
RelationType: TypeAlias = str
"""How one entity is related to another: a label in small letters, from the core list or free."""
RetrieverId: TypeAlias = str
"""The name of a retriever: `[a-z][a-z0-9_-]{0,31}`. Weights, metrics, relevance and explanations are keyed by it. Copying it costs 32 bytes. In order stand those of the [default set](Self::DEFAULT_SET), then all others by name. ``` use trefoil_core::RetrieverId; let mine = RetrieverId::new("trigrams")?; assert_eq!(mine.name(), "trigrams"); assert!(RetrieverId::KEYWORD < mine); assert!(RetrieverId::new("No spaces").is_err()); # Ok::<(), trefoil_core::Error>(()) ```"""
RetrieverMetrics: TypeAlias = dict[str, "RetrieverMetric"]
"""What each retriever did, by its id; those of the default set are always named."""
Scope: TypeAlias = Literal["session", "project", "principle"]
"""How far a claim holds, from the narrowest."""
Score: TypeAlias = float
"""A finite score from 0 to 1; larger is better."""
SearchResultType: TypeAlias = Literal["chunk", "entity", "community"]
"""What a result item is."""
SearchStrategy: TypeAlias = str
"""What a caller may ask for: one retriever, or all of them."""
SearchWeights: TypeAlias = dict[str, float]
"""Weight of each retriever in fusion, each 0–1, with a sum of 1 ± 0.01. A retriever that is not named weighs nothing. ``` use trefoil_core::{RetrieverId, SearchWeights}; let weights = SearchWeights::new([(RetrieverId::KEYWORD, 0.8), (RetrieverId::SEMANTIC, 0.2)])?; assert_eq!(weights.get(RetrieverId::GRAPH), 0.0); # Ok::<(), trefoil_core::Error>(()) ```"""
SectionKind: TypeAlias = Literal["context", "facts", "narrative", "relationships", "loops", "evidence"]
"""A part of a context pack, in the order in which they stand."""
Seq: TypeAlias = int
"""A position in the store's change log; 0 is before the first change."""
SessionId: TypeAlias = str
"""A stretch of work on one project."""
SourceTag: TypeAlias = str
"""What can be looked at to verify a claim. ``` use trefoil_memory_core::SourceTag; let tag: SourceTag = "file:C:/notes.md:12".parse()?; assert_eq!(tag, SourceTag::File { path: "C:/notes.md".into(), line: 12 }); # Ok::<(), trefoil_core::Error>(()) ```"""
SourceType: TypeAlias = Literal["chat", "tool", "file", "http", "system"]
"""Where an observation comes from."""
Stage: TypeAlias = str
"""A stage of a search. On the wire it is its [name](Self::name)."""
Tags: TypeAlias = list[str]
"""Labels of a unit: NFKC, sorted, each once, at most 32 of at most 256 bytes."""
Trust: TypeAlias = Literal["untrusted"]
"""How far a text may be trusted."""
Ttl: TypeAlias = str
"""How long a claim stays fresh: whole hours or days, or without end. Written `24h`, `7d`, `unlimited`. ``` use trefoil_policy::Ttl; assert_eq!("7d".parse::<Ttl>()?, Ttl::days(7)?); assert_eq!("36h".parse::<Ttl>()?.to_string(), "36h"); # Ok::<(), trefoil_core::Error>(()) ```"""
UnitId: TypeAlias = str
"""The id of a unit of any kind."""
UnitKind: TypeAlias = Literal["episode", "fact", "summary", "loop", "chunk", "claim"]
"""What kind of thing a unit is: which table its body is in."""
UnitState: TypeAlias = Literal["raw", "validated", "consolidated", "archived"]
"""How far a unit has come in its life."""


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


@dataclass(frozen=True, slots=True)
class ActiveContext(Value):
    """What one recall brought, as it was saved."""

    expires_at: str
    """Until when it can be used, this moment left out."""
    id: ContextId
    """Its id."""
    items: list[ContextItem]
    """What it brought, best first."""
    policy_version: PolicyVersion
    """The policy that it was made under."""
    scope: Scope
    """The longest-lived scope that was searched."""
    provenance: Provenance | None = None
    """Who asked, and when."""
    window: int | None = None
    """Tokens of the window that it was made for."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"expiresAt": self.expires_at, "id": self.id, "items": [one.to_wire() for one in self.items], "policyVersion": self.policy_version, "scope": self.scope}
        if self.provenance is not None:
            wire["provenance"] = self.provenance.to_wire()
        if self.window is not None:
            wire["window"] = self.window
        return wire


@dataclass(frozen=True, slots=True)
class Affect(Value):
    """A feeling and how strong it is."""

    intensity: Score
    """How strong it is."""
    label: AffectLabel
    """The feeling."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"intensity": self.intensity, "label": self.label}
        return wire


@dataclass(frozen=True, slots=True)
class ByteSpan(Value):
    """A half-open range of bytes, `start..end`."""

    end: int
    """One past the last byte."""
    start: int
    """First byte."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"end": self.end, "start": self.start}
        return wire


@dataclass(frozen=True, slots=True)
class CheckResult(Value):
    """The result of a check on the wire."""

    check: Check
    examples: list[str]
    """Some of them."""
    found: int
    """How many are not as they should be."""
    healthy: bool
    """Whether nothing needs to be done."""
    next: str | None
    """What to do, if something needs to be done."""
    of: int
    """Of how many."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"check": self.check, "examples": self.examples, "found": self.found, "healthy": self.healthy, "next": self.next, "of": self.of}
        return wire


@dataclass(frozen=True, slots=True)
class ChunkInContext(Value):
    """A passage with its neighbours."""

    chunk: StoredChunk
    """The passage."""
    after: StoredChunk | None = None
    """The one after it."""
    before: StoredChunk | None = None
    """The one before it in its document."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"chunk": self.chunk.to_wire()}
        if self.after is not None:
            wire["after"] = self.after.to_wire()
        if self.before is not None:
            wire["before"] = self.before.to_wire()
        return wire


@dataclass(frozen=True, slots=True)
class Claim(Value):
    """Something that is held to be so. Three values are kept apart: `confidence` that it is true, which feedback changes; `epistemic_status`, what shows it; and `state`, how far it has come in its life. Made from a `ClaimDraft`, which checks all limits; the JSON of a claim is read in the same way."""

    boundary_class: BoundaryClass
    """Who may see it."""
    confidence: Score
    """Confidence that it is true."""
    content_hash: ContentHash
    """Hash of `text`."""
    created_at: str
    """When it was written."""
    decayed_at: str
    """Up to when decay has been applied."""
    epistemic_status: EpistemicStatus
    """What is known of whether it is so; verified only with a source."""
    id: ClaimId
    """Its id."""
    importance: Importance
    """How much is lost with it."""
    kind: ClaimKind
    """What it says, in kind."""
    last_verified_at: str
    """When it was last checked."""
    origin: Origin
    """What it comes from."""
    pin: bool
    """True if a person wants it kept in sight."""
    quality: Score
    """How well it is put."""
    recency: Score
    """How recent it was at `decayed_at`."""
    recency_anchor: str
    """From when its age is counted for recency: its making, or the last feedback that it helped, merge or check."""
    salience: Score
    """How much it stands out."""
    scope: Scope
    """How far it holds."""
    sources: list[SourceTag]
    """What can be looked at to verify it, sorted, each once."""
    state: UnitState
    """How far it has come in its life."""
    text: str
    """What it says, 1–65,536 bytes."""
    ttl: Ttl
    """How long it stays fresh after that."""
    updated_at: str
    """When it was last changed."""
    utility: float
    """How much it has helped: any finite number, 0 at first."""
    object: str | None = None
    """What stands in that relation to it."""
    occurred_at: str | None = None
    """When what it tells happened."""
    predicate: str | None = None
    """What it says of it, in small letters; a claim with one is a fact of the graph."""
    provenance: Provenance | None = None
    """Who or what made it."""
    session: SessionId | None = None
    """The session that a claim of scope session is found in."""
    subject: str | None = None
    """What it is about, at most 2,048 bytes; so `predicate` and `object`."""
    tags: Tags = _field(default_factory=list[str])
    """Its labels."""
    valid_from: str | None = None
    """From when it holds."""
    valid_to: str | None = None
    """Until when it holds, this moment left out."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"boundaryClass": self.boundary_class, "confidence": self.confidence, "contentHash": self.content_hash, "createdAt": self.created_at, "decayedAt": self.decayed_at, "epistemicStatus": self.epistemic_status, "id": self.id, "importance": self.importance, "kind": self.kind, "lastVerifiedAt": self.last_verified_at, "origin": self.origin, "pin": self.pin, "quality": self.quality, "recency": self.recency, "recencyAnchor": self.recency_anchor, "salience": self.salience, "scope": self.scope, "sources": self.sources, "state": self.state, "text": self.text, "ttl": self.ttl, "updatedAt": self.updated_at, "utility": self.utility, "tags": self.tags}
        if self.object is not None:
            wire["object"] = self.object
        if self.occurred_at is not None:
            wire["occurredAt"] = self.occurred_at
        if self.predicate is not None:
            wire["predicate"] = self.predicate
        if self.provenance is not None:
            wire["provenance"] = self.provenance.to_wire()
        if self.session is not None:
            wire["session"] = self.session
        if self.subject is not None:
            wire["subject"] = self.subject
        if self.valid_from is not None:
            wire["validFrom"] = self.valid_from
        if self.valid_to is not None:
            wire["validTo"] = self.valid_to
        return wire


@dataclass(frozen=True, slots=True)
class ClaimDraft(Value):
    """What somebody says of a claim that is to be made: only `text` and `origin` are needed. The fields are those of a `Claim`. JSON also takes `claim_id` for `id`, `content` for `text`, and `source`, one or many, for `sources`. ``` use jiff::Timestamp; use trefoil_core::{ClaimId, EpistemicStatus, Importance, ObservationId}; use trefoil_memory_core::{ClaimDraft, IdGenerator}; let json = r#"{"content": "Mika lives in Kyoto.", "origin": {"observed": "obs_1"}, "source": "test:x"}"#; let draft: ClaimDraft = serde_json::from_str(json)?; let now = Timestamp::UNIX_EPOCH; let (claim, warnings) = draft.into_claim(IdGenerator::seeded(1).generate(now)?, now)?; assert_eq!(claim.epistemic_status, EpistemicStatus::Inferred); assert_eq!((claim.importance, warnings.len()), (Importance::S2, 0)); # Ok::<(), Box<dyn std::error::Error>>(()) ```"""

    origin: Origin
    text: str
    boundary_class: BoundaryClass | None = None
    confidence: Score | None = None
    content_hash: ContentHash | None = None
    """Hash of the text; if it is given, it must agree."""
    created_at: str | None = None
    """When it was written; now, if absent."""
    decayed_at: str | None = None
    """Up to when decay has been applied; when it was written, if absent."""
    epistemic_status: EpistemicStatus | None = None
    """What is known of whether it is so; inferred if absent or without a source."""
    id: ClaimId | None = None
    """Its id, if it has one."""
    importance: Importance | None = None
    """How much is lost with it; S1 for a norm and S2 for the rest, if absent."""
    kind: ClaimKind | None = None
    last_verified_at: str | None = None
    """When it was last checked; when it is made, if absent."""
    object: str | None = None
    occurred_at: str | None = None
    pin: bool | None = None
    predicate: str | None = None
    provenance: Provenance | None = None
    quality: Score | None = None
    recency: Score | None = None
    recency_anchor: str | None = None
    """From when its age is counted; when it was written, if absent."""
    salience: Score | None = None
    scope: Scope | None = None
    session: SessionId | None = None
    """The session it belongs to; needed if its scope is one."""
    sources: list[str] = _field(default_factory=list[str])
    """What can be looked at, as tags that may be malformed."""
    state: UnitState | None = None
    subject: str | None = None
    tags: Tags = _field(default_factory=list[str])
    ttl: Ttl | None = None
    """How long it stays fresh; as its scope, if absent."""
    updated_at: str | None = None
    """When it was last changed; when it was written, if absent."""
    utility: float | None = None
    valid_from: str | None = None
    valid_to: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"origin": self.origin, "text": self.text, "sources": self.sources, "tags": self.tags}
        if self.boundary_class is not None:
            wire["boundaryClass"] = self.boundary_class
        if self.confidence is not None:
            wire["confidence"] = self.confidence
        if self.content_hash is not None:
            wire["contentHash"] = self.content_hash
        if self.created_at is not None:
            wire["createdAt"] = self.created_at
        if self.decayed_at is not None:
            wire["decayedAt"] = self.decayed_at
        if self.epistemic_status is not None:
            wire["epistemicStatus"] = self.epistemic_status
        if self.id is not None:
            wire["id"] = self.id
        if self.importance is not None:
            wire["importance"] = self.importance
        if self.kind is not None:
            wire["kind"] = self.kind
        if self.last_verified_at is not None:
            wire["lastVerifiedAt"] = self.last_verified_at
        if self.object is not None:
            wire["object"] = self.object
        if self.occurred_at is not None:
            wire["occurredAt"] = self.occurred_at
        if self.pin is not None:
            wire["pin"] = self.pin
        if self.predicate is not None:
            wire["predicate"] = self.predicate
        if self.provenance is not None:
            wire["provenance"] = self.provenance.to_wire()
        if self.quality is not None:
            wire["quality"] = self.quality
        if self.recency is not None:
            wire["recency"] = self.recency
        if self.recency_anchor is not None:
            wire["recencyAnchor"] = self.recency_anchor
        if self.salience is not None:
            wire["salience"] = self.salience
        if self.scope is not None:
            wire["scope"] = self.scope
        if self.session is not None:
            wire["session"] = self.session
        if self.state is not None:
            wire["state"] = self.state
        if self.subject is not None:
            wire["subject"] = self.subject
        if self.ttl is not None:
            wire["ttl"] = self.ttl
        if self.updated_at is not None:
            wire["updatedAt"] = self.updated_at
        if self.utility is not None:
            wire["utility"] = self.utility
        if self.valid_from is not None:
            wire["validFrom"] = self.valid_from
        if self.valid_to is not None:
            wire["validTo"] = self.valid_to
        return wire


@dataclass(frozen=True, slots=True)
class ClaimEvidence(Value):
    """What speaks for a claim."""

    claim_id: ClaimId
    """The claim."""
    id: EvidenceId
    """Its id."""
    method: EvidenceMethod
    """How it was found."""
    note: str | None = None
    """What else there is to say."""
    observation_id: ObservationId | None = None
    """The observation that tells it."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"claimId": self.claim_id, "id": self.id, "method": self.method}
        if self.note is not None:
            wire["note"] = self.note
        if self.observation_id is not None:
            wire["observationId"] = self.observation_id
        return wire


@dataclass(frozen=True, slots=True)
class ClaimScores(Value):
    """The values of a claim that are corrected."""

    confidence: Score
    """Confidence that it is true."""
    quality: Score
    """How well it is put."""
    recency: Score
    """How recent it is."""
    utility: float
    """How much it has helped."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"confidence": self.confidence, "quality": self.quality, "recency": self.recency, "utility": self.utility}
        return wire


@dataclass(frozen=True, slots=True)
class Community(Value):
    """Entities that belong together, and what is said of them."""

    id: CommunityId
    """Its id."""
    keywords: list[str]
    """Its terms, at most 10."""
    level: int
    """0 for the communities of the whole graph; one more for the parts of those."""
    name: str
    """What it is called."""
    size: int
    """How many entities are in it."""
    summary: str
    """What it is about; may be empty."""
    parent: CommunityId | None = None
    """The community that this one is a part of."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"id": self.id, "keywords": self.keywords, "level": self.level, "name": self.name, "size": self.size, "summary": self.summary}
        if self.parent is not None:
            wire["parent"] = self.parent
        return wire


@dataclass(frozen=True, slots=True)
class Content(Value):
    """What an item says."""

    text: str
    """The text of the chunk, as it stands in the document; the report of a community, the description of an entity."""
    context_after: str | None = None
    """What follows, to the end of a sentence."""
    context_before: str | None = None
    """What stands before, to the start of a sentence."""
    summary: str | None = None
    """The sentences that matter, where they were picked out."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"text": self.text}
        if self.context_after is not None:
            wire["contextAfter"] = self.context_after
        if self.context_before is not None:
            wire["contextBefore"] = self.context_before
        if self.summary is not None:
            wire["summary"] = self.summary
        return wire


@dataclass(frozen=True, slots=True)
class ContextItem(Value):
    """One claim of a saved context."""

    claim: ClaimId
    """The claim."""
    rank: int
    """Its place, from 1."""
    score: Score
    """Its score."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"claim": self.claim, "rank": self.rank, "score": self.score}
        return wire


@dataclass(frozen=True, slots=True)
class ContextPack(Value):
    """What is told to a model, within its budget."""

    budget: int
    """How many tokens it may have."""
    sections: list[PackSection]
    """The parts that are not empty, in their order."""
    text: str
    """The whole as a text."""
    tokens: int
    """Its tokens."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"budget": self.budget, "sections": [one.to_wire() for one in self.sections], "text": self.text, "tokens": self.tokens}
        return wire


@dataclass(frozen=True, slots=True)
class ContextRequest(Value):
    """What a pack is to be made for."""

    query: RecallQuery
    """What is being said, and who may see what; empty asks for what is most worthwhile."""
    context: list[str] = _field(default_factory=list[str])
    """What the work is about, paragraph by paragraph."""
    window: int | None = None
    """Tokens of the model's window."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"query": self.query.to_wire(), "context": self.context}
        if self.window is not None:
            wire["window"] = self.window
        return wire


@dataclass(frozen=True, slots=True)
class CorrectionOutcome(Value):
    """What came of a repair."""

    found: int
    """New passages that it found."""
    kept: bool
    """Whether they stay: not if the evidence as a whole is worse with them."""
    repair: Correction
    """Which one."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"found": self.found, "kept": self.kept, "repair": self.repair}
        return wire


@dataclass(frozen=True, slots=True)
class CragPlan(Value):
    """How weak evidence is corrected."""

    candidates: int
    """How many passages each of them may add."""
    repairs: list[Correction]
    """The corrections, in order; each runs once, and only while the evidence is not correct."""
    budget: Duration | None = None
    """Time for all of them and for scoring sentences."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"candidates": self.candidates, "repairs": self.repairs}
        if self.budget is not None:
            wire["budget"] = self.budget.to_wire()
        return wire


@dataclass(frozen=True, slots=True)
class CragReport(Value):
    """The grade of a whole search, and what was done about it."""

    actions: list[CragAction]
    """What was done, in order."""
    basis: CragBasis
    """What it is based on."""
    confidence: Score
    """How sure it is."""
    needs_web_search: bool
    """Whether the corpus does not hold the answer."""
    relevance: CragRelevance
    """The verdict."""
    repairs: list[CorrectionOutcome]
    """The repairs that were tried, in order."""
    refined_query: str | None = None
    """A better rewrite, where there is one."""
    web: list[WebPage] = _field(default_factory=list["WebPage"])
    """What the web says, where it was asked; not checked by anyone."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"actions": self.actions, "basis": self.basis, "confidence": self.confidence, "needsWebSearch": self.needs_web_search, "relevance": self.relevance, "repairs": [one.to_wire() for one in self.repairs], "web": [one.to_wire() for one in self.web]}
        if self.refined_query is not None:
            wire["refinedQuery"] = self.refined_query
        return wire


@dataclass(frozen=True, slots=True)
class CragScore(Value):
    """A grade."""

    confidence: Score
    """How sure it is."""
    needs_web_search: bool
    """Whether the corpus does not hold the answer."""
    relevance: CragRelevance
    """The verdict."""
    refined_query: str | None = None
    """A better rewrite, where there is one."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"confidence": self.confidence, "needsWebSearch": self.needs_web_search, "relevance": self.relevance}
        if self.refined_query is not None:
            wire["refinedQuery"] = self.refined_query
        return wire


@dataclass(frozen=True, slots=True)
class DateRange(Value):
    """Days from `start` to `end`, both included, either open."""

    end: datetime.date | None
    start: datetime.date | None

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"end": None if self.end is None else self.end.isoformat(), "start": None if self.start is None else self.start.isoformat()}
        return wire


@dataclass(frozen=True, slots=True)
class Degraded(Value):
    """Something that did not run as asked."""

    reason: str
    """Why, and what to do about it."""
    stage: Stage
    """The stage."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"reason": self.reason, "stage": self.stage}
        return wire


@dataclass(frozen=True, slots=True)
class Document(Value):
    """What a caller hands to `ingest`: a text under a path of its own choosing."""

    body: str
    """The text, UTF-8."""
    path: str
    """The caller's key, unique within an index; `/` separates folders."""
    date: datetime.date | None = None
    """The day the document is about or from, to filter by."""
    embedding: Embedding | None = None
    """Its vector, for an engine whose vectors are the caller's, of a document that is one chunk (`DocumentFormat::Whole`); kept as it is given."""
    format: DocumentFormat | None = None
    """How the body is written."""
    language: Language | None = None
    """Known language; told from the script of each chunk when absent."""
    metadata: Metadata = _field(default_factory=dict[str, Any])
    """Fields of the caller's own, to filter by and to get back with results."""
    tags: list[str] = _field(default_factory=list[str])
    """Labels to filter by."""
    title: str | None = None
    """A short name, searched with its own weight; may be empty."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"body": self.body, "path": self.path, "metadata": self.metadata, "tags": self.tags}
        if self.date is not None:
            wire["date"] = self.date.isoformat()
        if self.embedding is not None:
            wire["embedding"] = self.embedding
        if self.format is not None:
            wire["format"] = self.format
        if self.language is not None:
            wire["language"] = self.language
        if self.title is not None:
            wire["title"] = self.title
        return wire


@dataclass(frozen=True, slots=True)
class Duration(Value):
    """Duration"""

    nanos: int
    secs: int

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"nanos": self.nanos, "secs": self.secs}
        return wire


@dataclass(frozen=True, slots=True)
class EngineStats(Value):
    """Sizes and counts of an engine."""

    absent: list[Degraded]
    """Retrievers that cannot run, and why."""
    background: list[Degraded]
    """What fails in the background, by the stage whose results suffer; empty if all goes well."""
    bytes: int
    """Bytes of the directory, indexes included."""
    cached_embeddings: int
    """Cached embeddings, of every vector space."""
    change: Seq
    """The last change."""
    chunks: int
    """Leaf chunks."""
    embedded: int
    """Texts that were embedded since the engine was opened, reports included."""
    files: int
    """Files and documents."""
    graph_lag: int
    """Chunks that came or went since the graph was frozen for walks, paths and communities: at most one in twenty once nothing is left to do in the background."""
    jobs: JobCounts
    """Background work."""
    languages: dict[str, int]
    """Leaf chunks in each language that there is, by language."""
    model: str | None
    """The model's fingerprint; absent when there is none."""
    parents: int
    """Parents."""
    rows: dict[str, int]
    """Rows that each retriever can find."""
    store_bytes: int
    """Length of the file in bytes, without the write-ahead log."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"absent": [one.to_wire() for one in self.absent], "background": [one.to_wire() for one in self.background], "bytes": self.bytes, "cachedEmbeddings": self.cached_embeddings, "change": self.change, "chunks": self.chunks, "embedded": self.embedded, "files": self.files, "graphLag": self.graph_lag, "jobs": self.jobs.to_wire(), "languages": self.languages, "model": self.model, "parents": self.parents, "rows": self.rows, "storeBytes": self.store_bytes}
        return wire


@dataclass(frozen=True, slots=True)
class EntityFacet(Value):
    """An entity, and how many of the results mention it."""

    entity: NamedEntity
    """The entity."""
    results: int
    """Results that mention it."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"entity": self.entity.to_wire(), "results": self.results}
        return wire


@dataclass(frozen=True, slots=True)
class EntityFacts(Value):
    """What the graph knows of the entity that a result is, by the chunks that the filters let through."""

    aliases: list[str]
    """What else it is called, normalised."""
    chunks: int
    """How many chunks mention it."""
    degree: int
    """How many entities it is related to."""
    importance: Score
    """How well it is connected, 0–1: a twentieth for each entity that it is related to, and a tenth, at most two, for each that the text relates to it in this direction, by a link, a title or heading above it, a citation or a definition."""
    kinds: list[EntityType]
    """What the chunks take it for, first what most do; at least one."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"aliases": self.aliases, "chunks": self.chunks, "degree": self.degree, "importance": self.importance, "kinds": self.kinds}
        return wire


@dataclass(frozen=True, slots=True)
class EntityView(Value):
    """What the graph says of an entity."""

    aliases: list[str]
    """What else it is called."""
    chunks: int
    """How many chunks mention it."""
    degree: int
    """How many entities it is related to."""
    description: str
    """The sentences of its passages that say most about it, at most 600 characters; empty in a list of entities."""
    entity: NamedEntity
    """The entity."""
    importance: Score
    """How well it is connected, 0–1, as in `EntityFacts::importance`."""
    related: list[RelatedEntity]
    """The entities that it is related to, the strongest first."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"aliases": self.aliases, "chunks": self.chunks, "degree": self.degree, "description": self.description, "entity": self.entity.to_wire(), "importance": self.importance, "related": [one.to_wire() for one in self.related]}
        return wire


@dataclass(frozen=True, slots=True)
class Explanation(Value):
    """How a passage came to its place: what each retriever said, and where each stage put it."""

    missing_words: list[str]
    """Words of a short question that it lacks. If another passage has more of them, it loses a share of its fused score. Empty if it lacks none, and where words are not looked for: in a longer question, in a passage in another language or below the first fifty, and without the default fusion of the keyword list with others."""
    retrievers: list[RetrieverHit]
    """What the retrievers that found it say."""
    stages: list[StagePlace]
    """Where each stage put it, in order."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"missingWords": self.missing_words, "retrievers": [one.to_wire() for one in self.retrievers], "stages": [one.to_wire() for one in self.stages]}
        return wire


@dataclass(frozen=True, slots=True)
class Feedback(Value):
    """What was said of a claim."""

    claim_id: ClaimId
    """The claim."""
    id: FeedbackId
    """Its id."""
    signal: FeedbackSignal
    """What was said."""
    ts: str
    """When it was said."""
    score: Rating | None = None
    """How much, in the words of who said it."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"claimId": self.claim_id, "id": self.id, "signal": self.signal, "ts": self.ts}
        if self.score is not None:
            wire["score"] = self.score
        return wire


@dataclass(frozen=True, slots=True)
class FeedbackInput(Value):
    """What somebody says of a claim."""

    claim: ClaimId
    """The claim."""
    signal: FeedbackSignal
    """What is said."""
    duplicate_of: ClaimId | None = None
    """Which claim says the same; the nearest that is sure to, if nobody says."""
    score: Rating | None = None
    """How much, in the words of who says it."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"claim": self.claim, "signal": self.signal}
        if self.duplicate_of is not None:
            wire["duplicateOf"] = self.duplicate_of
        if self.score is not None:
            wire["score"] = self.score
        return wire


@dataclass(frozen=True, slots=True)
class FeedbackOutcome(Value):
    """What an input did."""

    previous: ClaimScores
    """The claim's values before, decay applied."""
    updated: ClaimScores
    """Its values after."""
    feedback: Feedback | None = None
    """What was kept of it; absent if the same was said within the minute, which changes nothing."""
    representative: ClaimId | None = None
    """The claim that a duplicate was merged into."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"previous": self.previous.to_wire(), "updated": self.updated.to_wire()}
        if self.feedback is not None:
            wire["feedback"] = self.feedback.to_wire()
        if self.representative is not None:
            wire["representative"] = self.representative
        return wire


@dataclass(frozen=True, slots=True)
class FileInfo(Value):
    """What is known of a file or document that chunks come from."""

    id: FileId
    """Hash of the path."""
    path: str
    """Where it was read from, or the caller's key."""
    tags: list[str]
    """Labels, sorted, each once."""
    title: str
    """Short name; may be empty."""
    date: datetime.date | None = None
    """The day it is about or from."""
    metadata: Metadata = _field(default_factory=dict[str, Any])
    """Fields of the caller's own."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"id": self.id, "path": self.path, "tags": self.tags, "title": self.title, "metadata": self.metadata}
        if self.date is not None:
            wire["date"] = self.date.isoformat()
        return wire


@dataclass(frozen=True, slots=True)
class FindOptions(Value):
    """What of memory is searched, and how much is told."""

    layer: Layer | None = None
    """How much to tell of each."""
    limit: int | None = None
    """How many units to show, 1–50."""
    since: str | None = None
    """Only what happened then or later."""
    types: list[UnitKind] = _field(default_factory=list["UnitKind"])
    """Only units of these kinds; of all, if there is none."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"types": self.types}
        if self.layer is not None:
            wire["layer"] = self.layer
        if self.limit is not None:
            wire["limit"] = self.limit
        if self.since is not None:
            wire["since"] = self.since
        return wire


@dataclass(frozen=True, slots=True)
class Finding(Value):
    """A finding on the wire."""

    fault: str
    """What is wrong with it."""
    next: str
    """What to do about it."""
    part: str

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"fault": self.fault, "next": self.next, "part": self.part}
        return wire


@dataclass(frozen=True, slots=True)
class ForgetReceipt(Value):
    """What was forgotten, and the proof."""

    bytes_scanned: int
    """Bytes of them."""
    files: list[ScannedFile]
    """The files that were searched, by path from the engine's directory: all that are below it."""
    hits: int
    """Places at which 16 bytes in a row are of an erased text, of which none that is alive has 15; 0."""
    removed: dict[str, int]
    """How many of each kind: `episode`, `claim`, `summary`, `file`, `chunk`…"""
    searched: bool
    """Whether a text was searched for: one of this call, or one of an earlier call that was not proved gone."""
    shared: SharedErasure | None = None
    """What became of it on other nodes, and in the store that they share; none if the index is not shared, or there was nothing to forget."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"bytesScanned": self.bytes_scanned, "files": [one.to_wire() for one in self.files], "hits": self.hits, "removed": self.removed, "searched": self.searched}
        if self.shared is not None:
            wire["shared"] = self.shared.to_wire()
        return wire


@dataclass(frozen=True, slots=True)
class FoundUnits(Value):
    """Units that were found, as seen through a layer."""

    degraded: list[Degraded]
    """What could not be searched, or is behind."""
    tokens: int
    """Tokens of them all."""
    views: list[View]
    """The units."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"degraded": [one.to_wire() for one in self.degraded], "tokens": self.tokens, "views": [one.to_wire() for one in self.views]}
        return wire


@dataclass(frozen=True, slots=True)
class GitProvenance(Value):
    """A state of a repository."""

    commit: str
    """Hash of the commit."""
    repo: str
    """Name of the repository."""
    files: list[str] | None = None
    """The files that it is about; all if absent."""
    url: str | None = None
    """Where it can be fetched."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"commit": self.commit, "repo": self.repo}
        if self.files is not None:
            wire["files"] = self.files
        if self.url is not None:
            wire["url"] = self.url
        return wire


@dataclass(frozen=True, slots=True)
class HealthReport(Value):
    """The health of an index."""

    results: list[CheckResult]
    """All results, in the order of the checks."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"results": [one.to_wire() for one in self.results]}
        return wire


@dataclass(frozen=True, slots=True)
class Highlight(Value):
    """A part of the text with what matched in it."""

    field: str
    """Which field it is from: `text`, `title` or `heading`."""
    fragment: str
    """The part, at most 500 characters."""
    offsets: list[Offsets]
    """What matched, in UTF-8 bytes of `fragment`, on character boundaries, in order."""

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """What matched, as half-open spans of code points of `fragment`."""
        return spans_of(self.fragment, self.offsets)

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"field": self.field, "fragment": self.fragment, "offsets": [one.to_wire() for one in self.offsets]}
        return wire


@dataclass(frozen=True, slots=True)
class Ingested(Value):
    """What an ingest did."""

    chunks_added: int
    """Chunks added."""
    chunks_removed: int
    """Chunks removed."""
    kept: list[Kept]
    """Roots whose documents are gone, but were kept: so many at once look like a mistake."""
    removed: int
    """Documents that are gone from below the given paths."""
    skipped: list[Skipped]
    """Files that were not read."""
    unchanged: int
    """Documents that were there already, unchanged."""
    written: int
    """Documents that are new or changed."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"chunksAdded": self.chunks_added, "chunksRemoved": self.chunks_removed, "kept": [one.to_wire() for one in self.kept], "removed": self.removed, "skipped": [one.to_wire() for one in self.skipped], "unchanged": self.unchanged, "written": self.written}
        return wire


@dataclass(frozen=True, slots=True)
class ItemMetadata(Value):
    """What a person wants to see with the text."""

    heading_path: list[str]
    """Headings that the text stands under, outermost first."""
    language: Language
    """Language of the text."""
    lines: LineSpan
    """Lines of the text."""
    path: str
    """Path of the document."""
    tags: list[str]
    """Labels of the document."""
    title: str
    """Title of the document; may be empty."""
    date: datetime.date | None = None
    """Date of the document."""
    metadata: Metadata = _field(default_factory=dict[str, Any])
    """Fields of its caller's own."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"headingPath": self.heading_path, "language": self.language, "lines": self.lines.to_wire(), "path": self.path, "tags": self.tags, "title": self.title, "metadata": self.metadata}
        if self.date is not None:
            wire["date"] = self.date.isoformat()
        return wire


@dataclass(frozen=True, slots=True)
class JobCounts(Value):
    """How many jobs are in which state."""

    failed: int
    """Given up after the last try."""
    running: int
    """Claimed."""
    waiting: int
    """Waiting, also for their next try."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"failed": self.failed, "running": self.running, "waiting": self.waiting}
        return wire


@dataclass(frozen=True, slots=True)
class Kept(Value):
    """Documents that were not found below a root and were kept all the same."""

    indexed: int
    """How many the index holds of the root."""
    missing: int
    """How many were not found."""
    path: str
    """The root, as it was given."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"indexed": self.indexed, "missing": self.missing, "path": self.path}
        return wire


@dataclass(frozen=True, slots=True)
class KeyEvent(Value):
    """Something that happened, or is to happen."""

    at: str
    """The day that is named, else when it was told."""
    text: str
    """The sentence."""
    unit: UnitId
    """The unit that tells it."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"at": self.at, "text": self.text, "unit": self.unit}
        return wire


@dataclass(frozen=True, slots=True)
class LineSpan(Value):
    """Lines from 1, both included."""

    end: int
    """Last line."""
    start: int
    """First line."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"end": self.end, "start": self.start}
        return wire


@dataclass(frozen=True, slots=True)
class LinkedClaim(Value):
    """A claim that another is linked with."""

    id: str
    """Its id."""
    inverse: bool
    """True if the other stands so to this one."""
    kind: UnitKind
    """What it is."""
    relation: str
    """How the one stands to the other: `contradicts`, `supersedes`, `duplicates`."""
    text: str
    """What it says; empty if it was scrubbed."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"id": self.id, "inverse": self.inverse, "kind": self.kind, "relation": self.relation, "text": self.text}
        return wire


@dataclass(frozen=True, slots=True)
class Lost(Value):
    """Where a passage was lost."""

    chunk: ChunkId
    """The passage."""
    explanation: Explanation
    """How far it had come."""
    reason: str
    """What happened there, in a sentence."""
    lost_at: Stage | None = None
    """The stage at which it was lost; nothing if it is among the results."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"chunk": self.chunk, "explanation": self.explanation.to_wire(), "reason": self.reason}
        if self.lost_at is not None:
            wire["lostAt"] = self.lost_at
        return wire


@dataclass(frozen=True, slots=True)
class MaintenanceReport(Value):
    """What looking after memory did."""

    at: str
    """When it was done."""
    decayed: int
    """How many claims have faded."""
    dry_run: bool
    """Whether all this was only told."""
    steps: list[MaintenanceStep]
    """Everything else that was done, in its order."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"at": self.at, "decayed": self.decayed, "dryRun": self.dry_run, "steps": [one.to_wire() for one in self.steps]}
        return wire


@dataclass(frozen=True, slots=True)
class MaintenanceStep(Value):
    """One thing that was done, and why."""

    deed: MaintenanceAction
    """What was done to it."""
    id: str
    """The unit, or the saved context."""
    reason: str
    """Why: times, numbers and ids, never what a unit says."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"deed": self.deed, "id": self.id, "reason": self.reason}
        return wire


@dataclass(frozen=True, slots=True)
class MemoryEntity(Value):
    """Who or what units of memory name: the sum of what they say."""

    id: EntityId
    """Its id."""
    name: str
    """How most of the units write it."""
    roles: list[str]
    """All that a unit takes it for, in small letters."""
    type: EntityType
    """What most of the units take it for, in capitals."""
    attrs: dict[str, list[str]] = _field(default_factory=dict[str, list[str]])
    """What holds of it by claims that count: names by relation, `lives_in` and `Kyoto`."""
    canonical_key: str | None = None
    """Where most of the links to it lead, if there is one."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"id": self.id, "name": self.name, "roles": self.roles, "type": self.type, "attrs": self.attrs}
        if self.canonical_key is not None:
            wire["canonical_key"] = self.canonical_key
        return wire


@dataclass(frozen=True, slots=True)
class MemoryRelation(Value):
    """How one named entity is related to another."""

    count: int
    """How often units say so."""
    first_seen_at: str
    """When the earliest of these units happened."""
    id: RelationId
    """Its id."""
    last_seen_at: str
    """When the latest of them happened."""
    relation: str
    """The relation to the other: `lives_in`."""
    source: str
    """Normalised name of the one."""
    target: str
    """Normalised name of the other."""
    weight: float
    """The same with each time as sure as the less sure of both names."""
    evidence_claim_id: ClaimId | None = None
    """The first claim that says so."""
    valid_from: str | None = None
    """From when it holds, if a claim says so."""
    valid_to: str | None = None
    """Until when it held; absent while a claim says that it holds without an end."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"count": self.count, "firstSeenAt": self.first_seen_at, "id": self.id, "lastSeenAt": self.last_seen_at, "relation": self.relation, "source": self.source, "target": self.target, "weight": self.weight}
        if self.evidence_claim_id is not None:
            wire["evidenceClaimId"] = self.evidence_claim_id
        if self.valid_from is not None:
            wire["validFrom"] = self.valid_from
        if self.valid_to is not None:
            wire["validTo"] = self.valid_to
        return wire


@dataclass(frozen=True, slots=True)
class ModelInfo(Value):
    """What is known of a model."""

    languages: list[str]
    license: str
    name: str
    path: str
    """Where it is or would be."""
    present: bool
    """Whether every file is there with the right size."""
    role: str
    """`runtime`, `embedder`, `reranker`, `late-interaction` or `dictionary`."""
    size: int
    """Bytes on disk once it is there."""
    version: str

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"languages": self.languages, "license": self.license, "name": self.name, "path": self.path, "present": self.present, "role": self.role, "size": self.size, "version": self.version}
        return wire


@dataclass(frozen=True, slots=True)
class NamedEntity(Value):
    """An entity of the graph, as a result shows it."""

    entity_type: EntityType
    """What most of the chunks take it for."""
    id: EntityId
    """The entity."""
    name: str
    """How most of the chunks write it."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"entityType": self.entity_type, "id": self.id, "name": self.name}
        return wire


@dataclass(frozen=True, slots=True)
class Observation(Value):
    """Something that happened, as it was told; never altered, only erased as a whole. Made from an `ObservationDraft`, which checks all limits; its JSON is read in the same way."""

    boundary_class: BoundaryClass
    """Who may see it."""
    content: str
    """What was told, 1–65,536 bytes."""
    created_at: str
    """When it was written."""
    id: ObservationId
    """Its id."""
    kind: ObservationKind
    """What was observed."""
    lifetime_days: int
    """For how many days its content is kept, 1–90."""
    source_type: SourceType
    """Where it comes from."""
    actor: str | None = None
    """Who told it, at most 512 bytes."""
    context_note: ContextNote | None = None
    """The circumstances in which it was told."""
    image_summary: str | None = None
    """What a picture that came with it shows; 1–65,536 bytes."""
    occurred_at: str | None = None
    """When it happened."""
    proactive: bool | None = None
    """Whether the program said it unasked, such as a reminder: it is found like others, and nothing is learnt from it."""
    reply_text: str | None = None
    """What was answered, in a turn of a conversation; 1–65,536 bytes."""
    session: SessionId | None = None
    """The session in which it happened."""
    source_id: str | None = None
    """Which of its kind: a path, an address, a tool; at most 2,048 bytes."""
    tags: Tags = _field(default_factory=list[str])
    """Its labels."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"boundaryClass": self.boundary_class, "content": self.content, "createdAt": self.created_at, "id": self.id, "kind": self.kind, "lifetimeDays": self.lifetime_days, "sourceType": self.source_type, "tags": self.tags}
        if self.actor is not None:
            wire["actor"] = self.actor
        if self.context_note is not None:
            wire["contextNote"] = self.context_note
        if self.image_summary is not None:
            wire["imageSummary"] = self.image_summary
        if self.occurred_at is not None:
            wire["occurredAt"] = self.occurred_at
        if self.proactive is not None:
            wire["proactive"] = self.proactive
        if self.reply_text is not None:
            wire["replyText"] = self.reply_text
        if self.session is not None:
            wire["session"] = self.session
        if self.source_id is not None:
            wire["sourceId"] = self.source_id
        return wire


@dataclass(frozen=True, slots=True)
class ObservationDraft(Value):
    """What somebody says of an observation: only `content` is needed. The fields are those of an `Observation`."""

    content: str
    actor: str | None = None
    boundary_class: BoundaryClass | None = None
    context_note: ContextNote | None = None
    created_at: str | None = None
    """When it was written; now, if absent."""
    id: ObservationId | None = None
    """Its id, if it has one."""
    image_summary: str | None = None
    kind: ObservationKind | None = None
    lifetime_days: int | None = None
    occurred_at: str | None = None
    proactive: bool | None = None
    reply_text: str | None = None
    session: SessionId | None = None
    source_id: str | None = None
    source_type: SourceType | None = None
    tags: Tags = _field(default_factory=list[str])

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"content": self.content, "tags": self.tags}
        if self.actor is not None:
            wire["actor"] = self.actor
        if self.boundary_class is not None:
            wire["boundaryClass"] = self.boundary_class
        if self.context_note is not None:
            wire["contextNote"] = self.context_note
        if self.created_at is not None:
            wire["createdAt"] = self.created_at
        if self.id is not None:
            wire["id"] = self.id
        if self.image_summary is not None:
            wire["imageSummary"] = self.image_summary
        if self.kind is not None:
            wire["kind"] = self.kind
        if self.lifetime_days is not None:
            wire["lifetimeDays"] = self.lifetime_days
        if self.occurred_at is not None:
            wire["occurredAt"] = self.occurred_at
        if self.proactive is not None:
            wire["proactive"] = self.proactive
        if self.reply_text is not None:
            wire["replyText"] = self.reply_text
        if self.session is not None:
            wire["session"] = self.session
        if self.source_id is not None:
            wire["sourceId"] = self.source_id
        if self.source_type is not None:
            wire["sourceType"] = self.source_type
        return wire


@dataclass(frozen=True, slots=True)
class Offsets(Value):
    """A half-open range of bytes, `start < end`."""

    end: int
    """One past the last byte."""
    start: int
    """First byte."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"end": self.end, "start": self.start}
        return wire


@dataclass(frozen=True, slots=True)
class PackItem(Value):
    """One thing that a pack tells."""

    text: str
    """What it says, or the beginning of it."""
    id: UnitId | None = None
    """The unit that says so, where it is one."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"text": self.text}
        if self.id is not None:
            wire["id"] = self.id
        return wire


@dataclass(frozen=True, slots=True)
class PackSection(Value):
    """A part of a pack."""

    items: list[PackItem]
    """What it tells."""
    kind: SectionKind
    """Which part."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"items": [one.to_wire() for one in self.items], "kind": self.kind}
        return wire


@dataclass(frozen=True, slots=True)
class PackedContext(Value):
    """A pack, and what was saved of it."""

    context: ActiveContext
    """The claims that it tells, as they were saved."""
    degraded: list[Degraded]
    """What could not be searched, or is behind."""
    pack: ContextPack
    """What is told."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"context": self.context.to_wire(), "degraded": [one.to_wire() for one in self.degraded], "pack": self.pack.to_wire()}
        return wire


@dataclass(frozen=True, slots=True)
class PathStep(Value):
    """What joins two entities of a path."""

    relations: list[RelationView]
    """The relations between them, in either direction; at least one."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"relations": [one.to_wire() for one in self.relations]}
        return wire


@dataclass(frozen=True, slots=True)
class Plan(Value):
    """Every decision of one search, made before any of it runs."""

    candidates: int
    """How many fused candidates are read from the store."""
    fingerprint: int
    """Hash of the query and the settings: a cursor is valid for one search only."""
    fusion: Fusion
    """How their lists become one."""
    limit: int
    """How many results are returned."""
    offset: int
    """How many results are left out from the top."""
    query_type: QueryType
    """The query type: the caller's, or else the classifier's."""
    question: Question
    """The question, as searched."""
    retrievers: list[PlannedRetriever]
    """Retrievers to run."""
    rrf: RrfConfig
    """Settings of reciprocal rank fusion, where `fusion` is RRF."""
    selection: Selection
    """Which of the ranked passages are results."""
    classification: QueryClassification | None = None
    """The result of the classifier, if it has one."""
    crag: CragPlan | None = None
    """How weak evidence is corrected; absent if it is not graded."""
    cursor: Cursor | None = None
    """After which result the page begins, instead of `offset`."""
    rerank: RerankPlan | None = None
    """How the first candidates are reranked; absent if they are not."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"candidates": self.candidates, "fingerprint": self.fingerprint, "fusion": self.fusion, "limit": self.limit, "offset": self.offset, "queryType": self.query_type, "question": self.question.to_wire(), "retrievers": [one.to_wire() for one in self.retrievers], "rrf": self.rrf.to_wire(), "selection": self.selection.to_wire()}
        if self.classification is not None:
            wire["classification"] = self.classification.to_wire()
        if self.crag is not None:
            wire["crag"] = self.crag.to_wire()
        if self.cursor is not None:
            wire["cursor"] = self.cursor
        if self.rerank is not None:
            wire["rerank"] = self.rerank.to_wire()
        return wire


@dataclass(frozen=True, slots=True)
class PlannedRetriever(Value):
    """One retriever's part in a plan."""

    depth: int
    """How many hits its list has at most."""
    id: RetrieverId
    """The retriever."""
    weight: float
    """Its weight in fusion, 0–1; the weights of the retrievers that ran are scaled to sum to 1."""
    after: list[RetrieverId] = _field(default_factory=list["RetrieverId"])
    """The planned retrievers whose fused list it goes on from; empty for one that searches by itself."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"depth": self.depth, "id": self.id, "weight": self.weight, "after": self.after}
        return wire


@dataclass(frozen=True, slots=True)
class Proof(Value):
    """A passage that shows a relation."""

    chunk_id: ChunkId
    """The chunk."""
    excerpt: str
    """The sentences that show it, 1–500 characters."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"chunkId": self.chunk_id, "excerpt": self.excerpt}
        return wire


@dataclass(frozen=True, slots=True)
class Provenance(Value):
    """Who or what made something, when, and from which state of the sources."""

    at: str
    """When."""
    actor: str | None = None
    """Who: a person or a program."""
    git: GitProvenance | None = None
    """The state of the repository."""
    note: str | None = None
    """What else there is to say."""
    signed: str | None = None
    """A signature over it."""
    url: str | None = None
    """Where it can be read."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"at": self.at}
        if self.actor is not None:
            wire["actor"] = self.actor
        if self.git is not None:
            wire["git"] = self.git.to_wire()
        if self.note is not None:
            wire["note"] = self.note
        if self.signed is not None:
            wire["signed"] = self.signed
        if self.url is not None:
            wire["url"] = self.url
        return wire


@dataclass(frozen=True, slots=True)
class QueryClassification(Value):
    """What kind of question was asked."""

    confidence: Score
    """How sure the classifier is."""
    expanded_queries: list[str]
    """Other wordings, at most `Self::MAX_EXPANSIONS`, none of them the question."""
    extracted_entities: list[str]
    """Names in the question, in order, each once: parts of it in NFKC."""
    original_query: str
    """The question as given."""
    suggested_weights: SearchWeights
    """Weights that suit its kind."""
    type: QueryType
    """Its kind; `hybrid` where the classifier is not sure enough."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"confidence": self.confidence, "expandedQueries": self.expanded_queries, "extractedEntities": self.extracted_entities, "originalQuery": self.original_query, "suggestedWeights": self.suggested_weights, "type": self.type}
        return wire


@dataclass(frozen=True, slots=True)
class Question(Value):
    """The question as a retriever gets it."""

    cross_lingual: bool
    """Whether the corpus has next to no text in that language."""
    language: Language
    """Its language."""
    rewrite: QueryRewrite
    """How the text is rewritten."""
    text: str
    """The text; empty when only a vector is searched for."""
    embedding: Embedding | None = None
    """Its embedding, if the caller supplied one."""
    min_similarity: Score | None = None
    """The least relevance of a hit of the semantic retriever, if there is one."""
    other_languages: list[Language] = _field(default_factory=list["Language"])
    """The other languages of the corpus: its vector is moved into each, to be compared with the passages in it."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"crossLingual": self.cross_lingual, "language": self.language, "rewrite": self.rewrite, "text": self.text, "otherLanguages": self.other_languages}
        if self.embedding is not None:
            wire["embedding"] = self.embedding
        if self.min_similarity is not None:
            wire["minSimilarity"] = self.min_similarity
        return wire


@dataclass(frozen=True, slots=True)
class RecallQuery(Value):
    """What is asked of memory."""

    allow: list[AllowTag] = _field(default_factory=list["AllowTag"])
    """The tags that the request carries."""
    boundary_classes: list[BoundaryClass] | None = None
    """The classes to look in; all of the boundary's if absent."""
    diverse: bool | None = None
    """Whether to pass over claims that are like better ones, by maximal marginal relevance."""
    include_meta: bool | None = None
    """Whether to tell what each score is made of."""
    profile: RecallProfile | None = None
    """How to search."""
    q: str | None = None
    """The question; empty asks for all that is in scope, the most worthwhile first."""
    recent_turns: list[str] = _field(default_factory=list[str])
    """What was said before, oldest first; used by the profile of episodes."""
    requester: Requester | None = None
    """Who asks, for rules that want to know, and for the context that is saved."""
    save: bool | None = None
    """Whether to save what was found as a context."""
    scope: list[Scope] | None = None
    """The scopes to look in; all of the boundary's if absent."""
    session: SessionId | None = None
    """The session that asks: without it, claims of sessions are not found."""
    top_k: int | None = None
    """How many claims to show, 1–50."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"allow": self.allow, "recentTurns": self.recent_turns}
        if self.boundary_classes is not None:
            wire["boundaryClasses"] = self.boundary_classes
        if self.diverse is not None:
            wire["diverse"] = self.diverse
        if self.include_meta is not None:
            wire["includeMeta"] = self.include_meta
        if self.profile is not None:
            wire["profile"] = self.profile
        if self.q is not None:
            wire["q"] = self.q
        if self.requester is not None:
            wire["requester"] = self.requester.to_wire()
        if self.save is not None:
            wire["save"] = self.save
        if self.scope is not None:
            wire["scope"] = self.scope
        if self.session is not None:
            wire["session"] = self.session
        if self.top_k is not None:
            wire["topK"] = self.top_k
        return wire


@dataclass(frozen=True, slots=True)
class RecalledClaims(Value):
    """What a recall brought."""

    claims: list[ScoredClaim]
    """The claims, best first."""
    context: ActiveContext
    """What was saved of it."""
    degraded: list[Degraded]
    """What could not be searched, or is behind."""
    evidences: list[ClaimEvidence]
    """What speaks for them."""
    reason: str
    """In a sentence, how it came about."""
    scoring_params: ScoringParams
    """The numbers that the scores were made with."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"claims": [one.to_wire() for one in self.claims], "context": self.context.to_wire(), "degraded": [one.to_wire() for one in self.degraded], "evidences": [one.to_wire() for one in self.evidences], "reason": self.reason, "scoringParams": self.scoring_params.to_wire()}
        return wire


@dataclass(frozen=True, slots=True)
class RecalledEpisode(Value):
    """An episode that is relevant to the conversation."""

    observation: Observation
    """What happened."""
    score: Score
    """How well it answers."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"observation": self.observation.to_wire(), "score": self.score}
        return wire


@dataclass(frozen=True, slots=True)
class RecalledEpisodes(Value):
    """What a recall of episodes brought."""

    degraded: list[Degraded]
    """What could not be searched, or is behind."""
    episodes: list[RecalledEpisode]
    """The episodes, best first, at most five; none if not even the best is good."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"degraded": [one.to_wire() for one in self.degraded], "episodes": [one.to_wire() for one in self.episodes]}
        return wire


@dataclass(frozen=True, slots=True)
class RecordedEvent(Value):
    """Something that was done to a unit."""

    at: str
    """When."""
    details: Any
    """What there is to say of it."""
    kind: str
    """What, in a word."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"at": self.at, "details": self.details, "kind": self.kind}
        return wire


@dataclass(frozen=True, slots=True)
class Reflection(Value):
    """What rules tell of an observation."""

    affect: Affect
    """The feeling it tells of; neutral if none is told."""
    confidence: Score
    """Confidence that it is true: .9 for what a program saw, .7 for what was noted down, .6 for what was said, .4 for what was said with a doubt."""
    reasons: list[ReflectionReason]
    """The signs from which this was told."""
    salience: Score
    """How much it stands out: 1 for a failure, .9 for a test, .7 for a changed file or a note, .5 for the rest."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"affect": self.affect.to_wire(), "confidence": self.confidence, "reasons": self.reasons, "salience": self.salience}
        return wire


@dataclass(frozen=True, slots=True)
class RelatedEntity(Value):
    """An entity that another is related to."""

    entity: NamedEntity
    """The entity."""
    relations: list[RelationView]
    """How; at least one."""
    weight: Score
    """How strongly, 0–1."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"entity": self.entity.to_wire(), "relations": [one.to_wire() for one in self.relations], "weight": self.weight}
        return wire


@dataclass(frozen=True, slots=True)
class RelatedUnit(Value):
    """Another unit, in short."""

    id: str
    """Its id."""
    kind: UnitKind
    """What it is."""
    text: str
    """What it says; empty if it was scrubbed."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"id": self.id, "kind": self.kind, "text": self.text}
        return wire


@dataclass(frozen=True, slots=True)
class RelationView(Value):
    """How one entity is related to another, and what shows it."""

    id: RelationId
    """The relation."""
    proofs: list[Proof]
    """Chunks that show it; at least one."""
    relation_type: RelationType
    """The relation to the other."""
    source: EntityId
    """The one."""
    target: EntityId
    """The other."""
    seen: Seen | None = None
    """How often and when all chunks say so; absent where only some of them count."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"id": self.id, "proofs": [one.to_wire() for one in self.proofs], "relationType": self.relation_type, "source": self.source, "target": self.target}
        if self.seen is not None:
            wire["seen"] = self.seen.to_wire()
        return wire


@dataclass(frozen=True, slots=True)
class RelationshipPath(Value):
    """How two entities that a question names hang together, and what shows it."""

    entities: list[NamedEntity]
    """From the one to the other, both included."""
    steps: list[PathStep]
    """What joins each entity with the next; one fewer than the entities."""
    weight: Score
    """How strong it is: the product of the weights of its steps, 0–1."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"entities": [one.to_wire() for one in self.entities], "steps": [one.to_wire() for one in self.steps], "weight": self.weight}
        return wire


@dataclass(frozen=True, slots=True)
class Relevance(Value):
    """Where a score comes from; each part 0–1."""

    combined: Score
    """After fusion; less for a passage that lacks words of a short question."""
    crag: CragScore | None = None
    """What grading says, where it graded the passage."""
    rerank: Score | None = None
    """What the reranker says, a cross-encoder or the vectors of tokens, where it read the passage."""
    others: dict[str, Score] = _field(default_factory=dict[str, Score])

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {**self.others, "combined": self.combined}
        if self.crag is not None:
            wire["crag"] = self.crag.to_wire()
        if self.rerank is not None:
            wire["rerank"] = self.rerank
        return wire


@dataclass(frozen=True, slots=True)
class RepairReport(Value):
    """What a repair did."""

    after: Verification
    """What is wrong now: nothing, unless it cannot be repaired."""
    before: Verification
    """What was wrong before."""
    rebuilt: list[str]
    """Indexes that were rebuilt."""
    saved: Salvaged | None
    """What was saved of the store, if it was damaged."""
    set_aside: str | None
    """The folder that now holds what was damaged, if anything was."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"after": self.after.to_wire(), "before": self.before.to_wire(), "rebuilt": self.rebuilt, "saved": None if self.saved is None else self.saved.to_wire(), "setAside": self.set_aside}
        return wire


@dataclass(frozen=True, slots=True)
class Requester(Value):
    """Who asks: what rules see as `actor` and `tool`."""

    actor: str | None = None
    """A person or a program."""
    tool: str | None = None
    """The tool that asks for them."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {}
        if self.actor is not None:
            wire["actor"] = self.actor
        if self.tool is not None:
            wire["tool"] = self.tool
        return wire


@dataclass(frozen=True, slots=True)
class RerankPlan(Value):
    """How the first passages are reranked."""

    batch: int
    """Passages of one batch."""
    compares: bool
    """Whether token vectors that are kept are compared before: not on a later page if the first one did not."""
    passages: int
    """How many are reranked at most, from the top."""
    thorough: bool
    """Whether all of them are read, not only the first few."""
    budget: Duration | None = None
    """Time after which no batch is started."""
    limit: int | None = None
    """At most so many are scored, whatever `thorough` says: what the first page of the list has scored. As many as there is time for if absent."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"batch": self.batch, "compares": self.compares, "passages": self.passages, "thorough": self.thorough}
        if self.budget is not None:
            wire["budget"] = self.budget.to_wire()
        if self.limit is not None:
            wire["limit"] = self.limit
        return wire


@dataclass(frozen=True, slots=True)
class RetrieverHit(Value):
    """What one retriever says of a row."""

    rank: int
    """At which rank of its list, from 1."""
    raw_score: float
    """The retriever's own score: BM25, or a cosine."""
    relevance: Score
    """The same on the scale that all retrievers share."""
    retriever: RetrieverId
    """Who found it."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"rank": self.rank, "rawScore": self.raw_score, "relevance": self.relevance, "retriever": self.retriever}
        return wire


@dataclass(frozen=True, slots=True)
class RetrieverMetric(Value):
    """What a retriever did; all zero and `enabled` false if it did not run."""

    enabled: bool
    """Whether it ran."""
    processing_time: float
    """How long it took, in milliseconds."""
    result_count: int
    """How many hits it gave."""
    top_score: Score
    """Relevance of its best hit."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"enabled": self.enabled, "processingTime": self.processing_time, "resultCount": self.result_count, "topScore": self.top_score}
        return wire


@dataclass(frozen=True, slots=True)
class RrfConfig(Value):
    """Reciprocal rank fusion."""

    k: int
    """The constant added to every rank, 1–1000; 60 by default."""
    normalize_scores: bool
    """Whether `combined` is scaled so that first in every retriever is 1; else the raw sum."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"k": self.k, "normalizeScores": self.normalize_scores}
        return wire


@dataclass(frozen=True, slots=True)
class Salvaged(Value):
    """What was saved."""

    graph: bool
    """False if the graph was lost and has to be made from the texts."""
    incomplete: list[str]
    """Paths of the files and documents that have lost chunks, or themselves, in order. A file whose path is damaged wherever it stood is only counted, in the table `files`."""
    tables: list[TableSaved]
    """Table by table, by name."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"graph": self.graph, "incomplete": self.incomplete, "tables": [one.to_wire() for one in self.tables]}
        return wire


@dataclass(frozen=True, slots=True)
class ScannedFile(Value):
    """A file that was searched for erased text."""

    bytes: int
    """Its length."""
    hits: int
    """Places at which erased text was found."""
    path: str
    """Its path."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"bytes": self.bytes, "hits": self.hits, "path": self.path}
        return wire


@dataclass(frozen=True, slots=True)
class ScoreBreakdown(Value):
    """What the score of a claim is made of: `combined · g`, and both of what."""

    combined: float
    """All of them, weighed: S."""
    confidence: float
    """Confidence that it is true, 0–1."""
    g: float
    """What the last four are worth together, 0–1."""
    quality: float
    """How well it is put, 0–1."""
    recency: float
    """How recent it is, 0–1."""
    text: float
    """Relevance of its words, 0–1."""
    utility: float
    """Standard score of its utility in the scope."""
    vector: float
    """Relevance of its meaning, 0–1, or the mean with that of the message that tells it."""
    tokens: float | None = None
    """How well its tokens match those of the question, 0–1, where they are kept; likewise."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"combined": self.combined, "confidence": self.confidence, "g": self.g, "quality": self.quality, "recency": self.recency, "text": self.text, "utility": self.utility, "vector": self.vector}
        if self.tokens is not None:
            wire["tokens"] = self.tokens
        return wire


@dataclass(frozen=True, slots=True)
class ScoredClaim(Value):
    """A claim and how well it answers."""

    claim: Claim
    """The claim."""
    score: Score
    """How well it answers."""
    breakdown: ScoreBreakdown | None = None
    """What the score is made of, if that was asked for."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"claim": self.claim.to_wire(), "score": self.score}
        if self.breakdown is not None:
            wire["breakdown"] = self.breakdown.to_wire()
        return wire


@dataclass(frozen=True, slots=True)
class ScoringParams(Value):
    """The numbers that scores were made with."""

    alpha: float
    """Weight of meaning against words."""
    k_final: int
    """How many were to be shown."""
    k_txt: int
    """How many were asked for by words."""
    k_vec: int
    """How many were asked for by meaning."""
    recency_half_life_days: float
    """Days after which a claim counts half as recent, where its kind says nothing else."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"alpha": self.alpha, "kFinal": self.k_final, "kTxt": self.k_txt, "kVec": self.k_vec, "recencyHalfLifeDays": self.recency_half_life_days}
        return wire


@dataclass(frozen=True, slots=True)
class SearchFilters(Value):
    """Which results a caller will accept. Every filter holds on every retriever."""

    date_range: DateRange | None
    """Only documents dated within this range; undated documents do not pass a range."""
    entity_types: list[str]
    """Only chunks that link to an entity of one of these types; empty means all."""
    file_ids: list[FileId]
    """Only these files; empty means all. At most 10,000."""
    languages: list[Language]
    """Only chunks in one of these languages; empty means all."""
    min_relevance: Score
    """The least final score of a result, 0–1; 0 by default, so that as many are returned as the query asks for."""
    path_glob: str | None
    """Only documents whose path matches this glob, such as `guide/**/*.md`."""
    tags: list[str]
    """Only documents with one of these tags; empty means all."""
    where: Condition | None = None
    """Only documents whose metadata is like this."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"dateRange": None if self.date_range is None else self.date_range.to_wire(), "entityTypes": self.entity_types, "fileIds": self.file_ids, "languages": self.languages, "minRelevance": self.min_relevance, "pathGlob": self.path_glob, "tags": self.tags}
        if self.where is not None:
            wire["where"] = self.where
        return wire


@dataclass(frozen=True, slots=True)
class SearchOptions(Value):
    """How to search. Parsing `{}` gives exactly the defaults."""

    adjoining: bool
    """Whether a chunk is a result next to a better one that it adjoins within a section: else the better one, which carries what stands around it, is shown for both."""
    crag_enabled: bool
    """Whether the evidence is graded and repaired."""
    diverse: bool
    """Whether results that say the same give way to others (maximal marginal relevance)."""
    explain: bool
    """Whether each result says how it came to its place."""
    include_highlights: bool
    """Whether results carry highlighted fragments."""
    include_metadata: bool
    """Whether results carry title, path, lines and the like."""
    limit: int
    """How many results to return, 1–100; 20 by default."""
    offset: int
    """How many results to skip, at most 10,000; 0 by default."""
    rerank_enabled: bool
    """Whether a cross-encoder reranks the first results."""
    strategies: list[SearchStrategy]
    """Which retrievers run; at least one."""
    thorough: bool
    """Whether as many passages are read together with the question as the configuration says and time allows; else only the first few, which is quick."""
    cursor: Cursor | None = None
    """Where the page before ended, instead of `offset`: its `nextCursor`, with the same query."""
    min_similarity: Score | None = None
    """The least relevance, 0–1, of a hit of the semantic retriever: its cosine on the range that was measured for the model, so that a value means the same with every model. None by default. A passage below it can still be found by another retriever."""
    per_file: int | None = None
    """Most results of one file, 1–100; any number by default."""
    result_types: list[SearchResultType] = _field(default_factory=list["SearchResultType"])
    """Which types of results are wanted; all by default, and if none is named. A caller that reads passages only asks for `SearchResultType::Chunk`."""
    timeout_ms: int | None = None
    """How long the whole search may take, in milliseconds, 1–600,000; as long as it takes by default. What is not done by then is left out and named in `degraded`. What has begun is not broken off: one passage is read, one retriever answers."""
    weights: SearchWeights | None = None
    """Weight of each retriever, taken as it is. Absent by default: then the engine weighs them by the kind of question and by what their lists say."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"adjoining": self.adjoining, "cragEnabled": self.crag_enabled, "diverse": self.diverse, "explain": self.explain, "includeHighlights": self.include_highlights, "includeMetadata": self.include_metadata, "limit": self.limit, "offset": self.offset, "rerankEnabled": self.rerank_enabled, "strategies": self.strategies, "thorough": self.thorough, "resultTypes": self.result_types}
        if self.cursor is not None:
            wire["cursor"] = self.cursor
        if self.min_similarity is not None:
            wire["minSimilarity"] = self.min_similarity
        if self.per_file is not None:
            wire["perFile"] = self.per_file
        if self.timeout_ms is not None:
            wire["timeoutMs"] = self.timeout_ms
        if self.weights is not None:
            wire["weights"] = self.weights
        return wire


@dataclass(frozen=True, slots=True)
class SearchQuery(Value):
    """What a caller asks."""

    filters: SearchFilters
    """Which results are acceptable."""
    options: SearchOptions
    """How to search."""
    text: QueryText
    """The question."""
    embedding: Embedding | None = None
    """The question's embedding, to spare the model; of the index's model and dimension."""
    type: QueryType | None = None
    """What kind of answer is wanted; left out, the classifier decides."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"filters": self.filters.to_wire(), "options": self.options.to_wire(), "text": self.text}
        if self.embedding is not None:
            wire["embedding"] = self.embedding
        if self.type is not None:
            wire["type"] = self.type
        return wire


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult(Value):
    """The answer to a query."""

    answerability: Answerability
    """Whether the corpus answers the question."""
    degraded: list[Degraded]
    """What did not run as asked, and why; empty when all is well."""
    has_more: bool
    """Whether more results follow."""
    offset: int
    """How many results stand before the first of this page."""
    processing_time: float
    """How long the search took, in milliseconds."""
    query: SearchQuery
    """What was asked; on the wire without its embedding, which the caller has."""
    results: list[Hit]
    """Best first, at most `query.options.limit`."""
    stages: list[StageMetric]
    """How long each stage took, in order."""
    strategies: RetrieverMetrics
    """What each retriever did."""
    total_count: int
    """Fused candidates after filters, before offset and limit."""
    classification: QueryClassification | None = None
    """What kind of question this is, where it was classified."""
    crag: CragReport | None = None
    """How good the evidence is and what was done about it, where it was graded."""
    facets: list[EntityFacet] = _field(default_factory=list["EntityFacet"])
    """The entities that most of the results of this page mention, at most 10."""
    next_cursor: Cursor | None = None
    """Where they do: `options.cursor` of the next query."""
    paths: list[RelationshipPath] = _field(default_factory=list["RelationshipPath"])
    """How the entities that a question about a relationship names hang together, the shortest paths first."""

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

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"answerability": self.answerability, "degraded": [one.to_wire() for one in self.degraded], "hasMore": self.has_more, "offset": self.offset, "processingTime": self.processing_time, "query": self.query.to_wire(), "results": [one.to_wire() for one in self.results], "stages": [one.to_wire() for one in self.stages], "strategies": {key: one.to_wire() for key, one in self.strategies.items()}, "totalCount": self.total_count, "facets": [one.to_wire() for one in self.facets], "paths": [one.to_wire() for one in self.paths]}
        if self.classification is not None:
            wire["classification"] = self.classification.to_wire()
        if self.crag is not None:
            wire["crag"] = self.crag.to_wire()
        if self.next_cursor is not None:
            wire["nextCursor"] = self.next_cursor
        return wire


@dataclass(frozen=True, slots=True, repr=False)
class Hit(Value):
    """One result."""

    content: Content
    """What it says."""
    highlights: list[Highlight]
    """What matched; empty unless asked for."""
    id: str
    """Public id of the chunk, entity or community."""
    relevance: Relevance
    """Where the score comes from."""
    score: Score
    """Its relevance, 0–1; never larger than that of the item before."""
    sources: Sources
    """Where it comes from."""
    type: SearchResultType
    """What it is."""
    entity: EntityFacts | None = None
    """What the graph knows of it, if it is an entity."""
    explanation: Explanation | None = None
    """How it came to its place, if the query asks."""
    document: ItemMetadata | None = None
    """Title, path and the like; absent unless asked for."""

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

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"content": self.content.to_wire(), "highlights": [one.to_wire() for one in self.highlights], "id": self.id, "relevance": self.relevance.to_wire(), "score": self.score, "sources": self.sources.to_wire(), "type": self.type}
        if self.entity is not None:
            wire["entity"] = self.entity.to_wire()
        if self.explanation is not None:
            wire["explanation"] = self.explanation.to_wire()
        if self.document is not None:
            wire["metadata"] = self.document.to_wire()
        return wire


@dataclass(frozen=True, slots=True)
class Seen(Value):
    """How often and when chunks state a relation."""

    count: int
    """How often."""
    first_seen_at: str
    """The date of the earliest of their documents; when it was indexed, for one without a date."""
    last_seen_at: str
    """The same of the latest."""
    weight: float
    """The same, each time as sure as the less sure of both names."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"count": self.count, "firstSeenAt": self.first_seen_at, "lastSeenAt": self.last_seen_at, "weight": self.weight}
        return wire


@dataclass(frozen=True, slots=True)
class Selection(Value):
    """Which of the ranked passages are results. What is left keeps its order."""

    adjoining: bool
    """Whether a passage may adjoin a better one of its section."""
    diverse: bool
    """Whether passages that say the same give way to others."""
    min_relevance: Score
    """The least score."""
    passages: bool
    """Whether passages are wanted at all."""
    per_file: int | None = None
    """Most passages of one file."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"adjoining": self.adjoining, "diverse": self.diverse, "minRelevance": self.min_relevance, "passages": self.passages}
        if self.per_file is not None:
            wire["perFile"] = self.per_file
        return wire


@dataclass(frozen=True, slots=True)
class Session(Value):
    """A stretch of work on one project."""

    id: SessionId
    """Its id."""
    project_path: str
    """The folder of the project."""
    started_at: str
    """When it began."""
    token_count: int
    """Tokens of its observations together."""
    ended_at: str | None = None
    """When it ended; it goes on if absent."""
    owner: str | None = None
    """Whose it is, a word that means something to the caller alone; nobody's in particular if absent."""
    summary: str | None = None
    """What was done in it."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"id": self.id, "projectPath": self.project_path, "startedAt": self.started_at, "tokenCount": self.token_count}
        if self.ended_at is not None:
            wire["endedAt"] = self.ended_at
        if self.owner is not None:
            wire["owner"] = self.owner
        if self.summary is not None:
            wire["summary"] = self.summary
        return wire


@dataclass(frozen=True, slots=True)
class SharedErasure(Value):
    """What became of an erasure beyond the node that did it."""

    nodes: list[UncleanNode]
    """Nodes whose files may hold something of it, by name. Each is rid of it when it follows."""
    out_of_reach: list[OutOfReach]
    """Places that may hold something of it, and that no node rids of it."""
    transaction: int
    """The transaction that erased it."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"nodes": [one.to_wire() for one in self.nodes], "outOfReach": self.out_of_reach, "transaction": self.transaction}
        return wire


@dataclass(frozen=True, slots=True)
class SharedLoop(Value):
    """Something that is left to do."""

    text: str
    """What is to be done."""
    due_at: str | None = None
    """When it is due, if that is said."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"text": self.text}
        if self.due_at is not None:
            wire["dueAt"] = self.due_at
        return wire


@dataclass(frozen=True, slots=True)
class SharedState(Value):
    """What is the case: of each thing what was said last."""

    facts: list[str]
    """Facts and preferences that hold, in the order in which they were told."""
    open_loops: list[SharedLoop]
    """What is left to do and not yet overdue, what is due first before what has no date."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"facts": self.facts, "openLoops": [one.to_wire() for one in self.open_loops]}
        return wire


@dataclass(frozen=True, slots=True)
class Skipped(Value):
    """A file or folder that was passed over."""

    path: str
    """Its path, written like `SourceFile::name`."""
    reason: str
    """Why, to follow "skipped:"."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"path": self.path, "reason": self.reason}
        return wire


@dataclass(frozen=True, slots=True)
class Snapshot(Value):
    """A snapshot on the wire."""

    bytes: int
    """Length of the file in bytes."""
    change: Seq
    """The last change of the store that is in it."""
    id: str
    """SHA-256 of the manifest, hexadecimal: equal ids, equal content."""
    model: str | None
    """The model of its vectors, if it has any."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"bytes": self.bytes, "change": self.change, "id": self.id, "model": self.model}
        return wire


@dataclass(frozen=True, slots=True)
class SourcePassage(Value):
    """A passage that a result rests on."""

    chunk_id: ChunkId
    """The chunk."""
    excerpt: str
    """The sentence that shows it, 1–500 characters."""
    lines: LineSpan
    """Lines of the chunk."""
    path: str
    """Path of its document."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"chunkId": self.chunk_id, "excerpt": self.excerpt, "lines": self.lines.to_wire(), "path": self.path}
        return wire


@dataclass(frozen=True, slots=True)
class Sources(Value):
    """Where an item comes from."""

    entity_ids: list[EntityId]
    """Linked entities."""
    relation_ids: list[RelationId]
    """Relations that led here."""
    chunk_id: ChunkId | None = None
    """The chunk."""
    community_id: CommunityId | None = None
    """The community."""
    file_id: FileId | None = None
    """The file."""
    passages: list[SourcePassage] = _field(default_factory=list["SourcePassage"])
    """The passages that an entity is described by, the most telling first."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"entityIds": self.entity_ids, "relationIds": self.relation_ids, "passages": [one.to_wire() for one in self.passages]}
        if self.chunk_id is not None:
            wire["chunkId"] = self.chunk_id
        if self.community_id is not None:
            wire["communityId"] = self.community_id
        if self.file_id is not None:
            wire["fileId"] = self.file_id
        return wire


@dataclass(frozen=True, slots=True)
class StageMetric(Value):
    """What one stage did."""

    duration: float
    """How long it took, in milliseconds."""
    in_: int
    """How many items went in."""
    out: int
    """How many came out."""
    stage: Stage
    """The stage."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"duration": self.duration, "in": self.in_, "out": self.out, "stage": self.stage}
        return wire


@dataclass(frozen=True, slots=True)
class StagePlace(Value):
    """A passage after one stage."""

    rank: int
    """Its rank after that stage, from 1."""
    score: Score
    """What the stage scored it."""
    stage: Stage
    """The stage."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"rank": self.rank, "score": self.score, "stage": self.stage}
        return wire


@dataclass(frozen=True, slots=True)
class StoredChunk(Value):
    """A chunk as the store keeps it."""

    bytes: ByteSpan
    """Position of the text in the document's body."""
    file: FileInfo
    """The file it comes from."""
    heading_path: list[str]
    """Headings above the span, outermost first."""
    id: ChunkId
    """Its public id."""
    language: Language
    """Language of the text."""
    level: ChunkLevel
    """Its role."""
    lines: LineSpan
    """The same in lines."""
    ordinal: int
    """Place among the document's chunks of this level, from 0."""
    text: str
    """The text of the span."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"bytes": self.bytes.to_wire(), "file": self.file.to_wire(), "headingPath": self.heading_path, "id": self.id, "language": self.language, "level": self.level, "lines": self.lines.to_wire(), "ordinal": self.ordinal, "text": self.text}
        return wire


@dataclass(frozen=True, slots=True)
class StoredDocument(Value):
    """A document with its passages."""

    chunks: list[StoredChunk]
    """Its passages, in order."""
    id: FileId
    """Hash of the path."""
    path: str
    """Where it was read from, or the caller's key."""
    tags: list[str]
    """Labels, sorted, each once."""
    title: str
    """Short name; may be empty."""
    date: datetime.date | None = None
    """The day it is about or from."""
    metadata: Metadata = _field(default_factory=dict[str, Any])
    """Fields of the caller's own."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"chunks": [one.to_wire() for one in self.chunks], "id": self.id, "path": self.path, "tags": self.tags, "title": self.title, "metadata": self.metadata}
        if self.date is not None:
            wire["date"] = self.date.isoformat()
        return wire


@dataclass(frozen=True, slots=True)
class Subgraph(Value):
    """A part of the graph, to be drawn."""

    edges: list[SubgraphEdge]
    """The relations among them."""
    nodes: list[SubgraphNode]
    """The entities, the most important first."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"edges": [one.to_wire() for one in self.edges], "nodes": [one.to_wire() for one in self.nodes]}
        return wire


@dataclass(frozen=True, slots=True)
class SubgraphEdge(Value):
    """A line of a drawing."""

    source: int
    """Place of one end in the nodes."""
    target: int
    """Place of the other."""
    weight: Score
    """How strong the relation is, 0–1."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"source": self.source, "target": self.target, "weight": self.weight}
        return wire


@dataclass(frozen=True, slots=True)
class SubgraphNode(Value):
    """An entity of a drawing."""

    chunks: int
    """How many chunks mention it."""
    entity: NamedEntity
    """The entity."""
    importance: Score
    """How well it is connected, 0–1."""
    community: int | None = None
    """The number of its community among those of the drawing, from 0, the largest first; absent for the most connected entity of the graph, which is in none."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"chunks": self.chunks, "entity": self.entity.to_wire(), "importance": self.importance}
        if self.community is not None:
            wire["community"] = self.community
        return wire


@dataclass(frozen=True, slots=True)
class SummaryBody(Value):
    """A summary in parts, each taken from the units that it is made of and from nothing else."""

    key_events: list[KeyEvent]
    """Sentences that name a day, and those of units that stand out, oldest first."""
    shared_state: SharedState
    """What was the case when the summary was made."""
    summary_text: str
    """The summary as a text."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"keyEvents": [one.to_wire() for one in self.key_events], "sharedState": self.shared_state.to_wire(), "summaryText": self.summary_text}
        return wire


@dataclass(frozen=True, slots=True)
class TableSaved(Value):
    """What was saved of one table."""

    lost: int | None
    """Rows that were not; none if nobody can say how many there were."""
    saved: int
    """Rows that were saved."""
    table: str
    """Its name."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"lost": self.lost, "saved": self.saved, "table": self.table}
        return wire


@dataclass(frozen=True, slots=True)
class UncleanNode(Value):
    """A node whose files may hold something that was erased."""

    erased: int
    """Up to which transaction its files are rid of what was erased."""
    name: str
    """Its name."""
    seen_seconds_ago: int
    """How long ago it told that."""
    transaction: int
    """How far it was when it last told of itself."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"erased": self.erased, "name": self.name, "seenSecondsAgo": self.seen_seconds_ago, "transaction": self.transaction}
        return wire


@dataclass(frozen=True, slots=True)
class UnitRecord(Value):
    """All that is known of one unit."""

    boundary_class: BoundaryClass
    """Who may see it."""
    entities: list[MemoryEntity]
    """The same as all units together tell of them: types, keys and roles."""
    events: list[RecordedEvent]
    """What was done to it, oldest first; the first hundred."""
    feedback: list[Feedback]
    """What was said of it, oldest first."""
    id: str
    """Its id."""
    kind: UnitKind
    """What it is."""
    links: list[LinkedClaim]
    """How it stands to other claims."""
    made: list[RelatedUnit]
    """What was made from it."""
    made_from: list[RelatedUnit]
    """What it was made from."""
    mentions: list[str]
    """Who and what it names, the surest first."""
    relations: list[MemoryRelation]
    """The relation of one to the other, as it says, with how often and when any unit says so."""
    state: UnitState
    """How far it has come in its life."""
    text: str
    """What it says; empty if it was scrubbed."""
    archived_as: str | None = None
    """Why it is archived, if it is."""
    claim: Claim | None = None
    """The claim, if it is one."""
    observation: Observation | None = None
    """The observation, if it is one and was not scrubbed."""
    reflection: Reflection | None = None
    """What reflection made of the observation, once it has."""
    summary: SummaryBody | None = None
    """The summary in parts, if it is one."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"boundaryClass": self.boundary_class, "entities": [one.to_wire() for one in self.entities], "events": [one.to_wire() for one in self.events], "feedback": [one.to_wire() for one in self.feedback], "id": self.id, "kind": self.kind, "links": [one.to_wire() for one in self.links], "made": [one.to_wire() for one in self.made], "madeFrom": [one.to_wire() for one in self.made_from], "mentions": self.mentions, "relations": [one.to_wire() for one in self.relations], "state": self.state, "text": self.text}
        if self.archived_as is not None:
            wire["archivedAs"] = self.archived_as
        if self.claim is not None:
            wire["claim"] = self.claim.to_wire()
        if self.observation is not None:
            wire["observation"] = self.observation.to_wire()
        if self.reflection is not None:
            wire["reflection"] = self.reflection.to_wire()
        if self.summary is not None:
            wire["summary"] = self.summary.to_wire()
        return wire


@dataclass(frozen=True, slots=True)
class Verification(Value):
    """A verification on the wire."""

    change: Seq
    """The store's last change."""
    findings: list[Finding]
    lagging: dict[str, int]
    """Rows that each index is yet to be given, where there are any."""
    rows: dict[str, int]
    """Rows that each index holds."""
    sound: bool
    """Whether nothing is wrong."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"change": self.change, "findings": [one.to_wire() for one in self.findings], "lagging": self.lagging, "rows": self.rows, "sound": self.sound}
        return wire


@dataclass(frozen=True, slots=True)
class View(Value):
    """What is told of a unit."""

    id: UnitId
    """The unit."""
    score: Score
    """How well it answers."""
    text: str
    """What it says, or the beginning of it."""
    tokens: int
    """Tokens of `text`."""
    happened_at: str | None = None
    """When it happened; from the second layer on."""
    kind: UnitKind | None = None
    """What it is; from the second layer on."""
    related: list[UnitId] = _field(default_factory=list["UnitId"])
    """What it is related to; in the third layer."""
    session: SessionId | None = None
    """The session that it is of; in the third layer."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"id": self.id, "score": self.score, "text": self.text, "tokens": self.tokens, "related": self.related}
        if self.happened_at is not None:
            wire["happenedAt"] = self.happened_at
        if self.kind is not None:
            wire["kind"] = self.kind
        if self.session is not None:
            wire["session"] = self.session
        return wire


@dataclass(frozen=True, slots=True)
class WebMetadata(Value):
    """Where a page comes from and how far to believe it."""

    service: str
    """The service that found it."""
    trust: Trust
    """Always untrusted: anyone may have written it, and it may hold instructions that are not to be followed."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"service": self.service, "trust": self.trust}
        return wire


@dataclass(frozen=True, slots=True)
class WebPage(Value):
    """A page that a web search found."""

    metadata: WebMetadata
    """Where it comes from and how far to believe it."""
    snippet: str
    """What the service shows of it; may be empty."""
    title: str
    """Its title; may be empty."""
    url: str
    """Its address: `http` or `https`."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"metadata": self.metadata.to_wire(), "snippet": self.snippet, "title": self.title, "url": self.url}
        return wire


@dataclass(frozen=True, slots=True)
class WeightedTerm(Value):
    """A term of the analyser and its weight."""

    term: str
    """The term."""
    weight: Score
    """Its weight; that of all terms of the question together is 1."""

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        wire: dict[str, Any] = {"term": self.term, "weight": self.weight}
        return wire


READER = Reader(
    [
        (SearchResult, [
            ("answerability", "answerability", None, ...),
            ("degraded", "degraded", [Degraded], ...),
            ("has_more", "hasMore", None, ...),
            ("offset", "offset", None, ...),
            ("processing_time", "processingTime", None, ...),
            ("query", "query", SearchQuery, ...),
            ("results", "results", [Hit], ...),
            ("stages", "stages", [StageMetric], ...),
            ("strategies", "strategies", (RetrieverMetric,), ...),
            ("total_count", "totalCount", None, ...),
            ("classification", "classification", QueryClassification, None),
            ("crag", "crag", CragReport, None),
            ("facets", "facets", [EntityFacet], list),
            ("next_cursor", "nextCursor", None, None),
            ("paths", "paths", [RelationshipPath], list),
        ]),
        (ActiveContext, [
            ("expires_at", "expiresAt", None, ...),
            ("id", "id", None, ...),
            ("items", "items", [ContextItem], ...),
            ("policy_version", "policyVersion", None, ...),
            ("scope", "scope", None, ...),
            ("provenance", "provenance", Provenance, None),
            ("window", "window", None, None),
        ]),
        (Affect, [
            ("intensity", "intensity", None, ...),
            ("label", "label", None, ...),
        ]),
        (ByteSpan, [
            ("end", "end", None, ...),
            ("start", "start", None, ...),
        ]),
        (CheckResult, [
            ("check", "check", None, ...),
            ("examples", "examples", None, ...),
            ("found", "found", None, ...),
            ("healthy", "healthy", None, ...),
            ("next", "next", None, ...),
            ("of", "of", None, ...),
        ]),
        (ChunkInContext, [
            ("chunk", "chunk", StoredChunk, ...),
            ("after", "after", StoredChunk, None),
            ("before", "before", StoredChunk, None),
        ]),
        (Claim, [
            ("boundary_class", "boundaryClass", None, ...),
            ("confidence", "confidence", None, ...),
            ("content_hash", "contentHash", None, ...),
            ("created_at", "createdAt", None, ...),
            ("decayed_at", "decayedAt", None, ...),
            ("epistemic_status", "epistemicStatus", None, ...),
            ("id", "id", None, ...),
            ("importance", "importance", None, ...),
            ("kind", "kind", None, ...),
            ("last_verified_at", "lastVerifiedAt", None, ...),
            ("origin", "origin", None, ...),
            ("pin", "pin", None, ...),
            ("quality", "quality", None, ...),
            ("recency", "recency", None, ...),
            ("recency_anchor", "recencyAnchor", None, ...),
            ("salience", "salience", None, ...),
            ("scope", "scope", None, ...),
            ("sources", "sources", None, ...),
            ("state", "state", None, ...),
            ("text", "text", None, ...),
            ("ttl", "ttl", None, ...),
            ("updated_at", "updatedAt", None, ...),
            ("utility", "utility", None, ...),
            ("object", "object", None, None),
            ("occurred_at", "occurredAt", None, None),
            ("predicate", "predicate", None, None),
            ("provenance", "provenance", Provenance, None),
            ("session", "session", None, None),
            ("subject", "subject", None, None),
            ("tags", "tags", None, list),
            ("valid_from", "validFrom", None, None),
            ("valid_to", "validTo", None, None),
        ]),
        (ClaimDraft, [
            ("origin", "origin", None, ...),
            ("text", "text", None, ...),
            ("boundary_class", "boundaryClass", None, None),
            ("confidence", "confidence", None, None),
            ("content_hash", "contentHash", None, None),
            ("created_at", "createdAt", None, None),
            ("decayed_at", "decayedAt", None, None),
            ("epistemic_status", "epistemicStatus", None, None),
            ("id", "id", None, None),
            ("importance", "importance", None, None),
            ("kind", "kind", None, None),
            ("last_verified_at", "lastVerifiedAt", None, None),
            ("object", "object", None, None),
            ("occurred_at", "occurredAt", None, None),
            ("pin", "pin", None, None),
            ("predicate", "predicate", None, None),
            ("provenance", "provenance", Provenance, None),
            ("quality", "quality", None, None),
            ("recency", "recency", None, None),
            ("recency_anchor", "recencyAnchor", None, None),
            ("salience", "salience", None, None),
            ("scope", "scope", None, None),
            ("session", "session", None, None),
            ("sources", "sources", None, list),
            ("state", "state", None, None),
            ("subject", "subject", None, None),
            ("tags", "tags", None, list),
            ("ttl", "ttl", None, None),
            ("updated_at", "updatedAt", None, None),
            ("utility", "utility", None, None),
            ("valid_from", "validFrom", None, None),
            ("valid_to", "validTo", None, None),
        ]),
        (ClaimEvidence, [
            ("claim_id", "claimId", None, ...),
            ("id", "id", None, ...),
            ("method", "method", None, ...),
            ("note", "note", None, None),
            ("observation_id", "observationId", None, None),
        ]),
        (ClaimScores, [
            ("confidence", "confidence", None, ...),
            ("quality", "quality", None, ...),
            ("recency", "recency", None, ...),
            ("utility", "utility", None, ...),
        ]),
        (Community, [
            ("id", "id", None, ...),
            ("keywords", "keywords", None, ...),
            ("level", "level", None, ...),
            ("name", "name", None, ...),
            ("size", "size", None, ...),
            ("summary", "summary", None, ...),
            ("parent", "parent", None, None),
        ]),
        (Content, [
            ("text", "text", None, ...),
            ("context_after", "contextAfter", None, None),
            ("context_before", "contextBefore", None, None),
            ("summary", "summary", None, None),
        ]),
        (ContextItem, [
            ("claim", "claim", None, ...),
            ("rank", "rank", None, ...),
            ("score", "score", None, ...),
        ]),
        (ContextPack, [
            ("budget", "budget", None, ...),
            ("sections", "sections", [PackSection], ...),
            ("text", "text", None, ...),
            ("tokens", "tokens", None, ...),
        ]),
        (ContextRequest, [
            ("query", "query", RecallQuery, ...),
            ("context", "context", None, list),
            ("window", "window", None, None),
        ]),
        (CorrectionOutcome, [
            ("found", "found", None, ...),
            ("kept", "kept", None, ...),
            ("repair", "repair", None, ...),
        ]),
        (CragPlan, [
            ("candidates", "candidates", None, ...),
            ("repairs", "repairs", None, ...),
            ("budget", "budget", Duration, None),
        ]),
        (CragReport, [
            ("actions", "actions", None, ...),
            ("basis", "basis", None, ...),
            ("confidence", "confidence", None, ...),
            ("needs_web_search", "needsWebSearch", None, ...),
            ("relevance", "relevance", None, ...),
            ("repairs", "repairs", [CorrectionOutcome], ...),
            ("refined_query", "refinedQuery", None, None),
            ("web", "web", [WebPage], list),
        ]),
        (CragScore, [
            ("confidence", "confidence", None, ...),
            ("needs_web_search", "needsWebSearch", None, ...),
            ("relevance", "relevance", None, ...),
            ("refined_query", "refinedQuery", None, None),
        ]),
        (DateRange, [
            ("end", "end", datetime.date, ...),
            ("start", "start", datetime.date, ...),
        ]),
        (Degraded, [
            ("reason", "reason", None, ...),
            ("stage", "stage", None, ...),
        ]),
        (Document, [
            ("body", "body", None, ...),
            ("path", "path", None, ...),
            ("date", "date", datetime.date, None),
            ("embedding", "embedding", None, None),
            ("format", "format", None, None),
            ("language", "language", None, None),
            ("metadata", "metadata", None, dict),
            ("tags", "tags", None, list),
            ("title", "title", None, None),
        ]),
        (Duration, [
            ("nanos", "nanos", None, ...),
            ("secs", "secs", None, ...),
        ]),
        (EngineStats, [
            ("absent", "absent", [Degraded], ...),
            ("background", "background", [Degraded], ...),
            ("bytes", "bytes", None, ...),
            ("cached_embeddings", "cachedEmbeddings", None, ...),
            ("change", "change", None, ...),
            ("chunks", "chunks", None, ...),
            ("embedded", "embedded", None, ...),
            ("files", "files", None, ...),
            ("graph_lag", "graphLag", None, ...),
            ("jobs", "jobs", JobCounts, ...),
            ("languages", "languages", None, ...),
            ("model", "model", None, ...),
            ("parents", "parents", None, ...),
            ("rows", "rows", None, ...),
            ("store_bytes", "storeBytes", None, ...),
        ]),
        (EntityFacet, [
            ("entity", "entity", NamedEntity, ...),
            ("results", "results", None, ...),
        ]),
        (EntityFacts, [
            ("aliases", "aliases", None, ...),
            ("chunks", "chunks", None, ...),
            ("degree", "degree", None, ...),
            ("importance", "importance", None, ...),
            ("kinds", "kinds", None, ...),
        ]),
        (EntityView, [
            ("aliases", "aliases", None, ...),
            ("chunks", "chunks", None, ...),
            ("degree", "degree", None, ...),
            ("description", "description", None, ...),
            ("entity", "entity", NamedEntity, ...),
            ("importance", "importance", None, ...),
            ("related", "related", [RelatedEntity], ...),
        ]),
        (Explanation, [
            ("missing_words", "missingWords", None, ...),
            ("retrievers", "retrievers", [RetrieverHit], ...),
            ("stages", "stages", [StagePlace], ...),
        ]),
        (Feedback, [
            ("claim_id", "claimId", None, ...),
            ("id", "id", None, ...),
            ("signal", "signal", None, ...),
            ("ts", "ts", None, ...),
            ("score", "score", None, None),
        ]),
        (FeedbackInput, [
            ("claim", "claim", None, ...),
            ("signal", "signal", None, ...),
            ("duplicate_of", "duplicateOf", None, None),
            ("score", "score", None, None),
        ]),
        (FeedbackOutcome, [
            ("previous", "previous", ClaimScores, ...),
            ("updated", "updated", ClaimScores, ...),
            ("feedback", "feedback", Feedback, None),
            ("representative", "representative", None, None),
        ]),
        (FileInfo, [
            ("id", "id", None, ...),
            ("path", "path", None, ...),
            ("tags", "tags", None, ...),
            ("title", "title", None, ...),
            ("date", "date", datetime.date, None),
            ("metadata", "metadata", None, dict),
        ]),
        (FindOptions, [
            ("layer", "layer", None, None),
            ("limit", "limit", None, None),
            ("since", "since", None, None),
            ("types", "types", None, list),
        ]),
        (Finding, [
            ("fault", "fault", None, ...),
            ("next", "next", None, ...),
            ("part", "part", None, ...),
        ]),
        (ForgetReceipt, [
            ("bytes_scanned", "bytesScanned", None, ...),
            ("files", "files", [ScannedFile], ...),
            ("hits", "hits", None, ...),
            ("removed", "removed", None, ...),
            ("searched", "searched", None, ...),
            ("shared", "shared", SharedErasure, None),
        ]),
        (FoundUnits, [
            ("degraded", "degraded", [Degraded], ...),
            ("tokens", "tokens", None, ...),
            ("views", "views", [View], ...),
        ]),
        (GitProvenance, [
            ("commit", "commit", None, ...),
            ("repo", "repo", None, ...),
            ("files", "files", None, None),
            ("url", "url", None, None),
        ]),
        (HealthReport, [
            ("results", "results", [CheckResult], ...),
        ]),
        (Highlight, [
            ("field", "field", None, ...),
            ("fragment", "fragment", None, ...),
            ("offsets", "offsets", [Offsets], ...),
        ]),
        (Ingested, [
            ("chunks_added", "chunksAdded", None, ...),
            ("chunks_removed", "chunksRemoved", None, ...),
            ("kept", "kept", [Kept], ...),
            ("removed", "removed", None, ...),
            ("skipped", "skipped", [Skipped], ...),
            ("unchanged", "unchanged", None, ...),
            ("written", "written", None, ...),
        ]),
        (ItemMetadata, [
            ("heading_path", "headingPath", None, ...),
            ("language", "language", None, ...),
            ("lines", "lines", LineSpan, ...),
            ("path", "path", None, ...),
            ("tags", "tags", None, ...),
            ("title", "title", None, ...),
            ("date", "date", datetime.date, None),
            ("metadata", "metadata", None, dict),
        ]),
        (JobCounts, [
            ("failed", "failed", None, ...),
            ("running", "running", None, ...),
            ("waiting", "waiting", None, ...),
        ]),
        (Kept, [
            ("indexed", "indexed", None, ...),
            ("missing", "missing", None, ...),
            ("path", "path", None, ...),
        ]),
        (KeyEvent, [
            ("at", "at", None, ...),
            ("text", "text", None, ...),
            ("unit", "unit", None, ...),
        ]),
        (LineSpan, [
            ("end", "end", None, ...),
            ("start", "start", None, ...),
        ]),
        (LinkedClaim, [
            ("id", "id", None, ...),
            ("inverse", "inverse", None, ...),
            ("kind", "kind", None, ...),
            ("relation", "relation", None, ...),
            ("text", "text", None, ...),
        ]),
        (Lost, [
            ("chunk", "chunk", None, ...),
            ("explanation", "explanation", Explanation, ...),
            ("reason", "reason", None, ...),
            ("lost_at", "lostAt", None, None),
        ]),
        (MaintenanceReport, [
            ("at", "at", None, ...),
            ("decayed", "decayed", None, ...),
            ("dry_run", "dryRun", None, ...),
            ("steps", "steps", [MaintenanceStep], ...),
        ]),
        (MaintenanceStep, [
            ("deed", "deed", None, ...),
            ("id", "id", None, ...),
            ("reason", "reason", None, ...),
        ]),
        (MemoryEntity, [
            ("id", "id", None, ...),
            ("name", "name", None, ...),
            ("roles", "roles", None, ...),
            ("type", "type", None, ...),
            ("attrs", "attrs", None, dict),
            ("canonical_key", "canonical_key", None, None),
        ]),
        (MemoryRelation, [
            ("count", "count", None, ...),
            ("first_seen_at", "firstSeenAt", None, ...),
            ("id", "id", None, ...),
            ("last_seen_at", "lastSeenAt", None, ...),
            ("relation", "relation", None, ...),
            ("source", "source", None, ...),
            ("target", "target", None, ...),
            ("weight", "weight", None, ...),
            ("evidence_claim_id", "evidenceClaimId", None, None),
            ("valid_from", "validFrom", None, None),
            ("valid_to", "validTo", None, None),
        ]),
        (ModelInfo, [
            ("languages", "languages", None, ...),
            ("license", "license", None, ...),
            ("name", "name", None, ...),
            ("path", "path", None, ...),
            ("present", "present", None, ...),
            ("role", "role", None, ...),
            ("size", "size", None, ...),
            ("version", "version", None, ...),
        ]),
        (NamedEntity, [
            ("entity_type", "entityType", None, ...),
            ("id", "id", None, ...),
            ("name", "name", None, ...),
        ]),
        (Observation, [
            ("boundary_class", "boundaryClass", None, ...),
            ("content", "content", None, ...),
            ("created_at", "createdAt", None, ...),
            ("id", "id", None, ...),
            ("kind", "kind", None, ...),
            ("lifetime_days", "lifetimeDays", None, ...),
            ("source_type", "sourceType", None, ...),
            ("actor", "actor", None, None),
            ("context_note", "contextNote", None, None),
            ("image_summary", "imageSummary", None, None),
            ("occurred_at", "occurredAt", None, None),
            ("proactive", "proactive", None, None),
            ("reply_text", "replyText", None, None),
            ("session", "session", None, None),
            ("source_id", "sourceId", None, None),
            ("tags", "tags", None, list),
        ]),
        (ObservationDraft, [
            ("content", "content", None, ...),
            ("actor", "actor", None, None),
            ("boundary_class", "boundaryClass", None, None),
            ("context_note", "contextNote", None, None),
            ("created_at", "createdAt", None, None),
            ("id", "id", None, None),
            ("image_summary", "imageSummary", None, None),
            ("kind", "kind", None, None),
            ("lifetime_days", "lifetimeDays", None, None),
            ("occurred_at", "occurredAt", None, None),
            ("proactive", "proactive", None, None),
            ("reply_text", "replyText", None, None),
            ("session", "session", None, None),
            ("source_id", "sourceId", None, None),
            ("source_type", "sourceType", None, None),
            ("tags", "tags", None, list),
        ]),
        (Offsets, [
            ("end", "end", None, ...),
            ("start", "start", None, ...),
        ]),
        (PackItem, [
            ("text", "text", None, ...),
            ("id", "id", None, None),
        ]),
        (PackSection, [
            ("items", "items", [PackItem], ...),
            ("kind", "kind", None, ...),
        ]),
        (PackedContext, [
            ("context", "context", ActiveContext, ...),
            ("degraded", "degraded", [Degraded], ...),
            ("pack", "pack", ContextPack, ...),
        ]),
        (PathStep, [
            ("relations", "relations", [RelationView], ...),
        ]),
        (Plan, [
            ("candidates", "candidates", None, ...),
            ("fingerprint", "fingerprint", None, ...),
            ("fusion", "fusion", None, ...),
            ("limit", "limit", None, ...),
            ("offset", "offset", None, ...),
            ("query_type", "queryType", None, ...),
            ("question", "question", Question, ...),
            ("retrievers", "retrievers", [PlannedRetriever], ...),
            ("rrf", "rrf", RrfConfig, ...),
            ("selection", "selection", Selection, ...),
            ("classification", "classification", QueryClassification, None),
            ("crag", "crag", CragPlan, None),
            ("cursor", "cursor", None, None),
            ("rerank", "rerank", RerankPlan, None),
        ]),
        (PlannedRetriever, [
            ("depth", "depth", None, ...),
            ("id", "id", None, ...),
            ("weight", "weight", None, ...),
            ("after", "after", None, list),
        ]),
        (Proof, [
            ("chunk_id", "chunkId", None, ...),
            ("excerpt", "excerpt", None, ...),
        ]),
        (Provenance, [
            ("at", "at", None, ...),
            ("actor", "actor", None, None),
            ("git", "git", GitProvenance, None),
            ("note", "note", None, None),
            ("signed", "signed", None, None),
            ("url", "url", None, None),
        ]),
        (QueryClassification, [
            ("confidence", "confidence", None, ...),
            ("expanded_queries", "expandedQueries", None, ...),
            ("extracted_entities", "extractedEntities", None, ...),
            ("original_query", "originalQuery", None, ...),
            ("suggested_weights", "suggestedWeights", None, ...),
            ("type", "type", None, ...),
        ]),
        (Question, [
            ("cross_lingual", "crossLingual", None, ...),
            ("language", "language", None, ...),
            ("rewrite", "rewrite", None, ...),
            ("text", "text", None, ...),
            ("embedding", "embedding", None, None),
            ("min_similarity", "minSimilarity", None, None),
            ("other_languages", "otherLanguages", None, list),
        ]),
        (RecallQuery, [
            ("allow", "allow", None, list),
            ("boundary_classes", "boundaryClasses", None, None),
            ("diverse", "diverse", None, None),
            ("include_meta", "includeMeta", None, None),
            ("profile", "profile", None, None),
            ("q", "q", None, None),
            ("recent_turns", "recentTurns", None, list),
            ("requester", "requester", Requester, None),
            ("save", "save", None, None),
            ("scope", "scope", None, None),
            ("session", "session", None, None),
            ("top_k", "topK", None, None),
        ]),
        (RecalledClaims, [
            ("claims", "claims", [ScoredClaim], ...),
            ("context", "context", ActiveContext, ...),
            ("degraded", "degraded", [Degraded], ...),
            ("evidences", "evidences", [ClaimEvidence], ...),
            ("reason", "reason", None, ...),
            ("scoring_params", "scoringParams", ScoringParams, ...),
        ]),
        (RecalledEpisode, [
            ("observation", "observation", Observation, ...),
            ("score", "score", None, ...),
        ]),
        (RecalledEpisodes, [
            ("degraded", "degraded", [Degraded], ...),
            ("episodes", "episodes", [RecalledEpisode], ...),
        ]),
        (RecordedEvent, [
            ("at", "at", None, ...),
            ("details", "details", None, ...),
            ("kind", "kind", None, ...),
        ]),
        (Reflection, [
            ("affect", "affect", Affect, ...),
            ("confidence", "confidence", None, ...),
            ("reasons", "reasons", None, ...),
            ("salience", "salience", None, ...),
        ]),
        (RelatedEntity, [
            ("entity", "entity", NamedEntity, ...),
            ("relations", "relations", [RelationView], ...),
            ("weight", "weight", None, ...),
        ]),
        (RelatedUnit, [
            ("id", "id", None, ...),
            ("kind", "kind", None, ...),
            ("text", "text", None, ...),
        ]),
        (RelationView, [
            ("id", "id", None, ...),
            ("proofs", "proofs", [Proof], ...),
            ("relation_type", "relationType", None, ...),
            ("source", "source", None, ...),
            ("target", "target", None, ...),
            ("seen", "seen", Seen, None),
        ]),
        (RelationshipPath, [
            ("entities", "entities", [NamedEntity], ...),
            ("steps", "steps", [PathStep], ...),
            ("weight", "weight", None, ...),
        ]),
        (Relevance, [
            ("combined", "combined", None, ...),
            ("crag", "crag", CragScore, None),
            ("rerank", "rerank", None, None),
            ("others", "", None, None),
        ]),
        (RepairReport, [
            ("after", "after", Verification, ...),
            ("before", "before", Verification, ...),
            ("rebuilt", "rebuilt", None, ...),
            ("saved", "saved", Salvaged, ...),
            ("set_aside", "setAside", None, ...),
        ]),
        (Requester, [
            ("actor", "actor", None, None),
            ("tool", "tool", None, None),
        ]),
        (RerankPlan, [
            ("batch", "batch", None, ...),
            ("compares", "compares", None, ...),
            ("passages", "passages", None, ...),
            ("thorough", "thorough", None, ...),
            ("budget", "budget", Duration, None),
            ("limit", "limit", None, None),
        ]),
        (RetrieverHit, [
            ("rank", "rank", None, ...),
            ("raw_score", "rawScore", None, ...),
            ("relevance", "relevance", None, ...),
            ("retriever", "retriever", None, ...),
        ]),
        (RetrieverMetric, [
            ("enabled", "enabled", None, ...),
            ("processing_time", "processingTime", None, ...),
            ("result_count", "resultCount", None, ...),
            ("top_score", "topScore", None, ...),
        ]),
        (RrfConfig, [
            ("k", "k", None, ...),
            ("normalize_scores", "normalizeScores", None, ...),
        ]),
        (Salvaged, [
            ("graph", "graph", None, ...),
            ("incomplete", "incomplete", None, ...),
            ("tables", "tables", [TableSaved], ...),
        ]),
        (ScannedFile, [
            ("bytes", "bytes", None, ...),
            ("hits", "hits", None, ...),
            ("path", "path", None, ...),
        ]),
        (ScoreBreakdown, [
            ("combined", "combined", None, ...),
            ("confidence", "confidence", None, ...),
            ("g", "g", None, ...),
            ("quality", "quality", None, ...),
            ("recency", "recency", None, ...),
            ("text", "text", None, ...),
            ("utility", "utility", None, ...),
            ("vector", "vector", None, ...),
            ("tokens", "tokens", None, None),
        ]),
        (ScoredClaim, [
            ("claim", "claim", Claim, ...),
            ("score", "score", None, ...),
            ("breakdown", "breakdown", ScoreBreakdown, None),
        ]),
        (ScoringParams, [
            ("alpha", "alpha", None, ...),
            ("k_final", "kFinal", None, ...),
            ("k_txt", "kTxt", None, ...),
            ("k_vec", "kVec", None, ...),
            ("recency_half_life_days", "recencyHalfLifeDays", None, ...),
        ]),
        (SearchFilters, [
            ("date_range", "dateRange", DateRange, ...),
            ("entity_types", "entityTypes", None, ...),
            ("file_ids", "fileIds", None, ...),
            ("languages", "languages", None, ...),
            ("min_relevance", "minRelevance", None, ...),
            ("path_glob", "pathGlob", None, ...),
            ("tags", "tags", None, ...),
            ("where", "where", None, None),
        ]),
        (SearchOptions, [
            ("adjoining", "adjoining", None, ...),
            ("crag_enabled", "cragEnabled", None, ...),
            ("diverse", "diverse", None, ...),
            ("explain", "explain", None, ...),
            ("include_highlights", "includeHighlights", None, ...),
            ("include_metadata", "includeMetadata", None, ...),
            ("limit", "limit", None, ...),
            ("offset", "offset", None, ...),
            ("rerank_enabled", "rerankEnabled", None, ...),
            ("strategies", "strategies", None, ...),
            ("thorough", "thorough", None, ...),
            ("cursor", "cursor", None, None),
            ("min_similarity", "minSimilarity", None, None),
            ("per_file", "perFile", None, None),
            ("result_types", "resultTypes", None, list),
            ("timeout_ms", "timeoutMs", None, None),
            ("weights", "weights", None, None),
        ]),
        (SearchQuery, [
            ("filters", "filters", SearchFilters, ...),
            ("options", "options", SearchOptions, ...),
            ("text", "text", None, ...),
            ("embedding", "embedding", None, None),
            ("type", "type", None, None),
        ]),
        (Hit, [
            ("content", "content", Content, ...),
            ("highlights", "highlights", [Highlight], ...),
            ("id", "id", None, ...),
            ("relevance", "relevance", Relevance, ...),
            ("score", "score", None, ...),
            ("sources", "sources", Sources, ...),
            ("type", "type", None, ...),
            ("entity", "entity", EntityFacts, None),
            ("explanation", "explanation", Explanation, None),
            ("document", "metadata", ItemMetadata, None),
        ]),
        (Seen, [
            ("count", "count", None, ...),
            ("first_seen_at", "firstSeenAt", None, ...),
            ("last_seen_at", "lastSeenAt", None, ...),
            ("weight", "weight", None, ...),
        ]),
        (Selection, [
            ("adjoining", "adjoining", None, ...),
            ("diverse", "diverse", None, ...),
            ("min_relevance", "minRelevance", None, ...),
            ("passages", "passages", None, ...),
            ("per_file", "perFile", None, None),
        ]),
        (Session, [
            ("id", "id", None, ...),
            ("project_path", "projectPath", None, ...),
            ("started_at", "startedAt", None, ...),
            ("token_count", "tokenCount", None, ...),
            ("ended_at", "endedAt", None, None),
            ("owner", "owner", None, None),
            ("summary", "summary", None, None),
        ]),
        (SharedErasure, [
            ("nodes", "nodes", [UncleanNode], ...),
            ("out_of_reach", "outOfReach", None, ...),
            ("transaction", "transaction", None, ...),
        ]),
        (SharedLoop, [
            ("text", "text", None, ...),
            ("due_at", "dueAt", None, None),
        ]),
        (SharedState, [
            ("facts", "facts", None, ...),
            ("open_loops", "openLoops", [SharedLoop], ...),
        ]),
        (Skipped, [
            ("path", "path", None, ...),
            ("reason", "reason", None, ...),
        ]),
        (Snapshot, [
            ("bytes", "bytes", None, ...),
            ("change", "change", None, ...),
            ("id", "id", None, ...),
            ("model", "model", None, ...),
        ]),
        (SourcePassage, [
            ("chunk_id", "chunkId", None, ...),
            ("excerpt", "excerpt", None, ...),
            ("lines", "lines", LineSpan, ...),
            ("path", "path", None, ...),
        ]),
        (Sources, [
            ("entity_ids", "entityIds", None, ...),
            ("relation_ids", "relationIds", None, ...),
            ("chunk_id", "chunkId", None, None),
            ("community_id", "communityId", None, None),
            ("file_id", "fileId", None, None),
            ("passages", "passages", [SourcePassage], list),
        ]),
        (StageMetric, [
            ("duration", "duration", None, ...),
            ("in_", "in", None, ...),
            ("out", "out", None, ...),
            ("stage", "stage", None, ...),
        ]),
        (StagePlace, [
            ("rank", "rank", None, ...),
            ("score", "score", None, ...),
            ("stage", "stage", None, ...),
        ]),
        (StoredChunk, [
            ("bytes", "bytes", ByteSpan, ...),
            ("file", "file", FileInfo, ...),
            ("heading_path", "headingPath", None, ...),
            ("id", "id", None, ...),
            ("language", "language", None, ...),
            ("level", "level", None, ...),
            ("lines", "lines", LineSpan, ...),
            ("ordinal", "ordinal", None, ...),
            ("text", "text", None, ...),
        ]),
        (StoredDocument, [
            ("chunks", "chunks", [StoredChunk], ...),
            ("id", "id", None, ...),
            ("path", "path", None, ...),
            ("tags", "tags", None, ...),
            ("title", "title", None, ...),
            ("date", "date", datetime.date, None),
            ("metadata", "metadata", None, dict),
        ]),
        (Subgraph, [
            ("edges", "edges", [SubgraphEdge], ...),
            ("nodes", "nodes", [SubgraphNode], ...),
        ]),
        (SubgraphEdge, [
            ("source", "source", None, ...),
            ("target", "target", None, ...),
            ("weight", "weight", None, ...),
        ]),
        (SubgraphNode, [
            ("chunks", "chunks", None, ...),
            ("entity", "entity", NamedEntity, ...),
            ("importance", "importance", None, ...),
            ("community", "community", None, None),
        ]),
        (SummaryBody, [
            ("key_events", "keyEvents", [KeyEvent], ...),
            ("shared_state", "sharedState", SharedState, ...),
            ("summary_text", "summaryText", None, ...),
        ]),
        (TableSaved, [
            ("lost", "lost", None, ...),
            ("saved", "saved", None, ...),
            ("table", "table", None, ...),
        ]),
        (UncleanNode, [
            ("erased", "erased", None, ...),
            ("name", "name", None, ...),
            ("seen_seconds_ago", "seenSecondsAgo", None, ...),
            ("transaction", "transaction", None, ...),
        ]),
        (UnitRecord, [
            ("boundary_class", "boundaryClass", None, ...),
            ("entities", "entities", [MemoryEntity], ...),
            ("events", "events", [RecordedEvent], ...),
            ("feedback", "feedback", [Feedback], ...),
            ("id", "id", None, ...),
            ("kind", "kind", None, ...),
            ("links", "links", [LinkedClaim], ...),
            ("made", "made", [RelatedUnit], ...),
            ("made_from", "madeFrom", [RelatedUnit], ...),
            ("mentions", "mentions", None, ...),
            ("relations", "relations", [MemoryRelation], ...),
            ("state", "state", None, ...),
            ("text", "text", None, ...),
            ("archived_as", "archivedAs", None, None),
            ("claim", "claim", Claim, None),
            ("observation", "observation", Observation, None),
            ("reflection", "reflection", Reflection, None),
            ("summary", "summary", SummaryBody, None),
        ]),
        (Verification, [
            ("change", "change", None, ...),
            ("findings", "findings", [Finding], ...),
            ("lagging", "lagging", None, ...),
            ("rows", "rows", None, ...),
            ("sound", "sound", None, ...),
        ]),
        (View, [
            ("id", "id", None, ...),
            ("score", "score", None, ...),
            ("text", "text", None, ...),
            ("tokens", "tokens", None, ...),
            ("happened_at", "happenedAt", None, None),
            ("kind", "kind", None, None),
            ("related", "related", None, list),
            ("session", "session", None, None),
        ]),
        (WebMetadata, [
            ("service", "service", None, ...),
            ("trust", "trust", None, ...),
        ]),
        (WebPage, [
            ("metadata", "metadata", WebMetadata, ...),
            ("snippet", "snippet", None, ...),
            ("title", "title", None, ...),
            ("url", "url", None, ...),
        ]),
        (WeightedTerm, [
            ("term", "term", None, ...),
            ("weight", "weight", None, ...),
        ]),
    ]
)
"""What makes objects of JSON."""
