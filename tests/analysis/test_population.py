"""`run.py population`: what a user gets, that it is the same again, and what is refused."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.analysis.population_report import distribution
from parley.model.population_record import ToParquet

pytestmark = pytest.mark.usefixtures("pictures")

SMALL = [
    "population",
    "--law",
    "deffuant",
    "--agents",
    "500",
    "--steps",
    "4",
    "--every",
    "2",
    "--parties",
    "a:2:1,b:8:1",
]
SURVEY = "people.csv,opinion=(x,y),low=1,high=7,party=p,weight=w,missing=99,margins=margins.csv"


def held(folder: Path, *more: str) -> int:
    return run.main([*SMALL, *more, "--out", str(folder)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished population. Do not write into it."""
    found = tmp_path_factory.mktemp("population") / "run"
    assert held(found) == 0
    return found


def test_a_population_leaves_record_tables_figure_and_summary(folder: Path) -> None:
    summary = (folder / "summary.md").read_text()
    assert "no evidence about people" in summary
    assert "run.py population --law deffuant" in summary
    assert (folder / "figures" / "distribution.svg").stat().st_size > 1000
    table = pd.read_parquet(folder / "tables" / "distribution.parquet")
    assert table.groupby("step")["people"].sum().to_dict() == {0: 500, 2: 500, 4: 500}
    scalars = pd.read_csv(folder / "tables" / "scalars.csv")
    assert scalars["step"].tolist() == [0, 1, 2, 3, 4]
    assert scalars["mean_a"].iloc[0] < 3 < 7 < scalars["mean_b"].iloc[0]


def test_the_same_command_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    assert held(tmp_path) == 0
    files = [path for path in sorted(folder.rglob("*.*")) if path.name != "summary.md"]  # it names its folder
    assert len(files) == 10
    for path in files:
        assert path.read_bytes() == (tmp_path / path.relative_to(folder)).read_bytes(), path


def test_a_finished_folder_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is run twice, and a folder of another population is not touched."""
    assert held(folder) == 0
    assert "nothing was run" in capsys.readouterr().out
    assert held(folder, "--seed", "5") == 2
    assert "already has another population" in capsys.readouterr().err


@check_each(
    ("more", "told"),
    [
        (["--every", "3"], "multiple"),
        (["--law", "nobody"], "unknown law"),
        (["--graph", "ring,degree=3"], "even number"),
        (["--graph", "rign"], "did you mean ring"),
        (["--parties", "a:20:1"], "a mean must be from 0 to 10"),
        (["--agents", "0"], "--agents: must be 1 or more, but is 0"),
        (["--dimensions", "0"], "must be 1 or more"),
        (["--until", "-1"], "not a number of 0 or more"),
        (["--law", "voter", "--dimensions", "2"], "works only if each agent has one opinion"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], told: str
) -> None:
    assert held(tmp_path / "run", *more) == 2
    printed = capsys.readouterr()
    shown = printed.err
    assert not printed.out  # no folder is announced that is not made
    assert told in shown
    assert shown.count("\n") == 1
    assert not (tmp_path / "run").exists()  # or the right command would find a folder of another population


def test_a_folder_with_other_things_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A population is never written among somebody's files."""
    (tmp_path / "thesis.doc").write_text("mine")
    assert held(tmp_path) == 2
    assert "is not the folder of a population" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]


def test_the_distribution_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends of the axis count; a step that is spread over several groups of rows is one."""
    monkeypatch.setattr("parley.model.population_record.ROWS", 2)
    recorder = ToParquet(tmp_path, 1, {})
    recorder.write(0, np.array([0.0, 0.1, 0.2, 10.0, 9.9]))
    recorder.close()
    table = distribution(tmp_path)
    assert table[table["people"] > 0][["low", "people"]].to_numpy().tolist() == [[0.0, 2.0], [0.2, 1.0], [9.8, 2.0]]


def test_dimensions_have_tables_and_panels(tmp_path: Path) -> None:
    """A row of the distribution for each dimension; the summary names the columns and each statistic."""
    assert held(tmp_path, "--dimensions", "3", "--law", "hegselmann_krause") == 0
    table = pd.read_csv(tmp_path / "tables" / "distribution.csv")
    assert (table.groupby(["dimension", "step"])["people"].sum() == 500).all()
    assert table["dimension"].unique().tolist() == [1, 2, 3]
    summary = (tmp_path / "summary.md").read_text()
    assert ": attitudes at one step of 2 (step, agent, attitude_1, attitude_2, attitude_3)" in summary
    assert "mean, dimension 3, b" in summary
    assert "Attitude 3 (0–10)" in (tmp_path / "figures" / "distribution.svg").read_text()


def test_the_summary_says_whether_a_run_converged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At which step, or that it did not; another limit is another population."""
    assert held(tmp_path / "a", "--law", "degroot,own=1", "--until", "0.1") == 0
    told = "The run converged at step 1: no opinion moved more than 0.1 points."
    assert told in capsys.readouterr().out
    assert told in (tmp_path / "a" / "summary.md").read_text()
    assert pd.read_csv(tmp_path / "a" / "tables" / "distribution.csv")["step"].unique().tolist() == [0, 1]
    assert held(tmp_path / "b", "--law", "degroot,noise=1", "--until", "0.1") == 0
    assert "The run did not converge: in each of the 4 steps" in (tmp_path / "b" / "summary.md").read_text()
    assert held(tmp_path / "b", "--law", "degroot,noise=1", "--until", "0.2") == 2


def test_the_summary_names_what_the_nodes_gave(tmp_path: Path) -> None:
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, {node: 2.0 * node for node in graph}, "attitude")
    nx.set_node_attributes(graph, 3.0, "bound")
    nx.write_graphml(graph, tmp_path / "net.graphml")
    out = tmp_path / "run"
    words = ["--graph", f"file,path={tmp_path}/net.graphml", "--agents", "4", "--out", str(out)]
    assert run.main(["population", "--law", "deffuant", *words]) == 0
    assert "The nodes of the graph give these attributes: attitude, bound." in (out / "summary.md").read_text()


def surveyed(folder: Path, *more: str, people: str = SURVEY) -> int:
    """A population of 500 from a survey of 60, raked to two margins; run in the folder of the survey."""
    rows = [f"{'ab'[n % 2]},{n % 7 + 1},{99 if n == 7 else n % 5 + 2},{1 + n % 3}" for n in range(60)]
    Path("people.csv").write_text("\n".join(["p,x,y,w", *rows]) + "\n")
    if not Path("margins.csv").exists():
        Path("margins.csv").write_text("variable,value,share\np,a,0.6\np,b,0.4\n")
    words = ["--law", "hegselmann_krause", "--dimensions", "2", "--agents", "500", "--steps", "2"]
    return run.main(["population", *words, "--people", people, *more, "--out", str(folder)])


def test_a_survey_gives_people_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who was left out, what weights cost, and which margins are reached, on the console and in the summary."""
    monkeypatch.chdir(tmp_path)
    assert surveyed(Path("out")) == 0
    told = capsys.readouterr().out
    summary = Path("out/summary.md").read_text()
    for text in (told, summary):
        assert "people.csv: 59 respondents, weights worth 49; largest miss of a margin " in text
        assert "Left out: 1 with no answer to y." in text
    assert "| share of a | 0.600 | 0.600 |" in summary
    assert "| p | b | 0.400 |" in summary
    margins = pd.read_csv("out/tables/margins.csv")
    assert margins["after"].tolist() == pytest.approx([0.6, 0.4], abs=1e-6)
    agents = pd.read_parquet("out/agents.parquet")
    assert agents["party"].value_counts().to_dict() == {"a": 300, "b": 200}
    assert (agents["respondent"] != 8).all()  # who was left out
    assert run.main(["study", "export-network", "out", "--out", "out.graphml"]) == 0
    nodes = nx.read_graphml("out.graphml").nodes
    assert [nodes[str(agent)]["party"] for agent in range(500)] == agents["party"].tolist()


def test_a_survey_gives_the_same_bytes_and_a_changed_one_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert surveyed(Path("one")) == surveyed(Path("two")) == 0
    for path in Path("one").rglob("*.*"):
        if path.name != "summary.md":  # it names its folder
            assert path.read_bytes() == (Path("two") / path.relative_to("one")).read_bytes(), path
    assert surveyed(Path("one")) == 0
    assert "nothing was run" in capsys.readouterr().out
    Path("margins.csv").write_text("variable,value,share\np,a,0.5\np,b,0.5\n")
    assert surveyed(Path("one")) == 2
    assert "already has another population" in capsys.readouterr().err


@check_each(
    ("people", "told"),
    [
        (SURVEY.replace("=p,", "=party,"), "unknown column of people.csv 'party'"),
        (SURVEY.replace("high=7", "high=5"), "is outside the scale from low=1 to high=5"),
        ("nobody.csv,opinion=(x,y),low=1,high=7", "cannot read nobody.csv"),
        (f"{SURVEY},age=3", "unknown option of survey 'age'"),
    ],
)
def test_a_wrong_survey_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], people: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert surveyed(Path("out"), people=people) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert told in shown.err
    assert shown.err.count("\n") == 1
    assert not Path("out").exists()


def test_a_plan_sets_up_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every setting is checked as before a run; 5 attitudes of 4 bytes for each of 1,000 agents are 0.02 MB."""
    monkeypatch.chdir(tmp_path)
    plan = ["population", "--law", "deffuant", "--graph", "ring,degree=4", "--agents", "1000", "--dry-run"]
    assert run.main([*plan, "--steps", "8", "--every", "2"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(
        "deffuant on ring,degree=4: 1,000 agents, 4,000 links\n  8 steps, 5 recorded: at most 0.0 MB"
    )
    assert "s, as the first step takes on this machine now" in told
    assert run.main([*plan, "--parties", "a:99:1"]) == 2
    assert "a mean must be from 0 to 10" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
