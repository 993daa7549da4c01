#!/bin/sh
# Rewrites go.mod and go.sum of a module so that it links one Kubernetes version.
#
# usage: set-version.sh vX.Y.Z [FOLDER [FILE]]
#
# FOLDER holds the module: its name, and the programs that it names as `tool`, stay. Default: the oracle.
# FILE is written instead of go.mod (and FILE's .sum instead of go.sum): the same module, linked with another
# version by `go build -modfile=FILE`.
#
# k8s.io/kubernetes requires its own staging modules (k8s.io/api and the others) at v0.0.0 and replaces
# them by folders of its repository. Such replacements do not reach a program that depends on it, so
# each must be repeated here, by the published version v0.Y.Z. The list is read from the go.mod of that
# very release: it changes from one minor version to the next.
set -eu

version=${1:?usage: set-version.sh vX.Y.Z [FOLDER]}
case $version in
v1.*.*) staging=v0.${version#v1.} ;;
*)
	echo "set-version.sh: $version is not a version like v1.36.2" >&2
	exit 2
	;;
esac

go=${GO:-go}
cd "${2:-$(dirname "$0")}"
file=${3:-go.mod}
export GO111MODULE=on GOFLAGS="${GOFLAGS:-} -mod=mod"

# Asked outside of this module, whose go.mod may still speak of another version.
upstream=$(cd / && $go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/^[[:space:]]*"GoMod": "\(.*\)",*$/\1/p')
if [ -z "$upstream" ]; then
	echo "set-version.sh: there is no k8s.io/kubernetes $version" >&2
	exit 1
fi

{
	sed -n '/^module /p' go.mod
	echo
	sed -n 's/^go [0-9].*/&/p' "$upstream"
	echo
	# The same defaults of the Go runtime as the scheduler's own binary.
	sed -n 's/^godebug .*/&/p' "$upstream"
	echo
	sed -n '/^tool ($/,/^)$/p' go.mod
	echo
	echo "require k8s.io/kubernetes $version"
	echo
	echo "replace ("
	sed -n "s|^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging/src/.*|	\1 => \1 $staging|p" "$upstream"
	echo ")"
} >go.mod.new
mv go.mod.new "$file"
rm -f "${file%.mod}.sum"
# Files for one release import packages that another does not have (-e): the build says if one is really missing.
$go mod tidy -e -modfile="$file"
echo "$file now asks for Kubernetes $version"
