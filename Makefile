# Every target makes the virtual environment it needs (.venv); only Python >= 3.11, make and a package
# index are assumed. `make test PYTHON=...` chooses the interpreter.

VENV := .venv
PYTHON ?=
EXTRAS := dev,data,certify,prove,scale
# The packages of `make integrations`, in an environment of their own. Any torch will do; a build
# without CUDA is smaller: TORCH="torch --index-url …".
INTEGRATIONS := .venv-integrations
TORCH ?= torch==2.13.0
# The packages of `make peers`, in an environment of their own too, at the versions of a lock.
PEERS := .venv-peers
PEERS_LOCK := tests/peers/requirements.txt
FIRST :=
LOCK :=
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MAKING := $(VENV).making
CANDIDATES := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 python)
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

# One thread everywhere: two cores are shared by the tests, and timings must not depend on it.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export MPLBACKEND := Agg

.PHONY: help demo test lint slow study extensions figures theorems mutants bench run-bench notebooks run-notebooks docs run-docs browser verify integrations run-integrations peers run-peers format clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    plan and train on two problems; writes demo/report.html and a picture"
	@echo "make test    linters, type checker, import contracts, then the tests in two processes"
	@echo "make lint    the checks of make test without the tests"
	@echo "make bench   speed against the bars of the README (one thread)"
	@echo "make slow    the tests that take too long for every change"
	@echo "make study   the claims about DP², measured on fresh seeds; writes docs/study.md (resumes)"
	@echo "make extensions  what goes beyond the paper, on every problem; writes docs/extensions.md"
	@echo "make figures  every figure and table of both papers; writes docs/figures"
	@echo "make notebooks  every notebook executed; writes build/notebooks/*.ipynb"
	@echo "make verify  every theorem proved again and tested on runs"
	@echo "make browser  every report opened in headless Chromium: pictures, numbers read back"
	@echo "make docs    the documentation as a web site, offline; writes build/docs/html"
	@echo "make theorems  replay every proof; writes docs/theorems and docs/paper-map.md"
	@echo "make mutants  wrong variants of the theorems that changed; writes docs/mutants.md"
	@echo "make integrations  tests inside the real Opacus and jax_privacy; log in docs/integrations"
	@echo "make peers   the laws against accountants of other packages; page in docs/peers"
	@echo "make format  rewrite the sources in the project's layout"
	@echo "make clean   remove the environment and what the tools left"

# MAKING stands beside an environment that is being made. Found at the start, it says that an earlier
# attempt was cut off: what that left is thrown away. An environment without it (yours, perhaps) is
# kept and brought up to date, as it is when pyproject.toml is newer than the stamp READY.
$(READY): pyproject.toml $(LOCK)
	@set -eu; \
	if [ -e "$(MAKING)" ] || ! "$(BIN)/python" -c "$(NEW_ENOUGH)" 2>/dev/null; then \
	  python=""; \
	  for candidate in $(CANDIDATES); do \
	    if "$$candidate" -c "$(NEW_ENOUGH)" 2>/dev/null; then python="$$candidate"; break; fi; \
	  done; \
	  if [ -z "$$python" ]; then \
	    echo "no Python >= 3.11 among: $(CANDIDATES); name one with PYTHON=" >&2; exit 1; \
	  fi; \
	  touch "$(MAKING)"; \
	  rm -rf "$(VENV)"; \
	  "$$python" -m venv "$(VENV)"; \
	fi
	$(if $(FIRST),$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check $(FIRST))
	$(if $(LOCK),$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --requirement $(LOCK))
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --editable ".[$(EXTRAS)]"
	@rm -f "$(MAKING)"
	@touch $@

demo: $(READY)
	$(BIN)/python -m dp2theory.demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# In processes of their own, one for each core of the machine that CI has. WORKERS=0: in one process.
# Whoever is done takes tests from the end of the other's queue: files differ too much in length.
WORKERS ?= 2
test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

slow: $(READY)
	$(BIN)/python -m pytest -m slow

# SEEDS_FROM names another source of seeds than the version. Runs are kept in STORE: a study that was
# stopped goes on from there. It exits with 3 when a claim is missed (for make, "Error 3" and a 2).
STORE ?= .study.db
study: $(READY)
	$(BIN)/python -m dp2theory.experiments.study --store "$(STORE)" $(if $(SEEDS_FROM),--seeds-from "$(SEEDS_FROM)")

extensions: $(READY)
	$(BIN)/python -m dp2theory.experiments.extensions --store "$(STORE)"

figures: $(READY)
	$(BIN)/python -m dp2theory.gallery

# Exits with 2 when a proof fails; the pages are written all the same and say so.
theorems: $(READY)
	$(BIN)/python -m tests.bounds.theorem_pages

mutants: $(READY)
	$(BIN)/python -m tests.bounds.mutants_page

integrations:
	$(MAKE) VENV=$(INTEGRATIONS) EXTRAS=dev,integrations FIRST="$(TORCH)" run-integrations

run-integrations: $(READY)
	$(BIN)/python -m tests.integrations

# torch comes first: a build without CUDA satisfies the lock as well.
peers:
	$(MAKE) VENV=$(PEERS) EXTRAS=dev,certify FIRST="$(TORCH)" LOCK=$(PEERS_LOCK) run-peers

run-peers: $(READY)
	$(BIN)/python -m pytest -m "peers and not slow" tests/peers
	$(BIN)/python -m tests.peers

# `python -m benchmarks` exits 3 when a bar is missed. make prints that 3 ("Error 3") but, as for
# every failed recipe, itself exits 2: call the module where the code is wanted.
bench:
	$(MAKE) EXTRAS=$(EXTRAS),bench READY=$(VENV)/.ready-bench run-bench

run-bench: $(READY)
	$(BIN)/python -m benchmarks

# Sources are notebooks/*.py (jupytext, percent format); make test runs them as scripts.
notebooks:
	$(MAKE) EXTRAS=$(EXTRAS),notebooks READY=$(VENV)/.ready-notebooks run-notebooks

run-notebooks: $(READY)
	@mkdir -p build/notebooks
	set -eu; for source in notebooks/*.py; do \
	  $(BIN)/python -m jupytext --quiet --to notebook --execute --set-kernel python3 --output "build/notebooks/$$(basename "$$source" .py).ipynb" "$$source"; \
	done

# Warnings are errors. Outputs of `make notebooks` are used where they are newer than the sources.
docs:
	$(MAKE) EXTRAS=$(EXTRAS),docs READY=$(VENV)/.ready-docs run-docs

run-docs: $(READY)
	$(BIN)/python -m docs.site

# Exits with 2 (after an "Error 3" of the command) when something is violated.
verify: $(READY)
	$(BIN)/dp2theory verify

# Needs Chromium (Debian: apt-get install chromium); exits with 2 and one line where there is none.
browser: $(READY)
	$(BIN)/python -m tests.browser

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(MAKING) $(INTEGRATIONS) $(INTEGRATIONS).making $(PEERS) $(PEERS).making build dist demo .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
