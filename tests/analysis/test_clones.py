"""A run on a user's own network beside the shares of its people: the same law is found again, and people dealt anew are not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from parley.analysis.human.cascades import write_cascades
from parley.analysis.human.clones import OTHER_PEOPLE, person_table, verdict
from parley.analysis.metrics._posts import media
from parley.analysis.tables import Tables, tables
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset

SIZE = 30


@cache
def spread(seed: int) -> Tables:
    """Posts on a network in which some are followed far more than others; everyone shares often."""
    graph = nx.relabel_nodes(nx.barabasi_albert_graph(SIZE, 2, seed=1), lambda number: f"user {number}")
    with TemporaryDirectory() as folder:
        nx.write_graphml(graph, path := f"{folder}/g.graphml")
        fields = {"graph": f"file,path={path}", "size": SIZE, "rounds": 8, "repetitions": 2, "seed": seed}
        setup, recorder = load_preset("spread", fields | {"llm": "oracle,repost=1"}), MemoryRecorder()
        model = DebateModel(setup, recorder=recorder)
        model.run()
        return tables([make_header(setup, (), model.backend), *recorder.events])


def shares(run: Tables) -> pd.DataFrame:
    """The shares of a run in the form of the user's table."""
    rows = []
    for medium in media(run):
        seats = run.agents[run.agents["room"] == medium.room.name]
        node = dict(zip(seats["agent"], seats["node"], strict=True))
        for row in medium.shares.itertuples():
            parent = "" if row.carrier == medium.posts.loc[row.target, "author"] else node[row.carrier]
            rows.append((f"{medium.room.name} {row.target}", node[row.agent], parent))
    return pd.DataFrame(rows, columns=["cascade", "person", "parent"])


def test_a_run_of_the_same_law_on_the_same_network_is_found_alike() -> None:
    """Posts go on through those who are followed by many, in both runs: far from people dealt anew, near the halves."""
    found = person_table(spread(2), shares(spread(1)))
    assert found is not None
    row = found.set_index("measure").loc["carried"]
    assert row["p"] < 0.05
    assert 0.5 < row["rho"] < 1
    assert 0.5 < row["halves"] < 1
    assert "In part, the same people pass on posts that other people share, too, in the run" in verdict(
        {"measure": "carried", **row}
    )


def test_people_dealt_anew_are_not_found_alike() -> None:
    """4 deals of the table's people: p below .05 (after correction for two measures) in at most 1."""
    real, rng = shares(spread(1)), np.random.default_rng(4)
    names = sorted(spread(1).agents["node"].unique())
    claims = 0
    for _ in range(4):
        dealt = dict(zip(names, rng.permutation(names), strict=True)) | {"": ""}
        found = person_table(spread(2), real.assign(person=real["person"].map(dealt), parent=real["parent"].map(dealt)))
        assert found is not None
        claims += int((found["p"] < 0.05).any())
    assert claims <= 1


def test_without_enough_people_or_differences_it_is_unknown() -> None:
    """Everyone shared once: there is no order of people to compare, and it says so."""
    run = spread(2)
    even = pd.DataFrame({"cascade": np.arange(SIZE) % 5, "person": run.agents["node"].unique(), "parent": ""})
    found = person_table(run, even)
    assert found is not None
    assert found["reason"].tolist() == ["all people of the table have the same number"] * 2
    assert verdict(found.iloc[0].to_dict()) == (
        "It is unknown whether the same people share many posts in the run and in the table, because all "
        "people of the table have the same "
        "number."
    )
    found = person_table(run, even.assign(cascade=1))
    assert found is not None
    assert found["reason"].tolist() == ["the table has fewer than 5 cascades"] * 2
    assert person_table(run, even.assign(person="somebody else")) is None


def test_the_page_has_the_people(tmp_path: Path) -> None:
    shares(spread(1)).to_csv(tmp_path / "c.csv", index=False)
    text = write_cascades(spread(2), tmp_path / "c.csv", tmp_path / "out").read_text(encoding="utf-8")
    assert "## Person by person" in text
    assert "| shared | 30 |" in text
    assert pd.read_csv(tmp_path / "out" / "clone.csv")["measure"].tolist() == ["shared", "carried"]


def test_other_people_are_said_to_be_unknown(tmp_path: Path) -> None:
    """A section that is left out without a word would look as if it had not been asked for."""
    real = shares(spread(1))
    for name in ("person", "parent"):
        real[name] = ["x" + str(person) if person else "" for person in real[name]]
    real.to_csv(tmp_path / "c.csv", index=False)
    text = write_cascades(spread(2), tmp_path / "c.csv", tmp_path / "out").read_text(encoding="utf-8")
    assert OTHER_PEOPLE in text
    assert not (tmp_path / "out" / "clone.csv").exists()


def test_a_run_beside_its_own_shares_is_alike_in_all() -> None:
    """Every person has its own number, so that rho is 1."""
    found = person_table(spread(1), shares(spread(1)))
    assert found is not None
    assert found["rho"].tolist() == pytest.approx([1, 1])
