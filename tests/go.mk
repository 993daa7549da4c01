# What the tests' Go modules share: which Kubernetes they link, and a check that Go is there to build them.

# The release that everything is built for unless RELEASE names another, and the version of each.
DEFAULT_RELEASE = 1.36
VERSION_1.33 = v1.33.13
VERSION_1.34 = v1.34.4
VERSION_1.35 = v1.35.4
VERSION_1.36 = v1.36.2
VERSION_1.37 = v1.37.1
RELEASE ?= $(DEFAULT_RELEASE)
KUBERNETES_VERSION = $(VERSION_$(RELEASE))

# The file that says which Kubernetes is linked: go.mod, or, for another release, its own.
MODFILE = $(if $(filter $(DEFAULT_RELEASE),$(RELEASE)),go.mod,releases/$(RELEASE).mod)

GO ?= go
SET_VERSION := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))oracle/set-version.sh

.PHONY: version go-ready

# Makes the go.mod of folder MODULE follow KUBERNETES_VERSION; does nothing when it already does.
version: go-ready
	@test -n '$(KUBERNETES_VERSION)' || { echo 'tests/go.mk has no version of Kubernetes $(RELEASE)' >&2; exit 1; }
	@grep -qs 'k8s.io/kubernetes $(KUBERNETES_VERSION)\( \|$$\)' $(MODULE)/$(MODFILE) || \
	  GO='$(GO)' $(SET_VERSION) $(KUBERNETES_VERSION) $(MODULE) $(MODFILE)

# Go 1.21 and later fetch the version that go.mod asks for; whoever forbids that needs it installed.
WANTED = $(shell sed -n 's/^go //p' $(or $(wildcard $(MODULE)/$(MODFILE)),$(MODULE)/go.mod))
go-ready:
	@command -v $(GO) >/dev/null || { \
	  echo '$(WHAT) written in Go: install Go $(WANTED) or later (or say GO=/path/to/go).' >&2; exit 1; }
	@cd $(MODULE) && $(GO) env GOVERSION >/dev/null 2>&1 || { \
	  echo '$(WHAT) written in Go $(WANTED) or later, this one cannot use it:' >&2; cd $(MODULE) && $(GO) env GOVERSION >&2; exit 1; }
	@printf 'go%s\n%s\n' '$(WANTED)' "$$(cd $(MODULE) && $(GO) env GOVERSION)" | sort -V -C || { \
	  echo "$(WHAT) written in Go $(WANTED) or later, this is $$(cd $(MODULE) && $(GO) env GOVERSION)." >&2; exit 1; }
