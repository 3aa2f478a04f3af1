"""The console script. `--version` is answered before anything is imported."""

import errno
import gc
import io
import os
import sys

from openclaw import __version__


def main() -> None:
    """Run openclaw with the words of the command line and leave with its exit code."""
    leave_out_current_folder()
    guard_streams()
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"openclaw {__version__}\n")
        leave(0)
    # Importing makes no garbage: looking for it every 700 objects is a fifth of a start, and even
    # once a twentieth of a prompt, which makes 70,000 objects.
    gc.set_threshold(100_000, 20, 20)
    try:
        from openclaw.cli.command_line import search_early

        search = search_early(sys.argv[1:])
        from openclaw.cli.main import run
    except KeyboardInterrupt:
        sys.stderr.write("\nopenclaw: interrupted\n")
        leave(130)
    else:
        leave(run(search=search))


def leave_out_current_folder() -> None:
    """Remove the current folder from the import path; put it last when this program lies there.
    `python -m` and an empty entry of PYTHONPATH put it first, and a home holds files that others
    wrote."""
    # ruff: noqa: PTH100, PTH109, PTH120  pathlib itself may be such a file
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it is gone
        return
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder) != here]
    if os.path.realpath(top) == here:
        sys.path.append(top)


class _Output(io.FileIO):
    """A standard stream that never fails. It drops what it cannot write and keeps the reason in
    `failure`. So a turn goes on and is saved when `head` has left or the disk is full."""

    failure: OSError | None = None

    def write(self, data, /) -> int:  # type: ignore[no-untyped-def]  # Buffer: from 3.12 on
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest and not self.failure:
                written = super().write(rest)
                if written is None:  # a full pipe that another program has made not to block
                    import select

                    select.select((), (self,), ())
                rest = rest[written or 0 :]
        except OSError as error:
            self.failure = error
        return size


def guard_streams() -> None:
    """Let no closed or full standard stream end a command. The null device takes the place of a
    closed one: else a file opened later would get its number, and with it what is printed."""
    # ruff: noqa: PTH123, SIM115
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, "w" if number else "r", encoding="utf-8")
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)
        elif number and not stream.isatty():
            raw = _Output(number, "w", closefd=False)
            setattr(sys, name, io.TextIOWrapper(
                raw if isinstance(stream.buffer, io.RawIOBase) else io.BufferedWriter(raw),
                stream.encoding, stream.errors,
                line_buffering=stream.line_buffering, write_through=stream.write_through,
            ))  # fmt: skip


def leave(code: int) -> None:
    """End the process with this exit code, at once when nothing is left to wait for.

    The command is done and has closed what it opened. Python would now take every module apart, for
    as long as a fifth of the start, while the user waits for the shell's prompt. Functions that are
    registered for the exit still run. Threads that are not daemons are waited for.
    """
    threading = sys.modules.get("threading")
    if threading and any(
        not thread.daemon and thread is not threading.main_thread()
        for thread in threading.enumerate()
    ):
        sys.exit(_flush_output(code))
    import atexit

    atexit._run_exitfuncs()
    os._exit(_flush_output(code))


def _flush_output(code: int) -> int:
    """Write the rest of the output; returns the exit code, which is not 0 when output was lost. A
    reader that has left wanted no more output, which is no failure."""
    failure = None
    try:
        sys.stdout.flush()
        failure = getattr(getattr(sys.stdout.buffer, "raw", sys.stdout.buffer), "failure", None)
    except OSError as error:  # of a terminal
        failure = error
    try:
        if failure and failure.errno != errno.EPIPE:
            code = code or 1
            why = failure.strerror
            sys.stderr.write(f"openclaw: standard output cannot be written: {why}\n")
        sys.stderr.flush()
    except OSError:  # nobody can be told
        pass
    return code


if __name__ == "__main__":
    main()
