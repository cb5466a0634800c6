"""The whole report: the same record gives the same bytes, wherever it lies."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.analysis.run_report import write_report
from parley.llm.errors import UserError
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

SMALL = {"topic": "racism,abortion", "repetitions": 2, "rounds": 2, "llm": "oracle"}
KINDS = (".csv", ".parquet")
MADE = ("tables", "figures", "transcript.md", "summary.md")


def report(folder: Path, **settings: object) -> dict[str, bytes]:
    """Hold a small run in a folder, report on it, and give every byte of the report by its place."""
    run_scenario(RunSpec(load_preset("three_way").with_settings(SMALL | settings), folder))
    write_report(folder)
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    paths = [path for top in MADE for path in (folder / top, *sorted((folder / top).glob("*"))) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.thorough
@pytest.mark.usefixtures("pictures")
def test_a_report_is_a_function_of_the_record(tmp_path: Path) -> None:
    """Written twice, and by another run with the same seed in another folder: identical; with another seed: not."""
    first = report(tmp_path / "one")
    write_report(tmp_path / "one")
    assert contents(tmp_path / "one") == first
    assert report(tmp_path / "elsewhere" / "two") == first
    other = report(tmp_path / "other", seed=1)
    assert other.keys() == first.keys()
    unlike = {name for name in first if other[name] != first[name]}
    assert unlike >= {
        "transcript.md",
        "summary.md",
        "figures/attitudes.png",
        "figures/attitudes.svg",
        "tables/drift.csv",
    }


def test_it_holds_every_table_twice_and_names_no_folder(ran: Callable, tmp_path: Path) -> None:
    """Every table and metric as .parquet and .csv; nothing tells where on the disk the run lay."""
    folder = tmp_path / "secret_place"
    shutil.copytree(ran("two_way"), folder)
    assert write_report(folder) == folder / "figures" / "attitudes.png"
    made = contents(folder)
    stems = [{Path(name).stem for name in made if name.startswith("tables/") and name.endswith(end)} for end in KINDS]
    assert stems[0] == stems[1] >= {"agents", "utterances", "attitudes", "calls", "trajectory", "drift", "polarisation"}
    assert not any(b"secret_place" in content for content in made.values())


def test_a_report_that_fails_leaves_no_summary_behind(
    ran: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder with a summary is complete; a full disk is one line for the user."""
    folder = tmp_path / "run"
    shutil.copytree(ran("two_way"), folder)
    write_report(folder)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("parley.analysis.run_report.write_transcript", full)
    with pytest.raises(UserError, match="No space left on device; the record is saved") as error:
        write_report(folder)
    assert len(str(error.value).splitlines()) == 1
    assert not (folder / "summary.md").exists()
