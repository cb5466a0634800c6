"""Groups of opinion and slates: planted groups are found, none where none are, Polis' numbers, and justified representation."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from parley.__main__ import main
from parley.analysis.metrics._cells import REFERENCE
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.studies.opinion_groups import clusters
from parley.studies.opinion_groups.clusters import (
    best_split,
    count_components,
    find_groups,
    mean_silhouette,
    one_peak_width,
    project_people,
)
from parley.studies.opinion_groups.slates import (
    equal_shares_slate,
    greedy_slate,
    is_extended,
    is_extended_plus,
    is_justified,
    phragmen_slate,
    tries_all_sets,
)
from parley.studies.opinion_groups.votes import (
    common_ground,
    group_votes,
    planted_votes,
    rand_index,
    read_votes,
    representative_votes,
    run_votes,
)


def test_planted_groups_are_found() -> None:
    """Three groups with a fifth of noise and 30% of votes missing are recovered: adjusted Rand index of at least .95."""
    votes, truth = planted_votes(np.random.default_rng(1), 3)
    found = find_groups(votes, np.random.default_rng(2), draws=19)
    assert not found.reason
    assert rand_index(truth, found.people["group"].tolist()) >= 0.95


def test_five_groups_need_more_components() -> None:
    """Groups that differ in unrelated ways are merged on Polis' two components and found on those of parallel analysis."""
    votes, truth = planted_votes(np.random.default_rng([7, 5]), 5)
    found = find_groups(votes, np.random.default_rng(2), draws=19)
    assert not found.reason
    assert found.components == 4
    assert rand_index(truth, found.people["group"].tolist()) >= 0.95
    polis = find_groups(votes, np.random.default_rng(2), draws=1, components=2)
    assert rand_index(truth, polis.people["group"].tolist()) < 0.8


def test_components_are_counted_against_dealt_votes() -> None:
    """Votes that do not hang together keep the two components of the map, and no third."""
    rng = np.random.default_rng(3)
    table = planted_votes(rng, 1)[0].to_numpy()
    worlds = [rng.permuted(np.nan_to_num(table), axis=0) for _ in range(19)]
    assert count_components(np.nan_to_num(table), worlds) == 2


def test_nothing_is_claimed_where_there_are_no_groups() -> None:
    """Independent votes and a normal attitude have no groups; below 20 people or 5 statements nothing is known."""
    alone = find_groups(planted_votes(np.random.default_rng(3), 1)[0], np.random.default_rng(4), draws=19)
    assert "by chance" in alone.reason
    rng = np.random.default_rng(5)
    chance = 1 / (1 + np.exp(-(rng.normal(size=(100, 1)) * rng.normal(0, 2, 30) + rng.normal(size=30))))
    votes = np.where(rng.random(chance.shape) < chance, 1.0, -1.0)
    votes[rng.random(chance.shape) < 0.3] = np.nan
    assert "spectrum" in find_groups(pd.DataFrame(votes), np.random.default_rng(6), draws=19).reason
    for people, statements in ((2, 20), (19, 20), (100, 4)):
        few = planted_votes(np.random.default_rng(7), 2, people, statements, missing=0.0)[0]
        assert "needs 20 people" in find_groups(few, np.random.default_rng(8)).reason
    same = pd.DataFrame(np.ones((30, 8)))
    assert "different positions" in find_groups(same, np.random.default_rng(9)).reason


def test_one_flat_or_skewed_attitude_is_no_groups() -> None:
    """It protects people who say yes more or less often from being called groups: k-means splits an exponential or a flat
    attitude better than a normal one. With a normal one as the null, both sets gave groups.
    """
    for kind, seed in (("skewed", 3), ("flat", 6)):
        rng = np.random.default_rng(seed)
        place = rng.exponential(1, (60, 1)) - 1 if kind == "skewed" else rng.uniform(-1.7, 1.7, (60, 1))
        chance = 1 / (1 + np.exp(-2 * place - rng.normal(size=20)))
        votes = pd.DataFrame(np.where(rng.random(chance.shape) < chance, 1.0, -1.0))
        assert "spectrum" in find_groups(votes, np.random.default_rng(2), draws=19).reason


def test_width_that_leaves_one_peak_by_hand() -> None:
    """Two normal densities of equal size have one peak if their means are no further apart than twice their standard deviation; a
    third far away needs more, and one lump needs nothing. The width grows with the unit of places.
    """
    assert one_peak_width(np.array([-1.0, 1.0])) == pytest.approx(1, abs=0.02)
    assert one_peak_width(np.array([-30.0, 30.0])) == pytest.approx(30, abs=0.6)
    assert one_peak_width(np.array([-1.0, 1.0, 9.0])) > 3
    assert one_peak_width(np.linspace(-1, 1, 400) ** 3) < 0.2


def test_memory_of_many_people_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The silhouette compares people drawn at random: no table of all pairs, the same two groups, about the same value."""
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(0, 1, (3000, 2)), rng.normal(9, 1, (3000, 2))])
    sizes: list[int] = []

    def counted(rows: Any, columns: Any) -> Any:
        sizes.append(len(rows))
        return cdist(rows, columns)

    monkeypatch.setattr(clusters, "cdist", counted)
    labels, score = best_split(points, rng)
    assert sizes == [clusters.MOST_COMPARED]
    assert rand_index(labels.tolist(), [0] * 3000 + [1] * 3000) == 1.0
    assert score == pytest.approx(best_split(points[::10], rng)[1], abs=0.02)


def test_silhouette_and_rand_index_by_hand() -> None:
    """Points 0, 1 and 10: s = 1 - 1/10, 1 - 1/9, and 0 for the person alone. Labels that are renamed are the same groups."""
    points = np.array([0.0, 1.0, 10.0])
    value = mean_silhouette(np.abs(points[:, None] - points), np.array([0, 0, 1]))
    assert value == pytest.approx((0.9 + 8 / 9) / 3)
    assert rand_index([0, 0, 1, 1], [1, 1, 0, 0]) == 1.0
    assert rand_index([0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(-0.5)


def test_shares_of_groups_by_hand() -> None:
    """Group 1 agrees 3 of 3, group 2 agrees 0 of 2: p = 4/5 and 1/4, r = 3.2, consensus .2; both z are Polis' formulas."""
    votes = pd.DataFrame({"a": [1.0, 1, 1, -1, -1, np.nan]})
    rows = group_votes(votes, pd.Series([1, 1, 1, 2, 2, 2]))
    assert rows["votes"].tolist() == [3, 2]
    assert rows["p_agree"].tolist() == pytest.approx([0.8, 0.25])
    assert rows["r_agree"][0] == pytest.approx(3.2)
    assert rows["z_agree"][0] == pytest.approx(2.0)
    assert rows["z_gap_agree"][0] == pytest.approx((1 - 1 / 3) / np.sqrt(5 / 7 * 2 / 7 * (1 / 4 + 1 / 3)))
    assert common_ground(rows)["a"] == pytest.approx(0.2)
    assert representative_votes(rows)[["group", "direction"]].to_numpy().tolist() == [[1, "agree"], [2, "disagree"]]


@pytest.mark.filterwarnings("ignore")
def test_numbers_are_those_of_red_dwarf() -> None:
    """Positions (but for sign), groups, shares, tests and consensus equal the package's, where it is installed."""
    polis = pytest.importorskip("reddwarf.implementations.polis")
    votes, _ = planted_votes(np.random.default_rng(1), 3)
    votes.index, votes.columns = pd.RangeIndex(len(votes)), pd.RangeIndex(votes.shape[1])
    cast = votes.stack().dropna().astype(int)
    listed = [
        {"participant_id": person, "statement_id": statement, "vote": vote, "modified": 0}
        for (person, statement), vote in cast.items()
    ]
    theirs = polis.run_pipeline(votes=listed, random_state=1)
    mine = find_groups(votes, np.random.default_rng(2), draws=1, components=2)
    people = theirs.participants_df.loc[mine.people.index]
    np.testing.assert_allclose(np.abs(project_people(votes.to_numpy())), np.abs(theirs.participants_df[["x", "y"]]))
    assert rand_index(people["cluster_id"].astype(int).tolist(), mine.people["group"].tolist()) == 1.0
    rows = group_votes(votes, people["cluster_id"].astype(int))
    stats = theirs.group_comment_stats
    for own, name in {"p_agree": "pa", "r_disagree": "rd", "z_agree": "pat", "z_gap_disagree": "rdt"}.items():
        np.testing.assert_allclose(rows[own], stats[name], err_msg=own)
    ground = common_ground(rows).sort_index()
    np.testing.assert_allclose(ground, [theirs.group_aware_consensus["agree"][name] for name in ground.index])


def test_justified_representation_against_brute_force() -> None:
    """JR by its definition on all groups of people; EJR by all sets of people; EJR+ never holds where EJR does not."""
    rng, seen = np.random.default_rng(10), set()
    for _ in range(80):
        table = rng.random((6, 6)) < 0.5
        slate = sorted(rng.choice(6, 3, replace=False).tolist())
        assert is_justified(table, slate) == _represents(table, slate, 1)
        exact = all(_represents(table, slate, level) for level in (1, 2, 3))
        assert is_extended(table, slate) == tries_all_sets(table, slate) == exact
        assert exact or not is_extended_plus(table, slate)
        assert is_justified(table, greedy_slate(table, 3))
        assert is_justified(table, phragmen_slate(table, 3))
        assert tries_all_sets(table, equal_shares_slate(table, 3))
        seen.add((is_justified(table, slate), exact))
    assert seen == {(True, True), (False, False)}
    shared = np.array([[True, True, False]] * 4)
    assert is_justified(shared, [0, 2])  # each of four has one of two statements
    assert is_extended(shared, [0, 2]) is False  # and all four share two


def test_proportional_slates_by_hand() -> None:
    """Six people like a, b and c, three like d, one e: of three statements two go to the six and one to the three.

    Phragmén: 1/6, then 1/3 (b or d, b is first), then 1/3 (d). Equal shares: each has .3; a takes 1/6 of each, six times .13 are
    left, so d (.3 each of three is .9) and b (.8) are not paid. Of what is missing, d needs .1/3 more each and b .2/6.
    """
    table = np.zeros((10, 5), bool)
    table[:6, :3] = table[6:9, 3] = table[9, 4] = True
    assert phragmen_slate(table, 3) == [0, 1, 3]
    assert sorted(equal_shares_slate(table, 3)) == [0, 1, 3]
    assert phragmen_slate(np.zeros((2, 3), bool), 2) == [0, 1]
    nine = table[:9]
    assert equal_shares_slate(nine, 3) == [0, 1, 3]  # a third each: a and b take all of six people, d all of three
    most = np.argsort(-nine.sum(axis=0), kind="stable")[:3].tolist()
    assert (most, is_justified(nine, most)) == ([0, 1, 2], False)


def _represents(table: np.ndarray, slate: list[int], level: int) -> bool:
    """Return whether no level·n/k people share that many statements, each with fewer than that on the slate (sets of people)."""
    people, size = len(table), len(slate)
    return not any(
        table[list(group)].all(axis=0).sum() >= level and (table[np.ix_(group, slate)].sum(axis=1) < level).all()
        for number in range(1, people + 1)
        if number * size >= level * people
        for group in combinations(range(people), number)
    )


def attitudes(rows: list[tuple[str, str, str, int, float]]) -> pd.DataFrame:
    """Ratings of seats: topic, seat, probe, round, answer. An opinion is never the middle: a vote goes by the answer."""
    frame = pd.DataFrame(rows, columns=["topic", "seat", "probe", "round", "answer"])
    return frame.assign(
        attitude=frame["answer"] + 0.1,
        room=frame["topic"] + "/mixed",
        group="mixed",
        repetition=2,
        party=frame["seat"].str[0],
    )


def test_votes_of_agents_by_hand() -> None:
    """The first or last survey; above the middle agrees, at it passes, a missing rating is no vote; seats are people.

    Ratings are on the axis of the topic: who is low on it agrees with a reversed statement.
    """
    asked = [("racism", "a", "attitude", 0, 9.0), ("racism", "b", "attitude", 0, 5.0),
             ("abortion", "a", "attitude", 0, np.nan), ("abortion", "b", "attitude", 0, 4.0),
             ("racism", "a", "attitude", 3, 2.0), ("racism", "b", "attitude", 3, 8.0)]  # fmt: skip
    further = attitudes([("racism", "a", "agreement:negated", 0, 1.0), ("racism", "b", "agreement:negated", 0, 6.0)])
    reference = attitudes([("racism", "c", "attitude", 0, 9.0)]).assign(group=REFERENCE, room="racism/reference")
    header = SimpleNamespace(scenario={"probe": "attitude"})
    tables: Any = SimpleNamespace(header=header, attitudes=pd.concat([attitudes(asked), reference]), probes=further)
    votes, parties = run_votes(tables, "first")
    assert votes.index.tolist() == ["mixed 002 a", "mixed 002 b"]
    assert votes.loc["mixed 002 a"].fillna(9).to_dict() == {"racism": 1, "racism: agreement:negated": 1, "abortion": 9}
    assert votes.loc["mixed 002 b"].to_dict() == {"racism": 0, "racism: agreement:negated": -1, "abortion": -1}
    assert parties.tolist() == ["a", "b"]
    assert run_votes(tables, "last").votes["racism"].tolist() == [-1, 1]
    tables.attitudes, tables.probes = attitudes(asked[:2]), further.iloc[:0]
    with pytest.raises(UserError, match="asks about 1 statement, and groups of opinion need several"):
        run_votes(tables, "first")


def test_members_of_a_deliberation_vote_on_its_questions(tmp_path: Path) -> None:
    """Members rate a draft and a revision as well: each question stays one statement, and the report is written."""
    run = tmp_path / "run"
    assert main(["--scenario", "consensus", "--llm", "oracle", "--repetitions", "1", "--out", str(run)]) == 0
    tables = load(run)
    asked = tables.attitudes[tables.attitudes["probe"] == "position"]
    for survey, round_ in (("first", 0), ("last", 2)):
        votes, _ = run_votes(tables, survey)
        assert votes.columns.tolist() == sorted(asked["topic"].unique())
        rated = asked.loc[asked["round"] == round_, "answer"].dropna()
        assert votes.stack().value_counts().to_dict() == np.sign(rated - 5).value_counts().to_dict()
    assert main(["study", "opinion-groups", str(run), "--out", str(tmp_path / "groups")]) == 0


@pytest.mark.thorough
def test_parties_are_found_in_the_votes_of_a_run(tmp_path: Path) -> None:
    """Known truth: the oracle's parties disagree on every topic, and groups are found by votes alone."""
    topics = "racism,abortion,gun_violence,climate_change,inflation,illegal_immigration,budget_deficit"
    town = [
        "--scenario",
        "three_way",
        "--llm",
        "oracle",
        "--set",
        f"topic={topics}",
        "--set",
        "repetitions=20",
        "--set",
        "rounds=1",
    ]
    assert main([*town, "--out", str(tmp_path / "run")]) == 0
    found = tmp_path / "groups"
    assert main(["study", "opinion-groups", str(tmp_path / "run"), "--survey", "last", "--out", str(found)]) == 0
    page = (found / "opinion_groups.md").read_text(encoding="utf-8")
    assert float(page.partition("Adjusted Rand index of groups and parties: ")[2].partition(".\n")[0]) > 0.8
    people = pd.read_csv(found / "people.csv")
    assert len(people) == 60


def test_the_command_writes_a_report(tmp_path: Path) -> None:
    """Planted groups: three groups, a map, a slate that was given; a file of two people says what is unknown."""
    assert (
        main(
            [
                "study",
                "opinion-groups",
                "planted",
                "--slate",
                "s000,s001",
                "--draws",
                "19",
                "--out",
                str(tmp_path / "a"),
            ]
        )
        == 0
    )
    page = (tmp_path / "a/opinion_groups.md").read_text(encoding="utf-8")
    assert "3 groups of opinion" in page
    assert "Slate *given* (s000, s001)" in page
    assert (tmp_path / "a/opinion_groups.png").exists()
    few = tmp_path / "few.csv"
    few.write_text("person,statement,vote\na,x,agree\nb,x,pass\na,y,disagree\n", encoding="utf-8")
    assert main(["study", "opinion-groups", str(few), "--out", str(tmp_path / "b")]) == 0
    page = (tmp_path / "b/opinion_groups.md").read_text(encoding="utf-8")
    assert "because the map needs 20 people" in page
    assert "What each group wants" not in page


def test_files_that_are_wrong_are_refused_in_a_line(tmp_path: Path) -> None:
    """A missing column, another word, a second vote, no vote at all: each error names the place."""
    path = tmp_path / "votes.csv"
    for text, said in {
        "person,vote\na,agree": "lacks the column statement",
        "person,statement,vote\n": "has no rows",
        "person,statement,vote\na,x,\n": "has no votes",
        "person,statement,vote\na,x,yes": "row 2: the vote is 'yes', but must be",
        "person,statement,vote\na,x,agree\na,x,pass": "row 3: 'a' votes twice",
    }.items():
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=said):
            read_votes(path)


def test_statements_with_a_comma_and_statements_that_no_one_likes(tmp_path: Path) -> None:
    """A comma in a statement splits nothing; where no one agrees with anything, no slate is said to represent people."""
    path = tmp_path / "votes.csv"
    path.write_text('person,statement,vote\na,"Yes, trains",agree\nb,Rents,agree\nc,Parks,pass\n', encoding="utf-8")
    words = ["study", "opinion-groups", str(path), "--draws", "19"]
    given = ["--slate", "Yes, trains", "--slate", "Rents,Parks"]
    assert main([*words, *given, "--out", str(tmp_path / "comma")]) == 0
    page = (tmp_path / "comma/opinion_groups.md").read_text(encoding="utf-8")
    assert "Slate *given* (Yes, trains, Rents, Parks): JR yes" in page
    path.write_text(path.read_text(encoding="utf-8").replace(",agree", ",disagree"), encoding="utf-8")
    assert main([*words, "--out", str(tmp_path / "no one")]) == 0
    page = (tmp_path / "no one/opinion_groups.md").read_text(encoding="utf-8")
    assert "It is unknown whether a slate represents people, because no person agrees with any statement." in page
    assert "yes" not in page
