#!/bin/sh
# Install the service into a folder, with compiled kernels, so that it starts without a compiler and
# writes nothing there: the steps of Containerfile, which run without a container too.
#
#   deploy/build.sh FOLDER [POLICY ...]    then  NUMBA_CACHE_DIR=FOLDER/kernels FOLDER/bin/pairup serve
#
# Kernels of the default policy are compiled, and of those that are named. Machine code is for the
# processor that NUMBA_CPU_NAME names, by default this one: `generic` runs on all of its family.
set -eu
sources=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
shift

python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check \
	-c "$sources/requirements/dev.txt" "$sources[serve]"

export NUMBA_CACHE_DIR="$folder/kernels"
"$folder/bin/python" - "$@" <<'END'
import sys

from pairup import get_policy
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.pools.warmup import warm_up

for policy in (Rules().make_policy(), *map(get_policy, sys.argv[1:])):
    warm_up(policy)
END
