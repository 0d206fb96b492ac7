"""Calls every tool by three clients, over standard input and output and over HTTP.

`python clients.py PROGRAM`: the Python client in this process, the TypeScript client
(calls.mjs) and the command of the Inspector; `npm install` in this folder brings the latter two.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

HERE = Path(__file__).parent
CALLS = json.loads((HERE / "calls.json").read_text())
BINARIES = HERE / "node_modules/.bin"
SETS = "documents,memory,write,admin"
OPTIONS = ["--model", "none", "--rerank-model", "none", "--quiet"]


class Place:
    """A folder with an index of its own, as each run changes it."""

    def __init__(self, program):
        self.program = program
        self.folder = Path(tempfile.mkdtemp(prefix="trefoil-mcp-"))
        shutil.copytree(HERE.parent.parent / "fixtures/corpus/en", self.folder / "corpus")
        self.run("index", "corpus")
        self.policy = self.run("memory", "policy", "show")

    def run(self, *arguments):
        done = subprocess.run([self.program, *OPTIONS, *arguments], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout

    def stdio(self):
        index = str(self.folder / ".trefoil")
        return {"command": self.program, "args": [*OPTIONS, "--index", index, "mcp", "--tools", SETS]}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


class Server:
    """`trefoil serve` of a place."""

    def __init__(self, place):
        command = [place.program, *OPTIONS, "serve", "--addr", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, cwd=place.folder, stdout=subprocess.PIPE, text=True)
        self.address, self.token = self.process.stdout.readline().strip().split("/#token=")

    def target(self):
        return {"url": f"{self.address}/mcp?tools={SETS}", "token": self.token}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


def filled(value, answers):
    """What stands for a part of an earlier answer is put in its place."""
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    at = answers
    for key in value[1:].split("."):
        at = at[key]
    return at


def checked(call, is_error, text):
    if is_error or call.get("says", "") not in text:
        raise AssertionError(f"{call['tool']}: {text[:400]}")


async def python(target):
    async def calls(transport):
        async with Client(transport) as client:
            untried = {tool.name for tool in (await client.list_tools()).tools}
            answers = {"policy": target["policy"]}
            for call in CALLS:
                given = {key: filled(value, answers) for key, value in call["arguments"].items()}
                result = await client.call_tool(call["tool"], given)
                checked(call, result.is_error, result.model_dump_json())
                answers[call["tool"]] = result.structured_content
                untried.discard(call["tool"])
            assert not untried, f"not called: {untried}"
            await client.list_resources()
            await client.list_prompts()

    if "url" in target:
        headers = {"Authorization": f"Bearer {target['token']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            await calls(streamable_http_client(target["url"], http_client=http))
    else:
        await calls(stdio_client(StdioServerParameters(command=target["command"], args=target["args"])))


def node(*arguments):
    return subprocess.run(arguments, cwd=HERE, check=False, capture_output=True, text=True)


def typescript(target):
    done = node("node", "calls.mjs", json.dumps(target))
    assert done.returncode == 0, done.stderr


def inspector(target):
    answers = {"policy": target["policy"]}
    for call in CALLS:
        pairs = []
        for key, value in call["arguments"].items():
            value = filled(value, answers)
            pairs += ["--tool-arg", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        flags = ["--method", "tools/call", "--tool-name", call["tool"], *pairs]
        if "url" in target:
            where = ["--transport", "http", "--server-url", target["url"], "--header", f"Authorization: Bearer {target['token']}"]
            done = node(str(BINARIES / "inspector"), "--cli", *where, *flags)
        else:
            settings = {"mcpServers": {"trefoil": {"command": target["command"], "args": target["args"]}}}
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(settings, file)
                file.flush()
                done = node(str(BINARIES / "inspector"), "--cli", "--config", file.name, "--server", "trefoil", *flags)
        assert done.returncode == 0, f"{call['tool']}: {done.stdout[:600]} {done.stderr[:600]}"
        result = json.loads(done.stdout)
        checked(call, result.get("isError"), done.stdout)
        answers[call["tool"]] = result["structuredContent"]


def main(program):
    clients = {"Python": lambda target: asyncio.run(python(target)), "TypeScript": typescript, "Inspector": inspector}
    for name, client in clients.items():
        for way in ["stdio", "HTTP", "stdio, relayed"]:
            with Place(program) as place:
                if way == "stdio":
                    client({**place.stdio(), "policy": place.policy})
                else:
                    with Server(place) as server:
                        target = server.target() if way == "HTTP" else place.stdio()
                        client({**target, "policy": place.policy})
            print(f"{name}, {way}: {len(CALLS)} tools", flush=True)
    print(f"{3 * len(clients)} passed, 0 failed")


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
