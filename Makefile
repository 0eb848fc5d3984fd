# Every command sets up what it needs: a virtual environment in .venv with the locked packages.
SHELL := /bin/sh
PYTHON ?= python3
STACK ?= dev
# A file's tests share recordings, so they stay in one process.
PARALLEL ?= -n auto --dist loadfile
BIN := .venv/bin
SOURCES := __main__.py bootstrap components lambda_src rag_api gpu_node ops policies tests benchmarks

.DEFAULT_GOAL := help
PULUMI_PACKAGE := github.com/pulumi/pulumi/pkg/v3

.PHONY: help preview test check format local bench bench-rag bench-transfer mutants judges diagrams pages lock images clean engine policy-pack opensearch up-local preview-local destroy-local

help: ## Show the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-14s  %s\n' "$$name" "$$text"; done

preview: .venv/.run ## Show what `pulumi up` would build, without an AWS account (STACK=dev)
	@$(BIN)/python -m ops preview --stack $(STACK)

test: .venv/.dev ## Run the tests
	@$(BIN)/python -m pytest $(PARALLEL)

check: .venv/.dev .judges/.made ## Format, lint, types, tests and judges, as CI runs them
	$(BIN)/ruff format --check --force-exclude $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ty check
	$(BIN)/python -m pytest $(PARALLEL)
	$(BIN)/python -m ops judge

judges: .venv/.dev .judges/.made ## Ask the linters of others about stacks, documents, scripts and workflows
	@$(BIN)/python -m ops judge

diagrams: .venv/.run ## Write the pictures of the architecture anew
	@$(BIN)/python -m ops diagram --write

pages: diagrams ## Write everything in docs/ that is made from the program and its tables anew
	@$(BIN)/python -m ops.configuration_page
	@$(BIN)/python -m policies.page
	@$(BIN)/python -m ops.cost.page
	@$(BIN)/python -m ops.advise.compute_page

format: .venv/.dev ## Format the code
	$(BIN)/ruff format --force-exclude $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

local: .venv/.dev ## Run ingestion, function and API on this machine, without an AWS account or Docker
	@$(BIN)/python -m tests.local $(LOCAL)

bench: .venv/.dev ## Measure the preview and the help against their floors, and the judges against the recording
	@$(BIN)/python -m benchmarks.preview
	@$(BIN)/python -m benchmarks.help
	@$(BIN)/python -m benchmarks.judges

bench-rag: .venv/.dev .bench/.made ## Measure the pipeline, the API and the chunking against others
	@$(BIN)/python -m benchmarks.orchestrator
	@$(BIN)/python -m benchmarks.api
	@$(BIN)/python -m benchmarks.chunking

bench-transfer: .venv/.dev ## Measure uploads against others
	@$(BIN)/python -m benchmarks.transfer

mutants: .venv/.dev ## Break the code in known ways and count what the tests catch
	@$(BIN)/python -m tests.mutants

images: .venv/.run ## Pin the machine images of a stack (STACK=dev; needs AWS credentials)
	@$(BIN)/python -m ops images --stack $(STACK)

lock: .venv/.dev ## Lock the packages anew after a change of pyproject.toml
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header pyproject.toml -o requirements.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --group dev -c requirements.txt pyproject.toml -o requirements-dev.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header ops/judges/requirements.in -o ops/judges/requirements.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.13 --generate-hashes --no-annotate --no-header rag_api/requirements.in -o rag_api/requirements.txt
	$(BIN)/uv pip compile -q --python-platform aarch64-manylinux_2_28 --python-version 3.13 --generate-hashes --no-annotate --no-header lambda_src/ingestion/requirements.in -o lambda_src/ingestion/requirements.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header policies/pack/requirements.in -o policies/pack/requirements.txt
	$(BIN)/uv pip compile -q --only-binary :all: --python-platform x86_64-manylinux_2_28 --python-version 3.13 --generate-hashes --no-annotate --no-header gpu_node/examples/requirements.in -o gpu_node/examples/requirements.txt

engine: .engine/pulumi ## Build the Pulumi command line from Go modules, where no package manager brings it

policy-pack: .policy-pack/.made ## Set up the environment of the policy pack, for `pulumi preview --policy-pack policies/pack`

opensearch: .venv/.dev ## Build a real OpenSearch for the tests, with Java 17 and Maven
	@$(BIN)/python -m tests.opensearch build

up-local: ## Watch the real engine at work on a stand-in for AWS; also preview-local, destroy-local (STACK=dev)
up-local preview-local destroy-local: .venv/.dev
	@$(BIN)/python -m tests.engine.local $(@:-local=) --stack $(STACK)

clean: ## Remove the virtual environment and caches
	rm -rf .venv .policy-pack .engine .opensearch .bundles .judges .bench .pytest_cache .ruff_cache .hypothesis

.engine/pulumi: tests/engine/cli/go.mod tests/engine/cli/go.sum
	@command -v go >/dev/null || { echo "Go is needed to build the Pulumi command line; a package manager is the usual way to it: https://www.pulumi.com/docs/iac/download-install/" >&2; exit 1; }
	@echo "Building the Pulumi command line (once, some minutes); a package manager is the usual way to it ..." >&2
	@mkdir -p .engine
	cd tests/engine/cli && version=$$(go list -mod=readonly -m -f '{{.Version}}' $(PULUMI_PACKAGE)) && go build -mod=readonly -trimpath -tags "osusergo grpcnotrace" -ldflags "-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=$$version" -o ../../../.engine/pulumi $(PULUMI_PACKAGE)/cmd/pulumi
	ln -sf ../tests/engine/bin/pulumi-language-python .engine/pulumi-language-python

.policy-pack/.made: policies/pack/requirements.txt | .venv/.dev
	@$(BIN)/uv venv --quiet --clear .policy-pack
	@$(BIN)/uv pip install --quiet --python .policy-pack/bin/python --require-hashes -r $<
	@touch $@

.bench/.made: benchmarks/requirements-langchain.txt | .venv/.dev
	@echo "Setting up .bench with the packages of the other side (once, about a minute) ..." >&2
	@$(BIN)/uv venv --quiet --clear .bench
	@$(BIN)/uv pip install --quiet --python .bench/bin/python -r benchmarks/requirements-langchain.txt
	@touch $@

# Tools that would change the program's own packages, and mermaid's parser; without npm the pictures are not parsed.
.judges/.made: ops/judges/requirements.txt ops/judges/node/package-lock.json | .venv/.dev
	@echo "Setting up .judges with the linters of others (once, about a minute) ..." >&2
	@$(BIN)/uv venv --quiet --allow-existing .judges
	@$(BIN)/uv pip install --quiet --require-hashes --python .judges/bin/python -r ops/judges/requirements.txt
	@mkdir -p .judges/node && cp ops/judges/node/package.json ops/judges/node/package-lock.json .judges/node/
	@if command -v npm >/dev/null; then cd .judges/node && npm ci --silent --no-audit --no-fund; else echo "npm is missing, so mermaid is not asked about the pictures." >&2; fi
	@touch $@

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.13 ..." >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

.venv/.run: requirements.txt | .venv/pyvenv.cfg
	@echo "Setting up .venv (once, about a minute) ..." >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.txt
	@touch $@

.venv/.dev: requirements-dev.txt .venv/.run | .venv/pyvenv.cfg
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-dev.txt
	@touch $@
