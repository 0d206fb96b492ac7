"""Measures a TREC run with pytrec_eval: `python3 reference.py RUN QRELS`.

Prints question, metric and value a line. `expected.tsv` beside this file was made with
pytrec_eval-terrier 0.5.11 from `run.tsv` and `qrels.tsv`, which are synthetic: ties, gains of
several grades, gains of zero and below, questions that are not answered or not judged.
Exits with 3 where pytrec_eval is not installed.
"""

import sys

try:
    import pytrec_eval
except ImportError:
    sys.exit(3)

CUTOFFS = [1, 5, 10, 100]


def table(path):
    with open(path, encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


run, qrels = {}, {}
for query, _, document, _, score, _ in table(sys.argv[1]):
    run.setdefault(query, {})[document] = float(score)
for query, document, gain in table(sys.argv[2])[1:]:
    qrels.setdefault(query, {})[document] = int(gain)

names = {"ndcg_cut": "ndcg", "recall": "recall", "P": "precision", "success": "hit"}
cuts = ",".join(map(str, CUTOFFS))
measures = {f"{name}.{cuts}" for name in names} | {"map", "recip_rank"}
for query, values in sorted(pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run).items()):
    for measure, value in sorted(values.items()):
        if measure == "map":
            print(query, "map", repr(value), sep="\t")
        elif measure == "recip_rank":
            for cutoff in CUTOFFS:
                inside = value > 0 and round(1 / value) <= cutoff
                print(query, f"mrr@{cutoff}", repr(value if inside else 0.0), sep="\t")
        else:
            name, cutoff = measure.rsplit("_", 1)
            print(query, f"{names[name]}@{cutoff}", repr(value), sep="\t")
