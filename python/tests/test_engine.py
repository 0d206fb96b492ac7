"""Documents in, hits out."""

from __future__ import annotations

import datetime
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from conftest import CORPUS

import trefoil_search as trefoil
from trefoil_search import Document, Engine, field
from trefoil_search.types import SearchResult


def filled(engine: Engine) -> Engine:
    engine.ingest(
        [
            Document("天気.md", "明日の東京は晴れです。", metadata={"year": 2026}),
            Document("rain.md", "Rain in Tokyo.", tags=["old"], metadata={"year": 2019}),
            Document("날씨.md", "서울의 날씨는 맑습니다.", date=datetime.date(2025, 5, 1)),
        ]
    )
    return engine


@pytest.mark.parametrize(
    ("question", "path"),
    [("東京の天気", "天気.md"), ("rain Tokyo", "rain.md"), ("서울 날씨", "날씨.md")],
)
def test_questions_find_documents_in_three_languages(
    engine: Engine, question: str, path: str
) -> None:
    found = filled(engine).search(question, limit=5, result_types=["chunk"])
    hit = found[0]
    assert (hit.path, len(found)) == (path, len(found.results))
    assert 0 < hit.score <= 1
    assert hit.text == engine.texts([path])[0][0]
    assert hit.title == path


def test_filters_leave_out_what_they_should(engine: Engine) -> None:
    filled(engine)

    def found(**options: Any) -> list[str]:
        asked = "Tokyo 東京 서울"
        return [hit.path for hit in engine.search(asked, result_types=["chunk"], **options)]

    assert found(where=field("year") >= 2020) == ["天気.md"]
    assert found(where=~field("year").exists()) == ["날씨.md"]
    assert set(found(where=(field("year") == 2019) | field("year").in_([2026]))) == {
        "天気.md",
        "rain.md",
    }
    assert found(where={"field": "year", "op": "<", "value": 2020}) == ["rain.md"]
    assert found(tags=["old"]) == ["rain.md"]
    assert found(languages=["ko"]) == ["날씨.md"]
    assert found(path_glob="*a*.md") == ["rain.md"]
    assert found(since=datetime.date(2025, 1, 1)) == ["날씨.md"]
    assert found(until="2020-01-01") == []
    with pytest.raises(TypeError, match="no option 'colour'"):
        found(colour="red")
    with pytest.raises(TypeError, match="combined with"):
        bool(field("year") == 1)


def test_a_hit_says_where_it_is_and_shows_itself(engine: Engine) -> None:
    engine.ingest([Document("a/<b>.md", "Über dem Walross schwimmt ein Walross.\n")])
    found = engine.search("Walross", highlights=True, result_types=["chunk"])
    hit = found[0]
    assert hit.lines is not None
    assert (hit.lines.start, hit.language, dict(hit.metadata)) == (1, "en", {})
    assert repr(hit).startswith("<Hit ") and "\n" not in repr(hit) and len(repr(hit)) < 100
    assert "\n" not in repr(found)
    highlight = next(one for one in hit.highlights if one.field == "text")
    marked = [highlight.fragment[start:end] for start, end in highlight.spans]
    assert marked == ["Walross", "Walross"]
    shown = found._repr_html_()  # pyright: ignore[reportPrivateUsage]  # as a notebook calls it
    assert "<mark>Walross</mark>" in shown and "a/&lt;b&gt;.md" in shown


def test_results_are_values(engine: Engine) -> None:
    found = filled(engine).search("Tokyo", explain=True)
    assert pickle.loads(pickle.dumps(found)) == found
    assert SearchResult.from_wire(found.to_wire()) == found
    with pytest.raises(AttributeError):
        found.offset = 3  # type: ignore[misc]


def test_documents_come_back_change_and_go(engine: Engine) -> None:
    filled(engine)
    assert [one.path for one in engine.documents()] == ["rain.md", "天気.md", "날씨.md"]
    assert [one.path for one in engine.documents(where=field("year") > 2020)] == ["天気.md"]
    assert [one.path for one in engine.documents(limit=2)] == ["rain.md", "天気.md"]
    one = engine.document("날씨.md")
    assert one is not None and one.date == datetime.date(2025, 5, 1)
    chunk = engine.chunk(one.chunks[0].id)
    assert chunk.chunk.text == "서울의 날씨는 맑습니다." and chunk.before is None
    assert engine.update_metadata(["rain.md"], {"year": 2030, "by": "Ada"}) == 1
    assert [one.path for one in engine.documents(where=field("by") == "Ada")] == ["rain.md"]
    assert engine.remove(["rain.md", "nothing"]) == 1
    assert engine.document("rain.md") is None
    with pytest.raises(trefoil.NotFound):
        engine.chunk("chk_" + "0" * 32)
    engine.ingest([Document("a/1", "one"), Document("a/2", "two"), Document("ab", "three")])
    assert engine.remove_below("a/") == 2
    assert engine.document("ab") is not None


def test_a_folder_is_indexed_and_told_of(engine: Engine) -> None:
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))

    report = engine.ingest_path(CORPUS, progress=progress)
    assert report.written > 0 and not report.skipped
    assert seen[0] == (0, report.written)
    assert engine.ingest_path(CORPUS).unchanged == report.written
    assert engine.stats().files == report.written
    engine.drain()
    assert engine.entities(limit=3)
    name = engine.entities(limit=1)[0].entity.name
    assert engine.entity(name) is not None
    assert engine.subgraph(limit=5).nodes
    assert engine.verify().sound is True
    assert engine.plan("What is this?").retrievers
    lost = engine.why_not("zebra", path=report_path(engine))
    assert lost is not None and lost.reason


def report_path(engine: Engine) -> str:
    return next(engine.documents()).path


def test_progress_ends_long_work_and_its_exception_is_raised(engine: Engine) -> None:
    documents = [Document(f"{number}", f"text {number}") for number in range(600)]
    report = engine.ingest(documents, progress=lambda done, total: done < 256)
    assert report.written == 256
    with pytest.raises(ZeroDivisionError):
        engine.ingest(documents, progress=lambda done, total: bool(1 // 0))
    assert engine.ingest(documents).written == 600 - 256


def test_snapshots_are_written_read_and_imported(engine: Engine, tmp_path: Path) -> None:
    filled(engine)
    file = tmp_path / "notes.snapshot"
    told = engine.export(file)
    assert told.bytes == file.stat().st_size
    with trefoil.open(file, model="none", read_only=True) as read:
        assert read.search("rain", result_types=["chunk"])[0].path == "rain.md"
        with pytest.raises(trefoil.ReadOnly):
            read.ingest([Document("b", "text")])
    Engine.import_(file, tmp_path / "copy")
    with trefoil.open(tmp_path / "copy", model="none") as copy:
        assert copy.stats().files == 3
    report = Engine.repair(tmp_path / "copy", model="none")
    assert report.after.sound
    assert engine.doctor(sample=1).results


def test_errors_have_their_classes(engine: Engine, index: Path, tmp_path: Path) -> None:
    with pytest.raises(trefoil.InvalidInput, match="1–100") as caught:
        engine.search("Tokyo", limit=101)
    assert caught.value.code == "invalid_query"
    assert caught.value.fields == (("options.limit", "`101`", "1–100"),)
    assert isinstance(caught.value, ValueError)
    assert pickle.loads(pickle.dumps(caught.value)).fields == caught.value.fields
    with pytest.raises(trefoil.Locked):
        trefoil.open(index, model="none")
    with pytest.raises(trefoil.NotFound, match="no index"):
        trefoil.open(tmp_path / "nowhere", model="none", read_only=True)
    with pytest.raises(trefoil.ModelMissing):
        trefoil.open(tmp_path / "other", model="no-such-model")
    with pytest.raises(trefoil.InvalidInput, match="`path` is 3"):
        trefoil.open(3)  # type: ignore[arg-type]
    engine.close()
    engine.close()
    assert engine.closed
    with pytest.raises(trefoil.Closed):
        engine.search("Tokyo")


def test_an_engine_is_pickled_by_path_and_read_elsewhere(engine: Engine) -> None:
    filled(engine)
    with pickle.loads(pickle.dumps(engine)) as other:
        assert other.search("rain", result_types=["chunk"])[0].path == "rain.md"
        with pytest.raises(trefoil.ReadOnly):
            other.remove(["rain.md"])


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_fork_cannot_use_the_engine(index: Path) -> None:
    ended = run(
        """
        import os, sys, warnings
        warnings.simplefilter("ignore")
        import trefoil_search as trefoil
        engine = trefoil.open(sys.argv[1], model="none")
        many = [trefoil.Document(str(n), f"rain {n}") for n in range(20)]
        engine.ingest([trefoil.Document("a", "walrus"), *many])
        if child := os.fork():
            status = os.waitpid(child, 0)[1]
            assert engine.search("walrus")[0].path == "a"
            sys.exit(os.waitstatus_to_exitcode(status))
        try:
            engine.search("walrus")
        except trefoil.ForkedError as error:
            assert "in this process" in str(error)
            del engine
            with trefoil.open(sys.argv[1] + "-2", model="none") as new:
                new.ingest(many)
            with trefoil.open(sys.argv[1], model="none", read_only=True) as own:
                sys.exit(0 if own.search("walrus")[0].path == "a" else 3)
        sys.exit(4)
        """,
        str(index),
    )
    assert ended.returncode == 0, ended.stderr


def test_an_interpreter_ends_with_an_engine_open_and_busy(index: Path) -> None:
    ended = run(
        """
        import sys, time
        import trefoil_search as trefoil

        class Slow:
            name, dimensions = "slow", 2
            def embed_query(self, text): return [1.0, 0.0]
            def embed_passages(self, texts):
                time.sleep(0.2)
                return [[1.0, 0.5] for _ in texts]

        engine = trefoil.open(sys.argv[1], model=Slow())
        engine.ingest([trefoil.Document(str(n), f"text {n}") for n in range(500)])
        """,
        str(index),
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_ends_an_ingest_and_leaves_the_index_sound(index: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    ended = run(
        """
        import os, signal, sys, threading, time
        import trefoil_search as trefoil
        # A shell starts a program in the background with the signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        engine = trefoil.open(sys.argv[1], model="none")
        documents = [trefoil.Document(str(n), f"text {n} " * 50) for n in range(20_000)]
        kill = lambda: os.kill(os.getpid(), signal.SIGINT)
        def progress(done, total):
            if done == 512:
                kill()
        try:
            engine.ingest(documents, progress=progress)
        except KeyboardInterrupt:
            left = engine.stats().files
            engine.close()
            print(left)
        """,
        str(index),
    )
    assert ended.returncode == 0, ended.stderr
    assert 512 <= int(ended.stdout) < 20_000
    with trefoil.open(index, model="none") as engine:
        assert engine.verify().sound is True
        assert engine.stats().files == int(ended.stdout)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_command_is_in_the_package(index: Path) -> None:
    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "trefoil_search", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
        )

    version = command("--version")
    assert version.returncode == 0 and version.stdout.startswith("trefoil ")
    assert command("search").returncode == 2
    made = command("--index", str(index), "--model", "none", "index", str(CORPUS))
    assert made.returncode == 0, made.stderr
    assert command("--index", str(index), "--model", "none", "verify").returncode == 0
