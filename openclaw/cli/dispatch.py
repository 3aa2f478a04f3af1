"""Finds the command that a command line means. A command's module loads when it is used.

Words that do not begin with a command are a prompt: `openclaw "..."` is `openclaw ask "..."`.
"""

from __future__ import annotations

import difflib
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args

import typer
from typer.core import TyperGroup

from openclaw.cli.command_line import (
    COMMANDS,
    DEFAULT_COMMANDS,
    GROUPS,
    HELP,
    HOME_OPTION,
    OWN_OPTIONS,
    split_global_options,
)
from openclaw.errors import UsageError

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter
    from typer._click.shell_completion import CompletionItem


COMMANDS_FOLDER = "openclaw.cli.commands."
IMPLICIT = "openclaw.implicit"
TAKE_DASHES = (("config", "set"), ("policy", "allow"), ("policy", "revoke"))
"""Commands of which an argument may begin with a dash."""
LEAST_SIMILARITY = 0.75
"""A word at least this similar to a name may mean it; `tood` and `todo` are just so similar."""


class CommandGroup(TyperGroup):
    """The group of all commands. A prompt is the command `ask`, whose name may be left out."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        front, rest = split_global_options(args)
        if front[-1:] == [HOME_OPTION] and not ctx.resilient_parsing:
            raise UsageError("--home needs a folder behind it", "openclaw --home DIR ...")
        completing = ctx.resilient_parsing and (not rest or rest[0] in (*COMMANDS, "help"))
        if not completing:
            rest, implicit = route(rest, piped=not (sys.stdin and sys.stdin.isatty()))
            ctx.meta[IMPLICIT] = implicit
            if implicit and not ctx.resilient_parsing:
                check_prompt(rest[1:])
        return super().parse_args(ctx, [*front, *rest])

    def invoke(self, ctx: Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # of which Typer makes an exit code, without a word
            raise typer.Abort from None

    def list_commands(self, ctx: Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        records = [param.get_help_record(ctx) for param in self.get_params(ctx)]
        with formatter.section("Options of every command"):
            formatter.write_dl(list(filter(None, records)))
        records = [param.get_help_record(ctx) for param in load("ask").params]
        with formatter.section("Options of a prompt"):
            formatter.write_dl([each for each in records if each and each[0].startswith("-")])
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in COMMANDS])

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete) + load("ask").shell_complete(
                ctx, incomplete
            )
        from typer._click.shell_completion import CompletionItem

        names = [name for name in COMMANDS if name.startswith(incomplete)]
        return [CompletionItem(name, help=COMMANDS[name][1]) for name in names]


class GroupCommands(Mapping[str, "Command"]):
    """The commands of a group, each of which is loaded when it is asked for."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._modules = {
            name: module for module, names in GROUPS[group].items() for name in names.split()
        }

    def __getitem__(self, name: str) -> Command:
        return _load_function(self._modules[name], self._group, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


@cache
def load(name: str) -> Command:
    """Return a command of the main group. KeyError for an unknown name."""
    module, about = COMMANDS[name]
    if name not in GROUPS:
        return _load_function(module, name)
    commands: Any = GroupCommands(name)
    return skip_coercion(
        TyperGroup(
            name=name,
            commands=commands,
            help=about,
            subcommand_metavar="[COMMAND] [ARGS]...",
            epilog=f"Without a command: openclaw {name} {DEFAULT_COMMANDS[name]}.",
            rich_markup_mode=None,
        )
    )


@cache
def _load_function(module: str, *names: str) -> Command:
    """Import the module of a command and return the command."""
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    dashes = {"ignore_unknown_options": names in TAKE_DASHES}
    single.command(names[-1], context_settings={"help_option_names": HELP, **dashes})(
        find_function(module, names[-1])
    )
    command = skip_coercion(typer.main.get_command(single))
    first = (command.help or "").partition("\n\n")[0].partition(". ")[0]
    command.short_help = f"{first.rstrip('.')}."
    return command


def find_function(module: str, name: str) -> Any:
    """Import the module of a command and return its function."""
    place = import_module(f"{COMMANDS_FOLDER}{module}")
    return getattr(place, name, None) or getattr(place, f"{name}_")


def skip_coercion(command: Command) -> Command:
    """Let the command's parameters take texts as they are. Typer builds a pydantic adapter for each
    parameter, even when it is not given, which takes longer than the work of a small command."""
    context = typer.Context(command, help_option_names=HELP)  # which makes the option --help
    for param in command.get_params(context):
        if hasattr(param, "_runtime_param"):
            param._runtime_param = _PlainCoercion()
        if param.param_type_name == "argument":
            _simplify_metavar(param)
        if not param._custom_shell_complete and param.metavar:
            param._custom_shell_complete = _complete
    return command


def _complete(ctx: Context, param: Any, incomplete: str) -> list[CompletionItem]:
    from openclaw.cli.shell_completion import complete

    return complete(ctx, param, incomplete)


def _simplify_metavar(param: Any) -> None:
    """Show an argument as DIR, [DIR], TEXT... or [TEXT...] in help, without its type."""
    name = str(param.metavar or param.name.upper()).removesuffix("...")
    many = name if param.nargs == 1 else f"{name}..."
    shown = many if param.required else f"[{many}]"
    param.metavar = name
    param._usage_display_name = param._rich_display_name = lambda: shown
    param.display_type_rich = lambda ctx: None


class _PlainCoercion:
    """Coercion that takes texts and values of the right type as they are, and leaves the rest to
    Typer."""

    def coerce(self, value: Any, param: Any, ctx: Context) -> Any:
        kind = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if kind == list[str] and isinstance(value, tuple):
            return list(value)
        if value in get_args(kind):  # the words of a Literal
            return value
        if isinstance(kind, type) and kind is not bool and isinstance(value, kind):
            return value
        from typer._coercion import build_runtime_param

        return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)


def route(words: Sequence[str], *, piped: bool) -> tuple[list[str], bool]:
    """The words with the command's name first, and True when the name had to be added."""
    if not words:
        return (["ask"], True) if piped else (["chat"], True)
    first, *rest = words
    if first == "help":
        if rest and rest[0] not in COMMANDS:
            raise UsageError(*_unknown_command(rest[0], _find_near(rest[0], []), words))
        return [*rest, "--help"], False
    if first in GROUPS and (not rest or (rest[0].startswith("-") and rest[0] not in HELP)):
        return [first, DEFAULT_COMMANDS[first], *rest], False
    if first in COMMANDS or first.startswith(OWN_OPTIONS):
        return list(words), False
    return ["ask", *words], "--" not in words


def check_prompt(words: Sequence[str]) -> None:
    """Raise UsageError when a prompt looks like a misspelt or misplaced command."""
    if not words or not re.fullmatch(r"[^\s-]\S*[^\s?]", words[0]):
        return
    word = words[0]
    if word in COMMANDS:
        raise UsageError(
            f"options of '{word}' come after the command",
            f"openclaw {word} --help\n{ask_hint(words)}",
        )
    if near := _find_near(word, words[1:]):
        raise UsageError(*_unknown_command(word, near, words))


def ask_hint(words: Sequence[str]) -> str:
    """The hint how to ask the model words that look like a command."""
    return f"to ask the model: openclaw ask {shlex.quote(' '.join(words))}"


def ask_instead_hint(words: Sequence[str]) -> str:
    """The same hint for words that their first word's command rejects; "" when they can only be
    meant for that command."""
    _, words = split_global_options(words)
    if len(words) < 2 or words[0] not in COMMANDS or any(word.startswith("-") for word in words):
        return ""
    return "" if _find_closest(words[1], _subcommands(words[0])) else ask_hint(words)


def _find_near(word: str, rest: Sequence[str]) -> str:
    """The command that a misspelt word and the words after it may mean, "" for none. After a group
    one of its commands must follow, after another command no plain words ("how are you")."""
    for name in difflib.get_close_matches(word.lower(), COMMANDS, n=3, cutoff=LEAST_SIMILARITY):
        if not any(each.isalpha() or " " in each for each in rest):
            return name
        if name in GROUPS and _find_closest(rest[0], _subcommands(name)):
            return name
    return ""


def _find_closest(word: str, names: Iterable[str]) -> str:
    found = difflib.get_close_matches(word, names, n=1, cutoff=LEAST_SIMILARITY)
    return found[0] if found else ""


def _subcommands(name: str) -> Iterable[str]:
    return GroupCommands(name) if name in GROUPS else ()


def _unknown_command(word: str, near: str, words: Sequence[str]) -> tuple[str, str]:
    """Message and hint for a word that is not a command."""
    if not near:
        return f"no command '{word}'", ask_hint(words)
    meant = shlex.join(near if each == word else each for each in words)
    return f"no command '{word}'; did you mean '{near}'?", f"openclaw {meant}\n{ask_hint(words)}"
