"""One import name: what is installed is `parley`, whole, and works far away from a checkout."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import parley

ROOT = Path(__file__).parents[1]
RUN = "--scenario two_way --llm oracle --topic racism --repetitions 5 --rounds 1 --out a"
SWEEP = (
    "sweep --scenario two_way --llm oracle --topic racism --repetitions 1 --rounds 0 --seeds 0:2 --workers 2 --out s"
)
ROOMS = ("agents", "analysis", "environments", "llm", "model", "studies", "training")


def test_every_public_name_is_there() -> None:
    """A name that is listed and cannot be had is found out by a user only."""
    for name in parley.__all__:
        assert callable(getattr(parley, name))
    assert set(parley.__all__) <= set(dir(parley))
    with pytest.raises(AttributeError, match="no attribute 'debate'"):
        parley.debate  # noqa: B018


def test_no_package_is_left_out_of_what_is_installed() -> None:
    """setup.cfg lists them: a folder that is not listed would be there in a checkout and missing from a wheel."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    found = {
        f.parent.relative_to(ROOT) for room in ROOMS for f in (ROOT / room).rglob("*.py") if "tests" not in f.parts
    }
    named = {".".join(("parley", *folder.parts)) for folder in found}
    assert set(setup["options"]["packages"].split()) == {"parley", *named}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, which leaves nothing behind in the checkout."""
    home = tmp_path_factory.mktemp("wheel")
    copy = home / "copy"
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in files.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--disable-pip-version-check",
    ]
    done = subprocess.run([*build, "-w", str(home), str(copy)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = home.glob("*.whl")
    return found


@pytest.mark.thorough
def test_a_wheel_holds_one_name_and_all_data(wheel: Path) -> None:
    """Nothing called `agents`, `model` or `llm` lies in site-packages, and every file of data in the rooms is in the wheel."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"parley"}
    assert not [
        name
        for name in names
        if "/tests/" in name
        or name.startswith(
            ("parley/tests/", "parley/docs/", "parley/benchmarks/", "parley/tools/", "parley/examples/", "parley/setup")
        )
    ]
    tracked = subprocess.run(
        ["git", "ls-files", *ROOMS], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    data = {f"parley/{name}" for name in tracked if "/tests/" not in name and (ROOT / name).is_file()}
    assert data - set(names) == set()


@pytest.mark.thorough
def test_from_a_wheel_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    """A run, its report and the library, where no checkout is near; a user's own `model.py` and `run.py` are no matter."""
    site, home = tmp_path / "site", tmp_path / "home"
    home.mkdir()
    zipfile.ZipFile(wheel).extractall(site)
    for name in ("model.py", "agents.py", "run.py"):
        (home / name).write_text("raise SystemExit('not this one')\n", encoding="utf-8")
    own = {**os.environ, "PYTHONPATH": str(site), "MPLBACKEND": "agg", "PYTHONSAFEPATH": "1"}

    def python(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=home, env=own, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    python("-m", "parley", *RUN.split())
    python("-m", "parley", "report", "a", "--out", "a.html")
    assert "<h1" in (home / "a.html").read_text(encoding="utf-8")
    told = python("-c", "import parley; print(parley.__file__, len(parley.load('a').attitudes))")
    assert told.split() == [str(site / "parley" / "__init__.py"), "25"]
    told = python("-m", "parley", *SWEEP.split())
    assert "2 of 2 are finished" in told
