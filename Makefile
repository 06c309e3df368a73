# Needs Python 3.11 or later; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
LOWEST_BIN := .venv-lowest/bin
LOWEST := .venv-lowest/.ready
LOWEST_LOG := build/test-lowest.log
PORT ?= 8000
DEMO ?= build/serve-demo

# Without bytecode on disk each of the many processes that tests start would compile all modules.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help check test tests test-lowest quiet-lowest test-gpu browser go typescript lint format docs demo serve-demo dist bench clean

help:  ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1	\2/' | expand -t 18

# Built from scratch, so that a dependency that was removed is really gone.
$(READY): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "pairup needs Python 3.11 or later: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check \
		-c requirements/dev.txt -e '.[dev]'
	@touch $@

# Tests that neither compile much, nor start processes or browsers, nor play many rounds.
SLOW := $(addprefix tests/,analysis/test_instances.py experiments/test_dask.py \
	experiments/test_runner.py experiments/test_storage.py learning/test_learner.py \
	learning/test_meetings.py learning/test_serialization.py test_bits.py test_makefile.py \
	test_packaging.py test_side_process.py)
FAST := $(filter-out $(SLOW),$(sort $(wildcard $(addsuffix /test_*.py,tests \
	$(addprefix tests/,analysis bounds client/history experiments learning problem service/domain service/domain/matchmaking))))) \
	$(addprefix tests/,cli/test_app.py docs/test_games.py docs/test_policies.py docs/test_reference.py)

check: lint  ## run the checks of style, types and layers, and the fast tests, in about a minute
	$(BIN)/pytest -n 2 --dist worksteal $(FAST)

# Both environments are installed at once, and the smoke test runs beside the tests: either would leave
# a core idle. What the smoke test prints is shown after the tests.
test:  ## run all checks, tests and doctests, and test-lowest
	@$(MAKE) --no-print-directory -j2 $(READY) $(LOWEST)
	@$(MAKE) --no-print-directory -j2 lint browser go typescript
	@mkdir -p $(dir $(LOWEST_LOG)) && rm -f $(LOWEST_LOG) $(LOWEST_LOG).failed
	@$(MAKE) --no-print-directory -j2 quiet-lowest tests
	@cat $(LOWEST_LOG) && [ ! -e $(LOWEST_LOG).failed ]

tests:
	$(BIN)/pytest -n 2 --dist worksteal

quiet-lowest:
	@$(MAKE) --no-print-directory test-lowest >$(LOWEST_LOG) 2>&1 || touch $(LOWEST_LOG).failed

$(LOWEST): pyproject.toml requirements/lowest.txt
	$(PYTHON) -m venv --clear .venv-lowest
	$(LOWEST_BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check \
		-r requirements/lowest.txt -e '.[client,dask,gym,serve]'
	@touch $@

# With old libraries, whose warnings are not ours, and without the fixtures of other tests.
test-lowest: $(LOWEST)  ## run a smoke test with the lowest versions that are allowed
	$(LOWEST_BIN)/pytest -W default --noconftest smoke_tests \
		tests/compiled/test_numba_internals.py tests/service/test_uvicorn_internals.py

# Not part of `make test`: all but CUDA itself is tested there, on any machine.
test-gpu: SHELL := bash
test-gpu: $(READY)  ## run the tests that need an NVIDIA GPU; the log goes to build/test-gpu.log
	@mkdir -p build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cuda]'
	set -o pipefail; $(BIN)/pytest gpu_tests -v -s -p no:cacheprovider 2>&1 | tee build/test-gpu.log

browser: $(READY)  ## find Chromium for the tests, or download it into build
	$(BIN)/python -m tests.support.browser.chromium

typescript: $(READY)  ## install what generates a TypeScript client in the tests, into build
	$(BIN)/python -m tests.support.typescript.generator

go: $(READY)  ## install what generates and compiles a Go client in the tests, into build
	$(BIN)/python -m tests.support.go.generator

lint: $(READY)  ## check style, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## fix the style where a tool can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

demo: $(READY)  ## reproduce the paper at a small size; the report goes to build/demo
	$(BIN)/pairup reproduce --quick --out build/demo

# Both are children of this shell in the background, where they ignore a terminal's Ctrl-C; make sends
# SIGTERM on to this shell alone. A signal that reaches a child before it has become its program is
# lost, so each is told to end until it has. However the players end, the service is stopped after them.
serve-demo: $(READY)  ## serve a pool of simulated players until Ctrl-C, with a page to watch
	@mkdir -p $(dir $(DEMO))
	@$(BIN)/python -c 'import socket; socket.create_server(("127.0.0.1", $(PORT))).close()' 2>/dev/null \
		|| { echo "port $(PORT) is taken: PORT=8001 make serve-demo"; exit 1; }
	@stopped=; trap 'stopped=yes' INT TERM; \
	end() { while kill $$1 2>/dev/null; do sleep 0.2; done; wait $$1; }; \
	$(BIN)/pairup serve --port $(PORT) --database $(DEMO).db >$(DEMO).log 2>&1 & server=$$!; \
	$(BIN)/pairup simulate-players --url http://localhost:$(PORT) --wait 300 --pace 0.8 --game 0.3 \
		--distribution beta:0.7,0.7 --churn 0.002 --rated --patience 30 & players=$$!; \
	while [ -z "$$stopped" ] && kill -0 $$players 2>/dev/null; do sleep 0.2; done; \
	end $$players; status=$$?; \
	[ -z "$$stopped" ] || status=0; \
	[ $$status = 0 ] || tail -n 3 $(DEMO).log; \
	end $$server; \
	exit $$status

docs: $(READY)  ## generate the reference, run the notebooks and build the site in build/site
	$(BIN)/python -m scripts.reference
	$(BIN)/python -m scripts.notebooks
	$(BIN)/zensical build --strict --clean

# In an environment of its own: nothing else needs the tool that builds.
dist:  ## build the wheels of pairup and of its client alone, and the source distribution, in dist
	rm -rf dist build/lib build/dist-env
	$(PYTHON) -m venv build/dist-env
	build/dist-env/bin/python -m pip install --quiet --disable-pip-version-check build
	build/dist-env/bin/python -m build --outdir dist .
	build/dist-env/bin/python -m build --wheel --outdir dist packages/client

bench: $(READY)  ## measure speed and memory against the budget
	$(BIN)/python -m benchmarks

clean:  ## remove environments, build outputs and caches
	rm -rf .venv .venv-lowest build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache \
		.import_linter_cache .hypothesis .cache
	find src tests smoke_tests benchmarks scripts -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
