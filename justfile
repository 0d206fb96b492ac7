# The checks that a change has to pass, in order of cost.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Checks the types of the page's scripts.
page:
    tests/page/types.sh

# The page in a browser; Debian's Chromium and Node are installed. `--small` for fewer sizes.
page-test *ARGS: build
    tests/page/run.sh {{ARGS}}

# The description of the HTTP interface, and a server by it, with so many cases an operation.
api EXAMPLES="250": build
    tests/api/run.sh {{EXAMPLES}}

# The conformance suite of the Model Context Protocol.
conformance: build
    cargo build -p trefoil-server --features conformance --example conformance
    tests/mcp/run.sh conformance

# Three clients of the Model Context Protocol, by stdio and HTTP.
mcp-clients: build
    tests/mcp/run.sh clients

# A server is stopped (rounds) or killed (rounds) amid its work, crowded (connections), watched (its
# memory, seconds), and shared
# by five clients over standard input and output (seconds).
serve KIND COUNT:
    cargo build --release -p trefoil-cli
    tests/serve/campaign.py {{KIND}} {{COUNT}} target/release/trefoil

# What runs against a PostgreSQL, that of the wheel or Debian's.
postgres SERVER="wheel":
    TREFOIL_POSTGRES_REQUIRED=1 tests/postgres/start.py {{SERVER}} cargo test --test postgres

build:
    cargo build

# The Python package: its wheel, its types and its tests, in an environment below target.
python PROFILE="release":
    python/check.sh {{PROFILE}}

# What the tests of Python do in small, so many rounds: drop, leave, fork, interrupt, embedder,
# searches, opens, leak. After `just python`.
python-campaign KIND ROUNDS:
    cd python/tests && ../../target/python/bin/python campaign.py {{KIND}} {{ROUNDS}}

# The tests of many threads, so often, by the interpreter that is given. After `just python`.
python-threads ROUNDS="100" PYTHON="../../target/python/bin/python":
    cd python/tests && TREFOIL_ROUNDS={{ROUNDS}} {{PYTHON}} -m pytest -c ../../pyproject.toml --rootdir ../.. test_threads.py

# So many hostile examples for each of the three properties of Python's public functions.
python-hostile EXAMPLES="34000":
    cd python/tests && TREFOIL_EXAMPLES={{EXAMPLES}} ../../target/python/bin/python -m pytest -c ../../pyproject.toml --rootdir ../.. test_hostile.py

# What a call of Python costs beyond the library, on so many passages, printed. After `just python`.
bench-python PASSAGES="10000":
    cargo build --release -p benches --bin library
    [ -d target/benches/library ] || target/release/library make target/benches/library {{PASSAGES}}
    cd python/tests && ../../target/python/bin/python overhead.py ../../target/release/library ../../target/benches/library

# What HTTP and MCP add to a search, what a server bears, how soon it is ready; printed.
bench-wire *ARGS="added 10000 2000":
    cargo run --release -p benches --bin wire -- {{ARGS}}

# Whether nodes that share an index answer as one of its own (`equal`), and what they cost (`times`).
bench-nodes KIND DATA *COLLECTIONS:
    cargo build --release -p benches --bin nodes
    tests/postgres/start.py --durable wheel target/release/nodes {{KIND}} {{DATA}} {{COLLECTIONS}}

# How well and how fast memory recalls one claim among ten thousand; printed.
bench-recall DATA *COLLECTIONS="locomo-dev hotpot-mh musique-mh":
    cargo run --release -p benches --bin recall -- {{DATA}} {{COLLECTIONS}}

# Everything that `cargo test` runs; it fetches the default model once.
test:
    cargo test

# Property tests with a thousand cases each, instead of 64.
prop:
    PROPTEST_CASES=1000 cargo test --profile campaign --workspace --lib

# What retrievers, fusion and reranking are worth on collections in BEIR layout, in docs/EVALUATION.md.
eval *COLLECTIONS:
    cargo run --release -p trefoil-eval --example evaluation -- {{COLLECTIONS}}

# The default model has to be there; TREFOIL_DATA names the folder of DATA/ann-glove100.

# Recall and latency, in docs/BENCHMARKS.md.
bench:
    cargo bench -p benches
    cargo run --release -p benches --bin table

# What each operation costs by the size of the index, on real text; `just bench` publishes it.
bench-growth DATA *SIZES="1000 10000 100000":
    cargo run --release -p benches --bin growth -- {{DATA}} {{SIZES}}

# How long questions take next to writes, and many at once, on real text, printed.
bench-locks DATA SIZE="10000":
    cargo run --release -p benches --bin locks -- {{DATA}} {{SIZE}}

# Whether an index answers after removals as one rebuilt, printed; after bench-growth.
bench-removals DATA *COLLECTIONS="scifact cranfield hotpot-mh xreact-ko":
    cargo run --release -p benches --bin removals -- {{DATA}} {{COLLECTIONS}}

# What a question and an index of each collection cost, printed.
costs *COLLECTIONS:
    cargo run --release -p trefoil-eval --example evaluation -- --costs {{COLLECTIONS}}

# Licences, sources and duplicate versions of the dependencies.
deny:
    cargo deny check licenses bans sources

# Rounds and trials are numbered, and the number decides what is done: TREFOIL_FIRST=500
# begins with that one.

# What `cargo test` does in small: crash, corrupt, faults, leak, soak (minutes), fuzz (seconds each).
campaign KIND COUNT:
    #!/usr/bin/env bash
    set -euo pipefail
    if [ {{KIND}} != fuzz ]; then
        # One arena: else glibc keeps for each thread what another may have freed, and resident
        # memory says little of what is held.
        export MALLOC_ARENA_MAX=1
        TREFOIL_COUNT={{COUNT}} cargo test --profile campaign -p tests --test it {{KIND}}:: -- --nocapture
        exit
    fi
    cp Cargo.lock tests/fuzz/ && cd tests/fuzz && cargo build --release
    for seeds in ../../fixtures/fuzz/*; do
        mkdir -p corpus/${seeds##*/}
        TREFOIL_FUZZ=${seeds##*/} cargo run --release --quiet -- corpus/${seeds##*/} $seeds \
            -max_total_time={{COUNT}} -rss_limit_mb=2048 -timeout=20
    done

# Processes killed in the middle of their work, and what they left.
crash ROUNDS="1000": (campaign "crash" ROUNDS)

# Files damaged at random places.
corrupt TRIALS="10000": (campaign "corrupt" TRIALS)

# Random requests for what is above their boundary.
leak CASES="100000": (campaign "leak" CASES)

# Threads and processes that write and search at the same time.
soak MINUTES="60": (campaign "soak" MINUTES)

# Nodes that lead and follow, by so many seeds: crashes, pauses, calls that are late, lost or doubled.
sim SEEDS="10000":
    TREFOIL_COUNT={{SEEDS}} cargo test --profile campaign -p trefoil-store --lib simulation -- --nocapture

# Hostile input for every parser and file reader.
fuzz SECONDS="600": (campaign "fuzz" SECONDS)
