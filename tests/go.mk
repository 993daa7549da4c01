# What the tests' Go modules share: which Kubernetes they link, and a check that Go is there to build them.

# The one line to change for another Kubernetes version.
KUBERNETES_VERSION = v1.36.2

GO ?= go
SET_VERSION := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))oracle/set-version.sh

.PHONY: version go-ready

# Makes the go.mod of folder MODULE follow KUBERNETES_VERSION; does nothing when it already does.
version: go-ready
	@grep -q 'k8s.io/kubernetes $(KUBERNETES_VERSION)\( \|$$\)' $(MODULE)/go.mod || \
	  GO='$(GO)' $(SET_VERSION) $(KUBERNETES_VERSION) $(MODULE)

# Go 1.21 and later fetch the version that go.mod asks for; whoever forbids that needs it installed.
WANTED = $(shell sed -n 's/^go //p' $(MODULE)/go.mod)
go-ready:
	@command -v $(GO) >/dev/null || { \
	  echo '$(WHAT) written in Go: install Go $(WANTED) or later (or say GO=/path/to/go).' >&2; exit 1; }
	@cd $(MODULE) && $(GO) env GOVERSION >/dev/null 2>&1 || { \
	  echo '$(WHAT) written in Go $(WANTED) or later, this one cannot use it:' >&2; cd $(MODULE) && $(GO) env GOVERSION >&2; exit 1; }
	@printf 'go%s\n%s\n' '$(WANTED)' "$$(cd $(MODULE) && $(GO) env GOVERSION)" | sort -V -C || { \
	  echo "$(WHAT) written in Go $(WANTED) or later, this is $$(cd $(MODULE) && $(GO) env GOVERSION)." >&2; exit 1; }
