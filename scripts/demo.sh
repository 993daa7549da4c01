#!/usr/bin/env bash
# What kwhatif does, step by step, on the dump of a small cluster: 12 nodes, 49 pods, 5 disruption budgets.
set -euo pipefail
# The demo's dump is of 2026-11-21, 07:20 UTC: it is shown as of that time, not as a stale one.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1795245600}
cd "$(dirname "$0")/.."
kwhatif=${1:-kwhatif}
dump=fixtures/demo/cluster.yaml
pods=fixtures/demo/pods
step=0
steps=5

# explain TEXT ARGUMENT...: print the text and the command, run it, and say how it ended.
explain() {
    step=$((step + 1))
    printf '\n--- %s of %s: %s\n\n$ kwhatif %s\n' "$step" "$steps" "$1" "${*:2}"
    local code=0
    "$kwhatif" "${@:2}" || code=$?
    case $code in
        0) printf '(exit code 0: yes)\n' ;;
        1) printf '(exit code 1: no)\n' ;;
        *) exit "$code" ;; # the demo itself is broken
    esac
}

printf 'The cluster is a file, %s. Nothing here needs a live cluster.\n' "$dump"
explain "a pod that fits. Where does it land, and why not elsewhere?" \
    schedule "$pods/small.yaml" --from "$dump"
explain "a pod that fits only if another one is evicted." \
    schedule "$pods/checkout.yaml" --from "$dump"
explain "a pod whose eviction breaks a disruption budget. Which nodes were compared, and what decided?" \
    preempt "$pods/inference.yaml" --from "$dump" --explain
explain "a pod that fits nowhere, whoever is evicted." \
    schedule "$pods/impossible.yaml" --from "$dump"
explain "the gate for a pull request: all manifests together, judged by a policy." \
    gate fixtures/gate/manifests --from "$dump"
printf '\nYour own manifests: %s schedule MANIFEST --from DUMP. All commands: %s --help\n' "$kwhatif" "$kwhatif"
