#!/usr/bin/env bash
# Checks the Model Context Protocol with programs of others: `run.sh conformance` by its suite,
# `run.sh clients` by three clients. Installs them. TREFOIL names the program, FIXTURE the example
# `conformance`; they are those of a debug build otherwise.
set -euo pipefail
source "$(dirname "$0")/../tools.sh"
program=$(realpath -e "${TREFOIL:-$root/target/debug/trefoil}")
fixture=$(realpath "${FIXTURE:-$root/target/debug/examples/conformance}")
cd "$(dirname "$0")"
need mcp==2.3.0
npm install --silent --no-audit --no-fund --no-package-lock
case "$1" in
conformance) exec ./conformance.sh "$fixture" "$program" ;;
clients) exec python clients.py "$program" ;;
*) echo "there is no suite $1; there are conformance and clients" >&2; exit 2 ;;
esac
