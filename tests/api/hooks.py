"""What no schema says of a request, for Schemathesis: of the requests that it makes up from the
schemas, those that are to be taken are mended here where they are refused by design."""

import json
import uuid
from pathlib import Path

import schemathesis
import yaml
from schemathesis.generation import GenerationMode

# The deepest condition, and the most parts that it may have.
DEPTH, NODES = 8, 64
# Not any object is a policy.
ROOT = Path(__file__).parents[2]
POLICY = yaml.safe_load((ROOT / "crates/trefoil-policy/src/default.yaml").read_text("utf-8"))


@schemathesis.hook
def before_call(_context, case, _arguments):
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    if case.path == "/v1/memory/policy" and case.method.upper() == "PUT":
        case.body = POLICY
    mend(case.body)
    where = (case.query or {}).get("where")
    if isinstance(where, str):
        case.query["where"] = json.dumps(condition(json.loads(where)))
    elif isinstance(where, dict):
        case.query["where"] = condition(where)


def mend(value):
    if isinstance(value, list):
        for one in value:
            mend(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name in MENDED and one is not None:
                value[name] = MENDED[name](one)
            else:
                mend(one)


def condition(where):
    depth, nodes = size(where)
    return where if depth <= DEPTH and nodes <= NODES else {"and": []}


def size(where):
    if not isinstance(where, dict):
        return 1, 1
    below = where.get("and", where.get("or", [where["not"]] if "not" in where else []))
    sizes = [size(one) for one in below]
    return 1 + max((depth for depth, _ in sizes), default=0), 1 + sum(n for _, n in sizes)


def in_order(dates):
    if dates.get("start") and dates.get("end"):
        dates["start"], dates["end"] = sorted([dates["start"], dates["end"]])
    return dates


MENDED = {
    # Weights add up to one.
    "weights": lambda _: {"keyword": 0.75, "graph": 0.25},
    # There are retrievers of these names.
    "strategies": lambda _: ["hybrid"],
    # A cursor goes on from the answer to the same query.
    "cursor": lambda _: None,
    # Vectors are taken by an index of vectors of the caller's own, as long as its others.
    "embedding": lambda _: None,
    # A hash is of the text next to it.
    "contentHash": lambda _: None,
    # A claim does not end before it begins.
    "validTo": lambda _: None,
    # A snapshot is written into a file that is not there.
    "file": lambda _: uuid.uuid4().hex,
    "where": condition,
    "dateRange": in_order,
}
