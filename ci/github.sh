#!/usr/bin/env bash
# The main step of action.yml: its inputs are in the environment, in capitals.
set -euo pipefail

# A change must not bring the policy by which it is judged.
if [ -n "$BASE" ] && [[ "$POLICY" != /* ]]; then
  # Of the commit that GitHub has made to merge the change, the first parent is newer than the event.
  if [ "${GITHUB_EVENT_NAME:-}" = pull_request ] && git cat-file -e "$GITHUB_SHA^1^{commit}" 2> /dev/null; then
    BASE="$(git rev-parse "$GITHUB_SHA^1")"
  fi
  POLICY="$(bash "$GITHUB_ACTION_PATH/ci/policy.sh" "$BASE" "$POLICY")"
fi

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
declare -A files=(
  [json]="$REPORTS/gate.json"
  [junit]="$REPORTS/junit.xml"
  [sarif]="$REPORTS/kwhatif.sarif"
  [markdown]="$REPORTS/gate.md"
  [github]="$REPORTS/annotations.txt"
)
rm -f -- "${files[@]}"  # what an earlier run has left
for format in "${!files[@]}"; do
  arguments+=(--report "$format=${files[$format]}")
done
arguments+=(--)
add_lines "$MANIFESTS"

# Names in manifests are anybody's: while the table is printed, nothing in it is a command to the runner.
token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
echo "::stop-commands::$token"
code=0
kwhatif gate "${arguments[@]}" || code=$?
echo "::$token::"

echo "exit-code=$code" >> "$GITHUB_OUTPUT"
# Where nothing could be judged there are no reports, and the steps after this one are to know.
if [ ! -f "${files[json]}" ]; then
  echo "::error title=kwhatif::Nothing could be judged (exit code $code): the log says why."
  exit "$code"
fi
for format in json junit sarif markdown; do
  echo "$format=${files[$format]}" >> "$GITHUB_OUTPUT"
done
[ "$ANNOTATIONS" != true ] || cat "${files[github]}"
[ "$SUMMARY" != true ] || cat "${files[markdown]}" >> "$GITHUB_STEP_SUMMARY"
exit "$code"
