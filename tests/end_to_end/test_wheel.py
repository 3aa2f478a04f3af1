"""The wheel, built and installed: it carries the starter home and works without the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.storage.new_home import starter_files

TOP = Path(__file__).parents[2]


def _run(*words: str | Path, site: Path, cwd: Path) -> str:
    environ = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [str(word) for word in words],
        env=environ,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files, installed into a folder of their own by pip."""
    folder = tmp_path_factory.mktemp("wheel")
    python = (sys.executable, "-m")
    build = (*python, "hatchling", "build", "--target", "wheel", "--directory", folder)
    _run(*build, site=folder, cwd=TOP)
    (wheel,) = folder.glob("*.whl")
    pip = (*python, "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile")
    _run(
        *pip,
        "--disable-pip-version-check",
        "--target",
        folder / "site",
        wheel,
        site=folder,
        cwd=folder,
    )
    return folder / "site"


def test_init_from_the_wheel_makes_a_home_with_the_starter_files(
    site: Path, tmp_path: Path
) -> None:
    program = shutil.which("openclaw", path=str(site / "bin"))
    assert program
    where = _run(
        sys.executable, "-c", "import openclaw; print(openclaw.__file__)", site=site, cwd=tmp_path
    )
    assert Path(where.strip()).is_relative_to(site)
    _run(program, "init", "mine", site=site, cwd=tmp_path)
    for path, data in starter_files().items():
        assert (tmp_path / "mine" / path).read_bytes() == data
    todo = (program, "--home", "mine", "todo")
    _run(*todo, "add", "water the plants", site=site, cwd=tmp_path)
    assert "water the plants" in _run(*todo, "list", site=site, cwd=tmp_path)


def test_a_second_name_stands_beside_another_openclaw(site: Path, tmp_path: Path) -> None:
    program = shutil.which("openclaw-py", path=str(site / "bin"))
    assert program
    assert _run(program, "--version", site=site, cwd=tmp_path).startswith("openclaw ")


def test_the_wheel_carries_the_package_and_nothing_beside_it(site: Path) -> None:
    assert (site / "openclaw" / "models" / "catalog.json").is_file()
    assert (site / "openclaw" / "py.typed").is_file()
    packages = {path.name for path in site.iterdir() if path.suffix != ".dist-info"}
    assert packages == {"openclaw", "bin"}
