#!/bin/sh
# Installs the Python packages that stave-bench compares itself with, into target/bench-peers. Nothing
# outside that folder changes; without it the rows of these peers say that they are missing.
set -eu
cd "$(dirname "$0")/.."
folder="${CARGO_TARGET_DIR:-target}/bench-peers"
python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check PyYAML rfc8785 langgraph langgraph-checkpoint-sqlite \
    langgraph-checkpoint-postgres 'psycopg[binary,pool]'
"$folder/bin/python" -m pip list --disable-pip-version-check
