#!/usr/bin/env bash
# Prints the path of the policy as it is in the commit BASE, of which a change was made:
#   policy.sh BASE [FILE]
# FILE is relative to the working directory; without it, kwhatif.yaml or .kwhatif.yaml. Where BASE has none, it is the
# default policy: a change that brings its own policy is not judged by it.
set -euo pipefail

base="$1"
folder="$(mktemp -d)"
if ! git cat-file -e "$base^{commit}" 2> /dev/null &&
  ! git fetch --quiet --no-tags --depth 1 origin "$base" > /dev/null 2>&1; then
  echo "::error title=kwhatif::The policy cannot be read: the commit $base, into which this is merged, is not in the" \
    "checkout. Give actions/checkout fetch-depth: 2." >&2
  exit 3
fi
names=(kwhatif.yaml .kwhatif.yaml)
[ -z "${2:-}" ] || names=("$2")
for name in "${names[@]}"; do
  found="$folder/$(basename -- "$name")"
  if git cat-file blob "$base:./$name" > "$found" 2> /dev/null; then
    echo "$found"
    exit
  fi
done
echo "::notice title=kwhatif::The default policy is used: ${base:0:12} has no ${2:-kwhatif.yaml}." >&2
printf 'apiVersion: kwhatif.dev/v1\nkind: Policy\n' > "$folder/default.yaml"
echo "$folder/default.yaml"
