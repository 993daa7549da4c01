#!/usr/bin/env bash
# try_image.sh IMAGE: the image as a careful cluster runs it: another user than root, a root that cannot be written, no
# rights, no network; and that it says so itself.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(docker image inspect "$1" --format '{{.Config.User}}')" = 65532:65532 ]
docker run --rm --read-only --network none --cap-drop ALL --security-opt no-new-privileges --volume "$PWD:/src:ro" "$1" \
    schedule fixtures/demo/pods/small.yaml --from fixtures/demo/cluster.yaml | grep 'shop/small lands on general-a1'
docker run --rm --read-only --network none --entrypoint python "$1" -c 'import os; assert os.getuid() == 65532'
