"""An engine over one directory."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from . import types
from ._native import NativeEngine, after_fork, before_fork, care_for, leave
from .arrays import Vector, rows_of, vector
from .errors import TrefoilError, expect, listed, path_text
from .model import Model, Reranker, name_or_folder, settings_of
from .native import Progress
from .query import SearchOptions, parts_of, query_of
from .searcher import Searcher, paths_of
from .wire import dumps

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Unpack

    from .arrays import Vectors

__all__ = ["Engine", "open"]

Path: TypeAlias = Union[str, "os.PathLike[str]"]

# Not a `WeakSet`: a thread that opens an engine would end the loop of one that goes through it.
_open_engines: set[weakref.ref[Engine]] = set()


def open(
    path: Path,
    *,
    model: Model = "default",
    read_only: bool = False,
    threads: int | None = None,
    profile: Path | None = None,
    home: Path | None = None,
    reranker: Reranker | None = None,
    learn: bool = True,
    token_vectors: Literal["off", "auto", "all"] = "auto",
    token_model: Path = "default",
    store: str | None = None,
    role: Literal["auto", "searcher"] = "auto",
) -> Engine:
    """Open the index in the directory `path`, and make it if it is not there.

    One process writes, any number read. `model` is a name, `"none"` for words only, a folder, an
    `Embedder`, or `External(name, dimensions)` where the caller makes the vectors; the default
    model is used once it has been fetched (`models.pull()`). `threads` is how many embed,
    `profile` a file of `trefoil tune`, and `home` where models are kept. `learn` is whether
    memory works by itself in the background. `token_vectors` says of which texts the vectors of
    tokens are kept, for questions in another language than the documents and for memory: of none,
    of memory and Japanese and Korean documents, or of all. `token_model` is the model of late
    interaction that makes those of English: a name, a folder, or `"none"` for the embedder.

    `store` is the URL of a PostgreSQL that holds the index for several machines, such as
    `postgres://db.example/app?index=notes`, after `trefoil cluster init`; the directory is the
    cache of this node then. With the role `auto` it writes when no other node does; what a
    `searcher` is given to write, the node that writes does.

    Raises `Locked` if another process writes to it, `ModelMismatch` if its vectors are of another
    model, `Corrupt` if it is damaged, `NotFound` for an index that is only to be read and is not
    there, and `TrefoilError` with the code `unavailable` for a node without a cache whose store
    does not answer.

    >>> import tempfile, trefoil_search as trefoil
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with trefoil.open(folder + "/notes.trefoil", model="none") as engine:
    ...         engine.ingest([trefoil.Document("a.md", "The walrus sleeps.")]).written
    1
    """
    settings = {
        "path": path_text(path, "path"),
        "readOnly": bool(read_only),
        "threads": threads,
        "profile": None if profile is None else path_text(profile, "profile"),
        "home": None if home is None else path_text(home, "home"),
        "learn": bool(learn),
        "tokenVectors": token_vectors,
        "tokenModel": name_or_folder(token_model, "token_model"),
        "store": store,
        "role": role,
    }
    return Engine(settings, model, reranker)


class Engine(Searcher):
    """A search engine over one directory; `open` opens it.

    It may be used from any thread. It belongs to the process that opened it: in a fork of that
    every call raises `ForkedError`. Pickled, it opens to read where it arrives.
    """

    __slots__ = ("_model", "_reranker", "_settings")
    _native: NativeEngine

    def __init__(
        self, settings: dict[str, Any], model: Model, reranker: Reranker | None = None
    ) -> None:
        self._settings = settings
        self._model = model
        self._reranker = reranker
        wire, embed = settings_of(model)
        score = None
        if reranker is not None:
            expect(reranker, Reranker, "reranker", "an object with `name` and `score`")
            settings = {**settings, "reranker": reranker.name}
            score = _scorer(reranker)
        super().__init__(
            NativeEngine(dumps({**settings, "model": wire}), types.READER, embed, score)
        )
        _open_engines.add(weakref.ref(self, _open_engines.discard))

    # Life

    def close(self) -> None:
        """Close the engine. Calls that run end first; closed again, it does nothing."""
        self._native.close()
        _open_engines.discard(weakref.ref(self))

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._native.closed

    @property
    def path(self) -> str:
        """The directory of the index."""
        return str(self._settings["path"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        settings = {**self._settings, "path": os.path.abspath(self.path), "readOnly": True}
        return (Engine, (settings, self._model, self._reranker))

    def __repr__(self) -> str:
        return f"<Engine {self.path!r}{' closed' if self.closed else ''}>"

    # Search

    def search_vector(
        self, embedding: Vector, **options: Unpack[SearchOptions]
    ) -> types.SearchResult:
        """Find the passages nearest to a vector of the index's model."""
        filters, chosen = parts_of(options)
        given = vector(embedding, "embedding")
        return self._native.search_vector(given, dumps(filters), dumps(chosen))

    def plan(self, text: str, **options: Unpack[SearchOptions]) -> types.Plan:
        """Return how a question is searched: every decision, as data."""
        return types.Plan.from_json(self._ask("plan", query_of(text, options)))

    # Documents

    def ingest_path(
        self, path: Path, *, prune: bool = False, progress: Progress | None = None
    ) -> types.Ingested:
        """Index the file or folder at `path`, and forget what is gone from below it.

        Unchanged files cost nothing; what cannot be read is told in `skipped`. `prune` removes
        documents even where most of a folder is gone.
        """
        return self.ingest_paths([path], prune=prune, progress=progress)

    def ingest_paths(
        self, paths: Iterable[Path], *, prune: bool = False, progress: Progress | None = None
    ) -> types.Ingested:
        """Do the same for several files and folders."""
        given = [path_text(one, "paths") for one in listed(paths, "paths", "files and folders")]
        asked = {"paths": given, "prune": bool(prune)}
        return types.Ingested.from_json(self._long("ingestPaths", asked, progress))

    def remove_below(self, prefix: str) -> int:
        """Remove the document at `prefix` and every document below it; how many."""
        return int(self._call("removeBelow", {"id": prefix}))

    def update_metadata(self, paths: Iterable[str], patch: Mapping[str, Any]) -> int:
        """Put fields into the metadata of documents; `None` takes a field out. How many there were.

        Nothing is embedded again. The next ingest of a document brings its own metadata back.
        """
        expect(patch, Mapping, "patch", "a mapping of fields to values")
        return int(self._call("updateMetadata", {"paths": paths_of(paths), "patch": dict(patch)}))

    def vectors(self, paths: Iterable[str]) -> Vectors:
        """Return the stored vectors of the passages of documents, in order.

        An array of `float32`, or lists without NumPy. A passage without a vector has no row.
        """
        return rows_of(*self._native.vectors(paths_of(paths)))

    # Care

    def verify(self) -> types.Verification:
        """Check every checksum and every row; what `trefoil verify --json` says."""
        return types.Verification.from_json(self._long("verify", {}, None))

    def doctor(self, *, sample: int | None = None) -> types.HealthReport:
        """Measure the health of the index; what `trefoil doctor --json` says."""
        wire = settings_of(self._model)[0]
        if "python" in wire:
            wire = "none"
        asked: dict[str, Any] = {"settings": {**self._settings, "model": wire}, "sample": sample}
        return types.HealthReport.from_json(_care("doctor", asked))

    def rebuild(self, *, progress: Progress | None = None) -> types.JobCounts:
        """Make the indexes again from the stored text; cached vectors are used again."""
        return types.JobCounts.from_json(self._long("rebuild", {}, progress))

    def export(self, file: Path, *, progress: Progress | None = None) -> types.Snapshot:
        """Write the index into the new file `file`, which `open(file, read_only=True)` reads."""
        asked = {"from": self.path, "to": path_text(file, "file")}
        return types.Snapshot.from_json(_care("export", asked, progress))

    @staticmethod
    def import_(file: Path, path: Path) -> types.Snapshot:
        """Make an index in the new directory `path` of a file that `export` wrote."""
        asked = {"from": path_text(file, "file"), "to": path_text(path, "path")}
        return types.Snapshot.from_json(_care("import", asked))

    @staticmethod
    def repair(path: Path, *, model: Model = "default") -> types.RepairReport:
        """Repair the index in `path`, which no engine has open to write."""
        asked = {"path": path_text(path, "path"), "model": settings_of(model)[0]}
        return types.RepairReport.from_json(_care("repair", asked))

    @classmethod
    def reindex(cls, path: Path, *, model: Model = "default") -> Self:
        """Open the index in `path` with another model, whose vectors are made in the background.

        `drain` waits for them; an interrupted one goes on where it was.
        """
        return cls({"path": path_text(path, "path"), "reindex": True}, model)


def _care(name: str, arguments: Any, progress: Progress | None = None) -> bytes:
    return care_for(name, dumps(arguments), progress)


def _scorer(reranker: Reranker) -> Callable[[str, list[str]], list[float]]:
    return lambda question, passages: [float(one) for one in reranker.score(question, passages)]


@atexit.register
def _close_all() -> None:
    """Close what is open while Python still runs, and let no other thread come back to it."""
    leave()
    for one in list(_open_engines):
        engine = one()
        try:
            if engine is not None:
                engine.close()
        except TrefoilError:
            pass


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=before_fork,
        after_in_parent=lambda: after_fork(False),
        after_in_child=lambda: after_fork(True),
    )
