#!/usr/bin/env bash
# The conformance suite of the Model Context Protocol, on its own tools behind our router, layers
# and limits, and on the endpoint of the product: `conformance.sh FIXTURE PROGRAM`, the example
# `conformance` and `trefoil`. `npm install` in this folder brings the suite.
set -euo pipefail
fixture=$(realpath -e "$1")
program=$(realpath -e "$2")
cd "$(dirname "$0")"
[ -x node_modules/.bin/conformance ] || { echo "run npm install in $PWD first" >&2; exit 1; }
export PATH="$PWD/node_modules/.bin:$PATH"
out=$(mktemp -d)
server=
stop() { if [ -n "$server" ]; then kill "$server"; wait "$server" || true; server=; fi; }
trap 'stop; rm -rf "$out"' EXIT

# Starts a server and waits for the address that it prints.
start() {
    : >"$out/address"
    "$@" >"$out/address" 2>"$out/log" &
    server=$!
    for _ in $(seq 600); do
        [ -s "$out/address" ] && break
        kill -0 "$server" || { cat "$out/log" >&2; exit 1; }
        sleep 0.1
    done
    address=$(head -n 1 "$out/address")
}

failed=0
suite() {
    echo "== $*"
    if conformance server "$@" >"$out/told" 2>&1; then
        grep -E "^(✓|✗|Total|Passed)" "$out/told"
    else
        failed=1
        cat "$out/told"
    fi
}

start "$fixture" --sessions
suite --url "$address" --requirements 2025-11-25
stop
start "$fixture"
suite --url "$address" --requirements 2026-07-28
stop

# Of the product: what needs no tool of the suite.
mkdir "$out/index"
start "$program" --quiet --model none --rerank-model none --index "$out/index/main" serve --no-auth --addr 127.0.0.1:0
for of in 2025-11-25:server-initialize 2025-11-25:ping 2025-11-25:tools-list 2025-11-25:resources-list \
    2025-11-25:prompts-list 2025-11-25:completion-complete 2025-11-25:dns-rebinding-protection \
    2025-11-25:server-sse-multiple-streams 2026-07-28:tools-list 2026-07-28:resources-list \
    2026-07-28:prompts-list 2026-07-28:completion-complete 2026-07-28:sep-2164-resource-not-found \
    2026-07-28:caching 2026-07-28:dns-rebinding-protection 2026-07-28:http-header-validation \
    2026-07-28:server-sse-multiple-streams; do
    suite --url "${address%/}/mcp" --spec-version "${of%%:*}" --scenario "${of#*:}"
done
# Four of its checks call tools of the suite; each of the others has to hold.
echo "== server-stateless"
conformance server --url "${address%/}/mcp" --spec-version 2026-07-28 --scenario server-stateless \
    >"$out/told" 2>&1 || true
grep -E "^Passed" "$out/told"
if [ "$(grep -c FAILURE "$out/told")" != "$(grep -c "Error: Not testable" "$out/told")" ]; then
    failed=1
    cat "$out/told"
fi
exit "$failed"
