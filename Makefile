# The developer's commands. `make` without a target lists them.
PYTHON ?= python3
unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of processes
BIN := .venv/bin
SUPPLY := .tools/supply
SLITHER := .tools/slither
# Install only pinned hashes and only wheels: a build would download unpinned build tools.
PIP_INSTALL := -m pip install -qq --disable-pip-version-check --require-hashes --only-binary :all:

.DEFAULT_GOAL := help
.PHONY: help run collect payback agent quick test test-long lint format fuzz screenshots translations bench bench-onsale bench-peers bench-scale bench-growth contracts lock audit release

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

# Some shells export HOST: only what is typed counts.
run: .venv/demo ## Start everything on this machine, with a demo tenant; HOST=192.168.1.20: for phones, too
	@$(BIN)/python -m tools.run $(if $(filter command,$(firstword $(origin HOST))),--host $(HOST))

collect: .venv/tests ## Send what the demo tenant's orders hold to its address, while `make run` runs
	@$(BIN)/python -m tools.collect_local

payback: .venv/demo ## Pay back what the demo tenant owes, as its wallet, while `make run` runs
	@$(BIN)/python -m tools.payback_local

agent: .venv/agent .venv/demo ## Let an agent with the stock x402 client buy of the demo tenant, while `make run` runs
	@$(BIN)/python -m tools.agent_local

PYTEST := $(BIN)/python -m pytest
# SQLite waits for the disk at each commit, so tests keep their data in memory, if it has a place.
IN_MEMORY := $(shell df -k --output=avail /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 4000000 { print "/dev/shm" }')
quick test test-long fuzz: export TMPDIR := $(or $(IN_MEMORY),$(TMPDIR),/tmp)

quick: .venv/tests ## Run the tests that need neither Postgres nor processes
	@$(PYTEST) -m quick -n 2

test: .venv/tests lint ## Lint, check types, run all tests on SQLite except the long ones
	@$(PYTEST) -m "not long" -n 3 --dist worksteal  # on two cores: some tests wait for processes

test-long: .venv/tests ## Run the long tests: browsers, kills, overload, fuzzing, exhaustive tables, Postgres; PART=0/8: an eighth
	@$(PYTEST) -m long -n 4 --dist worksteal $(if $(PART),--part $(PART))

lint: .venv/tests ## Check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: .venv/tests ## Format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

SECONDS := 1200
fuzz: .venv/tests ## Fuzz the service by its OpenAPI document with every role, SECONDS=1200 in all
	@FUZZ_SECONDS=$(SECONDS) $(PYTEST) -m long tests/api/test_fuzz.py -s

screenshots: .venv/tests ## Write docs/screenshots: each page on a phone and on a desk
	@$(BIN)/python -m tools.screenshots

translations: .venv/tests ## Update the catalogs of buyers' pages and mails: extract, update, compile
	@$(BIN)/python -m tools.translations

bench: .venv/tests ## Measure the cost of requests; write the table to bench/RESULTS.md too
	@$(BIN)/python -m bench --write

bench-onsale: .venv/tests ## Measure the minute in which a sale begins; write the tables to bench/ONSALE.md too
	@$(BIN)/python -m bench.onsale --write

bench-growth: .venv/tests ## Measure a shop with a million orders beside an empty one; write bench/GROWTH.md too
	@$(BIN)/python -m bench.growth --write

bench-peers: .venv/tests ## Measure an order beside pretix, both on one Postgres; write the tables to bench/PEERS.md too
	@$(BIN)/python -m bench.peers --write

bench-scale: .venv/tests ## Measure two web hosts, PgBouncer and Postgres (needs root); write bench/SCALE.md too
	@$(BIN)/python -m bench.scale --write

contracts: .venv/runs $(SLITHER)/ready ## Check the contracts that hold money: solhint and Slither
	@$(BIN)/python -m tools.solidity check

LOCK = $(SUPPLY)/bin/uv --quiet pip compile --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock' $(UPGRADE)
# Resolve the pins to wheels, as pip does for one Python on Linux, without installing.
WHEELS = $(SUPPLY)/bin/uv --quiet pip install --dry-run --require-hashes --only-binary :all: \
	--target $(SUPPLY)/none
PYTHONS := 3.11 3.12 3.13 3.14
lock: $(SUPPLY)/ready ## Pin the packages of the .in files with hashes, list licences; UPGRADE=--upgrade for newer ones
	@$(LOCK) requirements.in -o requirements.txt
	@$(LOCK) requirements-dev.in -c requirements.txt -o requirements-dev.txt
	@$(LOCK) tools/demo.in -c requirements.txt -c requirements-dev.txt -o tools/demo.txt
	@$(LOCK) tools/facilitator.in -c requirements.txt -c requirements-dev.txt -o tools/facilitator.txt
	@$(LOCK) deploy/opentelemetry.in -c requirements.txt -o deploy/opentelemetry.txt
	@$(LOCK) tools/supply.in -o tools/supply.txt
	@$(LOCK) tools/node.in -o tools/node.txt
	@$(LOCK) tools/slither.in -o tools/slither.txt
	@$(LOCK) tests/api/clients/python.in -o tests/api/clients/python.txt
	@$(LOCK) tests/deploy/litestream.in -o tests/deploy/litestream.txt
	@set -e; for version in $(PYTHONS); do \
		$(WHEELS) --python-version $$version --python-platform x86_64-manylinux_2_28 -r requirements.txt; \
		$(WHEELS) --python-version $$version --python-platform x86_64-manylinux_2_34 -r requirements-dev.txt; \
		echo "Python $$version: everything pinned has a wheel"; \
	done
	@$(MAKE) --no-print-directory .venv/runs
	@$(BIN)/python -m tools.licenses

# `--ignore-vuln ID` for each finding that SECURITY.md answers.
ANSWERED :=
audit: $(SUPPLY)/ready ## Check all pinned packages for known vulnerabilities
	@$(SUPPLY)/bin/pip-audit --strict --disable-pip --require-hashes $(ANSWERED) \
		-r requirements.txt -r requirements-dev.txt -r tools/demo.txt -r tools/facilitator.txt -r deploy/opentelemetry.txt -r tools/supply.txt -r tools/node.txt \
		-r tools/slither.txt -r tests/api/clients/python.txt -r tests/deploy/litestream.txt

KEY :=
release: $(SUPPLY)/ready .venv/runs ## Make the files of a release in dist/: source, SBOM, checksums, signed with KEY=~/.ssh/id_ed25519
	@SUPPLY=$(SUPPLY)/bin KEY="$(KEY)" sh tools/release.sh

.venv/runs: requirements.txt
	@echo "installing the service's packages"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python $(PIP_INSTALL) -r requirements.txt
	@touch $@

.venv/demo: .venv/runs tools/demo.txt
	@echo "installing the mail catcher and the receiver of webhooks"
	@$(BIN)/python $(PIP_INSTALL) -r tools/demo.txt
	@touch $@

.venv/agent: .venv/runs tools/facilitator.txt
	@echo "installing the x402 facilitator"
	@$(BIN)/python $(PIP_INSTALL) -r tools/facilitator.txt
	@touch $@

.venv/tests: .venv/runs requirements-dev.txt
	@echo "installing the test packages"
	@$(BIN)/python $(PIP_INSTALL) -r requirements-dev.txt
	@touch $@

$(SUPPLY)/ready: tools/supply.txt
	@echo "installing the tools for pins and audits"
	@$(PYTHON) -m venv $(SUPPLY)
	@$(SUPPLY)/bin/python $(PIP_INSTALL) -r tools/supply.txt
	@touch $@

$(SLITHER)/ready: tools/slither.txt
	@echo "installing Slither"
	@$(PYTHON) -m venv $(SLITHER)
	@$(SLITHER)/bin/python $(PIP_INSTALL) -r tools/slither.txt
	@touch $@
