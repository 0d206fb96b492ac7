#!/usr/bin/env python3
"""Shows an index on three nodes: `show.py PROGRAM`. Everything is killed once, and nothing is lost."""

import pathlib
import sys
import time

from campaign import WRITES_WITHIN, Cluster

CORPUS = pathlib.Path(__file__).parent.parent.parent / "fixtures/corpus"
QUESTIONS = [("en", "how do barn owls hunt?"), ("ja", "台風"), ("ko", "김치 담그는 법")]


def write(node, documents):
    """Gives a node documents, again as long as nobody can take them."""
    began = time.monotonic()
    while True:
        status, said = node.ask("POST", "/v1/documents", {"documents": documents})
        if status == 200:
            return said["written"], time.monotonic() - began
        assert status in (503, 504) and time.monotonic() - began < WRITES_WITHIN, said


def corpus(language):
    files = sorted((CORPUS / language).glob("*.md"))
    return [{"path": f"{language}/{file.name}", "body": file.read_text(), "format": "markdown"} for file in files]


def find(node):
    """The first answer of a node to each question."""
    for _, text in QUESTIONS:
        query = {"text": text, "options": {"limit": 1, "rerankEnabled": False, "resultTypes": ["chunk"]}}
        status, said = node.ask("POST", "/v1/search", query)
        assert status == 200, said
        paths = [one["metadata"]["path"] for one in said["results"]]
        reasons = [one["reason"] for one in said["degraded"] if one["stage"] == "follow"]
        print(f"  {node.name}: {text} → {', '.join(paths) or 'nothing yet'}", *reasons, flush=True)


def main():
    print("PostgreSQL, its standby, and three nodes")
    cluster = Cluster(sys.argv[1], "sync", "wheel")
    one, two, three = cluster.nodes
    try:
        for node, (language, _) in zip(cluster.nodes, QUESTIONS):
            count, seconds = write(node, corpus(language))
            print(f"{count} documents ({language}) given to {node.name}, {seconds:.1f} s")
        for node in cluster.nodes:
            find(node)
        print(cluster.run("cluster", "status"), end="")

        writer = cluster.writer()
        print(f"{writer.name}, which writes, is killed")
        writer.kill()
        other = two if writer is one else one
        _, seconds = write(other, [{"path": "after.md", "body": "Written after the first node was gone."}])
        print(f"{other.name} takes a document after {seconds:.1f} s")
        find(other)

        print("the database is killed; its standby takes its place")
        cluster.database.fail_over()
        find(three)
        cluster.database.follow()
        _, seconds = write(three, [{"path": "later.md", "body": "Written after the database was gone."}])
        print(f"{three.name} takes a document after {seconds:.1f} s")

        writer.start()
        everything = {document["path"] for language, _ in QUESTIONS for document in corpus(language)}
        # With what the first node had before it shared its index.
        everything |= {"own.md", "after.md", "later.md"}
        for node in cluster.nodes:
            deadline = time.monotonic() + 30
            while (found := node.documents().keys()) != everything:
                assert time.monotonic() < deadline, f"{node.name} has other documents: {everything ^ found}"
                time.sleep(0.1)
            print(f"{node.name} has all {len(everything)} documents")
        print(cluster.run("cluster", "status"), end="")
    finally:
        cluster.end()


if __name__ == "__main__":
    main()
