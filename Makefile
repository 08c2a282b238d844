# Everything runs in .venv/, which `make setup` makes. `make` alone lists what there is.
.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/bash
VENV := .venv/bin
UV := uv==0.13.8
# Who has it set has every process compile all of its modules: tests start thousands, and what is measured would be that.
export PYTHONDONTWRITEBYTECODE :=
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header $(UPGRADE)

.PHONY: help
help: ## List these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 16

.PHONY: setup
setup: ## Make .venv/, install Java when it is missing, and fetch RocketMQ's jars; quick when done (PYTHON=python3.12)
	@scripts/setup

.PHONY: setup-tests
setup-tests:
	@scripts/setup --for-tests

.PHONY: demo
demo: setup ## Move 336,776 real rows through RocketMQ and Spark and check every one
	@$(VENV)/python -m demo

.PHONY: demo-lake
demo-lake: setup ## Move the same rows into tables of Delta Lake and Iceberg, check every one, and ask both with SQL
	@$(VENV)/python -m demo lake

.PHONY: run
run: setup ## Start RocketConnect with its embedded default (rocketconnect up)
	@$(VENV)/rocketconnect up

# An environment of its own: what builds the site is in no other, and needs nothing of the rest.
DOCS := .venv/docs/env
$(DOCS)/installed: requirements-docs.lock
	@python3 -m venv --clear $(DOCS)
	@$(DOCS)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-docs.lock
	@touch $@

.PHONY: docs
docs: $(DOCS)/installed ## Build the site of the documents in .venv/docs/site, and list the translations that are behind
	@$(DOCS)/bin/python -m scripts.site

# More than cores: tests wait for servers half of their time.
PYTEST := $(VENV)/python -m pytest --numprocesses 5
# Types take longest of what is checked besides; tests wait for servers, and leave them the time.
BESIDE := scripts/beside '$(MAKE) --no-print-directory types proto-check'

.PHONY: test
test: setup-tests lint ## Set up and check everything but the slow tests (ARGS="-n0 -k name")
	@$(BESIDE) $(PYTEST) -m "not slow" $(ARGS)

.PHONY: test-all
test-all: setup-tests lint ## Check everything, with the slow tests: two hours on two cores (PART=3/10: of the slow ones a tenth)
	@HYPOTHESIS_PROFILE=search $(BESIDE) $(VENV)/python -m pytest --numprocesses 3 $(if $(PART),--slow-part $(PART)) $(ARGS)

.PHONY: test-changed
test-changed: setup-tests ## Run the tests, fast and slow, that the changes since the last make ci reach (BASE=HEAD~1 LIST=1 ARGS=-x)
	@$(VENV)/python -m tests.runner.changed $(if $(BASE),--base $(BASE)) $(if $(LIST),--list) -- $(ARGS)

.PHONY: test-slice
test-slice: setup-tests ## Run slow tests for some minutes, other ones with each commit (SECONDS=480 KEY=word)
	@$(PYTEST) -m slow --slow-slice $(or $(SECONDS),480) --slow-key $(or $(KEY),$$(git rev-parse HEAD)) $(ARGS)

.PHONY: deploy-check
deploy-check: setup-tests ## Build the images and run the compose file with podman, and break it (as root; some minutes)
	@scripts/setup --for-containers
	@$(VENV)/python -m pytest -n0 --hang-limit 2400 tests/deploy $(ARGS)

.PHONY: release
release: setup ## Make a release of HEAD in dist/: wheel, images, what is in them, checksums; says what is left (ARGS=--help)
	@$(VENV)/python -m scripts.release $(ARGS)

.PHONY: ci
ci: ## Do what CI does: a clone of HEAD, .ci/run in it, and nothing left behind (ARGS=--chroot: in an empty Debian)
	@scripts/ci $(ARGS)

.PHONY: bench
bench: setup ## Measure rates, latency, growth and start-up, beside Kafka Connect; results and plots in bench/results/ (ARGS=--help)
	@$(VENV)/python -m bench $(ARGS)

.PHONY: chaos
chaos: setup-tests ## Break a real deployment under load, round after round, and compare every line (ARGS=--help)
	@$(VENV)/python -m tests.chaos $(ARGS)

.PHONY: growth
growth: setup-tests ## A long life in a short time: a million objects, epochs, deleted connectors; prints what the stores have (ARGS=--help)
	@$(VENV)/python -m tests.growth $(ARGS)

.PHONY: simulate
simulate: setup-tests ## Run the control plane in simulated time under faults, and put bugs in that it must find (SEEDS=20000)
	@$(VENV)/python -m tests.simulation --seeds $(or $(SEEDS),2000)

.PHONY: mutations
mutations: setup-tests ## Break each invariant on purpose and see a test fail (ARGS="--invariant 3")
	@$(VENV)/python -m scripts.mutations $(ARGS)

.PHONY: lint
lint: ## Check style, imports between the parts, protos, the Dockerfile, and how pages read
	@$(VENV)/ruff check
	@$(VENV)/ruff format --check
	@$(VENV)/lint-imports
	@$(VENV)/buf lint
	@$(VENV)/hadolint deploy/docker/Dockerfile
	@$(VENV)/python -m scripts.prose

.PHONY: types
types: ## Check types (mypy --strict)
	@$(VENV)/mypy

.PHONY: fmt
fmt: ## Format, and fix what can be fixed
	@$(VENV)/ruff check --fix-only
	@$(VENV)/ruff format

.PHONY: proto
proto: ## Regenerate what is made from the protos
	@$(VENV)/python scripts/generate_protos.py
	@$(VENV)/python console/build.py --work .venv/console --run types

.PHONY: proto-check
proto-check: ## Fail when regenerating from the protos would change a file
	@set -e; made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
	$(VENV)/python scripts/generate_protos.py "$$made"; \
	cd "$$made"; find . -type f | while read -r file; do cmp "$$file" "$(CURDIR)/$$file" || { echo "run make proto" >&2; exit 1; }; done

.PHONY: reference
reference: ## Write docs/reference.md, docs/systems.md, docs/monitoring.md and deploy/grafana again, from what they are about
	@$(VENV)/python -m scripts.reference
	@$(VENV)/python -m scripts.systems
	@$(VENV)/python -m scripts.dashboards
	@$(VENV)/python -m scripts.monitoring

.PHONY: lock
lock: ## Pin the Python packages again (UPGRADE=--upgrade for newer ones)
	@set -e; tool=$$(mktemp -d); trap 'rm -rf "$$tool"' EXIT; \
	python3 -m venv "$$tool"; "$$tool/bin/pip" install --quiet $(UV); \
	"$$tool/bin/"$(COMPILE) pyproject.toml --extra dev --extra demo --output-file requirements.lock; \
	"$$tool/bin/"$(COMPILE) --group build --constraint requirements.lock --output-file requirements-build.lock; \
	"$$tool/bin/"$(COMPILE) --group sbom --constraint requirements.lock --constraint requirements-build.lock \
		--output-file requirements-sbom.lock; \
	"$$tool/bin/"$(COMPILE) --group servers --constraint requirements.lock --output-file requirements-servers.lock; \
	"$$tool/bin/"$(COMPILE) --group docs --output-file requirements-docs.lock

.PHONY: pin-jars
pin-jars: ## Pin the jars of RocketMQ, Kafka, Debezium, Delta Lake and Iceberg again, after a change of a version (ARGS=kafka)
	@$(VENV)/python -m scripts.pin_jars $(ARGS)
