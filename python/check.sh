#!/usr/bin/env bash
# Builds the wheel and checks it: types, style, and every suite, in an environment below target.
# The argument is the profile of cargo; `dev` has the features of `cargo test`, so that what that
# has compiled is not compiled again.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${1:-release}
environment=target/python
bin=$environment/bin

features=()
[ "$profile" != dev ] || features=(--features trefoil/failpoints,trefoil/openai,trefoil/tokio,trefoil/web)

if [ ! -x $bin/uv ]; then
    # Debian has it in a package of its own.
    python3 -c 'import ensurepip' 2>/dev/null \
        || { apt-get update -qq && apt-get install -y -qq python3-venv; }
    python3 -m venv $environment
    $bin/python -m pip install -q uv
fi
export VIRTUAL_ENV=$PWD/$environment PATH=$PWD/$bin:$PATH
uv pip install -q maturin --group test --group check
python python/licenses.py target/licenses/THIRD-PARTY-LICENSES.txt
rm -f target/wheels/trefoil_search-*
CARGO_TARGET_DIR=$PWD/target maturin build --profile "$profile" "${features[@]}" \
    --out target/wheels --quiet
[ "$profile" = dev ] || uv run -q --no-project --script python/pack.py target/wheels/trefoil_search-*.whl
uv pip install -q --reinstall --no-deps target/wheels/trefoil_search-*.whl

ruff check python
ruff format --check python
abi3audit --strict target/wheels/trefoil_search-*.whl
# The installed package, not the sources next to the tests.
cd python/tests
mypy --config-file ../../pyproject.toml --strict -p trefoil_search
python -m mypy.stubtest trefoil_search._native
mypy --config-file ../../pyproject.toml --strict .
pyright --project ../../pyproject.toml
TREFOIL_POSTGRES_REQUIRED=1 ../../tests/postgres/start.py wheel \
    python -m pytest -c ../../pyproject.toml --rootdir ../.. . --doctest-modules --pyargs trefoil_search
