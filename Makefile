# Needs make and Python 3.11 or newer; everything else goes into .venv.

VENV := .venv/bin
INSTALLED := .venv/.installed
GPU_VERSIONS := .venv-gpu/.installed-gpu-versions
PARALLEL := $(VENV)/pytest -n 2 --dist worksteal
# Set in many containers, it would have every worker of pytest compile all tests anew: half of what its start takes.
unexport PYTHONDONTWRITEBYTECODE
SOURCES := pyproject.toml constraints.txt tools/install.py

# Looked up only when something has to be installed.
PYTHON = $(or $(shell for python in python3.13 python3.12 python3.11 python3; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; \
	done),$(error Python 3.11 or newer is needed and none was found (tried python3.13, python3.12, python3.11, python3)))

# A checkout that was moved or copied has an environment full of the old path: forget the stamps and it is made again.
$(shell [ ! -f $(INSTALLED)-core ] || grep -qxF "$$(pwd -P)" $(INSTALLED)-core || rm -f $(INSTALLED)-*)

.PHONY: help open site test quick integrations lint train gpu-versions rehearse-gpu-versions lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-6s %s\n", $$1, $$2}' Makefile

open: $(INSTALLED)-core ## set up what is missing and open the workbench in the browser (PORT=2718)
	@$(VENV)/discover open $(if $(PORT),--port $(PORT))

site: $(INSTALLED)-core ## write the workbench as static pages into site/ (needs npm; OUT=site PROJECT=https://…)
	@$(VENV)/discover site --out $(or $(OUT),site) $(if $(PROJECT),--project $(PROJECT))

# A test in the browser waits half of its time, so these go on beside the others, after style and types.
test: $(INSTALLED)-test ## set up what is missing, then style, types and all tests
	@$(VENV)/python tests/browser.py
	@status=0; told=$$(mktemp); trap 'rm -f "$$told"' EXIT; \
	(status=0; $(MAKE) --no-print-directory lint || status=1; \
	$(PARALLEL) -m browser $(ARGS) || status=1; exit $$status) >"$$told" 2>&1 & browser=$$!; \
	$(PARALLEL) -m "not browser" $(ARGS) || status=1; \
	echo "waiting for the tests in the browser"; wait $$browser || status=1; cat "$$told"; exit $$status

quick: $(INSTALLED)-test ## the tests that need neither a browser nor patience
	@$(PARALLEL) --dist loadfile -m "not slow and not browser" $(ARGS)

integrations: $(INSTALLED)-test ## the tests of other people's packages, each kind in an environment of its own
	@$(VENV)/python tools/integrations.py $(ARGS)

lint: $(INSTALLED)-test ## style (ruff) and types (mypy)
	@$(VENV)/ruff check
	@$(VENV)/ruff format --check
	@$(VENV)/mypy

train: $(INSTALLED)-train ## add what training needs (torch: the build that pip is configured to find)

gpu-versions: $(GPU_VERSIONS) ## an environment of its own with the versions that a GPU gets, Unsloth's trainers among them

rehearse-gpu-versions: $(GPU_VERSIONS) $(INSTALLED)-test ## every stage at toy size on those versions, and Unsloth's own trainers
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	.venv-gpu/bin/discover synthesize --domain technical_writing --assistant draft --assistant adaptive \
		--artifacts 8 --turns 3 --run "$$folder/conversations" && \
	.venv-gpu/bin/python tests/chat_models.py "$$folder/conversations" "$$folder/base" && \
	.venv-gpu/bin/discover train sft --data "$$folder/conversations" --base "$$folder/base" \
		--run "$$folder/run" --rehearse && \
	$(VENV)/pytest -q --integrations unsloth

lock: $(INSTALLED)-test ## renew constraints.txt from pyproject.toml
	@$(VENV)/python tools/lock.py

clean: ## remove the environment and every cache; data and outputs stay
	@rm -rf .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
	@find . -name __pycache__ -o -name __marimo__ | while read -r folder; do rm -rf "$$folder"; done

$(INSTALLED)-core: $(SOURCES)
	@$(PYTHON) tools/install.py

$(INSTALLED)-test: $(SOURCES)
	@$(PYTHON) tools/install.py test

$(INSTALLED)-train: $(SOURCES)
	@$(PYTHON) tools/install.py train

$(GPU_VERSIONS): $(SOURCES) tools/gpu-versions.txt | $(INSTALLED)-core
	@$(PYTHON) tools/install.py --gpu-versions
