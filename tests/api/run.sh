#!/usr/bin/env bash
# Checks the description of the HTTP interface, and a server by it: `run.sh EXAMPLES [SEED]`, how
# many requests Schemathesis makes up for each operation, with a token and again without; the same
# ones for the same seed.
# Installs what it needs. TREFOIL names the program, that of a debug build otherwise.
set -euo pipefail
examples=${1:-20}
seed=${2:+--seed=$2}
source "$(dirname "$0")/../tools.sh"
program=$(realpath "${TREFOIL:-$root/target/debug/trefoil}")
need schemathesis==4.32.5
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; wait; rm -rf "$folder"' EXIT
cp -r "$root/fixtures/corpus" "$folder/corpus"
cd "$folder"
# Nobody is told to wait: that is checked elsewhere.
cat >trefoil.toml <<'TOML'
[server.limits]
burst = 1000000
requests_per_minute = 1000000
writes_per_minute = 1000000
failures_per_minute = 1000000
TOML
"$program" --quiet --model none --rerank-model none index corpus
"$program" --quiet --model none --rerank-model none serve --addr 127.0.0.1:0 >address 2>log &
server=$!
for _ in $(seq 600); do
    [ -s address ] && break
    kill -0 "$server" || { cat log >&2; exit 1; }
    sleep 0.1
done
IFS='#' read -r origin token <address
token=${token#token=}
python - "$origin" <<'PY'
import sys, urllib.request
urllib.request.urlretrieve(sys.argv[1] + "openapi.json", "openapi.json")
PY
echo "== redocly lint"
npx --yes @redocly/cli@2.77.0 lint --skip-rule=operation-4xx-response openapi.json
# All checks are on, but one for jobs: to delete one cancels it, and it is still told of.
cat >schemathesis.toml <<'TOML'
[[operations]]
include-path-regex = "^/v1/jobs/"
checks.use_after_free.enabled = false
TOML
check() {
    SCHEMATHESIS_HOOKS="$root/tests/api/hooks.py" st run "${origin}openapi.json" --max-examples "$examples" \
        --continue-on-failure --warnings off $seed "$@" | tee told
    grep -q "No issues found" told
}
echo "== with a token"
check -H "Authorization: Bearer $token"
echo "== without"
# What is asked of an operation without its token is not taken, whatever is asked.
check
kill -0 "$server" || { echo "the server has ended" >&2; cat log >&2; exit 1; }
