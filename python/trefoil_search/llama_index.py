"""LlamaIndex on an engine: a retriever over any index, and a vector store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .document import Document as Written
from .engine import Engine
from .engine import open as open_engine
from .filters import Condition, field
from .model import External
from .opening import Opening
from .provenance import KEY, LEAST_RELEVANCE, provenance

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import (
        BaseNode,
        MetadataMode,
        NodeWithScore,
        QueryBundle,
        TextNode,
    )
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )

    # `metadata_dict_to_node` takes a `dict` without the types of keys and values.
    from llama_index.core.vector_stores.utils import (
        metadata_dict_to_node,  # pyright: ignore[reportUnknownVariableType]
        node_to_metadata_dict,
    )
except ImportError as error:
    raise ImportError(
        "LlamaIndex is missing; run `pip install trefoil-search[llama_index]`"
    ) from error

__all__ = ["TrefoilRetriever", "TrefoilVectorStore"]


class TrefoilRetriever(BaseRetriever):
    """Ranks passages of any index with all retrievers.

    `engine` is an `Engine`, or a `Client` of a server. A question that the index does not answer
    gives few or no nodes, unless `min_relevance` is 0. `options` are those of `Engine.search`.
    """

    def __init__(
        self, engine: Any, *, k: int = 4, min_relevance: float = LEAST_RELEVANCE, **options: Any
    ) -> None:
        # Its parameter is annotated `Dict`, without the types of keys and values.
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.engine = engine
        self.k = k
        self.options = {"min_relevance": min_relevance, "result_types": ["chunk"], **options}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.engine.search(query_bundle.query_str, limit=self.k, **self.options)
        nodes: list[NodeWithScore] = []
        for hit in found:
            metadata = {**hit.metadata, KEY: provenance(hit, found)}
            node = TextNode(
                id_=hit.chunk_id,
                text=hit.text,
                metadata=metadata,
                excluded_embed_metadata_keys=[KEY],
                excluded_llm_metadata_keys=[KEY],
            )
            nodes.append(NodeWithScore(node=node, score=hit.score))
        return nodes


class TrefoilVectorStore(BasePydanticVectorStore):
    """A vector store over the index at `path`, of vectors that the nodes bring.

    `dimensions` is how many numbers they have; `name` says what makes them.
    """

    stores_text: bool = True
    flat_metadata: bool = False
    path: str
    dimensions: int
    name: str = "llama-index"
    _opening: Opening = PrivateAttr(default_factory=Opening)

    @classmethod
    def class_name(cls) -> str:
        """Return the name by which it is told in files."""
        return "TrefoilVectorStore"

    @property
    def client(self) -> Engine:
        """The engine, which is opened when it is first needed."""
        model = External(self.name, self.dimensions)
        return self._opening.engine(lambda: open_engine(self.path, model=model))

    def close(self) -> None:
        """Close the engine; it is opened again when it is needed."""
        self._opening.close()

    # Nodes

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Store nodes with their vectors, each in the place of the one with its id."""
        self.client.ingest(_written(node) for node in nodes)
        self.client.drain()
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Remove the nodes of a document."""
        self._remove(field("ref") == ref_doc_id)

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Remove nodes: those with an id among these and metadata that passes the filters."""
        self._remove(_among(node_ids, None, filters))

    def clear(self) -> None:
        """Remove all nodes."""
        self._remove(None)

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes: those with an id among these and metadata that passes the filters."""
        listed = list(self.client.documents(where=_among(node_ids, None, filters)))
        texts = self.client.texts(one.path for one in listed)
        return [_node(one.metadata, "".join(text)) for one, text in zip(listed, texts, strict=True)]

    def _remove(self, where: Condition | None) -> None:
        self.client.remove([one.path for one in self.client.documents(where=where)])

    # Questions

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the nodes that answer best.

        The mode is `DEFAULT` (vectors), `TEXT_SEARCH` (words) or `HYBRID`, where `alpha` is the
        share of the vectors. Nothing is reranked, so that the order is that of these shares.
        """
        options: dict[str, Any] = {
            "limit": query.hybrid_top_k or query.similarity_top_k,
            "where": _among(query.node_ids or None, query.doc_ids or None, query.filters),
            "result_types": ["chunk"],
        }
        mode = query.mode
        if mode == VectorStoreQueryMode.DEFAULT:
            if query.query_embedding is None:
                raise ValueError("the query has no embedding")
            found = self.client.search_vector(query.query_embedding, **options)
        elif mode in (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.HYBRID):
            strategies = ["keyword"]
            if mode == VectorStoreQueryMode.HYBRID:
                strategies.append("semantic")
                alpha = 0.5 if query.alpha is None else query.alpha
                options["weights"] = {"keyword": 1 - alpha, "semantic": alpha}
            found = self.client.search(
                query.query_str or "",
                embedding=query.query_embedding,
                strategies=strategies,
                rerank=False,
                **options,
            )
        else:
            raise ValueError(f"there is no query mode {mode!r} here")
        nodes = [_node(hit.metadata, hit.text) for hit in found]
        return VectorStoreQueryResult(
            nodes=nodes,
            similarities=[hit.score for hit in found],
            ids=[hit.path for hit in found],
        )


def _written(node: BaseNode) -> Written:
    told = node_to_metadata_dict(node, remove_text=True, flat_metadata=False)
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    own = {
        "id": node.node_id,
        "ref": node.ref_doc_id,
        "node": told["_node_content"],
        "type": told["_node_type"],
        "meta": {_key(name): value for name, value in node.metadata.items()},
        "blank": not text.strip(),
    }
    # A passage has to say something to be found by its vector.
    body = text if text.strip() else node.node_id
    return Written(node.node_id, body, format="whole", metadata=own, embedding=node.embedding)


def _node(own: Any, text: str) -> BaseNode:
    told = {"_node_content": own["node"], "_node_type": own["type"]}
    return metadata_dict_to_node(told, text="" if own["blank"] else text)


def _key(name: str) -> str:
    """Return the name of a field without what would lead below it."""
    return name.replace(".", "․")


def _among(
    node_ids: list[str] | None, doc_ids: list[str] | None, filters: MetadataFilters | None
) -> Condition | None:
    parts: list[Condition] = []
    if node_ids is not None:
        parts.append(field("id").in_(node_ids))
    if doc_ids is not None:
        parts.append(field("ref").in_(doc_ids))
    if filters is not None and filters.filters:
        parts.append(condition_of(filters))
    return _joined("and", [part.to_wire() for part in parts]) if parts else None


def _joined(word: str, wires: list[Any]) -> Condition:
    """Return conditions as one; conditions may lie eight deep only."""
    return Condition(wires[0] if len(wires) == 1 else {word: wires})


def condition_of(filters: MetadataFilters) -> Condition:
    """Return filters of LlamaIndex as a condition. `NOT` holds where none of them does."""
    parts = [
        condition_of(one) if isinstance(one, MetadataFilters) else _comparison(one)
        for one in filters.filters
    ]
    wires = [part.to_wire() for part in parts]
    if filters.condition in (FilterCondition.AND, None):
        return _joined("and", wires)
    any_of = _joined("or", wires)
    return any_of if filters.condition == FilterCondition.OR else ~any_of


_ORDERS = {
    FilterOperator.GT: ">",
    FilterOperator.GTE: ">=",
    FilterOperator.LT: "<",
    FilterOperator.LTE: "<=",
}


def _comparison(one: MetadataFilter) -> Condition:
    found, value, operator = field(f"meta.{_key(one.key)}"), one.value, one.operator
    values: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]
    if operator == FilterOperator.IS_EMPTY:
        return found.exists(False) | (found == "") | (found == [])
    if operator in (FilterOperator.EQ, FilterOperator.NE):
        # Null is equal to nothing.
        equal = Condition({"or": []}) if value is None else found == value
        return equal if operator == FilterOperator.EQ else ~equal
    if operator in _ORDERS:
        return Condition({"field": found.name, "op": _ORDERS[operator], "value": value})
    if operator in (FilterOperator.IN, FilterOperator.NIN):
        among = found.in_(values)
        return among if operator == FilterOperator.IN else ~among
    if operator in (FilterOperator.CONTAINS, FilterOperator.TEXT_MATCH):
        return found.contains(value)
    if operator in (FilterOperator.ALL, FilterOperator.ANY):
        wires = [found.contains(part).to_wire() for part in values]
        if operator == FilterOperator.ANY:
            return _joined("or", wires)
        return found.exists() & Condition({"and": wires})
    raise ValueError(f"there is no operator {operator!r} here")
