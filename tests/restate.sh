#!/bin/sh
# Installs the Restate server that tests start for themselves, where it is not there yet. The version is pinned in
# tests/restate, and no script of a package is run.
set -eu

cd "$(dirname "$0")/.."
folder=${CARGO_TARGET_DIR:-target}/restate
mkdir -p "$folder"
if cmp -s tests/restate/package-lock.json "$folder/installed.json"; then
    exit 0
fi
cp tests/restate/package.json tests/restate/package-lock.json "$folder/"
npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund
cp tests/restate/package-lock.json "$folder/installed.json"
