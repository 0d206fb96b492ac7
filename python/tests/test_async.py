"""The same calls, awaited."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path

import pytest

import trefoil_search as trefoil
from trefoil_search import AsyncEngine, AsyncMemory, Document, Engine, Memory


async def test_calls_are_awaited(index: Path) -> None:
    async with trefoil.open_async(index, model="none") as engine:
        await engine.ingest([Document("a", "walrus"), Document("b", "seal")])
        found = await asyncio.gather(*(engine.search("walrus") for _ in range(50)))
        assert {one[0].path for one in found} == {"a"}
        assert [one.path async for one in engine.documents()] == ["a", "b"]
        await engine.memory.observe("Mika: I live in Kyoto.")
        await engine.drain()
        recalled = await engine.memory.recall("Kyoto")
        assert recalled.claims
        with pytest.raises(trefoil.InvalidInput):
            await engine.search("")
    assert engine.closed
    with pytest.raises(trefoil.Closed):
        await engine.search("walrus")
    opened = await trefoil.open_async(index, model="none", read_only=True)
    await opened.close()


async def test_a_cancelled_await_lets_the_call_end(index: Path) -> None:
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def progress(*_: int) -> None:
        begun.set()
        go_on.wait(30)
        done.set()

    async with trefoil.open_async(index, model="none") as engine:
        task = asyncio.create_task(engine.ingest([Document("a", "walrus")], progress=progress))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        assert await asyncio.to_thread(done.wait, 30)
        await engine.drain()
        assert (await engine.stats()).files == 1


@pytest.mark.parametrize(("plain", "awaited"), [(Engine, AsyncEngine), (Memory, AsyncMemory)])
def test_what_can_be_called_can_be_awaited(plain: type, awaited: type) -> None:
    apart = {"import_", "reindex", "repair", "path"}
    for name, member in inspect.getmembers(plain):
        if name.startswith("_") or name in apart or isinstance(member, property):
            continue
        other = getattr(awaited, name)
        same = inspect.signature(member).parameters.keys()
        assert inspect.signature(other).parameters.keys() == same, name
