"""`openclaw models test`: test models, and show the results side by side."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openclaw.cli.current_home import load_settings_or_defaults
from openclaw.cli.formatting import line_width, print_json, print_result, warn
from openclaw.cli.options import AsJson
from openclaw.config import Settings
from openclaw.errors import ModelMissing, OpenclawError, UsageError
from openclaw.evals.model_test import ModelTest
from openclaw.models.base import Profile, Score
from openclaw.models.machine import is_elsewhere
from openclaw.models.model_names import find_auto_model, resolve_model
from openclaw.models.profile import full_name, known_profiles, write_profile
from openclaw.models.registry import split_name
from openclaw.security.display import one_line
from openclaw.storage.program import profiles_folder

if TYPE_CHECKING:
    from rich.text import Text


INTERRUPTED = 130
BESIDE = 4  # models that are shown side by side when earlier ones are added


def test(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL", help="PROVIDER/NAME or a path; the configured one without."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One run of the speeds, and no tasks.")
    ] = False,
    only_list: Annotated[
        bool, typer.Option("--list", help="Show what earlier tests found, test nothing.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Test how a model fits this machine: speed, memory, tool calls, JSON, thinking, small tasks.

    One to two minutes a model. What is found is kept, and read by the choice of protocol, window
    and limits from then on (docs/model-tests.md). Ctrl-C keeps what was measured.
    """
    settings = load_settings_or_defaults(ctx)
    if only_list:
        show_known(names or [], as_json=as_json)
        return 0
    wanted = [_resolve_name(name, settings) for name in names or [settings.model]]
    return test_models(wanted, settings, quick=quick, as_json=as_json)


def test_models(names: Sequence[str], settings: Settings, *, quick: bool, as_json: bool) -> int:
    """Test them one after the other, print what was found, and return the exit code: 0, that of the
    first one that could not be tested, or 130."""
    tests = [ModelTest(name, settings, quick) for name in dict.fromkeys(names)]
    code, failures = 0, list[dict[str, Any]]()
    for number, test in enumerate(tests, 1):
        try:
            with _progress(f"{number}/{len(tests)} " if len(tests) > 1 else "") as tell:
                for what in test.run():
                    tell(f"{test.name}: {what}")
        except KeyboardInterrupt:
            code = INTERRUPTED
        except OpenclawError as error:
            code = code or error.exit_code
            failures.append({"model": test.name, "error": str(error), "hint": error.hint})
        warn(test.faults)
        try:
            if test.profile:
                write_profile(profiles_folder(), test.profile)
        except (OSError, ValueError) as error:  # a name of bytes that are no text, for one
            warn([f"the profile cannot be kept: {error}"])
        if code == INTERRUPTED:
            break
    fresh = [test.profile for test in tests if test.profile]
    _print(fresh, failures, as_json=as_json)
    if code == INTERRUPTED:
        warn(["stopped; what was measured until then is kept"])
    return code


def show_known(names: Sequence[str], *, as_json: bool) -> None:
    """Show earlier results of this machine, of all models or those whose names hold a word."""
    found = known_profiles(profiles_folder())
    if names:
        words = [name.lower() for name in names]
        found = [p for p in found if any(word in p.model.lower() for word in words)]
        if not found:
            raise UsageError(
                f"no model named like {' or '.join(names)} was tested", "openclaw models test NAME"
            )
    none = "No model was tested here yet: openclaw models test NAME"
    shapes = [profile.to_json() for profile in found]
    print_result(shapes, blocks(found) if found else none, as_json=as_json)


def _resolve_name(name: str, settings: Settings) -> str:
    """Return the name under which a model is opened: for `auto` the one that it would take.

    ModelMissing when there is none, UsageError for a name that is none.
    """
    if name == "auto":
        if found := find_auto_model(settings.ollama.host):
            return full_name(found)
        raise ModelMissing("there is no model to test", "openclaw models pull")
    found = resolve_model(name)
    split_name(found)
    return full_name(found)


def _print(fresh: Sequence[Profile], failures: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json([*(profile.to_json() for profile in fresh), *failures])
        return
    if fresh:
        # The newest of those tested before fill the view.
        shown = {(profile.model, profile.digest) for profile in fresh}
        others = [p for p in known_profiles(profiles_folder()) if (p.model, p.digest) not in shown]
        typer.echo(blocks([*fresh, *others[: max(0, BESIDE - len(fresh))]]))
    for failure in failures:
        hint = f" ({failure['hint']})" if failure["hint"] else ""
        warn([f"{failure['model']}: {failure['error']}{hint}"])


@contextmanager
def _progress(front: str) -> Iterator[Any]:
    """Show the present task on one line of stderr, when that is a terminal."""
    from rich.console import Console
    from rich.text import Text

    began = time.monotonic()
    with Console(stderr=True).status("") as status:
        yield lambda what: status.update(
            Text(one_line(f"{front}{what} ({time.monotonic() - began:.0f} s)"))
        )


LABEL = 20  # columns of the terminal for what a row is about
NARROWEST, WIDEST, GAP = 23, 34, 2
PLAIN_WIDTH = 140  # of the table when it goes to a file or a pipe
UNKNOWN = "-"
PROTOCOLS = {"native": "native tool calls", "json": "JSON steps"}


def blocks(profiles: Sequence[Profile], width: int = 0) -> str:
    """The table; when there are more models than the terminal has room for, several below each
    other. `width` in columns, 0 for that of the terminal."""
    from rich.console import Console
    from rich.table import Table

    width = width or line_width(sys.stdout, PLAIN_WIDTH)
    room = max(1, (width - LABEL) // (NARROWEST + GAP))
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    for at in range(0, len(profiles), room):
        group = profiles[at : at + room]
        table = Table(box=None, pad_edge=False)
        table.add_column(min_width=LABEL)
        for profile in group:
            table.add_column(_cell(profile.model), min_width=NARROWEST, max_width=WIDEST)
        tasks = dict.fromkeys(name for profile in group for name in profile.tasks)
        columns = [_cells(profile, tasks) for profile in group]
        for label in columns[0]:
            table.add_row(_cell(label), *(_cell(each[label] or UNKNOWN) for each in columns))
        console.print(*([""] if at else []), table, sep="\n")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _cell(text: str) -> Text:
    """What a model or a file says, without rich's marks in it."""
    from rich.text import Text

    return Text(one_line(text), overflow="fold")


# -------- the rows


def _cells(p: Profile, tasks: Iterable[str]) -> dict[str, str]:
    """What each row of the table says of a model, "" for what is not known."""
    schema = _yes(p.schema_holds, "", "the schema does not hold")
    return {
        "tested": _date_line(p),
        "loading": "" if p.load_seconds is None else f"{p.load_seconds:.1f} s",
        "reading": _rate(p.read_rate),
        "writing": _rate(p.write_rate),
        "window tested with": "" if p.window is None else f"{p.window:,} tokens",
        "largest in memory": _fits(p),
        "memory (computed)": _memory(p),
        "tool calls": _calls(p),
        "tool for small talk": _yes(p.needless),
        "JSON under a schema": ", ".join(filter(None, (_score(p.json_forced), schema))),
        "JSON by words alone": _score(p.json_free) + (", fenced" if p.json_fenced else ""),
        "thinking": _thinking(p),
        "stops by itself": _yes(p.stops),
        **{name: _yes(p.tasks.get(name), "done", "failed") for name in tasks},
        "tasks": f"{sum(p.tasks.values())} of {len(p.tasks)}" if p.tasks else "",
        "tasks asked by": PROTOCOLS.get(p.protocol, "") if p.tasks else "",
    }


def _date_line(p: Profile) -> str:
    try:
        day = datetime.fromisoformat(p.at).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        day = ""
    took = f", {p.seconds:.0f} s" if p.seconds is not None else ""
    return f"{day}{took}" + (", on another machine" if is_elsewhere(p.place) else "")


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate:,.0f} tokens/s" if rate >= 10 else f"{rate} tokens/s"


def _fits(p: Profile) -> str:
    if p.window_fits is None:
        return ""
    if p.window_fits == 0:
        return "none (computed)"
    least = "at least " if p.window_by == "at least" else ""
    by = f" ({p.window_by})" if p.window_by and not least else ""
    return f"{least}{p.window_fits:,} tokens{by}"


def _memory(p: Profile) -> str:
    if p.model_bytes is None or p.token_bytes is None:
        return ""
    return f"{p.model_bytes / 1e9:.2f} GB + {p.token_bytes * 1000 / 1e6:.1f} MB/1,000 tokens"


def _calls(p: Profile) -> str:
    if not p.native.of:
        return ""
    told = f"{p.native} native"
    if p.calls == "none":
        return f"{told}; no call at all"
    return f"{told}; as text: {p.call_shape}" if p.call_shape else told


def _score(score: Score) -> str:
    return str(score) if score.of else ""


def _thinking(p: Profile) -> str:
    if not p.thinking:
        return ""
    if p.thinking == "none":
        return "none"
    where = "in tags" if p.thinking == "tags" else "in a field of its own"
    off = _yes(p.think_off, ", can be switched off", ", cannot be switched off")
    only = "; no room left for the answer" if p.only_thinks else ""
    return f"{where}{off}{only}"


def _yes(value: bool | None, yes: str = "yes", no: str = "no") -> str:
    return "" if value is None else yes if value else no
