"""LlamaIndex: the store against its own, and an index that answers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

import trefoil_search as trefoil
from trefoil_search.llama_index import TrefoilRetriever, TrefoilVectorStore, condition_of

NODES = 1_000
TREES = 500


@pytest.fixture
def store(index: Path) -> Iterator[TrefoilVectorStore]:
    store = TrefoilVectorStore(path=str(index), dimensions=4)
    yield store
    store.close()


def node(number: int, numbers: random.Random) -> TextNode:
    metadata: dict[str, Any] = {"n": numbers.randrange(10), "word": numbers.choice("abcde")}
    if numbers.random() < 0.5:
        metadata["tags"] = numbers.sample(["x", "y", "z"], numbers.randrange(4))
    if numbers.random() < 0.3:
        metadata["note"] = numbers.choice(["", "abc", "bcd", None])
    related = RelatedNodeInfo(node_id=f"doc{number % 7}")
    return TextNode(
        id_=f"node{number}",
        text=f"Node {number} says {metadata['word']}.",
        metadata=metadata,
        embedding=[numbers.uniform(-1, 1) for _ in range(4)],
        relationships={NodeRelationship.SOURCE: related},
        start_char_idx=number,
        end_char_idx=number + 5,
    )


def comparison(numbers: random.Random) -> MetadataFilter:
    operator = FilterOperator
    choices: list[tuple[str, list[str], Any]] = [
        ("n", ["==", "!=", ">", ">=", "<", "<="], numbers.randrange(10)),
        ("n", ["in", "nin"], [numbers.randrange(10) for _ in range(3)]),
        ("word", ["==", "!="], numbers.choice("abcdef")),
        ("word", ["in", "nin"], [numbers.choice("abcdef") for _ in range(2)]),
        ("tags", ["any", "all"], numbers.sample(["x", "y", "z"], numbers.randrange(1, 3))),
        ("tags", ["contains"], numbers.choice("xyz")),
        ("note", ["text_match"], numbers.choice(["a", "bc", "zz"])),
        ("note", ["is_empty"], None),
        ("missing", ["==", "!=", "is_empty"], "x"),
    ]
    key, operators, value = numbers.choice(choices)
    return MetadataFilter(key=key, value=value, operator=operator(numbers.choice(operators)))


def admits(filters: MetadataFilters, metadata: dict[str, Any]) -> bool:
    """What the framework says of a tree; it judges one level at a time."""
    said: list[bool] = []
    for one in filters.filters:
        if isinstance(one, MetadataFilters):
            said.append(admits(one, metadata))
        else:
            judge = build_metadata_filter_fn(lambda _: metadata, MetadataFilters(filters=[one]))
            said.append(judge("any"))
    if filters.condition == FilterCondition.OR:
        return any(said)
    return not any(said) if filters.condition == FilterCondition.NOT else all(said)


def tree(numbers: random.Random, depth: int = 0) -> MetadataFilters:
    parts: list[Any] = []
    for _ in range(numbers.randrange(1, 4)):
        nested = depth < 2 and numbers.random() < 0.3
        parts.append(tree(numbers, depth + 1) if nested else comparison(numbers))
    return MetadataFilters(filters=parts, condition=numbers.choice(list(FilterCondition)))


def test_filters_let_through_what_the_framework_does(store: TrefoilVectorStore) -> None:
    numbers = random.Random(7)
    nodes = [node(number, numbers) for number in range(NODES)]
    store.add(nodes)
    for _ in range(TREES):
        filters = tree(numbers)
        expected = {one.node_id for one in nodes if admits(filters, one.metadata)}
        found = {one.path for one in store.client.documents(where=condition_of(filters))}
        assert found == expected, filters


def test_vectors_are_ranked_as_the_framework_does(store: TrefoilVectorStore) -> None:
    numbers = random.Random(8)
    nodes = [node(number, numbers) for number in range(200)]
    simple = SimpleVectorStore()
    simple.add(nodes)
    store.add(nodes)
    for _ in range(20):
        query = VectorStoreQuery(
            query_embedding=[numbers.uniform(-1, 1) for _ in range(4)],
            similarity_top_k=10,
            filters=MetadataFilters(filters=[comparison(numbers)]),
        )
        assert store.query(query).ids == simple.query(query).ids


def test_nodes_come_back_whole_and_go(store: TrefoilVectorStore) -> None:
    numbers = random.Random(9)
    nodes = [node(number, numbers) for number in range(14)]
    store.add(nodes)
    [one] = store.get_nodes(node_ids=["node3"])
    assert one.relationships == nodes[3].relationships
    assert (one.metadata, one.get_content()) == (nodes[3].metadata, nodes[3].get_content())
    assert isinstance(one, TextNode) and (one.start_char_idx, one.end_char_idx) == (3, 8)
    store.delete("doc3")
    store.delete_nodes(node_ids=["node0"])
    left = {one.node_id for one in store.get_nodes()}
    assert left == {f"node{number}" for number in range(14)} - {"node3", "node10", "node0"}
    words = VectorStoreQuery(query_str="Node 5", mode=VectorStoreQueryMode.TEXT_SEARCH)
    assert store.query(words).ids == ["node5"]
    near: dict[str, Any] = {"query_embedding": nodes[6].embedding, "similarity_top_k": 20}
    nearest = store.query(VectorStoreQuery(**near))

    def both(alpha: float) -> VectorStoreQueryResult:
        mode = VectorStoreQueryMode.HYBRID
        return store.query(VectorStoreQuery(query_str="Node 5", mode=mode, alpha=alpha, **near))

    assert (both(1.0).ids, both(1.0).similarities) == (nearest.ids, nearest.similarities)
    assert (both(0.0).ids or [])[0] == "node5"
    with pytest.raises(ValueError, match="no query mode"):
        store.query(VectorStoreQuery(query_str="x", mode=VectorStoreQueryMode.SVM))
    with pytest.raises(ValueError, match="no operator"):
        store.get_nodes(
            filters=MetadataFilters(
                filters=[
                    MetadataFilter(
                        key="word", value="A", operator=FilterOperator.TEXT_MATCH_INSENSITIVE
                    )
                ]
            )
        )
    store.clear()
    assert store.get_nodes() == []


def test_an_index_answers_from_the_store(store: TrefoilVectorStore) -> None:
    context = StorageContext.from_defaults(vector_store=store)
    nodes = [TextNode(id_="w", text="The walrus sleeps."), TextNode(id_="z", text="A zebra.")]
    made: Any = VectorStoreIndex(
        nodes, storage_context=context, embed_model=MockEmbedding(embed_dim=4)
    )
    engine = made.as_query_engine(llm=MockLLM(), similarity_top_k=2)
    answer = engine.query("What sleeps?")
    assert {one.node.node_id for one in answer.source_nodes} == {"w", "z"}


def test_a_retriever_ranks_any_index(engine: trefoil.Engine) -> None:
    engine.ingest([trefoil.Document("a.md", "The walrus sleeps.", metadata={"n": 1})])
    retriever = TrefoilRetriever(engine, k=3)
    [found] = retriever.retrieve("walrus")
    assert found.score and found.node.metadata["n"] == 1
    assert found.node.metadata["trefoil"]["path"] == "a.md"
    assert retriever.retrieve("zebra") == []
