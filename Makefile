# Two commands do all the set-up on a fresh clone: `make run` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The time makes it a new to-do on every run.
PROMPT ?= Put "look at the run of $(shell date +%H:%M:%S)" on my Tasks list.
export PROMPT

.PHONY: run chat test test-model check docs bench clean

$(BIN)/.installed: pyproject.toml
	@echo "installing into $(VENV), which takes a minute or two the first time"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded,dev]'
	@touch $@

run: $(BIN)/.installed   ## the main job on a real model: Ollama if it answers, else the embedded one
	@$(BIN)/openclaw models pull --if-needed
	@echo "> $$PROMPT"
	@$(BIN)/openclaw --home . "$$PROMPT" </dev/null

chat: $(BIN)/.installed
	@$(BIN)/openclaw --home . chat

test: $(BIN)/.installed
	$(BIN)/python -m pytest --cov --cov-report=term

test-model: $(BIN)/.installed   ## the same program with the real embedded models
	@$(BIN)/openclaw models pull qwen2.5-coder-1.5b-instruct
	@$(BIN)/openclaw models pull qwen2.5-coder-0.5b-instruct
	@$(BIN)/openclaw models pull all-minilm-l6-v2
	$(BIN)/python -m pytest -m model -s

check: $(BIN)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check
	$(BIN)/python -m build --wheel --no-isolation --outdir dist

docs: $(BIN)/.installed   ## writes docs/commands.md, docs/settings.md and docs/policy.md anew
	$(BIN)/python docs/generate.py

bench: $(BIN)/.installed
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.prompt
	$(BIN)/python -m benchmarks.prefix
	$(BIN)/python -m benchmarks.skills
	$(BIN)/python -m benchmarks.recall
	$(BIN)/python -m benchmarks.index
	$(BIN)/python -m benchmarks.policy
	$(BIN)/python -m benchmarks.long
	$(BIN)/python -m benchmarks.capture
	$(BIN)/python -m benchmarks.lint
	$(BIN)/python -m benchmarks.git
	$(BIN)/python -m benchmarks.concurrency
	$(BIN)/python -m benchmarks.crash

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .coverage
