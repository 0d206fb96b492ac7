"""Memory, within boundaries."""

from __future__ import annotations

import pickle

import pytest

import trefoil_search as trefoil
from trefoil_search import Boundary, Engine
from trefoil_search.types import ClaimDraft, FeedbackInput, ObservationDraft, RecallQuery


def test_what_is_observed_is_learnt_and_recalled(engine: Engine) -> None:
    memory = engine.memory
    memory.observe("Mika: I live in Kyoto. I prefer green tea.")
    memory.observe(ObservationDraft(content="지훈: 저는 매운 음식을 좋아하지 않아요."))
    engine.drain()
    found = memory.recall("매운 음식")
    assert found.claims[0].claim.text == "지훈: 저는 매운 음식을 좋아하지 않아요."
    assert memory.recall(RecallQuery(q="green tea", top_k=1)).claims
    assert memory.episodes("Kyoto").episodes
    packed = memory.context("Where does Mika live?", window=4000)
    assert "Kyoto" in packed.pack.text
    assert memory.find("Kyoto").views
    record = memory.record(found.claims[0].claim.id)
    assert record is not None and record.claim is not None


def test_a_boundary_shows_less(engine: Engine) -> None:
    memory = engine.memory
    memory.observe("Mika likes tea.")
    narrow = Boundary(boundary_classes=("public",))
    assert memory.episodes("tea").episodes
    assert not memory.episodes("tea", boundary=narrow).episodes
    assert b"Mika" not in pickle.dumps(memory.episodes("tea", boundary=narrow))
    with pytest.raises(trefoil.InvalidInput):
        memory.recall("tea", boundary=Boundary(scope=()))
    with pytest.raises(trefoil.BoundaryDenied):
        memory.recall(RecallQuery(q="tea", boundary_classes=["secret"]))


def test_claims_are_stored_corrected_and_forgotten(engine: Engine) -> None:
    memory = engine.memory
    observation = memory.observe("Ada keeps bees.")
    draft = ClaimDraft(
        text="Ada keeps bees on the roof.", origin={"observed": observation.id}, subject="Ada"
    )
    [claim] = memory.insert_claims([draft])
    with pytest.raises(trefoil.DuplicateClaim):
        memory.insert_claims([draft])
    [outcome] = memory.feedback([FeedbackInput(claim=claim.id, signal="helpful")])
    assert outcome is not None
    assert memory.maintain(dry_run=True).dry_run is True
    receipt = memory.forget(subject="Ada")
    assert receipt.to_wire()
    assert not memory.recall("bees roof").claims
    with pytest.raises(trefoil.InvalidInput, match="one of"):
        memory.forget()


def test_policies_and_sessions(engine: Engine) -> None:
    memory = engine.memory
    policy = memory.policy()
    assert memory.apply_policy(policy, dry_run=True)
    with pytest.raises(trefoil.InvalidInput):
        memory.apply_policy("version: nonsense")
    with pytest.raises(trefoil.NotFound):
        memory.policy("9.9.9")
    session = memory.create_session("/notes", owner="me")
    assert memory.end_session(session.id, "Took notes.").summary == "Took notes."
    with pytest.raises(trefoil.TrefoilError, match="ended"):
        memory.end_session(session.id, "Again.")
