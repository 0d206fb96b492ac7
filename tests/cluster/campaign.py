#!/usr/bin/env python3
"""Three nodes share an index in PostgreSQL, all on loopback, while nodes and databases are killed.

Each node is `trefoil serve` with a cache of its own. In each round clients write to every node, and
something is killed. Then the others go on: every node has the same documents, what was acknowledged
is there, and found. At the end each cache passes `trefoil verify`.

`campaign.py kill ROUNDS PROGRAM [wheel|debian]`: one of the nodes, every third time the one that
writes.

`campaign.py pause ROUNDS PROGRAM [wheel|debian]`: one is stopped until another one has written, and
then goes on as if nothing had been.

`campaign.py partition ROUNDS PROGRAM [wheel|debian]`: one is cut off from the database until another
one has written: nothing arrives on either side, and no connection ends. It goes on answering searches.

`campaign.py sync ROUNDS PROGRAM [wheel|debian]`: the database; its standby, for which each commit
waited, takes its place.

`campaign.py async ROUNDS PROGRAM [wheel|debian]`: the same with a standby that has not everything.
What is lost then is told by a node.

TREFOIL_MODEL names the embedding model; none without it.
"""

import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TESTS = pathlib.Path(__file__).parent.parent
sys.path[:0] = [str(TESTS / "postgres")]
from pair import Pair
from proxy import Proxy
from start import Server as Database

OPTIONS = ["--model", os.environ.get("TREFOIL_MODEL", "none"), "--rerank-model", "none", "--quiet"]
SETTINGS = """
[server.limits]
burst = 1000000
requests_per_minute = 1000000
writes_per_minute = 1000000
"""
NODES = 3
# Seconds: how long a node that was killed keeps the lease, and how soon another one writes.
LEASE = 3
WRITES_WITHIN = 20
SEEN_WITHIN = 30
# Without the database.
SEARCHES_WITHIN = 5


class Node:
    """`trefoil serve` of a cache, under a name that it keeps."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.folder = cluster.folder / name
        self.folder.mkdir(exist_ok=True)
        url, self.proxy = cluster.url, None
        if cluster.is_partitioned:
            port = cluster.database.port
            self.proxy = Proxy(port)
            url = url.replace(f":{port}/", f":{self.proxy.port}/")
        node = f"[store]\nurl = '{url}'\nnode = '{name}'\nlease = {LEASE}\n"
        (self.folder / "trefoil.toml").write_text(node + SETTINGS)
        self.start()

    def start(self):
        command = [self.cluster.program, *OPTIONS, "serve", "--addr", "127.0.0.1:0", "--no-auth"]
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        assert line, f"{self.name} does not start"
        self.host, port = line.strip().strip("/").removeprefix("http://").split(":")
        self.port = int(port)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def partition(self):
        self.proxy.is_open.clear()

    def rejoin(self):
        """Ends the partition, in which searches have gone on."""
        began = time.monotonic()
        status, said = self.ask("POST", "/v1/search", {"text": "seal of Tern Station"})
        assert status == 200 and said["results"], said
        assert time.monotonic() - began < SEARCHES_WITHIN, "a search has waited for the database"
        self.proxy.is_open.set()

    def ask(self, method, path, body=None, timeout=60):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            body = None if body is None else json.dumps(body)
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def documents(self):
        """Every document, by path, with its text."""
        found, after = {}, ""
        while after is not None:
            query = f"&after={after}" if after else ""
            status, page = self.ask("GET", f"/v1/documents?limit=1000{query}")
            assert status == 200, page
            for one in page["documents"]:
                status, whole = self.ask("GET", f"/v1/documents/{one['id']}")
                assert status == 200, whole
                found[one["path"]] = " ".join(chunk["text"] for chunk in whole["chunks"])
            after = page.get("next")
        return found


# What a campaign does to a node, and how it ends.
FAULTS = {
    "kill": (Node.kill, Node.start),
    "pause": (Node.pause, Node.resume),
    "partition": (Node.partition, Node.rejoin),
}


class Cluster:
    def __init__(self, program, campaign, kind):
        self.program = str(pathlib.Path(program).resolve())
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="trefoil-cluster-"))
        (self.folder / "database").mkdir()
        self.folder.chmod(0o755)
        self.is_partitioned = campaign == "partition"
        if campaign in FAULTS:
            self.database = Database(kind, self.folder / "database", durable=False)
        else:
            self.database = Pair(kind, self.folder / "database", campaign == "sync")
        self.url = f"{self.database.url()}?index=notes"
        self.run("cluster", "init")
        # The index that one of them had before.
        own = self.folder / "node-1"
        own.mkdir()
        (own / "own.md").write_text("The seal of Tern Station.")
        subprocess.run([self.program, *OPTIONS, "index", "own.md"], cwd=own, check=True, capture_output=True)
        self.run("cluster", "load", folder=own)
        self.nodes = [Node(self, f"node-{number}") for number in range(1, NODES + 1)]

    def run(self, *arguments, folder=None):
        command = [self.program, *OPTIONS, "--store", self.url, *arguments]
        done = subprocess.run(command, cwd=folder or self.folder, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def writer(self):
        name = json.loads(self.run("--json", "cluster", "status"))["writer"]
        return next((node for node in self.nodes if node.name == name), None)

    def end(self):
        for node in self.nodes:
            node.process.terminate()
        for node in self.nodes:
            node.process.wait()
        self.database.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Client(threading.Thread):
    """Writes to one node, documents of its own, until it is over."""

    def __init__(self, node, number, written):
        super().__init__(daemon=True)
        self.node, self.number, self.written = node, number, written
        self.is_over = threading.Event()
        self.doubtful, self.acknowledged, self.last = {}, 0, 0.0

    def run(self):
        chance = random.Random(self.number)
        while not self.is_over.is_set():
            path = f"log-{self.node.name}-{chance.randrange(12)}.md"
            word = f"walrus{self.number}x{self.acknowledged}x{chance.randrange(10 ** 9)}"
            body = f"The {word} met Captain Ellis at Tern Station."
            self.doubtful.setdefault(path, set()).add(word)
            began = time.monotonic()
            try:
                status, said = self.node.ask(
                    "POST", "/v1/documents", {"documents": [{"path": path, "body": body}]})
            except (OSError, http.client.HTTPException):
                # Killed: it may have been written.
                time.sleep(0.2)
                continue
            if status == 200:
                self.written[path] = {word}
                del self.doubtful[path]
                self.acknowledged += 1
                self.last = began
            else:
                assert status in (503, 504), said
        # What is in doubt may be there, or what was before.
        for path, words in self.doubtful.items():
            self.written[path] = self.written.get(path, {None}) | words


def losses(cluster):
    """What nodes say that the database has lost."""
    told = set()
    for node in cluster.nodes:
        _, said = node.ask("POST", "/v1/search", {"text": "walrus", "options": {"rerankEnabled": False}})
        told |= {one["reason"] for one in said["degraded"] if "has lost" in one["reason"]}
    return told


def check(cluster, written, may_lose):
    """Each node has all that was acknowledged, and finds it. How much of it the database has lost."""
    deadline = time.monotonic() + SEEN_WITHIN
    texts = [node.documents() for node in cluster.nodes]
    while any(text != texts[0] for text in texts):
        assert time.monotonic() < deadline, "nodes have other documents"
        time.sleep(0.2)
        texts = [node.documents() for node in cluster.nodes]
    assert any("seal of Tern" in text for text in texts[0].values()), "what was loaded is gone"
    is_there = lambda path, word: word in texts[0].get(path, "") if word else path not in texts[0]
    missing = [path for path, words in written.items() if not any(is_there(path, word) for word in words)]
    if missing:
        assert may_lose(), f"lost: {missing} of {written}: {texts[0]}"
    for path in missing:
        text = texts[0].get(path)
        written[path] = {text.split()[1] if text else None}
    # What is in doubt is decided now.
    for path, words in written.items():
        words &= {word for word in words if is_there(path, word)}
    path, words = random.choice(sorted(written.items()))
    word = next(iter(words))
    if word:
        for node in cluster.nodes:
            query = {"text": word, "filters": {"minRelevance": 0}, "options": {"rerankEnabled": False}}
            while True:
                status, said = node.ask("POST", "/v1/search", query)
                if status == 200 and any(one["metadata"].get("path") == path for one in said["results"]):
                    break
                assert time.monotonic() < deadline, f"{word} is not found on {node.name}: {said}"
                time.sleep(0.05)
    return len(missing)


def write_on(clients):
    """Waits until one of them has written what it began now. How long it took."""
    began = time.monotonic()
    while all(one.last < began for one in clients):
        assert time.monotonic() - began < WRITES_WITHIN, "nobody writes"
        time.sleep(0.05)
    return time.monotonic() - began


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in (*FAULTS, "sync", "async"):
        sys.exit(__doc__)
    campaign, rounds, program = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    cluster = Cluster(program, campaign, sys.argv[4] if len(sys.argv) > 4 else "wheel")
    chance, written = random.Random(7), {}
    acknowledged, of_writer, lost, longest, told = 0, 0, 0, 0.0, set()
    try:
        for round_ in range(rounds):
            clients = [Client(node, round_ * NODES + n, written) for n, node in enumerate(cluster.nodes)]
            for client in clients:
                client.start()
            time.sleep(chance.uniform(0.05, 0.5))
            if campaign in FAULTS:
                writer = cluster.writer()
                victim = (writer if round_ % 3 == 0 else None) or chance.choice(cluster.nodes)
                of_writer += victim is writer
                begin, end = FAULTS[campaign]
                begin(victim)
                longest = max(longest, write_on([one for one in clients if one.node is not victim]))
                end(victim)
            else:
                write_on(clients)
                if campaign == "async":
                    cluster.database.hold_back()
                    time.sleep(chance.uniform(0.1, 0.4))
                cluster.database.fail_over()
                cluster.database.follow()
                longest = max(longest, write_on(clients))
            for client in clients:
                client.is_over.set()
            for client in clients:
                client.join()
            acknowledged += sum(client.acknowledged for client in clients)
            before = set(told)
            told |= losses(cluster)
            lost += check(cluster, written, lambda: campaign == "async" and told > before)
            if (round_ + 1) % 10 == 0 or round_ + 1 == rounds:
                kinds = f"{of_writer} of the node that wrote" if of_writer else f"{len(told)} losses told"
                print(f"{round_ + 1} rounds, {kinds}; {acknowledged} writes acknowledged, {lost} lost; "
                      f"writes waited {longest:.1f} s at most", flush=True)
        print(cluster.run("cluster", "status"), end="")
        for node in cluster.nodes:
            node.process.terminate()
            node.process.wait()
            subprocess.run([cluster.program, *OPTIONS, "verify"], cwd=node.folder, check=True,
                           stdout=subprocess.DEVNULL)
    finally:
        cluster.end()


if __name__ == "__main__":
    main()
