#!/usr/bin/env bash
# Pins base images by digest, and actions by commit, as they are now. Needs docker and the network; commit what changes.
# `pin.sh images` leaves the actions alone.
set -euo pipefail
cd "$(dirname "$0")/.."

# The images of the Dockerfile and of the jobs for GitLab.
sed -nE 's/^(FROM|  image:) +([^ @]+)(@sha256:[0-9a-f]+)?.*/\2/p' Dockerfile ci/gitlab.yml | sort -u | while read -r image; do
  digest="$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')"
  [[ "$digest" =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "no digest of $image: $digest" >&2; exit 1; }
  sed -i -E "s#^((FROM|  image:) +$image)(@sha256:[0-9a-f]+)?( |\$)#\1@$digest\4#" Dockerfile ci/gitlab.yml
done

[ "${1:-}" != images ] || exit 0

# The actions; the comment behind each is the tag.
grep -hoE 'uses: [^ @]+@[0-9a-f]{40} # v[0-9.]+' action.yml .github/workflows/*.yml | sort -u | while read -r _ action _ tag; do
  name="${action%@*}"
  repository="$(cut -d/ -f1,2 <<< "$name")"
  commit="$(git ls-remote "https://github.com/$repository" "refs/tags/$tag^{}" "refs/tags/$tag" | head -1 | cut -f1)"
  [[ "$commit" =~ ^[0-9a-f]{40}$ ]] || { echo "no commit of $name $tag" >&2; exit 1; }
  sed -i -E "s#$name@[0-9a-f]{40} \# $tag\$#$name@$commit \# $tag#" action.yml .github/workflows/*.yml
done
