"""`network` with `mix`: the seats have the weighted shares of a survey, and the plan says what the survey is worth."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from data_checks import check_each

import run
from parley.environments.base import seats_by_share
from parley.environments.network import Network
from parley.llm.errors import UserError

MIX = "people.csv,party=p,weight=w"
RUN = ["--scenario", "network", "--llm", "oracle", "--repetitions", "1", "--rounds", "1", "--set", "cast=drawn"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a survey of three parties: weights 6, 3 and 1."""
    rows = ["republican,m,4", "democrat,f,3", "republican,f,2", "independent,m,1"]
    (tmp_path / "people.csv").write_text("\n".join(["p,sex,w", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_seats_have_the_shares_at_any_size() -> None:
    """To within a seat; equal shares take turns, as `parties` does."""
    shares = {"a": 0.53, "b": 0.31, "c": 0.16}
    for size in range(1, 200):
        counts = Counter(seats_by_share(shares, size))
        assert all(abs(counts[kind] - share * size) <= 1 for kind, share in shares.items())
    assert seats_by_share({"a": 0.5, "b": 0.5}, 4) == ("a", "b", "a", "b")


def test_parties_and_variants_are_seated_by_weight() -> None:
    """Of ten seats six, three and one; with variants each pair of a party and a sex has its own share."""
    (group,) = Network(size=10, mix=MIX, graph="ring").groups()
    assert Counter(group.seats) == {"republican": 6, "democrat": 3, "independent": 1}
    (group,) = Network(size=10, mix=f"{MIX},variant=sex,variants=(m:male,f:female)", graph="ring").groups()
    assert Counter(group.seats) == {
        "republican:male": 4,
        "democrat:female": 3,
        "republican:female": 2,
        "independent:male": 1,
    }


def test_a_survey_of_equal_weights_gives_the_seats_of_parties() -> None:
    """The null: two equal parties give the very seats of `parties`, so a run by a survey is the run by parties."""
    Path("even.csv").write_text("p\nrepublican\ndemocrat\n")
    plain = Network(size=9, graph="ring", parties=("republican", "democrat"))
    assert Network(size=9, mix="even.csv,party=p", graph="ring").groups() == plain.groups()


@pytest.mark.thorough
def test_a_run_seats_people_by_the_survey(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan has the worth of weights and the shares; a changed survey does not go on in the same folder."""
    words = [*RUN, "--set", "size=12", "--set", "graph=ring", "--set", f"mix={MIX},missing=independent"]
    assert run.main([*words, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "8 Republicans and four Democrats in a network" in told
    assert "people.csv: 3 respondents, weights worth 3." in told
    assert "seats by weighted shares: republican 66.7%, democrat 33.3%" in told
    assert run.main([*words, "--out", "out"]) == 0
    (folder / "people.csv").write_text("p,sex,w\nrepublican,m,1\ndemocrat,m,1\n")
    assert run.main([*words, "--out", "out"]) == 2


@check_each(
    ("options", "told"),
    [
        ({"mix": "people.csv,weight=w"}, "mix: the survey needs party=COLUMN"),
        ({"mix": f"{MIX},opinion=w,low=1,high=9"}, "but no opinion=COLUMN"),
        ({"mix": MIX, "size": 3}, "independent has a share of 0.1 in the survey, too small for one of 3 seats"),
        ({"mix": "none.csv,party=p"}, "cannot read none.csv"),
        ({"mix": MIX, "graph": "file,path=net.graphml"}, "leave out mix"),
    ],
)
def test_what_does_not_fit_is_told(folder: Path, options: dict[str, object], told: str) -> None:
    import networkx as nx

    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, "democrat", "party")
    nx.write_graphml(graph, folder / "net.graphml")
    with pytest.raises((UserError, ValueError), match=told):
        Network(**({"graph": "ring,degree=2"} | options))  # type: ignore[arg-type]
