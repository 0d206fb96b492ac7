"""The same answers over HTTP, and from the command."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from conftest import CORPUS, ROOT

import trefoil_search as trefoil
from trefoil_search import Client, Document, connect, field
from trefoil_search.types import SearchResult


def questions() -> list[str]:
    texts = [file.read_text("utf-8") for file in sorted((ROOT / "fixtures/queries").glob("*.toml"))]
    return [
        json.loads(one) for text in texts for one in re.findall(r'^question = (".*")$', text, re.M)
    ]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """An index with the corpus, and the address of a server of it."""
    index = tmp_path_factory.mktemp("served") / "index"
    with trefoil.open(index, model="none") as engine:
        engine.ingest_path(CORPUS)
        engine.drain()
    command = [sys.executable, "-m", "trefoil_search", "--index", str(index), "--model", "none"]
    server = subprocess.Popen(
        [*command, "serve", "--addr", "127.0.0.1:0", "--no-auth"],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    url = ""
    for line in server.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            url = found[0]
            break
    try:
        yield index, url
    finally:
        server.terminate()
        server.wait(30)


def same(value: Any) -> Any:
    """A result without what times do to it."""
    apart = {"processingTime", "duration", "stages", "timeoutMs", "nextCursor"}
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {key: same(one) for key, one in fields.items() if key not in apart}
    return [same(one) for one in cast(list[object], value)] if isinstance(value, list) else value


def test_engine_client_and_command_answer_the_same(served: tuple[Path, str]) -> None:
    index, url = served
    asked = questions()
    assert len(asked) > 50
    client = connect(url)
    with trefoil.open(index, model="none", read_only=True) as engine:
        # Fewer than a token may ask at once.
        for question in asked[:: len(asked) // 40]:
            # What a reranker reads depends on the time that it has.
            mine = same(engine.search(question, limit=5, rerank=False).to_wire())
            assert same(client.search(question, limit=5, rerank=False).to_wire()) == mine, question
        command = [sys.executable, "-m", "trefoil_search", "--index", str(index)]
        without = ["--model", "none", "--rerank-model", "none", "--json"]
        asks = ["search", "--limit", "5", "--min-relevance", "0", "--"]
        for question in asked[:: len(asked) // 5]:
            told = subprocess.run(
                [*command, *without, *asks, question], capture_output=True, text=True
            )
            mine = engine.search(question, limit=5, rerank=False, highlights=True)
            assert SearchResult.from_wire(json.loads(told.stdout)).results == mine.results


def test_a_client_has_the_calls_of_an_engine(served: tuple[Path, str]) -> None:
    client = connect(served[1])
    before = client.stats().files
    documents = [Document("x/1", "A zebra.", metadata={"n": 1}), Document("x/2", "A gnu.")]
    assert client.ingest(documents).written == 2
    client.drain(timeout=30)
    assert [one.path for one in client.documents(where=field("n") == 1)] == ["x/1"]
    one = client.document("x/1")
    assert one is not None and one.chunks[0].file.path == "x/1"
    assert client.document("nothing") is None
    assert client.texts(["x/2", "nothing"]) == [["A gnu."], []]
    assert client.chunk(one.chunks[0].id).chunk.text == "A zebra."
    assert client.why_not("walrus", path="x/1") is not None
    assert client.remove(["x/1", "x/2", "nothing"]) == 2
    assert client.stats().files == before
    name = client.entities(limit=1)[0].entity.name
    assert client.entity(name) is not None and client.entity("no such thing") is None
    assert client.subgraph(limit=3).nodes and client.communities() is not None
    client.memory.observe("Mika: I live in Kyoto.")
    # What was observed is learnt in the background.
    for _ in range(300):
        if client.memory.recall("Kyoto").claims:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("nothing was learnt")
    assert client.memory.policy().startswith(("#", "version"))


def test_errors_of_a_server_are_those_of_an_engine(served: tuple[Path, str]) -> None:
    client = connect(served[1])
    with pytest.raises(trefoil.InvalidInput, match="1–100") as caught:
        client.search("walrus", limit=101)
    assert caught.value.fields[0].name == "options.limit"
    with pytest.raises(trefoil.InvalidInput, match="token holds"):
        client.memory.recall("tea", boundary=trefoil.Boundary())
    with pytest.raises(trefoil.Unreachable):
        connect("http://127.0.0.1:9", timeout=2).search("walrus")
    with pytest.raises(trefoil.InvalidInput):
        connect("walrus")
    assert b"s3cret" not in pickle.dumps(Client("http://127.0.0.1:9", token="s3cret"))


async def test_a_client_is_awaited(served: tuple[Path, str]) -> None:
    async with trefoil.connect_async(served[1]) as client:
        assert (await client.search("rain", limit=3)).results
        assert [one.path async for one in client.documents(limit=2)]
