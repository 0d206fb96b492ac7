#!/usr/bin/env python3
"""Ends servers in the middle of their work, and lets many clients share an index.

`campaign.py stop ROUNDS PROGRAM`: SIGTERM amid searches, writes, a job, streams and requests that
never end. It exits in time, every search that it had taken is answered, and no acknowledged write
is lost.

`campaign.py kill ROUNDS PROGRAM`: the same by SIGKILL, amid writes: what was acknowledged is there
again, and of what was not, all of a request or nothing.

`campaign.py stdio SECONDS PROGRAM`: five programs talk to `trefoil mcp` about one index, read and
write; then it ends with its client, however that goes.

`campaign.py crowd CONNECTIONS PROGRAM`: so many connections of one address are opened and left.
Those beyond its share are closed, and other clients are answered as before.

`campaign.py memory SECONDS PROGRAM`: four clients search and one writes, replaces and removes. What
the server holds in memory at the end, against what it held after a tenth of the time.

TREFOIL_MODEL names the embedding model; none without it.
"""

import http.client
import json
import os
import random
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

CORPUS = Path(__file__).parent.parent.parent / "fixtures/corpus/en"
OPTIONS = ["--model", os.environ.get("TREFOIL_MODEL", "none"), "--rerank-model", "none", "--quiet"]
# Clients ask faster than people.
SETTINGS = """
[server]
roots = ["corpus"]
[server.limits]
burst = 1000000
requests_per_minute = 1000000
writes_per_minute = 1000000
streams = 64
"""
SEARCHES = 32
STREAMS = 8
# Within these a server and a client of standard input have to be gone.
STOPS_WITHIN = 11
ENDS_WITHIN = 3
QUESTIONS = ["how do barn owls hunt?", "tides", "compost", "a wall in York", "hedgehogs in winter"]


class Place:
    """A folder with documents, settings and an index."""

    def __init__(self, program):
        self.program = program
        self.folder = Path(tempfile.mkdtemp(prefix="trefoil-serve-"))
        shutil.copytree(CORPUS, self.folder / "corpus")
        (self.folder / "trefoil.toml").write_text(SETTINGS)
        self.run("index", "corpus")

    def run(self, *arguments):
        return subprocess.run([self.program, *OPTIONS, *arguments], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


class Server:
    """`trefoil serve` of a place."""

    def __init__(self, place):
        command = [place.program, *OPTIONS, "serve", "--addr", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, cwd=place.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        assert line, "the server does not start"
        address, self.token = line.strip().split("/#token=")
        self.host, port = address.removeprefix("http://").split(":")
        self.port = int(port)

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=30)

    def headers(self, accept="application/json"):
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Accept": accept}

    def ask(self, method, path, body=None, connection=None):
        connection = connection or self.connect()
        connection.request(method, path, None if body is None else json.dumps(body), self.headers())
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")

    def begin(self, text):
        """A connection on which this was sent."""
        stream = socket.create_connection((self.host, self.port))
        stream.sendall(text.encode())
        return stream

    def documents(self):
        """Path and text of all documents that clients have written."""
        found, after = {}, ""
        while after is not None:
            query = f"&after={after}" if after else ""
            status, page = self.ask("GET", f"/v1/documents?limit=1000{query}")
            assert status == 200, page
            for one in page["documents"]:
                if one["path"].startswith("log-"):
                    found[one["path"]] = one
            after = page.get("next")
        return found

    def text(self, document):
        status, whole = self.ask("GET", f"/v1/documents/{document['id']}")
        assert status == 200, whole
        return " ".join(chunk["text"] for chunk in whole["chunks"])


class Writes:
    """What a client has written, outside of the index: what is there for sure, and what may be."""

    def __init__(self):
        self.done = {}
        self.begun = {}
        self.acknowledged = 0
        self.version = 0
        self.chance = random.Random(7)

    def one(self, server, connection):
        """Writes some documents or removes one, and takes down what was acknowledged."""
        self.version += 1
        if self.done and self.chance.random() < 0.25:
            path = self.chance.choice(sorted(self.done))
            self.begun = {path: None}
            status, said = server.ask("POST", "/v1/documents/remove", {"paths": [path]}, connection)
        else:
            paths = self.chance.sample([f"log-{n}.md" for n in range(40)], self.chance.randint(1, 3))
            self.begun = {path: f"walrus{self.version}" for path in paths}
            body = [{"path": path, "body": f"The {word} met Captain Ellis at Tern Station."} for path, word in self.begun.items()]
            status, said = server.ask("POST", "/v1/documents", {"documents": body}, connection)
        assert status == 200, said
        self.settle(self.begun)
        self.acknowledged += 1

    def settle(self, written):
        for path, word in written.items():
            if word is None:
                self.done.pop(path, None)
            else:
                self.done[path] = word
        self.begun = {}

    def until(self, server, over):
        """Writes until the server is gone."""
        connection = server.connect()
        with suppress(OSError, http.client.HTTPException):
            while not over.is_set():
                self.one(server, connection)

    def check(self, server):
        """All that was acknowledged is there; of what was not, all or nothing."""
        found = {path: server.text(one) for path, one in server.documents().items()}
        is_there = lambda wanted: wanted.keys() == found.keys() and all(f" {word} " in f" {found[path]} " for path, word in wanted.items())
        if self.begun and not is_there(self.done):
            self.settle(self.begun)
        assert is_there(self.done), f"lost: {self.done} {found}"
        self.begun = {}
        if self.done:
            path, word = next(reversed(self.done.items()))
            status, said = server.ask("POST", "/v1/search", {"text": word, "filters": {"minRelevance": 0}})
            paths = [one["metadata"]["path"] for one in said["results"] if one["type"] == "chunk"]
            assert status == 200 and path in paths, f"{word} of {path} is not found: {said}"


def stop(rounds, place):
    writes, longest, answered = Writes(), 0, 0
    for round_ in range(rounds):
        server, over = Server(place), threading.Event()
        writes.check(server)
        status, job = server.ask("POST", "/v1/jobs", {"kind": "ingest"})
        assert status == 202, job
        told, lost, sigterm = [], [], [0.0]

        def search(number, server=server, over=over, told=told, lost=lost, sigterm=sigterm):
            connection = server.connect()
            while not over.is_set():
                sent = None
                try:
                    body = json.dumps({"text": QUESTIONS[number % len(QUESTIONS)], "options": {"rerankEnabled": False}})
                    connection.request("POST", "/v1/search", body, server.headers())
                    sent = time.monotonic()
                    answer = connection.getresponse()
                    answer.read()
                    told.append(answer.status)
                    if answer.getheader("Connection") == "close":
                        return
                except (OSError, http.client.HTTPException) as error:
                    # One that was on its way when the server was told to stop may not have come.
                    if sent and (not sigterm[0] or sent < sigterm[0] - 0.05):
                        lost.append(repr(error))
                    return

        def stream(server=server, over=over, job=job):
            with suppress(OSError, http.client.HTTPException):
                while not over.is_set():
                    connection = server.connect()
                    connection.request("GET", f"/v1/jobs/{job['id']}/events", headers=server.headers("text/event-stream"))
                    connection.getresponse().read()

        threads = [threading.Thread(target=search, args=(number,)) for number in range(SEARCHES)]
        threads += [threading.Thread(target=stream) for _ in range(STREAMS)]
        threads.append(threading.Thread(target=writes.until, args=(server, over)))
        for thread in threads:
            thread.start()
        head = f"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
        halves = [server.begin(head), server.begin(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{")]
        time.sleep(random.uniform(0.1, 0.8))
        sigterm[0] = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(timeout=60)
        took = time.monotonic() - sigterm[0]
        over.set()
        for thread in threads:
            thread.join()
        for half in halves:
            half.close()
        assert code == 0, f"round {round_}: it exits with {code}"
        assert took <= STOPS_WITHIN, f"round {round_}: it takes {took:.1f} s"
        assert not lost, f"round {round_}: searches without an answer: {lost}"
        assert set(told) <= {200, 429, 503}, f"round {round_}: {set(told)}"
        longest, answered = max(longest, took), answered + len(told)
    last = Server(place)
    writes.check(last)
    last.process.terminate()
    last.process.wait()
    place.run("verify")
    print(f"{rounds} stops, the longest {longest:.1f} s; {answered} searches answered, {writes.acknowledged} writes acknowledged, none lost")


def kill(rounds, place):
    writes, chance = Writes(), random.Random(11)
    for round_ in range(rounds):
        server = Server(place)
        writes.check(server)
        over = threading.Event()
        writer = threading.Thread(target=writes.until, args=(server, over))
        writer.start()
        # After some writes and a little later, or at any time.
        wanted, until = writes.acknowledged + chance.randint(1, 15), time.monotonic() + 20
        while round_ % 2 and writes.acknowledged < wanted and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.04 if round_ % 2 else 0.6))
        server.process.kill()
        server.process.wait()
        over.set()
        writer.join()
        if round_ % 10 == 9:
            place.run("verify")
    server = Server(place)
    writes.check(server)
    server.process.terminate()
    server.process.wait()
    place.run("verify")
    print(f"{rounds} kills, {writes.acknowledged} writes acknowledged, none lost")


class Client:
    """A program that talks to `trefoil mcp`; every line that it hears has to be a message."""

    def __init__(self, place, wrapped=False):
        command = [place.program, *OPTIONS, "mcp", "--tools", "documents,memory,write"]
        if wrapped:
            command = ["sh", "-c", 'exec 3<&0; "$@" <&3 & echo $! >&2; wait', "sh", *command]
        self.process = subprocess.Popen(command, cwd=place.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.own = int(self.process.stderr.readline()) if wrapped else self.process.pid
        self.rest = b""
        self.number = 0
        said = self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "campaign", "version": "1"}})
        assert said["serverInfo"]["name"] == "trefoil", said
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            message = self.hear()
            if message.get("id") == self.number:
                assert "result" in message, message
                return message["result"]

    def hear(self):
        while b"\n" not in self.rest:
            readable, _, _ = select.select([self.process.stdout], [], [], 60)
            read = os.read(self.process.stdout.fileno(), 65536) if readable else b""
            assert read, "it says nothing"
            self.rest += read
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def call(self, tool, arguments):
        said = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not said.get("isError"), f"{tool}: {said}"
        return said

    def is_gone_after(self, act):
        """How long it takes to end after something; -1 if it does not."""
        began = time.monotonic()
        act()
        while time.monotonic() < began + 10:
            if self.process.poll() is not None and self.own == self.process.pid:
                return time.monotonic() - began
            if self.own != self.process.pid and not is_alive(self.own):
                return time.monotonic() - began
            time.sleep(0.02)
        return -1


def crowd(count, place):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + 200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    server = Server(place)
    before = server.connect()
    assert server.ask("GET", "/v1/stats", None, before)[0] == 200
    began = time.monotonic()
    opened = [server.begin("") for _ in range(count)]
    # Closed ones are readable at once: there is their end.
    poll, closed = select.poll(), 0
    for one in opened:
        poll.register(one, select.POLLIN)
    while closed < count - 255 and time.monotonic() < began + 30:
        time.sleep(0.1)
        closed = len(poll.poll(0))
    assert closed == count - 255, f"{closed} of {count} connections were closed"
    assert server.ask("GET", "/v1/stats", None, before)[0] == 200, "who was there is not answered"
    other = http.client.HTTPConnection(server.host, server.port, timeout=30, source_address=("127.0.0.2", 0))
    assert server.ask("GET", "/v1/stats", None, other)[0] == 200, "another address is not answered"
    for one in opened:
        one.close()
    while True:
        with suppress(OSError, http.client.HTTPException):
            if server.ask("GET", "/v1/stats")[0] == 200:
                break
        assert time.monotonic() < began + 30, "places are not given again"
        time.sleep(0.02)
    server.process.terminate()
    server.process.wait()
    print(f"{count} connections: {closed} closed, others answered")


def memory(seconds, place):
    server, over, writes, errors = Server(place), threading.Event(), Writes(), []
    searched = [0] * 4

    def search(number):
        connection, chance = server.connect(), random.Random(number)
        try:
            while not over.is_set():
                text = f"{chance.choice(QUESTIONS)} walrus{chance.randrange(writes.version + 1)}"
                status, said = server.ask("POST", "/v1/search", {"text": text, "options": {"rerankEnabled": False}}, connection)
                assert status in (200, 503), said
                searched[number] += status == 200
                time.sleep(0.1)
        except Exception as error:  # noqa: BLE001 - told by the main thread
            errors.append(f"client {number}: {error!r}")

    def write():
        connection = server.connect()
        try:
            while not over.is_set():
                writes.one(server, connection)
                time.sleep(0.2)
        except Exception as error:  # noqa: BLE001 - told by the main thread
            errors.append(f"writer: {error!r}")

    threads = [threading.Thread(target=search, args=(number,)) for number in range(4)] + [threading.Thread(target=write)]
    for thread in threads:
        thread.start()
    began, seen, anonymous = time.monotonic(), [], []
    while time.monotonic() < began + seconds and not errors:
        time.sleep(max(seconds / 120, 0.5))
        seen.append(resident_mb(server.process.pid))
        anonymous.append(resident_mb(server.process.pid, "RssAnon:"))
    over.set()
    for thread in threads:
        thread.join()
    assert not errors, errors
    writes.check(server)
    tenth = max(len(seen) // 10, 1)
    median = lambda values: sorted(values)[len(values) // 2]
    tenths = lambda values: ", ".join(
        f"{median(values[start : start + tenth]):.0f}" for start in range(0, len(values), tenth))
    first, last = median(seen[tenth : 2 * tenth] or seen), median(seen[-tenth:])
    server.process.terminate()
    server.process.wait()
    told = f"{sum(searched)} searches, {writes.acknowledged} writes in {seconds} s"
    print(f"{told}: {first:.1f} MB after a tenth of the time, {last:.1f} MB at the end, {last / first - 1:+.1%}")
    print(f"MB in each tenth: {tenths(seen)}; of no file: {tenths(anonymous)}")


def resident_mb(pid, kind="VmRSS:"):
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(kind))
    return int(line.split()[1]) / 1024


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def stdio(seconds, place):
    calls, errors = [0] * 5, []
    until = time.monotonic() + seconds

    def talk(number):
        try:
            client = Client(place)
            while time.monotonic() < until:
                for question in QUESTIONS:
                    client.call("search", {"query": question, "limit": 5})
                path = f"client-{number}.md"
                client.call("add_document", {"path": path, "body": f"Client {number} saw walrus{calls[number]}."})
                found = client.call("get_document", {"path": path})
                assert f"walrus{calls[number]}." in json.dumps(found), found
                calls[number] += len(QUESTIONS) + 2
            client.process.stdin.close()
            client.process.wait(timeout=ENDS_WITHIN)
        except Exception as error:  # noqa: BLE001 - told by the main thread
            errors.append(f"client {number}: {error!r}")

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    place.run("verify")
    closed = Client(place)
    times = {"closed pipe": closed.is_gone_after(closed.process.stdin.close)}
    ended = Client(place)
    times["SIGTERM"] = ended.is_gone_after(ended.process.terminate)
    # Its parent dies, and this program still holds both ends of the pipes.
    held = Client(place, wrapped=True)
    times["killed parent, pipes held"] = held.is_gone_after(held.process.kill)
    for how, took in times.items():
        assert 0 <= took <= ENDS_WITHIN, f"{how}: gone after {took:.1f} s"
    told = ", ".join(f"{how} {took:.1f} s" for how, took in times.items())
    print(f"5 clients, {sum(calls)} calls in {seconds} s, no error; gone after: {told}")


if __name__ == "__main__":
    campaign, count, program = sys.argv[1:]
    with Place(str(Path(program).resolve())) as place:
        {"stop": stop, "kill": kill, "stdio": stdio, "crowd": crowd, "memory": memory}[campaign](int(count), place)
