#!/usr/bin/env bash
# try_archive.sh FILE: the archive, run where nothing of kwhatif is installed, as kubectl's plugin, where nothing can be
# written. How long a warm start takes is said, not judged: machines differ (it should be 0.3 s of processor time).
set -euo pipefail
cd "$(dirname "$0")/.."
archive="$(realpath "$1")"
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
mkdir "$place/home" "$place/bin"
cp "$archive" "$place/bin/kubectl-whatif"
# Without the environment that the tests run in; python3 is found as anywhere.
python="$(dirname "$(python3 -c 'import sys; print(sys.executable)')")"
clean() { env -i LANG=C.UTF-8 HOME="$place/home" PATH="$python:/usr/bin:/bin" "$@"; }

question=(schedule fixtures/demo/pods/small.yaml --from fixtures/demo/cluster.yaml)
clean "$archive" "${question[@]}" > "$place/answer"
grep -q 'shop/small lands on general-a1' "$place/answer"
clean "$place/bin/kubectl-whatif" schedule --help | grep '^Usage: kubectl whatif schedule' > /dev/null
# CEL, zstandard and the Kubernetes client are compiled packages, or need some: each is asked something.
clean "$archive" gate fixtures/gate/manifests --from fixtures/demo/cluster.yaml --policy fixtures/gate/kwhatif.yaml > "$place/gate" || [ $? = 1 ]
grep -q 'By the policy' "$place/gate"
clean "$archive" snapshot save "$place/cluster.json.zst" --from fixtures/demo/cluster.yaml 2> /dev/null
clean "$archive" snapshot info "$place/cluster.json.zst" | grep 'control-plane\|NODES' > /dev/null
cat > "$place/kubeconfig" <<'YAML'
{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
 clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: a, user: {}}]}
YAML
code=0
clean "$archive" schedule fixtures/demo/pods/small.yaml --kubeconfig "$place/kubeconfig" > /dev/null 2> "$place/live" || code=$?
[ "$code" = 4 ] || { echo "a live cluster that is not there ends with $code:"; cat "$place/live"; exit 1; }

# Where the home cannot be written, as with a read-only root, a temporary folder does.
env -i LANG=C.UTF-8 HOME=/dev/null PATH="$python:/usr/bin:/bin" TMPDIR="$place" "$archive" "${question[@]}" 2> /dev/null | cmp - "$place/answer"

python3 - "$archive" "$place/home" "$python" <<'PYTHON'
import os, resource, subprocess, sys

archive, home, python = sys.argv[1:]
times = []
for _ in range(5):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([archive, "--version"], check=True, env={"HOME": home, "PATH": f"{python}:/usr/bin:/bin"}, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
print(f"{os.path.basename(archive)}: {os.path.getsize(archive) / 1e6:.1f} MB, starts warm in {min(times):.2f} s of processor time")
PYTHON
