#!/usr/bin/env bash
# Keep one comment on a pull request up to date. Its first line is a marker, by which the next run finds it again.
# In the environment: NAME, BODY (a Markdown file), PULL_REQUEST (its number), GITHUB_REPOSITORY, GH_TOKEN.
set -euo pipefail

marker="<!-- kwhatif: $NAME -->"
text="$(mktemp)"
trap 'rm -f -- "$text"' EXIT
{
  printf '%s\n' "$marker"
  # GitHub takes 65,536 characters; what is cut is in the job's summary.
  if [ "$(wc -c < "$BODY")" -gt 60000 ]; then
    head -c 60000 "$BODY" | sed '$d'
    printf '\n\n… the rest is in the summary of the job.\n'
  else
    cat "$BODY"
  fi
} > "$text"

# The first comment with the marker that a workflow has written: anybody could write one.
find_comment() {
  gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments?per_page=100" |
    jq --raw-output --slurp --arg marker "$marker" \
      '[.[][] | select(.user.type == "Bot" and (.body | startswith($marker))) | .id] | first // empty'
}

write_comment() {
  local comment
  comment="$(find_comment)" || return
  if [ -n "$comment" ]; then
    gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$comment" --field "body=@$text" > /dev/null
  else
    gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" --field "body=@$text" > /dev/null
  fi
}

# The verdict is the gate's: a comment that cannot be written changes nothing about it.
write_comment || echo "::warning title=kwhatif::The comment could not be written. A pull request from a fork may only" \
  "read; elsewhere the job needs the permission pull-requests: write. The summary of the job says the same."
