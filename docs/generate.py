"""Write what comes out of the program itself: the pages commands.md, settings.md and policy.md, and
the list of the files that a new home begins with, as they are staged in git.

python docs/generate.py           writes all
python docs/generate.py --check   fails when one of them is not what it would be now
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from openclaw.cli import command_line, dispatch  # noqa: E402
from openclaw.cli.main import run  # noqa: E402
from openclaw.config import render  # noqa: E402
from openclaw.config.file import expected  # noqa: E402
from openclaw.config.settings import keys  # noqa: E402
from openclaw.security.policy import (  # noqa: E402
    EFFECTS,
    RULES,
    TABLE,
)
from openclaw.storage import new_home  # noqa: E402
from openclaw.storage.git import Git  # noqa: E402

NOTE = "<!-- Written by docs/generate.py; `make docs` writes it again. -->"
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
and other lines. A wrong key or value is reported with its line and what was expected.

| key | default | takes | what it is for |
|---|---|---|---|
"""
POLICY = f"""\
{NOTE}

# What tools may do

Each call of a tool is judged by its effect on the world, not by its name. The mode decides:
`--mode` for one run, `mode:` in `openclaw.yaml` for good; else a chat has `ask` and a single prompt
`edit`. Changes of the home are free in `edit`: the end of each turn tells what was changed.

{{modes}}
*ask* is a question on the terminal. Where nobody can be asked (a pipe, a script) it is a no: the
command ends with exit code 7 and says why. `--yes` answers every question with yes.

On Linux with bubblewrap a command line that is not allowed is tried first: in the sandbox, with the
home read-only or below a layer that is thrown away, without network, files of credentials and the
variables of `shell.env`. When it changed nothing, its result stands, and the call was `read`. When
it wrote or wanted to (also outside the home), or failed for want of the network, it is `run`: it is
asked for, and after a yes it runs from its beginning. A line with `git` in it is not tried where
credentials were committed. Where no bubblewrap works, every line is `run`.

Over the table stand these rules, whatever was granted but for the last two:

| rule | holds for | decision |
|---|---|---|
{{rules}}
Untrusted text is what others have written: a page of the web, the result of a tool on a server, a
file from elsewhere, a skill that was not yet accepted. From then on a call may be its order and not
yours, for as long as the text stands in the conversation.

## Grants

A question can be answered `y` (once), `s` (for this session), `a` (always) or `n`. *Always* writes
a line into `openclaw.yaml`; so does `openclaw policy allow`. The lines are listed by
`openclaw policy show`, and `openclaw policy revoke` takes one back; so does deleting it by hand.
Any other words are a no, and the model reads them: `put it into notes.md instead`. A change to a
file is shown as a diff (up to 200,000 characters), any other call with all its arguments.

On a terminal, what was typed before the question stood there is no reply to it, and a reply within
0.3 s, or one that was pasted with more behind it, is asked for again; in a chat these words stand
in the input line afterwards. Beginning and end of a call are always on the screen, many blanks as
their count; of one that does not fit, `v` shows all, and `s` and `a` are offered after that only.

```yaml
grants:
  - 2026-11-21 command make test
  - 2026-11-21 prefix git log
  - 2026-11-21 host docs.python.org
  - 2026-11-21 tool notes__search
```

| kind | lets pass without a question |
|---|---|
| `command` | this command line, word for word |
| `prefix` | these words, and plain words behind them |
| `host` | getting from this host and sending to it; not from its subdomains |
| `tool` | this tool, where it names neither a command nor a host, and no file outside the home |

Plain words have no quotes, pipes, redirections, variables or patterns, and start no second command.
Options by which a harmless program writes elsewhere or takes what it runs from elsewhere
(`--output`, `--exec`, `-c`, `make -f`, `npm --prefix`, `pytest -p` and the like) are no plain words
either. A program that only starts another one (`bash`, `python3`, `sudo`, `env`) can be no prefix.

`tool run_python` lets any code pass, so it counts only where there is a sandbox, and not after
untrusted text was read.

A grant turns a question into a yes. It never turns a no of the mode into one, and never covers the
files of the rules *identity* and *lasting*. A line that cannot be read is skipped and reported.
A line that is added or taken back elsewhere counts from the next turn of an open chat on.
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


def pages() -> dict[Path, str]:
    """The text of each file."""
    return {
        HERE / "commands.md": commands_page(),
        HERE / "settings.md": settings_page(),
        HERE / "policy.md": policy_page(),
        new_home.LIST: starter_list(),
    }


def starter_list() -> str:
    """Name and blob of each file of the starter home. What lies there, but is not staged, belongs
    to whoever uses the clone as a home."""
    staged = Git(HERE.parent).says("ls-files", "--stage", "workspace", "skills", "memory")
    if not staged:  # an archive of the source
        return new_home.LIST.read_text(encoding="utf-8")
    entries = (line.partition("\t") for line in staged.splitlines())
    files = {path: entry.split()[1] for entry, _, path in entries}
    return json.dumps(files, indent=2) + "\n"


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
    for name in command_line.COMMANDS:
        yield (name,)
        for inner in getattr(dispatch.load(name), "commands", {}):
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


def policy_page() -> str:
    modes = "".join(
        f"| {words} (`{effect}`) | {' | '.join(TABLE[mode][effect] for mode in TABLE)} |\n"
        for effect, words in EFFECTS.items()
    )
    head = f"| what a call does | {' | '.join(f'`{mode}`' for mode in TABLE)} |\n"
    rules = "".join(f"| {rule.name} | {rule.about} | {rule.decision} |\n" for rule in RULES)
    return POLICY.format(modes=f"{head}|---{'|---' * len(TABLE)}|\n{modes}", rules=rules)


def main() -> int:
    stale = []
    for path, text in pages().items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if "--check" not in sys.argv[1:]:
                path.write_text(text, encoding="utf-8", newline="\n")
    if "--check" not in sys.argv[1:] or not stale:
        return 0
    names = ", ".join(path.name for path in stale)
    sys.stderr.write(f"not up to date: {names}; `make docs` writes them again\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
