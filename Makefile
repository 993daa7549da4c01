# One command to try it (make demo), one to test it (make test).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# Each process that the tests start would compile everything for itself.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test browser deep lock archive site pin e2e quick lint format generated bench oracle fuzz fuzz-queue fuzz-advice fuzz-descheduler fuzz-karpenter fuzz-gangs fuzz-input conformance clean

# How many random cases of each family to compare; SEED=7 repeats a run, FAMILIES=dra,spread narrows it,
# CLI=1 asks kwhatif by its command line.
N ?= 200
FUZZ := $(BIN)/python -m tests.differential --cases $(N) $(if $(SEED),--seed $(SEED)) $(if $(FAMILIES),--families $(FAMILIES)) $(if $(CLI),--command-line) $(if $(RELEASE),--release $(RELEASE))

help: ## show the verbs
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kwhatif needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@touch $@

# Exactly the versions of requirements-dev.lock, held against their hashes.
$(READY): pyproject.toml requirements-dev.lock $(VENV)/.python
	$(PIP) install --require-hashes -r requirements-dev.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# A tool that is not for development has an environment of its own: build/tools/archive has what requirements-archive.lock names.
build/tools/%/.ready: requirements-%.lock $(VENV)/.python
	@$(PYTHON) -m venv build/tools/$*
	@build/tools/$*/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes -r requirements-$*.lock
	@touch $@

$(INSTALLED): pyproject.toml $(VENV)/.python
	@test $(READY) -nt pyproject.toml || { echo "Installing kwhatif and the packages that it needs into $(VENV) (only this time) ..."; \
	    $(PIP) install -e .; }
	@touch $@

demo: $(INSTALLED) ## install kwhatif, without the tools for development, and show what it does on fixtures/demo
	@./scripts/demo.sh $(BIN)/kwhatif

# The types are checked beside the tests: that takes one core for a minute where nothing is remembered of another run.
# One process collects the tests first: else each of those that run them would compile all of them for itself.
test: quick ## set everything up, check style, types and layers, run the tests
	@mkdir -p build
	@$(BIN)/mypy >build/types.txt 2>&1 & types=$$!; \
	    $(BIN)/python -m pytest --collect-only -qq >/dev/null 2>&1; \
	    $(BIN)/python -m pytest -n auto --dist worksteal; tests=$$?; \
	    wait $$types; types=$$?; echo "$(BIN)/mypy"; cat build/types.txt; \
	    exit $$((tests ? tests : types))

deep: $(READY) ## try the laws with new random examples for SECONDS=600; SEED=7 TESTS=tests/property/test_x.py repeats a round
	@$(BIN)/python -m tests.deep $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(TESTS)

LOCK := @uv pip compile --upgrade --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-index-url \
	--custom-compile-command 'make lock'

lock: ## pin the newest versions of all packages, with their hashes (needs uv)
	$(LOCK) pyproject.toml --extra zst --extra metrics --extra build --output-file requirements.lock
	$(LOCK) pyproject.toml --extra zst --extra metrics --extra build --extra dev --output-file requirements-dev.lock
	$(LOCK) pyproject.toml --extra zst --extra metrics --extra build --extra dev --extra browser --output-file requirements-browser.lock
	$(LOCK) pyproject.toml --extra zst --extra metrics --extra build --extra release --output-file requirements-release.lock
	$(LOCK) --group archive --output-file requirements-archive.lock
	$(LOCK) --group site --output-file requirements-site.lock

archive: $(READY) build/tools/archive/.ready ## one file with all that kwhatif needs but Python, for each platform; ONLY=here for this one
	@$(BIN)/python scripts/archive.py --pex build/tools/archive/bin/pex $(if $(ONLY),--only $(ONLY)) $(if $(REPOSITORY),--home $(REPOSITORY))

site: $(READY) build/tools/site/.ready ## the documentation as a site in build/site, and man pages in build/man
	@$(BIN)/python scripts/pages.py $(if $(REPOSITORY),--home $(REPOSITORY))
	@NO_MKDOCS_2_WARNING=1 build/tools/site/bin/mkdocs --quiet build --strict --clean --config-file build/mkdocs.yml

pin: ## pin base images by digest and actions by commit (needs docker and the network)
	scripts/pin.sh

e2e: $(READY) ## with Go: a real API server, live commands against it, the real scheduler's decisions
	@$(MAKE) --no-print-directory -C tests/e2e

quick: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

lint: quick ## style, types and layers
	$(BIN)/mypy

format: $(READY) ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

browser: $(READY) ## look at the HTML reports in Chromium (installs it, as root where apt is there): clicks, keys, print, accessibility
	@scripts/browser.sh

generated: $(READY) ## rewrite what is made from code: schema, output in README and docs; pictures where a browser is there
	$(BIN)/python scripts/generate.py
	$(BIN)/python scripts/screenshots.py

bench: $(READY) ## measure, and write docs/performance.md
	$(BIN)/python -m benchmarks

oracle: ## build the judge: kube-scheduler's own framework (needs Go); RELEASE=1.34 for that of another release
	@$(MAKE) --no-print-directory -C tests/oracle build

fuzz: $(READY) oracle ## let kwhatif and the judge decide N random cases of each family: make fuzz N=2000 RELEASE=1.35
	$(FUZZ)

fuzz-queue: $(READY) oracle ## let kwhatif's scheduling queue and the real one play N random scripts: make fuzz-queue N=2000
	$(BIN)/python -m tests.queue_scripts.fuzz --scripts $(N) $(if $(SEED),--seed $(SEED)) $(if $(FAMILIES),--families $(FAMILIES)) $(if $(WRITE_DOC),--write-doc)

fuzz-advice: $(READY) oracle ## ask the judge whether the advice for N random cases of each family holds: make fuzz-advice N=200
	$(BIN)/python -m tests.differential.advice --cases $(N) $(if $(SEED),--seed $(SEED)) $(if $(FAMILIES),--families $(FAMILIES))

fuzz-descheduler: $(READY) ## let kwhatif and the descheduler's own packages decide N random cases of each family: make fuzz-descheduler N=500
	@$(MAKE) --no-print-directory -C tests/oracle/descheduler
	$(BIN)/python -m tests.descheduling.fuzz --cases $(N) $(if $(SEED),--seed $(SEED)) $(if $(FAMILIES),--families $(FAMILIES))

fuzz-karpenter: $(READY) ## let kwhatif and Karpenter's own packages decide N random cases of each family: make fuzz-karpenter N=500
	@$(MAKE) --no-print-directory -C tests/oracle/karpenter
	$(BIN)/python -m tests.karpenter.fuzz --cases $(N) $(if $(SEED),--seed $(SEED)) $(if $(FAMILIES),--families $(FAMILIES))

fuzz-gangs: $(READY) ## let kwhatif and kube-scheduler 1.37 decide N random clusters of each family with groups of pods: make fuzz-gangs N=50
	@$(MAKE) --no-print-directory -C tests/oracle/gangs
	$(BIN)/python -m tests.gangs.fuzz --cases $(N) $(if $(SEED),--seed $(SEED)) $(if $(FAMILIES),--families $(FAMILIES))

fuzz-input: $(READY) ## mutate N inputs of all kinds: nothing may crash, hang, or refuse without a place: make fuzz-input N=20000
	$(BIN)/python -m tests.hostile --cases $(N) $(if $(SEED),--seed $(SEED))

conformance: $(READY) oracle ## the same with N of 2000 or more, and write docs/conformance.md
	$(FUZZ) --write-doc

clean: ## remove what make made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist
