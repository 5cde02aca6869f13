# Mirante. `make help` lists what there is; every target does its own set-up.
.DEFAULT_GOAL := help
.PHONY: help demo up test check bench soak lock format ready dev tools

PY := .venv/bin/python
# Tests run in this many processes; SEED repeats their order and chance; ARGS goes to pytest or manage.py.
JOBS ?= 2
PYTEST = $(PY) -m pytest -n $(JOBS) $(if $(SEED),--randomly-seed=$(SEED)) $(ARGS)

help: ## List these targets (the default)
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1 | \2/p' Makefile | awk -F' [|] ' '{printf "%-14s %s\n", $$1, $$2}'

demo: ready ## Start Mirante beside a small shop whose BullMQ queues have all that can go wrong
	@exec $(PY) manage.py demo $(ARGS)

up: ready ## Start Mirante on your own queues: make up REDIS_URL=redis://...
	@exec $(PY) manage.py up $(ARGS)

test: dev tools ## Run every test (26 minutes; ARGS='-k word' for some, SEED=... to repeat an order)
	@exec $(PYTEST)

check: dev ## Lint, format, types, import boundaries, templates, migrations, deployment
	@exec .ci/check

bench: dev tools ## Measure, and print ratios
	@exec $(PY) -m bench $(ARGS)

soak: dev tools ## Run the long tests whole, of which `make test` takes a sample (half an hour)
	@SOAK=1 exec $(PYTEST) -m soak

format: dev ## Bring Python and templates into their form
	@.venv/bin/ruff check --quiet --fix
	@.venv/bin/ruff format --quiet
	@.venv/bin/djangofmt --quiet templates

lock: ## Resolve pyproject.toml and package.json anew into the lock files (needs uv and npm)
	@exec .ci/lock

# Tables and static files are brought up to date by `manage.py up` itself, which holds the lock of the data folder.
ready:
	@.ci/venv requirements.txt

dev:
	@.ci/venv requirements-dev.txt

tools:
	@.ci/tools
