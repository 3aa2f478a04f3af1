"""`openclaw serve`: one process that stays, with an HTTP API; and the tokens for it."""

from __future__ import annotations

import os
import re
import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import Column, print_json, print_listing
from openclaw.cli.questions import refuse_inside_agent, write_after_yes
from openclaw.errors import OpenclawError, UsageError
from openclaw.security.display import one_line
from openclaw.server.access_tokens import (
    add_token,
    read_token_file,
    read_tokens,
    remove_token,
    tokens_file,
)
from openclaw.server.autostart import inherited_socket, make_files, start_command
from openclaw.server.server_client import RunningServer, find_server
from openclaw.storage.home import Home

DEFAULT_PORT = 8377
MISSING = "pip install 'openclaw[web]'"


def run(
    ctx: typer.Context,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = DEFAULT_PORT,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDR", help="Listen at this address too.")
    ] = "",
    token_file: Annotated[
        str, typer.Option("--token-file", metavar="FILE", help="The token; needed for --host.")
    ] = "",
    idle: Annotated[
        str, typer.Option("--idle", metavar="TIME", help="End when idle for so long, e.g. 30m.")
    ] = "",
    origin: Annotated[
        list[str] | None,
        typer.Option("--origin", metavar="URL", help="A site whose pages may call /v1."),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    link: Annotated[bool, typer.Option("--link", help="Print a link to the page.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show the server that runs.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the server that runs.")] = False,
    install: Annotated[
        bool, typer.Option("--install", help="Show the files that let it start by itself.")
    ] = False,
) -> None:
    """Serve the home until Ctrl-C.

    While it runs, prompts of the command line go through it: the model and the search stay loaded.
    """
    home = current_home(ctx)
    refuse_inside_agent("calls of the server")
    if install:
        files = make_files(home, port, idle or "30m", Path.home(), sys.platform)
        write_after_yes(files, start_command(sys.platform))
        return
    running = find_server(home)
    if status or stop or link:
        if running is None:
            raise OpenclawError("no server runs for this home", "openclaw serve")
        if status:
            print_json(running.call("GET", "/api/status"))
        elif stop:
            running.call("POST", "/api/stop", {})
            sys.stderr.write("the server ends\n")
        else:
            typer.echo(_make_link(running))
        return
    if running is not None:
        raise UsageError(
            f"a server runs for this home already (port {running.port})", "openclaw serve --stop"
        )
    _serve(home, port, host, token_file, idle, origin or [], open_=open_)


def _serve(
    home: Home,
    port: int,
    host: str,
    token_file: str,
    idle: str,
    origins: list[str],
    *,
    open_: bool,
) -> None:
    if host and not token_file:
        hint = "write a secret of 32 or more characters into a file: --token-file FILE"
        raise UsageError("--host needs a token that you chose", hint)
    token = read_token_file(Path(token_file)) if token_file else ""
    seconds = _read_duration(idle) if idle else 0.0
    if not find_spec("uvicorn"):
        raise UsageError("the server is not installed", MISSING)
    from openclaw.server.http_server import HttpServer, bind, hosts_of

    sockets = [inherited_socket(os.environ) or bind("127.0.0.1", port)]
    taken = sockets[0].getsockname()[1]
    addresses = [("127.0.0.1", taken)]
    if host and host not in ("127.0.0.1", "localhost"):
        sockets.append(bind(host, taken))
        addresses.append((host, taken))
        sys.stderr.write(
            f"listening at {host} too, as plain http: put a proxy with TLS in front of it\n"
        )
    server = HttpServer(home, token=token, idle=seconds, origins=origins)
    url = f"http://127.0.0.1:{taken}/"
    sys.stderr.write(f"openclaw serves {one_line(str(home.root))} at {url} (Ctrl-C ends it)\n")
    if open_:
        _open(f"{url}#{server.service.tokens.make_code()}")
    try:
        server.run(sockets, hosts_of(addresses))
    except KeyboardInterrupt:  # which is the way to end it
        raise typer.Exit(130) from None


def web(ctx: typer.Context) -> None:
    """Open the page in a browser; serve the home when no server runs."""
    home = current_home(ctx)
    refuse_inside_agent("calls of the server")
    if running := find_server(home):
        _open(_make_link(running))
    else:
        _serve(home, DEFAULT_PORT, "", "", "", [], open_=True)


def _open(url: str) -> None:
    if not webbrowser.open(url):
        sys.stderr.write(f"no browser was found; within two minutes: {url}\n")


def _make_link(server: RunningServer) -> str:
    code = server.call("POST", "/api/link", {})["code"]
    return f"http://127.0.0.1:{server.port}/#{code}"


def _read_duration(text: str) -> float:
    """Return the seconds of a duration like 90s, 30m or 2h."""
    found = re.fullmatch(r"(\d{1,6})([smh])", text.strip())
    if not found:
        raise UsageError(f"'{text}' is no duration", "write it like 90s, 30m or 2h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def token(
    ctx: typer.Context,
    action: Annotated[str, typer.Argument(help="add, remove or list.")] = "list",
    name: Annotated[str, typer.Argument(help="Whose it is.")] = "",
    scope: Annotated[
        str, typer.Option("--scope", metavar="SCOPE", help="read, chat or files.")
    ] = "chat",
) -> None:
    """Add, remove or list tokens for other programs: openclaw serve token add webui --scope chat.

    A token is shown once, and kept as a hash.
    """
    home = current_home(ctx)
    refuse_inside_agent("tokens")
    file = tokens_file(home)
    if action == "list":
        found = [{"name": name} | known for name, known in read_tokens(file).items()]
        columns: dict[str, Column] = {"NAME": "name", "SCOPE": "scope"}
        print_listing(found, columns, as_json=False, empty="no tokens yet")
    elif action not in ("add", "remove") or not name:
        raise UsageError("say add NAME, remove NAME or list", "openclaw serve token add webui")
    elif action == "add":
        typer.echo(add_token(file, name, scope))
    else:
        remove_token(file, name)
        typer.echo(f"the token of {name} does not count any more")
