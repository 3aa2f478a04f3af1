# Two commands do all the set-up on a fresh clone: `make run` and `make test`.
PYTHON  ?= python3
# Another Python than the usual one has a folder of its own: make test PYTHON=python3.13
VENV    := .venv$(patsubst %,-%,$(filter-out python3,$(notdir $(PYTHON))))
BIN     := $(VENV)/bin
UV      := $(shell command -v uv)
# How many tests run side by side: a number, or auto for one more than there are cores.
WORKERS ?= auto
# The time makes it a new to-do on every run.
PROMPT  ?= Put "look at the run of $(shell date +%H:%M:%S)" on my Tasks list.
export PROMPT
CHAT_MODEL := qwen2.5-coder-1.5b-instruct
# A clone comes from elsewhere, and so needs a yes before the agent works in it.
TRUST   := $(BIN)/openclaw --home . trust --yes 2>/dev/null
TESTS   := $(BIN)/python -m tests.measured -n $(WORKERS) --dist worksteal

.PHONY: run chat test test-all test-model smoke cover mutants check docs train bench clean

# `uv` installs in seconds; without it pip does, in a minute or two. pip is there in both cases, as
# it also fetches models.
$(BIN)/.embedded $(BIN)/.dev: $(BIN)/.%: pyproject.toml | $(BIN)/python
	@echo "installing openclaw[$*] into $(VENV)"
	@$(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check) -e '.[$*]'
	@$(BIN)/python -m compileall -q openclaw
	@touch $@

$(BIN)/python:
	@$(if $(UV),$(UV) venv --quiet --seed --python $(PYTHON),$(PYTHON) -m venv) $(VENV)

run: $(BIN)/.embedded   ## the main job on a real model: Ollama if it answers, else the embedded one
	@$(BIN)/openclaw models pull --if-needed
	@$(TRUST)
	@echo "> $$PROMPT"
	@$(BIN)/openclaw --home . "$$PROMPT" </dev/null

chat: $(BIN)/.embedded
	@$(TRUST)
	@$(BIN)/openclaw --home . chat

test: $(BIN)/.dev   ## what needs no model and no long time
	@$(TESTS)

# These tests of the command line pass a second time through a server.
SERVED := $(addprefix tests/end_to_end/test_,command_line.py streams.py no_save.py attacks.py)
test-all: $(BIN)/.dev   ## the long ones too: many random cases, real processes, sudden death
	@$(TESTS) -m 'not model' --hypothesis-profile=thorough
	@OPENCLAW_TESTS_SERVED=1 $(TESTS) $(SERVED)

test-model: $(BIN)/.embedded $(BIN)/.dev   ## the same program with the real embedded models
	@$(BIN)/openclaw models pull $(CHAT_MODEL)
	@$(BIN)/openclaw models pull qwen2.5-coder-0.5b-instruct
	@$(BIN)/openclaw models pull all-minilm-l6-v2
	$(BIN)/python -m pytest -m model -s

# A to-do, a question about a file, an edit, a fact in a new conversation, a skill, a refusal.
SMOKE := todo-add,read-port,edit-port,next-session,skill-line,outside
smoke: $(BIN)/.embedded $(BIN)/.dev   ## six tasks with the real embedded model
	@$(BIN)/openclaw models pull $(CHAT_MODEL)
	$(BIN)/python -m tests.model.run_tasks --model embedded/$(CHAT_MODEL) --only $(SMOKE) --least 5

cover: $(BIN)/.dev   ## the share of the code that `make test` runs through
	@$(TESTS) --cov --cov-report=term

mutants: $(BIN)/.dev   ## how many small faults, planted in the code, `make test` finds
	$(BIN)/python -m tests.mutants

check: $(BIN)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.structure
	$(BIN)/python -m training.train --check
	$(BIN)/python docs/generate.py --check
	$(if $(shell command -v tsc),tsc --project tests/web,@echo "the types of the page are not checked: tsc is not installed")
	$(BIN)/python -m build --wheel --no-isolation --outdir dist

train: $(BIN)/.dev   ## the classifier of messages and answers, from training/data
	$(BIN)/python -m training.train

docs: $(BIN)/.dev   ## writes docs/commands.md, docs/settings.md and docs/policy.md
	$(BIN)/python docs/generate.py

bench: $(BIN)/.embedded $(BIN)/.dev
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.one_prompt
	$(BIN)/python -m benchmarks.serve
	$(BIN)/python -m benchmarks.page
	$(BIN)/python -m benchmarks.programs
	$(BIN)/python -m benchmarks.prompt
	$(BIN)/python -m benchmarks.language
	$(BIN)/python -m benchmarks.prefix
	$(BIN)/python -m benchmarks.skills
	$(BIN)/python -m benchmarks.recall
	$(BIN)/python -m benchmarks.index
	$(BIN)/python -m benchmarks.embedding
	$(BIN)/python -m benchmarks.policy
	$(BIN)/python -m benchmarks.long
	$(BIN)/python -m benchmarks.capture
	$(BIN)/python -m benchmarks.lint
	$(BIN)/python -m benchmarks.git
	$(BIN)/python -m benchmarks.concurrency

clean:
	rm -rf .venv .venv-* dist build .mypy_cache .ruff_cache .pytest_cache .coverage
