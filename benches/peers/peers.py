#!/usr/bin/env python3
"""Trefoil and other libraries on the same vectors, texts and model, in one run.

    python3 -m venv peers && peers/bin/pip install -r benches/peers/requirements.txt
    peers/bin/python benches/peers/peers.py DATA [--vectors 30000 100000] [--texts 1400 50000]

Every library runs in a process of its own and builds its index from the same files, which
`cargo run -p benches --bin peers -- export` writes: real passages, their vectors by the default
model (above 10,000 passages, vectors between two of those), and questions. Prints Markdown.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "target" / "release" / "peers"
K = 10
RECALL = 0.99
# What a library keeps while it searches decides how exact it is; the least that reaches RECALL counts.
WIDTHS = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
# Candidates that each half of a hybrid question brings to fusion.
DEPTH = 60


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mb():
    """Peak of resident memory since the last `reset_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("the system names no peak of memory")


class Timer:
    def __init__(self):
        self.wall, self.cpu = time.perf_counter(), cpu()

    def read(self):
        return {"wall": time.perf_counter() - self.wall, "cpu": cpu() - self.cpu}


# Nearest neighbours ---------------------------------------------------------------------------


def read_vectors(folder, name):
    import numpy

    about = json.loads((folder / "about.json").read_text())
    return numpy.fromfile(folder / name, dtype="<f4").reshape(-1, about["dimensions"])


def exact(base, queries):
    import numpy

    nearest = [numpy.argpartition(-(base @ query), K)[:K] for query in queries]
    return [set(found.tolist()) for found in nearest]


def recall_and_speed(queries, nearest, search):
    """Recall@10, and questions a second on one thread: the median of three rounds."""
    found = sum(len(set(map(int, search(query))) & truth) for query, truth in zip(queries, nearest))
    rates = []
    for _ in range(3):
        start = time.perf_counter()
        for query in queries:
            search(query)
        rates.append(len(queries) / (time.perf_counter() - start))
    return found / (K * len(queries)), statistics.median(rates)


def narrowest(queries, nearest, search_at):
    """The first width that reaches the wanted recall; the widest if none does."""
    for width in WIDTHS:
        recall, rate = recall_and_speed(queries, nearest, search_at(width))
        if recall >= RECALL:
            break
    return {"width": width, "recall": recall, "rate": rate}


def faiss_hnsw(base, queries, nearest, scalar):
    import faiss

    faiss.omp_set_num_threads(os.cpu_count())
    timer = Timer()
    kind = faiss.METRIC_INNER_PRODUCT
    if scalar:
        index = faiss.IndexHNSWSQ(base.shape[1], faiss.ScalarQuantizer.QT_8bit, 16, kind)
        index.train(base)
    else:
        index = faiss.IndexHNSWFlat(base.shape[1], 16, kind)
    index.hnsw.efConstruction = 100
    index.add(base)
    built = timer.read()
    faiss.omp_set_num_threads(1)

    def search_at(width):
        index.hnsw.efSearch = width
        return lambda query: index.search(query[None, :], K)[1][0]

    return {"build": built, **narrowest(queries, nearest, search_at)}


def faiss_flat(base, queries, nearest):
    import faiss

    faiss.omp_set_num_threads(1)
    timer = Timer()
    index = faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    built = timer.read()
    search = lambda query: index.search(query[None, :], K)[1][0]
    recall, rate = recall_and_speed(queries, nearest, search)
    return {"build": built, "width": None, "recall": recall, "rate": rate}


def hnswlib_hnsw(base, queries, nearest):
    import hnswlib

    timer = Timer()
    index = hnswlib.Index(space="ip", dim=base.shape[1])
    index.init_index(max_elements=len(base), M=16, ef_construction=100)
    index.add_items(base, num_threads=os.cpu_count())
    built = timer.read()
    index.set_num_threads(1)

    def search_at(width):
        index.set_ef(width)
        return lambda query: index.knn_query(query, k=K, num_threads=1)[0][0]

    return {"build": built, **narrowest(queries, nearest, search_at)}


def trefoil_vectors(folder):
    return json.loads(subprocess.run([PEERS, "vectors", folder], check=True, capture_output=True).stdout)


NEIGHBOURS = {
    "faiss Flat": faiss_flat,
    "faiss HNSW": lambda *task: faiss_hnsw(*task, scalar=False),
    "faiss HNSW, 8 bit": lambda *task: faiss_hnsw(*task, scalar=True),
    "hnswlib": hnswlib_hnsw,
}


def measure_neighbours(name, folder):
    base, queries = (read_vectors(folder, file) for file in ("passages.f32", "questions.f32"))
    nearest = exact(base, queries)
    return {**NEIGHBOURS[name](base, queries, nearest), "peak": peak_mb()}


# Hybrid questions -----------------------------------------------------------------------------


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def ask_all(questions, vectors, search):
    """Milliseconds of each question, after a round that warms caches."""
    times = []
    for round in range(2):
        for question, vector in zip(questions, vectors):
            start = time.perf_counter()
            found = search(question, vector)
            if round:
                times.append((time.perf_counter() - start) * 1e3)
            assert len(found) == K, f"{len(found)} results"
    times.sort()
    return {"p50": times[len(times) // 2], "p95": times[len(times) * 95 // 100]}


def lancedb_texts(place, passages, vectors):
    import lancedb
    import pyarrow

    table = pyarrow.table({
        "id": range(len(passages)),
        "text": [passage["text"] for passage in passages],
        "path": [passage["path"] for passage in passages],
        "vector": pyarrow.FixedSizeListArray.from_arrays(vectors.reshape(-1), vectors.shape[1]),
    })
    created = lancedb.connect(place).create_table("passages", table)
    # Both ways of reading Japanese and Korean need dictionaries, or n-grams, which are built in.
    created.create_fts_index("text", base_tokenizer="ngram")
    if len(passages) >= 10_000:
        created.create_index(metric="cosine", index_type="IVF_HNSW_SQ", vector_column_name="vector")


def lancedb_questions(place, questions, vectors):
    import lancedb
    from lancedb.rerankers import RRFReranker

    table, fusion = lancedb.connect(place).open_table("passages"), RRFReranker()

    def search(question, vector):
        hybrid = table.search(query_type="hybrid", vector_column_name="vector")
        hybrid = hybrid.vector(vector).text(question["text"]).rerank(fusion).limit(K)
        return hybrid.select(["id", "text", "path"]).to_list()

    return ask_all(questions, vectors, search)


def qdrant_texts(place, passages, vectors):
    import qdrant_edge as edge

    config = edge.EdgeConfig(
        vectors={"dense": edge.EdgeVectorParams(size=vectors.shape[1], distance=edge.Distance.Cosine)},
        sparse_vectors={"text": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
    )
    shard, words = edge.EdgeShard.create(place, config), edge.Bm25(edge.Bm25Config(tokenizer=edge.TokenizerType.Multilingual))
    for first in range(0, len(passages), 1_000):
        points = [
            edge.Point(
                first + place,
                {"dense": vector.tolist(), "text": words.embed_document(passage["text"])},
                {"text": passage["text"], "path": passage["path"]},
            )
            for place, (passage, vector) in enumerate(zip(passages[first:first + 1_000], vectors[first:]))
        ]
        shard.update(edge.UpdateOperation.upsert_points(points))
    shard.flush()
    shard.optimize()
    shard.close()


def qdrant_questions(place, questions, vectors):
    import qdrant_edge as edge

    shard, words = edge.EdgeShard.load(place), edge.Bm25(edge.Bm25Config(tokenizer=edge.TokenizerType.Multilingual))

    def search(question, vector):
        nearest = edge.Query.Nearest(vector.tolist(), using="dense")
        bm25 = edge.Query.Nearest(words.embed_query(question["text"]), using="text")
        both = [edge.Prefetch(limit=DEPTH, query=half) for half in (nearest, bm25)]
        return shard.query(edge.QueryRequest(
            limit=K, query=edge.Fusion.Rrf(k=60), prefetches=both, with_payload=True,
        ))

    return ask_all(questions, vectors, search)


TEXTS = {
    "LanceDB": (lancedb_texts, lancedb_questions),
    "Qdrant Edge": (qdrant_texts, qdrant_questions),
}


def measure_texts(name, step, folder, place):
    index, ask = TEXTS[name]
    if step == "index":
        passages, vectors = read_lines(folder / "passages.jsonl"), read_vectors(folder, "passages.f32")
        before, timer = peak_mb(), Timer()
        index(str(place), passages, vectors)
        return {"build": timer.read(), "peak": peak_mb() - before, "chunks": len(passages)}
    questions, vectors = read_lines(folder / "questions.jsonl"), read_vectors(folder, "questions.f32")
    return {**ask(str(place), questions, vectors), "peak": peak_mb()}


# The run --------------------------------------------------------------------------------------


def in_own_process(*arguments):
    command = [sys.executable, __file__, "measure", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def trefoil(*arguments):
    done = subprocess.run([PEERS, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"peers {arguments}\n{done.stderr}")
    return json.loads(done.stdout)


def export(data, chunks, work):
    folder = work / f"{chunks}"
    if not folder.exists():
        trefoil("export", data, chunks, folder)
    return folder


def neighbours_table(data, sizes, work):
    print("\n| vectors | library | build, wall | build, CPU | width | recall@10 | questions a second | peak memory |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|")
    for size in sizes:
        folder = export(data, size, work)
        rows = [("Trefoil", trefoil("vectors", folder))]
        rows += [(name, in_own_process("neighbours", name, folder)) for name in NEIGHBOURS]
        for name, row in rows:
            build, width = row["build"], row["width"] or "–"
            print(f"| {size} | {name} | {build['wall']:.1f} s | {build['cpu']:.1f} s | {width} "
                  f"| {row['recall']:.3f} | {row['rate']:.0f} | {row['peak']:.0f} MB |", flush=True)


def texts_table(data, sizes, work):
    print("\n| chunks | library | chunks a second | CPU of indexing | peak of indexing | p50 | p95 | peak of asking |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|")
    for size in sizes:
        folder = export(data, size, work)
        for name in ("Trefoil", *TEXTS):
            place = work / f"index-{size}-{name.replace(' ', '-')}"
            shutil.rmtree(place, ignore_errors=True)
            if name == "Trefoil":
                indexed, asked = (trefoil(step, data, size, place) for step in ("index", "ask"))
            else:
                indexed, asked = (in_own_process("texts", name, step, folder, place) for step in ("index", "ask"))
            build = indexed["build"]
            print(f"| {indexed['chunks']} | {name} | {indexed['chunks'] / build['wall']:.0f} | {build['cpu']:.1f} s "
                  f"| {indexed['peak']:.0f} MB | {asked['p50']:.2f} ms | {asked['p95']:.2f} ms | {asked['peak']:.0f} MB |",
                  flush=True)


def main():
    if sys.argv[1:2] == ["measure"]:
        kind, name, *rest = sys.argv[2:]
        if kind == "neighbours":
            print(json.dumps(measure_neighbours(name, Path(rest[0]))))
        else:
            print(json.dumps(measure_texts(name, rest[0], Path(rest[1]), Path(rest[2]))))
        return
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=Path, help="the folder of the collections")
    arguments.add_argument("--vectors", type=int, nargs="*", default=[30_000, 100_000])
    arguments.add_argument("--texts", type=int, nargs="*", default=[1_400, 50_000])
    arguments.add_argument("--work", type=Path, help="keeps what is made there")
    given = arguments.parse_args()
    build = ["cargo", "build", "--release", "--quiet", "-p", "benches", "--bin", "peers"]
    subprocess.run(build, cwd=ROOT, check=True)
    work = given.work or Path(tempfile.mkdtemp(prefix="peers-"))
    work.mkdir(parents=True, exist_ok=True)
    neighbours_table(given.data, given.vectors, work)
    texts_table(given.data, given.texts, work)


if __name__ == "__main__":
    main()
