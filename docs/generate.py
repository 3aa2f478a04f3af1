"""Write the reference pages that come out of the program itself: commands.md and settings.md.

python docs/generate.py           writes both
python docs/generate.py --check   fails when one of them is not what it would be now
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from openclaw.cli import door  # noqa: E402
from openclaw.cli.main import run  # noqa: E402
from openclaw.config import render  # noqa: E402
from openclaw.config.reading import expected  # noqa: E402
from openclaw.config.settings import keys  # noqa: E402

NOTE = "<!-- Written by docs/generate.py; `make docs` writes it anew. -->"
COMMANDS = f"""\
{NOTE}

# Commands

Each block is what the command prints with `--help`. `--home DIR` and `--debug` may stand anywhere
in a command line; words that are no command are a prompt.
"""
SETTINGS = f"""\
{NOTE}

# Settings

They stand in `openclaw.yaml` at the top of the home; every key is optional. `openclaw config` shows
all values and where each comes from, `openclaw config set KEY VALUE` changes one and keeps comments
and other lines. A wrong key or value is told with its line and what was expected.

| key | default | takes | what it is for |
|---|---|---|---|
"""
ENVIRONMENT = """
## Environment

| variable | what it does |
|---|---|
| `OPENCLAW_HOME` | the home, when `--home` is not given |
| `OPENCLAW_MODELS` | the folder of the embedded models |
| `OLLAMA_HOST` | where Ollama is, when `ollama.host` is empty |
| `OLLAMA_API_KEY` | sent to an Ollama that wants one |
| `OPENAI_API_KEY` | the key for `openai/...` models; `openai.api_key_env` names another variable |
| `NO_COLOR` | when set, no colours |
"""


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    return {"commands.md": commands_page(), "settings.md": settings_page()}


def commands_page() -> str:
    blocks = [COMMANDS]
    for words in command_lines():
        name = " ".join(("openclaw", *words))
        level = "##" if len(words) < 2 else "###"
        blocks.append(f"{level} {name}\n\n```text\n{help_text(words)}\n```\n")
    return "\n".join(blocks)


def command_lines() -> Iterator[tuple[str, ...]]:
    """The words of every command: (), ("todo",), ("todo", "add") ..."""
    yield ()
    for name in door.COMMANDS:
        yield (name,)
        for inner in getattr(door.load(name), "commands", {}):
            yield (name, inner)


def help_text(words: tuple[str, ...]) -> str:
    """What a command prints with --help on a terminal of 80 columns."""
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    try:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            run([*words, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
    return "\n".join(line.rstrip() for line in said.getvalue().strip().splitlines())


def settings_page() -> str:
    rows = [
        f"| `{key.name}` | `{render(key.default)}` | {expected(key)} | {key.about} |\n"
        for key in keys().values()
    ]
    return SETTINGS + "".join(rows) + ENVIRONMENT


def main() -> int:
    stale = []
    for name, text in pages().items():
        path = HERE / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if "--check" not in sys.argv[1:]:
                path.write_text(text, encoding="utf-8", newline="\n")
    if "--check" not in sys.argv[1:] or not stale:
        return 0
    names = ", ".join(path.name for path in stale)
    sys.stderr.write(f"not up to date: {names}; `make docs` writes them anew\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
