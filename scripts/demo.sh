#!/usr/bin/env bash
# The main job on a real cluster's dump: three pods that land, evict, and stay pending, and why.
set -euo pipefail
cd "$(dirname "$0")/.."
kwhatif=${1:-kwhatif}
dump=fixtures/demo/cluster.yaml

show() {
    printf '\n$ %s\n' "$*"
    "$kwhatif" "${@:2}" || true # "no" is an answer, too
}

show kwhatif schedule fixtures/demo/pods/small.yaml --from "$dump"
show kwhatif schedule fixtures/demo/pods/checkout.yaml --from "$dump"
show kwhatif preempt fixtures/demo/pods/inference.yaml --from "$dump" --explain
show kwhatif schedule fixtures/demo/pods/impossible.yaml --from "$dump"
