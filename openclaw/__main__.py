"""The console script. `--version` is answered before anything is imported."""

import gc
import os
import sys


def main() -> None:
    """Run openclaw with the words of the command line and leave with its exit code."""
    leave_out_current_folder()
    if sys.argv[1:] == ["--version"]:
        from openclaw import __version__

        sys.stdout.write(f"openclaw {__version__}\n")
        return
    # Importing makes no garbage, and looking for it every 700 objects is a fifth of a start.
    gc.set_threshold(50_000, 20, 20)
    from openclaw.cli.main import run

    leave(run())


def leave_out_current_folder() -> None:
    """Look for no module where we were started, unless this program is there: then last.
    `python -m` and an empty entry of PYTHONPATH put that folder first, and in a home lie files that
    others wrote."""
    # ruff: noqa: PTH100, PTH109, PTH120  pathlib itself may be such a file
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it is gone
        return
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder) != here]
    if os.path.realpath(top) == here:
        sys.path.append(top)


def leave(code: int) -> None:
    """End the process with this exit code, at once when nothing is left to wait for.

    The command is done and has closed what it opened. Python would now take every module apart,
    while the user waits for the shell's prompt as long as for a fifth of the start. What is
    registered for the exit still runs; a thread that must not be cut off is waited for.
    """
    threading = sys.modules.get("threading")
    if threading and any(
        not thread.daemon and thread is not threading.main_thread()
        for thread in threading.enumerate()
    ):
        sys.exit(code)
    import atexit

    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # its reader has left, or it never was there
        code = code or 1
    os._exit(code)


if __name__ == "__main__":
    main()
