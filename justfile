# The checks that a change has to pass, in order of cost.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Everything that `cargo test` runs; it fetches the default model once.
test:
    cargo test

# Property tests with a thousand cases each.
prop:
    PROPTEST_CASES=1000 cargo test --release --workspace --lib

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
