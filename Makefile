# What a developer types. `make` alone explains itself.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help run demo test lint format bench

help: ## Show what can be made
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: .venv/runs ## Start everything on this machine, with a demo to try
	@$(BIN)/python -m tools.run

demo: .venv/runs ## Sell one ticket by itself, from nothing, step by step
	@$(BIN)/python -m tools.demo

test: .venv/tests lint ## Lint, check types, run the whole suite
	@$(BIN)/python -m pytest -n 2

lint: .venv/tests ## Check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: .venv/tests ## Write the code in the one style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: .venv/tests ## Measure what requests cost; the table goes to bench/RESULTS.md too
	@$(BIN)/python -m bench --write

.venv/runs: requirements.txt
	@echo "installing what runs"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/tests: .venv/runs requirements-dev.txt
	@echo "installing what tests"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -r requirements-dev.txt
	@touch $@
