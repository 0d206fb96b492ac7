#!/usr/bin/env bash
# Checks the page in a browser, against a real server: `run.sh [--small]`. Installs Node, the
# packages of this folder and, on Debian, Chromium and fonts of three languages. TREFOIL names the
# program, SHOTS a folder for pictures, PAGE one with files of the page to try without a build.
set -euo pipefail
cd "$(dirname "$0")"
source ../tools.sh
need
if [ -z "${CHROMIUM:-}" ] && [ ! -x /usr/bin/chromium-headless-shell ] && [ ! -x /usr/bin/chromium ]; then
    apt-get update -qq
    apt-get install -y -qq chromium-headless-shell fonts-noto-cjk >/dev/null
fi
npm install --silent --no-audit --no-fund --no-package-lock
exec node run.mjs "$@"
