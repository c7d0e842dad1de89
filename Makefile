# What a developer types. `make` alone explains itself.
PYTHON ?= python3
BIN := .venv/bin
SUPPLY := .tools/supply
# Nothing is installed whose hash is not pinned, and nothing is built: that would fetch what builds it.
PIP_INSTALL := -m pip install -qq --disable-pip-version-check --require-hashes --only-binary :all:

.DEFAULT_GOAL := help
.PHONY: help run demo quick test test-long lint format fuzz bench lock audit

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: .venv/runs ## Start everything on this machine, with a demo to try
	@$(BIN)/python -m tools.run

demo: .venv/runs ## Sell one ticket by itself, from nothing, step by step
	@$(BIN)/python -m tools.demo

PYTEST := $(BIN)/python -m pytest

quick: .venv/tests ## Run what needs neither Postgres nor processes: under a minute, after each change
	@$(PYTEST) -m quick -n 2

test: .venv/tests lint ## Lint, check types, run all tests but those that take long
	@$(PYTEST) -m "not long" -n 4  # on two cores: many tests wait for processes

test-long: .venv/tests ## Run what takes long: kills in a loop, the fuzz, long property runs
	@HYPOTHESIS_PROFILE=long $(PYTEST) -m long -n 4

lint: .venv/tests ## Check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: .venv/tests ## Write the code in the one style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

SECONDS := 1200
fuzz: .venv/tests ## Try the service against its OpenAPI document with every role, SECONDS=1200 in all
	@FUZZ_SECONDS=$(SECONDS) $(PYTEST) -m long tests/api/test_fuzz.py -s

bench: .venv/tests ## Measure what requests cost; the table goes to bench/RESULTS.md too
	@$(BIN)/python -m bench --write

LOCK = $(SUPPLY)/bin/uv --quiet pip compile --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock' $(UPGRADE)
# Resolves what is pinned to wheels, as pip would for one Python on Linux; nothing is installed.
WHEELS = $(SUPPLY)/bin/uv --quiet pip install --dry-run --require-hashes --only-binary :all: \
	--target $(SUPPLY)/none
PYTHONS := 3.11 3.12 3.13 3.14
lock: $(SUPPLY)/ready ## Pin what the .in files name, with hashes, and list licences; UPGRADE=--upgrade takes newer ones
	@$(LOCK) requirements.in -o requirements.txt
	@$(LOCK) requirements-dev.in -c requirements.txt -o requirements-dev.txt
	@$(LOCK) tools/supply.in -o tools/supply.txt
	@$(LOCK) tools/node.in -o tools/node.txt
	@set -e; for version in $(PYTHONS); do \
		$(WHEELS) --python-version $$version --python-platform x86_64-manylinux_2_28 -r requirements.txt; \
		$(WHEELS) --python-version $$version --python-platform x86_64-manylinux_2_34 -r requirements-dev.txt; \
		echo "Python $$version: everything pinned has a wheel"; \
	done
	@$(MAKE) --no-print-directory .venv/runs
	@$(BIN)/python -m tools.licenses

# `--ignore-vuln ID` for each finding that SECURITY.md answers.
ANSWERED :=
audit: $(SUPPLY)/ready ## Ask PyPI for known vulnerabilities of everything pinned
	@$(SUPPLY)/bin/pip-audit --strict --disable-pip --require-hashes $(ANSWERED) \
		-r requirements.txt -r requirements-dev.txt -r tools/supply.txt -r tools/node.txt

.venv/runs: requirements.txt
	@echo "installing what runs"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python $(PIP_INSTALL) -r requirements.txt
	@touch $@

.venv/tests: .venv/runs requirements-dev.txt
	@echo "installing what tests"
	@$(BIN)/python $(PIP_INSTALL) -r requirements-dev.txt
	@touch $@

$(SUPPLY)/ready: tools/supply.txt
	@echo "installing what pins and audits"
	@$(PYTHON) -m venv $(SUPPLY)
	@$(SUPPLY)/bin/python $(PIP_INSTALL) -r tools/supply.txt
	@touch $@
