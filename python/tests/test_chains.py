"""The chains of the documentation cite what answers, in each framework and language."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from conftest import CORPUS, ROOT, examples

import trefoil_search as trefoil
from trefoil_search.haystack import TrefoilDocumentStore

Cited: TypeAlias = list[tuple[str, str]]
Ask: TypeAlias = Callable[[str], Cited]


def questions(language: str) -> list[dict[str, Any]]:
    """Return the first twenty that words answer: the index has no model."""
    text = (ROOT / "fixtures" / "queries" / f"{language}.toml").read_text(encoding="utf-8")
    cases: list[dict[str, Any]] = tomllib.loads(text)["case"]
    return [one for one in cases if one["kind"] in ("keyword", "identifier", "quoted")][:20]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[trefoil.Engine]:
    path = tmp_path_factory.mktemp("chains") / "index"
    with trefoil.open(path, model="none") as engine:
        engine.ingest_path(CORPUS)
        yield engine


def example(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the example that defines a function, and return the function."""
    [code] = [one for one in examples("docs/PYTHON.md") if f"def {name}(" in one]
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(code, names)
    return names[name]


@pytest.fixture(params=["langchain", "haystack", "llama_index"])
def ask(
    request: pytest.FixtureRequest,
    corpus: trefoil.Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Ask:
    """What asks a chain: the paths and the texts that it cites."""
    if request.param == "langchain":
        chain = example("chain_over", tmp_path, monkeypatch)(corpus)

        def of_langchain(question: str) -> Cited:
            told = chain.invoke(question)
            assert told["answer"] == "It will be sunny."
            return [(one.metadata["trefoil"]["path"], one.page_content) for one in told["passages"]]

        return of_langchain
    if request.param == "haystack":
        store = TrefoilDocumentStore(corpus.path, read_only=True)
        pipeline = example("pipeline_over", tmp_path, monkeypatch)(store)
        request.addfinalizer(store.close)

        def of_haystack(question: str) -> Cited:
            asked = {"query": question}
            told = pipeline.run(
                {"retriever": asked, "prompt": {"question": question}, "answer": asked}
            )
            [answer] = told["answer"]["answers"]
            assert answer.data == "It will be sunny."
            return [(one.meta["trefoil"]["path"], one.content) for one in answer.documents]

        return of_haystack
    query_engine = example("query_engine_over", tmp_path, monkeypatch)(corpus)

    def of_llama_index(question: str) -> Cited:
        told = query_engine.query(question)
        # Its model says what it was asked.
        assert question in told.response
        nodes = [one.node for one in told.source_nodes]
        return [(one.metadata["trefoil"]["path"], one.text) for one in nodes]

    return of_llama_index


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_a_chain_cites_what_answers(ask: Ask, language: str) -> None:
    asked = questions(language)
    assert len(asked) == 20
    for case in asked:
        cited = ask(case["question"])
        right = [text for path, text in cited if path.endswith(tuple(case["answers"]))]
        assert right, (case["id"], cited)
        if "must_contain" in case:
            assert any(case["must_contain"] in text for text in right), (case["id"], right)
