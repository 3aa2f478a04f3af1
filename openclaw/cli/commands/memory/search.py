"""`openclaw memory search` and `index`: find passages in the home's files, without a chat model."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.day_option import parse_iso_day
from openclaw.cli.formatting import for_stream, print_json, warn
from openclaw.cli.options import AsJson, NoServer, Since
from openclaw.config import load_settings
from openclaw.errors import OpenclawError, UsageError
from openclaw.home.search_client import finish_index
from openclaw.retrieval.passages import Passage
from openclaw.retrieval.scan import find_notes_outside, index_options
from openclaw.security.display import one_line, some_lines
from openclaw.server.server_client import find_server
from openclaw.tools.memory_tools import clean_passage

if TYPE_CHECKING:
    from openclaw.retrieval.search import Search


SHOWN_CHARACTERS = 400
MAX_PROBLEMS = 10
QUIET_SECONDS = 1.0  # work that takes longer than this shows a progress bar
WEAK_SCORE = 0.2  # what answers a question seldom has less


def search(
    ctx: typer.Context,
    query: Annotated[list[str] | None, typer.Argument(help="What to look for.")] = None,
    k: Annotated[
        int, typer.Option("-k", metavar="N", min=1, max=1000, help="At most so many passages.")
    ] = 5,
    path: Annotated[
        str, typer.Option("--path", metavar="PATH", help="Only in this file or folder.")
    ] = "",
    since: Since = "",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show ranks and reasons of each passage.")
    ] = False,
    batch: Annotated[
        str, typer.Option("--batch", metavar="FILE", help="One query a line; - is standard input.")
    ] = "",
    as_json: AsJson = False,
    no_server: NoServer = False,
) -> None:
    """Find passages in memory, the workspace and `index.paths`, by words and by meaning.

    Where a "quoted phrase" stands as it is comes first. With --batch each line of output is the
    JSON list of one query's passages.
    """
    words = " ".join(query or [])
    if bool(words.strip()) == bool(batch):
        raise UsageError("say what to look for", "openclaw memory search WORDS, or --batch FILE")
    day = parse_iso_day(since)
    if batch:
        with opened(ctx) as found:
            queries = _queries(batch)
            update_index(found)  # many questions are worth all vectors
            for line in queries:
                hits = found.search(line, k, path=path, since=day) if line.strip() else []
                shapes = [passage.as_json(explain=explain) for passage in hits]
                typer.echo(for_stream(json.dumps(shapes, ensure_ascii=False), sys.stdout))
            warn(found.notices)
        return
    home = current_home(ctx, notes=True, reading=True)
    server = None if no_server else find_server(home)
    if server is not None:
        passages, notices = server.search(words, k, path, day)
    else:
        with opened(ctx) as found:
            passages, notices = found.search(words, k, path=path, since=day), found.notices
        if found.missing:
            finish_index(home)
    if as_json:
        print_json([passage.as_json(explain=explain) for passage in passages])
    elif passages:
        _show(passages, explain)
    else:
        typer.echo("nothing found", err=True)
    if not (path or as_json) and (not passages or passages[0].score < WEAK_SCORE):
        warn(_not_searched(ctx))
    warn(notices)


def index(
    ctx: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Read every file again.")] = False,
    sweep: Annotated[
        bool,
        typer.Option("--sweep", help="Remove what no clone has used for 30 days from index.store."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the index up to date, vectors too. Every search does so for what has changed."""
    with opened(ctx) as found:
        try:
            report = update_index(found, force=force)
        except KeyboardInterrupt:
            typer.echo("", err=True)
            files, passages, vectors = found.held()
            kept = f"{passages:,} passages of {files:,} files, {vectors:,} of them with vectors"
            warn([f"interrupted; kept: {kept}; go on with: openclaw memory index"])
            raise typer.Exit(130) from None
        swept = sweep and found.sweep()
        counts = {
            "files": report.added + report.changed + report.unchanged,
            "added": report.added,
            "changed": report.changed,
            "removed": report.removed,
            "chunks": report.chunks,
            "seconds": round(report.seconds, 3),
        }
        if as_json:
            problems = [{"path": where, "problem": what} for where, what in report.problems]
            print_json({**counts, "problems": problems})
        else:
            changed = [f"{counts[n]} {n}" for n in ("added", "changed", "removed") if counts[n]]
            typer.echo(
                f"{counts['chunks']:,} passages of {counts['files']:,} files"
                f" ({', '.join(changed) or 'nothing has changed'}), {counts['seconds']:.1f} s"
            )
            if swept:
                typer.echo("removed from the vector store: what no clone has used for 30 days")
            # a vault has many pictures
            left = [f"{where}: {what}" for where, what in report.problems]
            warn(some_lines(left, MAX_PROBLEMS, "more (--json lists all)"))
        warn(found.notices)
    if sweep and not swept:
        raise OpenclawError(
            "nothing was swept: there is no vector store that can be asked",
            "index.store names one, see docs/vector-stores.md",
        )


def reindex(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Read every file again, whatever the index says."""
    index(ctx, force=True, as_json=as_json)


def opened(ctx: typer.Context) -> AbstractContextManager[Search]:
    from openclaw.retrieval.search import open_search  # a running server spares its 0.1 s

    home = current_home(ctx, notes=True, reading=True)
    return closing(open_search(home, load_settings(home)))


def _not_searched(ctx: typer.Context) -> Iterator[str]:
    """Return a line on the notes of the home that no search reads, if there are some."""
    home = current_home(ctx, notes=True, reading=True)
    if left := find_notes_outside(home, index_options(load_settings(home))):
        yield (
            f"Markdown files outside memory/ and workspace/ are not searched, such as {left[0]}"
            f" ({len(left):,} in all; search the whole home: openclaw config set index.paths .)"
        )


def update_index(found: Search, *, force: bool = False) -> Any:
    """Bring the index up to date with all vectors, with a progress bar when that takes its time.
    The seconds of the report are those of both."""
    began = time.monotonic()
    report = found.refresh(force=force)
    with _progress() as tell:
        found.embed_alone(tell)
    return replace(report, seconds=time.monotonic() - began)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr that appears only on a terminal, and only after a second."""
    began, bar = time.monotonic(), None

    def tell(done: int, total: int) -> None:
        nonlocal bar
        if not sys.stderr.isatty() or time.monotonic() - began < QUIET_SECONDS:
            return
        if bar is None:
            from rich.console import Console
            from rich.progress import Progress, TimeElapsedColumn

            shown = (*Progress.get_default_columns(), TimeElapsedColumn())
            bar = Progress(*shown, console=Console(stderr=True), transient=True)
            bar.add_task("embedding passages", total=total)
            bar.start()
        bar.update(bar.task_ids[0], completed=done, total=total)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


def _queries(batch: str) -> list[str]:
    try:
        data = sys.stdin.buffer.read() if batch == "-" else Path(batch).read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot read {batch}: {error.strerror}", "give a text file, or -"
        ) from None
    # Not splitlines(): a form feed in a question would put the answers out of step.
    text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _show(passages: list[Passage], explain: bool) -> None:
    for passage in passages:
        typer.echo(one_line(f"{passage.place}  {passage.score:.2f}"))
        text = clean_passage(passage.text)
        if len(text) > SHOWN_CHARACTERS:
            text = text[: SHOWN_CHARACTERS - 1] + "\u2026"
        for line in text.splitlines():
            typer.echo(f"    {one_line(line)}")
        if explain:
            ranks = ", ".join(
                f"{name} rank {rank} ({score:.3f})" for name, (rank, score) in passage.ranks.items()
            )
            typer.echo(one_line(f"    {'; '.join(filter(None, (ranks, passage.reason)))}"))
