"""Run the tests and say what they cost: python -m tests.measured [options of pytest].

A machine's speed is told by a yardstick: the seconds in which its Python runs an empty loop
10,000,000 times.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory: tests write many and wait for each to be on the disk."""
ROOM = 2 << 30
YARDSTICK = "for i in range(10_000_000): pass"


def main() -> int:
    command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # tests start many Pythons
    if "TMPDIR" not in os.environ and has_room(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
    began, before = time.monotonic(), processor_seconds()
    try:
        code = subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 130
    wall, used = time.monotonic() - began, processor_seconds() - before
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", YARDSTICK], check=False)
    yard = time.monotonic() - began
    if code == 0 and "-m" not in sys.argv:
        print("left out: long tests (make test-all) and the real models (make smoke, test-model)")
    print(
        f"processor time {used:.0f} s, {wall:.0f} s on the clock, {os.cpu_count()} cores; "
        f"yardstick (10,000,000 empty loops) {yard:.2f} s"
    )
    return code


def has_room(folder: Path) -> bool:
    """Whether the tests may write there, all of them at once."""
    is_open = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    return is_open and shutil.disk_usage(folder).free >= ROOM


def processor_seconds() -> float:
    """Of all processes that were started and have ended; 0.0 on Windows, which does not tell."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main())
