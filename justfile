# The checks that a change has to pass, in order of cost.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Everything that `cargo test` runs; it fetches the default model once.
test:
    cargo test

# Property tests with a thousand cases each, instead of 64.
prop:
    PROPTEST_CASES=1000 cargo test --profile campaign --workspace --lib

# What each leg, fusion and reranking are worth on collections in BEIR layout, written to
# docs/EVALUATION.md.
eval *COLLECTIONS:
    cargo run --release -p trefoil-eval --example evaluation -- {{COLLECTIONS}}

# Recall and latency, written to docs/BENCHMARKS.md. The default model has to be there;
# TREFOIL_DATA names the folder of DATA/ann-glove100.
bench:
    cargo bench -p benches
    cargo run --release -p benches --bin table

# What a question and an index of each collection cost, written to docs/COSTS.md.
costs *COLLECTIONS:
    cargo run --release -p trefoil-eval --example evaluation -- --costs {{COLLECTIONS}}

# Licences, sources and duplicate versions of the dependencies.
deny:
    cargo deny check licenses bans sources

# A long run of what `cargo test` does in small: crash (rounds), corrupt (trials), faults
# (rounds), leak (cases), soak (minutes) or fuzz (seconds for each target). Rounds and trials
# are numbered, and the number decides what is done: TREFOIL_FIRST=500 begins with that one.
campaign KIND COUNT:
    #!/usr/bin/env bash
    set -euo pipefail
    if [ {{KIND}} != fuzz ]; then
        TREFOIL_COUNT={{COUNT}} cargo test --profile campaign -p tests --test it {{KIND}}:: -- --nocapture
        exit
    fi
    cp Cargo.lock tests/fuzz/ && cd tests/fuzz && cargo build --release
    for seeds in ../../fixtures/fuzz/*; do
        mkdir -p corpus/${seeds##*/}
        TREFOIL_FUZZ=${seeds##*/} cargo run --release --quiet -- corpus/${seeds##*/} $seeds \
            -max_total_time={{COUNT}} -rss_limit_mb=2048 -timeout=20
    done
