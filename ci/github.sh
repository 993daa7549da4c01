#!/usr/bin/env bash
# The main step of action.yml: its inputs are in the environment, in capitals.
set -euo pipefail

arguments=()
# One argument per line that is not blank, after an option if one is given.
add_lines() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    line="${line%$'\r'}"
    [ -z "${line//[[:space:]]/}" ] || arguments+=(${2:+"$2"} "$line")
  done <<<"$1"
}

add_lines "$CLUSTER" --from
add_lines "$POLICY" --policy
add_lines "$ROLLOUT" --rollout
add_lines "$NAMESPACE" --namespace
add_lines "$POD_TEMPLATE_PATHS" --pod-template-path
add_lines "$SCHEDULER_CONFIG" --scheduler-config
[ "$STRICT" != true ] || arguments+=(--strict)
mkdir -p "$REPORTS"
arguments+=(
  --report "json=$REPORTS/gate.json"
  --report "junit=$REPORTS/junit.xml"
  --report "sarif=$REPORTS/kwhatif.sarif"
  --report "markdown=$REPORTS/gate.md"
  --report "github=$REPORTS/annotations.txt"
)
arguments+=(--)
add_lines "$MANIFESTS"

# Names in manifests are anybody's: while the table is printed, nothing in it is a command to the runner.
token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
echo "::stop-commands::$token"
code=0
kwhatif gate "${arguments[@]}" || code=$?
echo "::$token::"

{
  echo "exit-code=$code"
  echo "json=$REPORTS/gate.json"
  echo "junit=$REPORTS/junit.xml"
  echo "sarif=$REPORTS/kwhatif.sarif"
  echo "markdown=$REPORTS/gate.md"
} >> "$GITHUB_OUTPUT"
if [ "$ANNOTATIONS" = true ] && [ -f "$REPORTS/annotations.txt" ]; then cat "$REPORTS/annotations.txt"; fi
if [ "$SUMMARY" = true ] && [ -f "$REPORTS/gate.md" ]; then cat "$REPORTS/gate.md" >> "$GITHUB_STEP_SUMMARY"; fi
exit "$code"
