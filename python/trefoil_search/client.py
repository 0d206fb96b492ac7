"""A server of Trefoil over HTTP, with the calls of an engine."""

from __future__ import annotations

import hashlib
import http.client
import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from . import types
from .errors import Unreachable, error_of, invalid
from .native import Progress
from .searcher import Searcher

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Client", "connect"]

_MOST = 1_000
"""Documents of one request."""


def connect(
    url: str, *, token: str | None = None, index: str | None = None, timeout: float = 60
) -> Client:
    """Return a client of the server at `url`, such as `http://127.0.0.1:8733`.

    `token` is one of `trefoil token`, `index` the name of one of its indexes, where it has
    several. A call fails with `Unreachable` after `timeout` seconds; for as long it waits where
    the server says that it is asked too often. Nothing is sent before the first call.
    """
    return Client(url, token=token, index=index, timeout=timeout)


class Client(Searcher):
    """A server, with the calls of an `Engine` that it offers; `connect` makes one.

    It may be used from any thread, and be pickled, without its token. What memory shows is
    within the boundary of the token.
    """

    __slots__ = ()
    _native: _Remote

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        index: str | None = None,
        timeout: float = 60,
    ) -> None:
        super().__init__(_Remote(url, token, index, timeout))

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._native.url

    def close(self) -> None:
        """Do nothing: a connection lasts for a call."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        remote = self._native
        return (_again, (remote.url, remote.index, remote.timeout))

    def __repr__(self) -> str:
        return f"<Client {self.url!r}>"


def _again(url: str, index: str | None, timeout: float) -> Client:
    return Client(url, index=index, timeout=timeout)


class _Remote:
    """Calls of an engine as requests."""

    def __init__(self, url: str, token: str | None, index: str | None, timeout: float) -> None:
        allowed = "an address such as `http://127.0.0.1:8733`"
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except (AttributeError, ValueError, TypeError) as error:
            raise invalid("url", url, allowed) from error
        if parts.scheme not in ("http", "https") or not host:
            raise invalid("url", url, allowed)
        self.url, self.index, self.timeout = url, index, timeout
        self._token = token
        self._host, self._port = host, port
        self._path = parts.path.rstrip("/")
        self._kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )

    # As an engine

    def search(self, query: bytes, vector: Any | None = None) -> types.SearchResult:
        """Answer a question."""
        if vector is not None:
            asked = json.loads(query)
            asked["embedding"] = [float(value) for value in vector]
            query = json.dumps(asked).encode()
        return types.SearchResult.from_json(self._send("POST", "/v1/search", query))

    def ingest(
        self,
        documents: bytes,
        vectors: Any | None = None,
        places: Sequence[int] = (),
        progress: Progress | None = None,
    ) -> bytes:
        """Store documents, a thousand at a time."""
        given = json.loads(documents)
        if vectors is not None and places:
            numbers = memoryview(vectors).cast("B").cast("f").tolist()
            length = len(numbers) // len(places)
            for row, place in enumerate(places):
                given[place]["embedding"] = numbers[row * length : (row + 1) * length]
        total: dict[str, Any] = {}
        for start in range(0, max(len(given), 1), _MOST):
            if progress is not None and progress(start, len(given)) is False:
                break
            page = {"documents": given[start : start + _MOST]}
            told = self._json("POST", "/v1/documents", page)
            told.pop("waiting")
            total = {name: total[name] + value for name, value in told.items()} if total else told
        if not total:
            counts = ("written", "unchanged", "removed", "chunksAdded", "chunksRemoved")
            total = {**dict.fromkeys(counts, 0), "kept": [], "skipped": []}
        return json.dumps(total).encode()

    def call(self, name: str, arguments: bytes) -> bytes:
        """Answer a call by its name."""
        return json.dumps(self._answer(name, json.loads(arguments))).encode()

    def call_long(self, name: str, arguments: bytes, progress: Progress | None = None) -> bytes:
        """Answer a call that may take long."""
        if name == "drain":
            return json.dumps(self._drain(json.loads(arguments)["timeout"], progress)).encode()
        return self.call(name, arguments)

    def _answer(self, name: str, asked: Any) -> Any:
        if name == "documents":
            query = {"after": asked["after"], "limit": asked["limit"]}
            if "where" in asked["filters"]:
                query["where"] = json.dumps(asked["filters"]["where"])
            return self._json("GET", "/v1/documents", query=query)["documents"]
        if name == "document":
            return self._document(asked["id"])
        if name == "texts":
            found = [self._document(path) for path in asked["paths"]]
            return [[chunk["text"] for chunk in one["chunks"]] if one else [] for one in found]
        if name == "chunk":
            return self._json("GET", f"/v1/chunks/{quote(asked['id'], safe='')}")
        if name == "remove":
            paths = asked["paths"]
            pages = [paths[start : start + _MOST] for start in range(0, len(paths), _MOST)]
            told = [self._json("POST", "/v1/documents/remove", {"paths": one}) for one in pages]
            return sum(one["removed"] for one in told)
        if name == "whyNot":
            return self._json("POST", "/v1/why-not", asked, missing=True)
        if name == "stats":
            return self._json("GET", "/v1/stats")
        if name in ("entities", "entity", "subgraph", "communities"):
            return self._graph(name, asked)
        if name.startswith("memory."):
            return self._memory(name.removeprefix("memory."), asked)
        raise error_of("not_found", f"a server has no call `{name}`; open the index here")

    def _document(self, path: str) -> Any:
        id = "fil_" + hashlib.sha256(path.encode()).hexdigest()[:32]
        found = self._json("GET", f"/v1/documents/{id}", missing=True)
        if found is not None:
            file = {name: value for name, value in found.items() if name != "chunks"}
            found["chunks"] = [{**chunk, "file": file} for chunk in found["chunks"]]
        return found

    def _graph(self, name: str, asked: Any) -> Any:
        if asked.get("filters"):
            allowed = "no filter: the graph of a server is that of all documents"
            raise invalid("filters", asked["filters"], allowed)
        if name == "communities":
            return self._json("GET", "/v1/graph/communities")["communities"]
        query: dict[str, Any] = {"limit": asked["limit"]}
        if name == "entities":
            return self._json("GET", "/v1/graph/entities", query=query)["entities"]
        if name == "entity":
            query["name"] = asked["name"]
            return self._json("GET", "/v1/graph/entity", query=query, missing=True)
        query["around"] = asked["name"]
        return self._json("GET", "/v1/graph/subgraph", query=query)

    def _memory(self, name: str, asked: Any) -> Any:
        if "boundary" in asked:
            raise invalid("boundary", "given", "none: that of the token holds")
        memory = "/v1/memory"
        if name in ("recall", "episodes"):
            return self._json("POST", f"{memory}/recall", asked["query"])
        if name == "context":
            return self._json("POST", f"{memory}/context", asked["request"])
        if name == "feedback":
            return self._json("POST", f"{memory}/feedback", {"feedback": asked})["outcomes"]
        if name == "insertClaims":
            return [self._json("POST", f"{memory}/claims", one) for one in asked]
        if name == "record":
            return self._json("GET", f"{memory}/units/{quote(asked['id'], safe='')}", missing=True)
        if name == "policy":
            return self._send("GET", f"{memory}/policy", query=asked).decode()
        if name == "applyPolicy":
            query = {"dryRun": "true" if asked["dryRun"] else "false"}
            body = asked["yaml"].encode()
            told = self._send("PUT", f"{memory}/policy", body, query, "application/yaml")
            return json.loads(told)["version"]
        if name == "createSession":
            body = {"projectPath": asked["projectPath"]}
            return self._json("POST", f"{memory}/sessions", body)
        if name == "endSession":
            body = {"summary": asked["summary"]}
            return self._json("POST", f"{memory}/sessions/{quote(asked['id'], safe='')}/end", body)
        if name in ("observe", "find", "forget"):
            return self._json("POST", f"{memory}/{name}", asked)
        raise error_of("not_found", f"the memory of a server has no call `{name}`")

    def _drain(self, timeout: float | None, progress: Progress | None) -> Any:
        until = None if timeout is None else time.monotonic() + timeout
        total, before, wait = 0, None, 0.05
        while True:
            stats = self._json("GET", "/v1/stats")
            jobs = stats["jobs"]
            left = jobs["waiting"] + jobs["running"]
            total = max(total, left)
            stopped = progress is not None and progress(total - left, total) is False
            late = until is not None and time.monotonic() >= until
            # Without a model, what waits is left.
            if not left or stopped or late or (not stats.get("model") and jobs == before):
                return jobs
            before = jobs
            time.sleep(wait)
            wait = min(wait * 2, 1)

    # As requests

    def _json(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, Any] | None = None,
        missing: bool = False,
    ) -> Any:
        data = None if body is None else json.dumps(body).encode()
        try:
            return json.loads(self._send(method, path, data, query))
        except Exception as error:
            if missing and getattr(error, "code", None) == "not_found":
                return None
            raise

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        query: dict[str, Any] | None = None,
        media: str = "application/json",
    ) -> bytes:
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        if self.index is not None:
            asked["index"] = self.index
        target = f"{self._path}{path}{'?' + urlencode(asked) if asked else ''}"
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = media
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        until = time.monotonic() + self.timeout
        while True:
            status, wait, answer = self._request(method, target, body, headers)
            # A server that is asked too often says when to ask again.
            if status != 429 or time.monotonic() + wait > until:
                break
            time.sleep(wait)
        if status >= 400:
            raise _problem(status, answer)
        return answer

    def _request(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, float, bytes]:
        """Return the status, the seconds after which to ask again, and the answer."""
        connection = self._kind(self._host, self._port, timeout=self.timeout)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            wait = response.getheader("Retry-After") or "1"
            return response.status, float(wait) if wait.isdigit() else 1.0, response.read()
        except (OSError, http.client.HTTPException) as error:
            message = f"the server at {self.url} does not answer: {error or type(error).__name__}"
            raise Unreachable("unreachable", message) from error
        finally:
            connection.close()


def _problem(status: int, answer: bytes) -> Exception:
    try:
        told = json.loads(answer)
        code, message = str(told["code"]), str(told["detail"])
        fields = [(one["field"], one["value"], one["allowed"]) for one in told.get("errors", [])]
    except (ValueError, KeyError, TypeError):
        return error_of("http", f"the server answered with status {status}")
    return error_of(code, message, fields)
