#!/bin/sh
# Installs the servers that tests start for themselves, where they are not there yet. Debian and its kin.
set -eu

sh "$(dirname "$0")/restate.sh"

missing=
command -v redis-server >/dev/null || missing="$missing redis-server"
# Debian keeps the program of the database where only root looks.
command -v mariadbd >/dev/null || [ -x /usr/sbin/mariadbd ] || missing="$missing mariadb-server"
[ -z "$missing" ] && exit 0

as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
$as_root apt-get update -q
# A server that the package starts by itself would hold the usual port; tests bring their own.
RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $as_root apt-get install -q -y --no-install-recommends $missing
