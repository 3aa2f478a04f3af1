"""`openclaw models test`: tests models, and shows what was found side by side."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openclaw.cli.common import print_json, warn
from openclaw.cli.fit_table import blocks
from openclaw.errors import ModelMissing, OpenclawError, UsageError
from openclaw.models.folder import profiles_folder

if TYPE_CHECKING:
    from openclaw.config import Settings
    from openclaw.models.profile import Profile

INTERRUPTED = 130
BESIDE = 4
"""Models that are shown side by side when earlier ones are added."""


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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test how a model fits this machine: speed, memory, tool calls, JSON, thinking, small tasks.

    One to two minutes a model. What is found is kept, and read by the choice of protocol, window
    and limits from then on (docs/model-tests.md). Ctrl-C keeps what was measured.
    """
    from openclaw.cli.models import settings_of

    settings = settings_of(ctx)
    if only_list:
        show_known(names or [], as_json=as_json)
        return
    wanted = [_tested(name, settings) for name in names or [settings.model]]
    raise typer.Exit(test_models(wanted, settings, quick=quick, as_json=as_json))


def test_models(names: Sequence[str], settings: Settings, *, quick: bool, as_json: bool) -> int:
    """Test them one after the other, print what was found, and return the exit code: 0, that of the
    first one that could not be tested, or 130."""
    from openclaw.app.fit import Fit

    tests = [Fit(name, settings, quick) for name in dict.fromkeys(names)]
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
        _keep(test.profile, test.faults)
        if code == INTERRUPTED:
            break
    fresh = [test.profile for test in tests if test.profile]
    _print(fresh, failures, as_json=as_json)
    if code == INTERRUPTED:
        warn(["stopped; what was measured until then is kept"])
    return code


def show_known(names: Sequence[str], *, as_json: bool) -> None:
    """What earlier tests on this machine found, of all models or those whose names hold a word."""
    from openclaw.models.profile import known_profiles

    found = known_profiles(profiles_folder())
    if names:
        words = [name.lower() for name in names]
        found = [p for p in found if any(word in p.model.lower() for word in words)]
        if not found:
            raise UsageError(
                f"no model named like {' or '.join(names)} was tested", "openclaw models test NAME"
            )
    if as_json:
        print_json([profile.to_json() for profile in found])
    elif found:
        typer.echo(blocks(found))
    else:
        typer.echo("No model was tested here yet: openclaw models test NAME")


def _tested(name: str, settings: Settings) -> str:
    """The name under which a model is opened; what `auto` would take for that. ModelMissing when
    there is none, UsageError for a name that is none."""
    from openclaw.cli.models import at_hand, named_model
    from openclaw.models.naming import split_name
    from openclaw.models.tested import key_of

    if name == "auto":
        if found := at_hand(settings.ollama.host):
            return key_of(found)
        raise ModelMissing("there is no model to test", "openclaw models pull")
    found = named_model(name)
    split_name(found)
    return key_of(found)


def _keep(profile: Profile | None, faults: Sequence[str]) -> None:
    """Save what was found; that it cannot be is no reason not to show it."""
    from openclaw.models.profile import write_profile

    warn(faults)
    if profile is None:
        return
    try:
        write_profile(profiles_folder(), profile)
    except (OSError, ValueError) as error:  # a name of bytes that are no text, for one
        warn([f"the profile cannot be kept: {error}"])


def _print(fresh: Sequence[Profile], failures: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json([*(profile.to_json() for profile in fresh), *failures])
        return
    if fresh:
        typer.echo(blocks([*fresh, *_earlier(fresh)]))
    for failure in failures:
        hint = f" ({failure['hint']})" if failure["hint"] else ""
        warn([f"{failure['model']}: {failure['error']}{hint}"])


def _earlier(fresh: Sequence[Profile]) -> list[Profile]:
    """The newest of those tested before, as many as fill the view."""
    from openclaw.models.profile import known_profiles

    shown = {(profile.model, profile.digest) for profile in fresh}
    others = [p for p in known_profiles(profiles_folder()) if (p.model, p.digest) not in shown]
    return others[: max(0, BESIDE - len(fresh))]


@contextmanager
def _progress(front: str) -> Iterator[Any]:
    """Shows what is being done on one line of stderr, when that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from shutil import get_terminal_size

    from openclaw.cli.visible import one_line

    began = time.monotonic()

    def tell(what: str) -> None:
        width = get_terminal_size().columns - 1
        line = one_line(f"{front}{what} ({time.monotonic() - began:.0f} s)", width)
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
