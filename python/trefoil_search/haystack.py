"""Haystack on an engine: a document store, and a retriever component."""

from __future__ import annotations

import asyncio
import datetime
import itertools
import json
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from .document import Document as Written
from .engine import Engine
from .engine import open as open_engine
from .errors import expect
from .filters import Condition, field
from .model import External
from .opening import Opening
from .provenance import KEY, LEAST_RELEVANCE, provenance

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.dataclasses import ByteStream, SparseEmbedding
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy
    from haystack.errors import FilterError
except ImportError as error:
    raise ImportError("Haystack is missing; run `pip install trefoil-search[haystack]`") from error

__all__ = ["TrefoilDocumentStore", "TrefoilRetriever"]

_PAGE = 500


class TrefoilDocumentStore:
    """A document store over an index: ids are paths, and a document is one passage.

    With `embedding_dimensions`, its vectors are those of the documents; `embedding_model` names
    what makes them. Without, they are those of the engine's `model`, and documents bring none.
    `settings` are those of `trefoil_search.open`. A document has at most 16 KiB of metadata.
    """

    def __init__(
        self,
        path: str,
        *,
        embedding_dimensions: int | None = None,
        embedding_model: str = "haystack",
        model: str = "none",
        **settings: Any,
    ) -> None:
        self.path = path
        self.embedding_dimensions = embedding_dimensions
        self.embedding_model = embedding_model
        self.model = model
        self.settings = settings
        self._opening = Opening()
        self._written = itertools.count(time.time_ns())

    @property
    def engine(self) -> Engine:
        """The engine, which is opened when it is first needed."""
        return self._opening.engine(self._open)

    def _open(self) -> Engine:
        model: Any = self.model
        if self.embedding_dimensions is not None:
            model = External(self.embedding_model, self.embedding_dimensions)
        return open_engine(self.path, model=model, **self.settings)

    def close(self) -> None:
        """Close the engine; it is opened again when it is needed."""
        self._opening.close()

    def to_dict(self) -> dict[str, Any]:
        """Return how to make the store again."""
        return default_to_dict(
            self,
            path=self.path,
            embedding_dimensions=self.embedding_dimensions,
            embedding_model=self.embedding_model,
            model=self.model,
            **self.settings,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TrefoilDocumentStore:
        """Make a store of what `to_dict` returned."""
        made: TrefoilDocumentStore = default_from_dict(cls, data)
        return made

    # Documents

    def count_documents(self) -> int:
        """Return how many documents there are."""
        return int(self.engine.stats().files)

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that pass filters, in the order in which they were written."""
        return [document for _, document in self._found(filters)]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Store documents and return how many; `NONE` is `FAIL`."""
        expect(documents, list, "documents", "a list of documents")
        for one in documents:
            expect(one, Document, "documents", "a list of documents")
        last: dict[str, Document] = {one.id: one for one in documents}
        if policy is not DuplicatePolicy.OVERWRITE:
            known = {one.path for one in self.engine.documents() if one.path in last}
            if policy is DuplicatePolicy.SKIP:
                last = {}
                for one in documents:
                    if one.id not in known:
                        last.setdefault(one.id, one)
            elif known or len(last) < len(documents):
                id = next(iter(known), documents[0].id)
                raise DuplicateDocumentError(f"there is a document with id {id!r} already")
        self.engine.ingest(self._written_form(one) for one in last.values())
        self.engine.drain()
        return len(last)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Remove documents by id; an unknown id is no error."""
        self.engine.remove(document_ids)

    def delete_all_documents(self, recreate_index: bool = False) -> None:
        """Remove all documents, and rebuild the empty index if asked."""
        self.engine.remove([one.path for one in self.engine.documents()])
        if recreate_index:
            self.engine.rebuild()

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Remove the documents that pass filters, and return how many."""
        return self.engine.remove([one.path for one in self._listed(filters)])

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Put fields into the metadata of the documents that pass filters; how many."""
        listed = list(self._listed(filters))
        for one in listed:
            own = one.metadata
            changed = {**own["meta"], **meta}
            patch = {"meta": changed, "dates": _dates(changed)}
            self.engine.update_metadata([one.path], patch)
        return len(listed)

    # What the metadata says

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return how many documents pass filters."""
        return sum(1 for _ in self._listed(filters))

    def count_unique_metadata_by_filter(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Return how many values each field has among the documents that pass filters."""
        listed = list(self._listed(filters))
        return {
            name: len({_key(value) for value in _values(listed, name)}) for name in metadata_fields
        }

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the fields of the metadata with their types."""
        info: dict[str, dict[str, str]] = {}
        for one in self.engine.documents():
            for name, value in one.metadata["meta"].items():
                info.setdefault(name, {"type": _type_of(value)})
        return info

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the least and the largest value of a field; `None` if there is none."""
        values = [
            one for one in _values(self.engine.documents(), metadata_field) if one is not None
        ]
        return {"min": min(values, default=None), "max": max(values, default=None)}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Return a page of the values of a field, and how many values there are."""
        term = (search_term or "").lower()
        values = {
            _key(value): value
            for value in _values(self._listed(filters), metadata_field)
            if value is not None and term in str(value).lower()
        }
        ordered = [values[key] for key in sorted(values)]
        return ordered[from_ : from_ + size], len(ordered)

    # Search

    def search(
        self,
        query: str,
        *,
        embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        **options: Any,
    ) -> list[Document]:
        """Return the documents that answer a question best, with their scores.

        Of an index that was not written as a document store they are the passages.
        """
        found = self.engine.search(
            query,
            embedding=embedding,
            limit=top_k,
            where=condition_of(filters),
            result_types=["chunk"],
            **options,
        )
        documents: list[Document] = []
        for hit in found:
            if "order" in hit.metadata:
                one = self._read(hit.path, hit.metadata, hit.text, None)
            else:
                one = Document(id=hit.id, content=hit.text, meta=dict(hit.metadata))
            meta = {**one.meta, KEY: provenance(hit, found)}
            documents.append(_changed(one, meta=meta, score=hit.score))
        return documents

    # Awaitable

    async def count_documents_async(self) -> int:
        """Await `count_documents`."""
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Await `filter_documents`."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Await `write_documents`."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """Await `delete_documents`."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self, recreate_index: bool = False) -> None:
        """Await `delete_all_documents`."""
        await asyncio.to_thread(self.delete_all_documents, recreate_index)

    async def delete_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Await `delete_by_filter`."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Await `update_by_filter`."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)

    async def count_documents_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Await `count_documents_by_filter`."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def count_unique_metadata_by_filter_async(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Await `count_unique_metadata_by_filter`."""
        return await asyncio.to_thread(
            self.count_unique_metadata_by_filter, filters, metadata_fields
        )

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """Await `get_metadata_fields_info`."""
        return await asyncio.to_thread(self.get_metadata_fields_info)

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """Await `get_metadata_field_min_max`."""
        return await asyncio.to_thread(self.get_metadata_field_min_max, metadata_field)

    async def get_metadata_field_unique_values_async(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Await `get_metadata_field_unique_values`."""
        return await asyncio.to_thread(
            self.get_metadata_field_unique_values, metadata_field, search_term, from_, size, filters
        )

    async def search_async(self, query: str, **options: Any) -> list[Document]:
        """Await `search`."""
        return await asyncio.to_thread(lambda: self.search(query, **options))

    # Forms

    def _written_form(self, one: Document) -> Written:
        has_text = bool(one.content and one.content.strip())
        own: dict[str, Any] = {
            "id": one.id,
            "meta": one.meta,
            "order": next(self._written),
            "embedded": one.embedding is not None,
        }
        dates = _dates(one.meta)
        if dates:
            own["dates"] = dates
        if not has_text:
            own["content"] = one.content
        if one.blob is not None:
            own["blob"] = one.blob.to_dict()
        if one.sparse_embedding is not None:
            own["sparse"] = one.sparse_embedding.to_dict()
        if one.embedding is not None and self.embedding_dimensions is None:
            raise ValueError(
                f"document {one.id!r} has an embedding; make the store with `embedding_dimensions`"
            )
        # A passage has to say something to be found by its vector.
        body = one.content if has_text and one.content else one.id
        return Written(one.id, body, format="whole", metadata=own, embedding=one.embedding)

    def _read(self, id: str, own: Any, text: str, embedding: list[float] | None) -> Document:
        blob, sparse = own.get("blob"), own.get("sparse")
        return Document(
            id=id,
            content=own["content"] if "content" in own else text,
            meta=own["meta"],
            blob=None if blob is None else ByteStream.from_dict(blob),
            embedding=embedding,
            sparse_embedding=None if sparse is None else SparseEmbedding.from_dict(sparse),
        )

    def _listed(self, filters: dict[str, Any] | None) -> Iterator[Any]:
        """Go through what is known of the documents that pass filters."""
        return self.engine.documents(where=condition_of(filters))

    def _found(self, filters: dict[str, Any] | None) -> list[tuple[int, Document]]:
        """Return the documents that pass filters, in the order in which they were written."""
        listed = sorted(self._listed(filters), key=lambda one: one.metadata["order"])
        documents: list[tuple[int, Document]] = []
        for start in range(0, len(listed), _PAGE):
            page = listed[start : start + _PAGE]
            texts = self.engine.texts(one.path for one in page)
            embedded = [one.path for one in page if one.metadata["embedded"]]
            vectors = dict(zip(embedded, self.engine.vectors(embedded), strict=True))
            for one, text in zip(page, texts, strict=True):
                vector = vectors.get(one.path)
                embedding = None if vector is None else [float(value) for value in vector]
                read = self._read(one.path, one.metadata, "".join(text), embedding)
                documents.append((one.metadata["order"], read))
        return documents


@component
class TrefoilRetriever:
    """Ranks the documents of a `TrefoilDocumentStore` by words and, where it has vectors, meaning.

    A question that they do not answer gives few or none, unless `min_relevance` is 0.
    """

    def __init__(
        self,
        document_store: TrefoilDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        min_relevance: float = LEAST_RELEVANCE,
        rerank: bool | None = None,
        thorough: bool | None = None,
        crag: bool | None = None,
    ) -> None:
        expect(document_store, TrefoilDocumentStore, "document_store", "a `TrefoilDocumentStore`")
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.min_relevance = min_relevance
        self.rerank = rerank
        self.thorough = thorough
        self.crag = crag

    def to_dict(self) -> dict[str, Any]:
        """Return how to make the component again."""
        return default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            min_relevance=self.min_relevance,
            rerank=self.rerank,
            thorough=self.thorough,
            crag=self.crag,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TrefoilRetriever:
        """Make a component of what `to_dict` returned."""
        parameters = data["init_parameters"]
        store = TrefoilDocumentStore.from_dict(parameters["document_store"])
        made: TrefoilRetriever = default_from_dict(
            cls, {**data, "init_parameters": {**parameters, "document_store": store}}
        )
        return made

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        query_embedding: list[float] | None = None,
    ) -> dict[str, list[Document]]:
        """Return the documents that answer best."""
        asked = self._asked(filters, top_k, query_embedding)
        return {"documents": self.document_store.search(query, **asked)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        query_embedding: list[float] | None = None,
    ) -> dict[str, list[Document]]:
        """Await `run`."""
        asked = self._asked(filters, top_k, query_embedding)
        return {"documents": await self.document_store.search_async(query, **asked)}

    def _asked(
        self, filters: dict[str, Any] | None, top_k: int | None, embedding: list[float] | None
    ) -> dict[str, Any]:
        return {
            "filters": self.filters if filters is None else filters,
            "top_k": self.top_k if top_k is None else top_k,
            "embedding": embedding,
            "min_relevance": self.min_relevance,
            "rerank": self.rerank,
            "thorough": self.thorough,
            "crag": self.crag,
        }


# Filters

_ORDERS = (">", ">=", "<", "<=")
_TYPES: dict[type[Any], str] = {
    str: "keyword",
    bool: "boolean",
    int: "long",
    float: "float",
    list: "list",
}
_NOTHING = Condition({"or": []})


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_dict(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _type_of(value: object) -> str:
    return _TYPES.get(type(value), "object")


def condition_of(filters: dict[str, Any] | None) -> Condition | None:
    """Return filters of Haystack as a condition, or say what is wrong with them.

    Dates compare as instants; one without an offset is in UTC. A comparison with `None` holds for
    nothing, but for `==` and `!=`.
    """
    if not filters:
        return None
    if "field" in filters:
        return _comparison(filters)
    for key in ("operator", "conditions"):
        if key not in filters:
            raise FilterError(f"'{key}' key missing in {filters}")
    parts = [condition_of(one) for one in filters["conditions"]]
    wires = [part.to_wire() for part in parts if part is not None]
    operator = filters["operator"]
    if operator == "AND":
        return Condition({"and": wires})
    if operator == "OR":
        return Condition({"or": wires})
    if operator == "NOT":
        return ~Condition({"and": wires})
    raise FilterError(f"unknown logical operator {operator!r}")


def _comparison(filters: dict[str, Any]) -> Condition:
    for key in ("operator", "value"):
        if key not in filters:
            raise FilterError(f"'{key}' key missing in {filters}")
    name, operator = filters["field"], filters["operator"]
    value: Any = filters["value"]
    if isinstance(value, datetime.datetime):
        value = value.isoformat()
    path = name.removeprefix("meta.")
    if name == "id":
        one, dated = field("id"), None
    else:
        one, dated = field(f"meta.{path}"), field(f"dates.{path}")
    if operator in _ORDERS:
        return _order(one, dated, operator, value)
    if operator in ("==", "!="):
        equal = _equal(one, dated, value)
        return equal if operator == "==" else ~equal
    if operator in ("in", "not in"):
        if not _is_list(value):
            raise FilterError(f"'{operator}' takes a list, not a {type(value).__name__}")
        wires = [_equal(one, dated, part).to_wire() for part in value]
        among = Condition({"or": wires})
        return among if operator == "in" else ~among
    raise FilterError(f"unknown comparison operator {operator!r}")


def _equal(one: Any, dated: Any, value: Any) -> Condition:
    equal: Condition = one.exists(False) if value is None else one == value
    instant = _instant(value)
    if instant is not None and dated is not None:
        equal = equal | (dated == instant)
    return equal


def _order(one: Any, dated: Any, operator: str, value: Any) -> Condition:
    if value is None:
        return _NOTHING
    if isinstance(value, str):
        instant = _instant(value)
        if instant is None:
            raise FilterError("strings compare by >, >=, <, <= as ISO dates only")
        one, value = dated or one, instant
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FilterError(f"a {type(value).__name__} does not compare by >, >=, <, <=")
    return Condition({"field": one.name, "op": operator, "value": value})


def _instant(value: Any) -> str | None:
    """Return an ISO date as an instant of RFC 3339."""
    if not isinstance(value, str) or len(value) < 10 or value[4] != "-":
        return None
    try:
        date = datetime.datetime.fromisoformat(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=datetime.UTC)
    return date.isoformat()


def _dates(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the dates in metadata as instants, in the same places."""
    found = {name: _dates_of(value) for name, value in meta.items()}
    return {name: one for name, one in found.items() if one}


def _dates_of(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return _instant(value.isoformat())
    return _dates(value) if _is_dict(value) else _instant(value)


def _values(listed: Iterable[Any], name: str) -> Iterator[Any]:
    """Go through the values that documents have of a field."""
    path = name.removeprefix("meta.").split(".")
    for one in listed:
        value: Any = one.metadata["meta"]
        for key in path:
            value = value.get(key) if _is_dict(value) else None
        if value is not None:
            yield value


def _key(value: Any) -> tuple[str, str]:
    """Return what tells values apart: 1, 1.0, "1" and true are four."""
    return type(value).__name__, json.dumps(value, sort_keys=True)


def _changed(one: Document, *, meta: dict[str, Any], score: float) -> Document:
    return Document(
        id=one.id,
        content=one.content,
        blob=one.blob,
        meta=meta,
        score=score,
        embedding=one.embedding,
        sparse_embedding=one.sparse_embedding,
    )
