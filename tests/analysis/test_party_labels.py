"""Readers see the labels of parties, never the codes of their files: reports, transcripts and figures of a German run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from parley.__main__ import main
from parley.agents.society import NO_NAMES, PartyNames, load_society
from parley.analysis import figures
from parley.analysis.sweep.report import crossing, figure
from parley.analysis.sweep.tables import title_cells
from parley.studies.structured.experiments import experiment

pytestmark = pytest.mark.usefixtures("pictures")

CODE = re.compile(r"\b(spd|cdu|gruene|Spds?|Cdus?|Gruenes?)\b")
COMMAND = re.compile(r"python run\.py|with other settings: |^\| name in files", re.MULTILINE)
SOCIETY = ["--society", "germany", "--llm", "oracle"]


@pytest.fixture(scope="module")
def drawn() -> Iterator[set[str]]:
    """The texts of every figure that is saved."""
    texts: set[str] = set()
    with pytest.MonkeyPatch.context() as patch:
        write = figures._write

        def noted(figure: Figure, path: Path, kind: str) -> None:
            texts.update(text.get_text() for text in figure.findobj(Text))
            write(figure, path, kind)

        patch.setattr(figures, "_write", noted)
        yield texts


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, drawn: set[str]) -> Path:
    """Ten rooms of four on a German topic."""
    folder = tmp_path_factory.mktemp("labels") / "run"
    seats = ["--set", "seats=spd,cdu,gruene,default", "--topic", "germany/tempolimit"]
    words = ["--scenario", "three_way", *SOCIETY, *seats, "--repetitions", "10", "--rounds", "2"]
    assert main([*words, "--out", str(folder)]) == 0
    return folder


def codes_in(folder: Path) -> list[str]:
    """The lines of all reports that have a code of a party, without those that repeat a command."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))]
    assert texts
    return [line for text in texts for line in text.splitlines() if CODE.search(line) and not COMMAND.search(line)]


@pytest.mark.thorough
@pytest.mark.parametrize("words", [
    ("study", "surrogate", "RUN"),
    ("study", "fit-law", "RUN"),
    ("sweep", "--scenario", "three_way", *SOCIETY, "--topic", "germany/tempolimit", "--repetitions", "1",
     "--set", "seats=spd,spd,cdu,default", "--vary", "rounds=1,2", "--vary", "words=20,40", "--seeds", "0,1,2,3,4"),
    ("study", "structured", "echo", *SOCIETY, "--topic", "germany/tempolimit", "--repetitions", "1", "--rounds", "2"),
    ("--scenario", "consensus", *SOCIETY, "--repetitions", "1", "--set", "episodes=1"),
], ids=lambda words: words[0] if words[0] == "sweep" else words[1])  # fmt: skip
def test_no_report_and_no_figure_shows_a_code(
    run: Path, drawn: set[str], words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main([word.replace("RUN", str(run)) for word in words] + ["--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert not codes_in(out if list(out.rglob("*.md")) else run)
    assert not [line for line in shown.splitlines() if CODE.search(line) and str(out) not in line]
    assert not [text for text in drawn if CODE.search(text)]


def test_the_run_names_its_seats_and_personas_by_label(run: Path, drawn: set[str]) -> None:
    """The transcript has `(SPD)`, the summary `SPD 10 of 12`; a legend has all four."""
    assert not codes_in(run)
    assert re.search(
        r"\*\*\w+\*\* \(SPD\), \*\*\w+\*\* \(CDU\), \*\*\w+\*\* \(Grüne\)", (run / "transcript.md").read_text()
    )
    assert "SPD 10 of 12" in (run / "summary.md").read_text(encoding="utf-8")
    assert {"SPD", "CDU", "Grüne", "Default"} <= drawn


def test_groups_of_a_varied_size_have_labels() -> None:
    names = PartyNames({"spd": "SPD", "default": "Default"}, {"spd": "SPD supporters"})
    assert title_cells("spd*+default", names) == "Any number of SPD supporters and a Default"
    assert title_cells("labour*", NO_NAMES) == "Any number of Labours"


def test_figures_of_a_sweep_have_label_and_colour_of_the_header() -> None:
    """Without them a German party had its code as a name and a colour that other figures give to another party."""
    about = {"spd": {"name": "SPD", "colour": "#e3000f", "marker": "s", "line": "-"}}
    row = {"field": "rounds", "topic": "racism", "group": "spd", "party": "spd", "change": 1.0, "change_low": 0.5,
           "change_high": 1.5}  # fmt: skip
    (line, *_) = figure(pd.DataFrame([row | {"value": "1"}, row | {"value": "2"}]), "", about).axes[0].get_lines()
    assert line.get_color() == "#e3000f"
    pairs = [row | {"value": one, "other": "words", "other_value": two} for one in "12" for two in "34"]
    assert crossing(pd.DataFrame(pairs), "", about).axes[0].get_ylabel() == "SPD\nChange of attitude\n(points of 10)"


def test_conditions_of_several_models_have_labels() -> None:
    names = experiment("models", ["oracle", "pocket"], load_society("germany")).conditions
    assert {"oracle, SPD on pocket", "oracle, CDU on pocket"} <= names.keys()
