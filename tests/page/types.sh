#!/usr/bin/env bash
# Checks the types of the page's scripts. Installs Node and the compiler.
set -euo pipefail
cd "$(dirname "$0")"
source ../tools.sh
need
npm install --silent --no-audit --no-fund --no-package-lock
exec npx tsc --noEmit --allowJs --checkJs --strict false --target es2022 --module es2022 \
    --moduleResolution bundler --lib dom,dom.iterable,es2023 --types "" "$root"/crates/trefoil-server/page/*.js
