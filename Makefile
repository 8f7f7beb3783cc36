# Every target makes what it needs: after a fresh clone, `make test` or `make demo` is all there is to do.
# PYTHON=python3.12 make ...   takes another Python (3.11 or newer) for .venv

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.setup
TO ?= build/jars

.PHONY: help setup demo demo-avro demo-cluster check test test-all test-cluster test-chaos test-restore test-leaks test-generated test-requests test-damage test-web web picture qtt qtt-rest qtt-live conformance lint format types docs grammar bench bench-report jars wheel lock clean

help:
	@echo "make demo | demo-avro | demo-cluster | check | test | test-all | test-cluster | test-chaos | test-restore | test-leaks | test-generated | test-requests | test-damage | test-web | web | picture | qtt [CASES=DIR] | qtt-rest [REST_CASES=DIR] | qtt-live | conformance | lint | format | docs | grammar |"
	@echo "     bench | bench-report [REPORT=FILE] | jars [TO=DIR] | wheel | lock | clean"

setup: $(STAMP)

# Installed anew when the lock or the packaging changes; sources are used where they lie.
$(STAMP): requirements.lock pyproject.toml setup.py
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: PYTHON=... make")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/ksqlpy jars || echo "the jars will be fetched at the first start"
	@touch $@

demo: setup
	$(BIN)/ksqlpy demo

# The same with a schema registry.
demo-avro: setup
	$(BIN)/ksqlpy demo --format AVRO
	$(BIN)/ksqlpy demo --format PROTOBUF

# On a Spark cluster of three workers with three brokers, all on this machine; an executor is killed meanwhile.
demo-cluster: setup
	$(BIN)/ksqlpy demo --cluster

# Three processes on two cores, each with a Spark session and a broker of its own: most tests wait for brokers and
# checkpoints. A file's tests stay together, as they share what its fixtures start; files that need Java go first
# (tests/support/tiers.py).
PYTEST = $(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

# Without Java: a minute or two.
check: setup
	$(PYTEST) --no-java -m 'not spark and not kafka and not java and not slow and not extended' $(ARGS)

# What docs/internals/tests.md lists is left out.
test: setup
	$(PYTEST) -m 'not extended' $(ARGS)

# Also on a Spark cluster, with clients of other languages, from a wheel, with killed and damaged servers.
test-all: setup
	$(PYTEST) $(ARGS)

# Kills under load, some 45 minutes; every seed is another course. One round of them:
# make test-chaos SEEDS=7 ARGS='--kinds server,stop --kills 3'
SEEDS ?= 1 2 3
test-chaos: setup
	@for seed in $(SEEDS); do for way in "--partitions 1" "--partitions 4" "--partitions 4 --scatter"; do \
	  echo "== seed $$seed $$way"; $(BIN)/python -m tests.chaos --seed $$seed $$way --kills 10 $(ARGS) || failed=1; \
	done; done; exit $${failed:-0}

# All cases of tests/streams with SIGKILL of the JVM between their records, twice; some minutes.
test-restore: setup
	$(BIN)/python -m tests.harness.restore tests/streams --kills 2 $(ARGS)

# All cases of tests/streams on two executors, without kills; three of them need more than 16 task slots.
test-cluster: setup
	$(BIN)/python -m tests.harness.restore tests/streams --kills 0 --batch 8 --master 'local-cluster[2,8,1024]' \
	  --larger 'local-cluster[2,16,1024]' $(ARGS)

# What 50 kills and 500 queries, made and dropped, leave behind; half an hour.
test-leaks: setup
	$(BIN)/python -m tests.harness.leaks --kills 50 --queries 500 $(ARGS)

# Generated literals and names, 100,000 of each kind, and 10,000 expressions, some half an hour: tests/generated.
# `make test` runs a few hundred.
COUNT ?= 100000
test-generated: setup
	$(BIN)/pytest tests/generated --generated $(COUNT) $(ARGS)

# Requests made of the OpenAPI text, with a login and without; a quarter of an hour. `make test` sends a few hundred.
REQUESTS ?= 50000
test-requests: setup
	$(BIN)/pytest -s tests/server/test_described.py --generated $(REQUESTS) $(ARGS)

# Each file of a checkpoint damaged in each way while its query stands still; some ten minutes.
test-damage: setup
	$(BIN)/pytest -s tests/runtime/test_damage.py --generated 100 $(ARGS)

# The web page, from web/ into ksqlpy/web/static: needs Node 20 or newer with npm. Nothing else needs Node.
PAGE := ksqlpy/web/static/index.html
MODULES := web/node_modules/.package-lock.json
web: $(PAGE)
$(PAGE): $(MODULES) $(shell find web -type f -not -path '*/node_modules/*') grammar/keywords.txt grammar/functions.toml
	cd web && npm run --silent check && npm run --silent build
$(MODULES): web/package.json web/package-lock.json
	cd web && npm ci --silent

# Functions of the page, and the page in Chromium before a real server and broker.
test-web: setup web
	cd web && npm test --silent
	$(BIN)/pytest tests/web $(ARGS)

# The picture of the page in README.md, docs/web-page.png, taken anew.
picture: setup web
	KSQLPY_REWRITE=1 $(BIN)/pytest tests/web/test_sample.py -k move $(ARGS)

# ksqlDB's own test cases, which are under another licence and lie outside of this folder.
# make qtt ARGS='--filter elements --verbose'
CASES ?= ../shared/qtt
qtt: setup
	@mkdir -p build
	$(BIN)/python -m tests.qtt $(CASES) --mutate --report build/qtt.json $(ARGS)

# Cases that go through the REST API of a real server: pull and push queries.
REST_CASES ?= ../shared/qtt/rqtt
qtt-rest: setup
	@mkdir -p build
	$(BIN)/python -m tests.qtt $(REST_CASES) --report build/qtt-rest.json $(ARGS)

# A sample of them on a real broker and in real-time mode; with kills in between: make qtt-live ARGS=--restore
qtt-live: setup
	@mkdir -p build
	$(BIN)/python -m tests.qtt $(CASES) --live --jobs 6 --report build/qtt-live.json $(ARGS)

# The table of figures in docs/conformance.md; cases that fail are figures, too.
conformance: setup
	@mkdir -p build && rm -f build/qtt.json
	$(BIN)/python -m tests.qtt $(CASES) --readme docs/conformance.md --report build/qtt.json $(ARGS) || test -s build/qtt.json

lint: setup types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup
	@$(BIN)/mypy

# The pages of docs/ that are made from the code.
docs: setup
	$(BIN)/python docs/make.py
	$(BIN)/python docs/monitoring.py

# The files of grammar/ that are made from the code.
grammar: setup
	$(BIN)/python -m ksqlpy.functions.listing
	$(BIN)/python grammar/railroad/make.py

bench: setup
	$(BIN)/python -m bench $(ARGS)

# docs/performance.md and its pictures, from one run beside Kafka Streams and Flink; hours, and needs mvn. One that was
# interrupted: make bench-report ARGS=--go-on
REPORT ?= build/bench/report.json
bench-report: setup
	$(BIN)/python -m bench report --file $(REPORT) $(ARGS)
	$(BIN)/python -m bench.report $(REPORT)

jars: setup
	$(BIN)/ksqlpy jars --to $(TO)

# Newer versions within the limits of pyproject.toml: make lock ARGS=--upgrade
lock: setup
	$(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-emit-index-url \
	  --no-emit-find-links --no-emit-trusted-host --no-emit-options --extra java --extra dev $(ARGS) \
	  -o requirements.lock pyproject.toml
	@{ echo '# The exact versions that `make setup` installs: everything that ksqlpy and its development need.' \
	  'Written by `make lock`.'; cat requirements.lock; } > .venv/lock && mv .venv/lock requirements.lock

# With the Java classes compiled: needs a JDK. With the web page: needs Node.
wheel: setup
	@if command -v npm >/dev/null; then $(MAKE) web; else echo "there is no npm: the wheel has no web page"; fi
	$(BIN)/python -m build --wheel --no-isolation $(ARGS)

clean:
	rm -rf .venv build dist *.egg-info ksqlpy/web/static web/node_modules .mypy_cache .ruff_cache .pytest_cache
	find ksqlpy server grammar tests -name __pycache__ -type d -prune -exec rm -rf {} +
