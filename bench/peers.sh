#!/bin/sh
# Installs what stave-bench compares itself with, into target/bench-peers: Python packages, LiteLLM in an
# environment of its own, Portkey's gateway from npm. Nothing outside that folder changes; without it the rows of
# these peers say that they are missing. nginx is taken from the system (on Debian the package nginx-light).
set -eu
cd "$(dirname "$0")/.."
folder="${CARGO_TARGET_DIR:-target}/bench-peers"
python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check PyYAML rfc8785 langgraph langgraph-checkpoint-sqlite \
    langgraph-checkpoint-postgres 'psycopg[binary,pool]'
"$folder/bin/python" -m pip list --disable-pip-version-check
python3 -m venv "$folder/litellm"
"$folder/litellm/bin/pip" install --quiet --disable-pip-version-check 'litellm[proxy]'
"$folder/litellm/bin/pip" list --disable-pip-version-check | grep -i '^litellm '
npm install --silent --no-fund --no-audit --prefix "$folder/portkey" @portkey-ai/gateway
npm ls --prefix "$folder/portkey"
