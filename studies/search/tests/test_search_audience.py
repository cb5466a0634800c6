"""Audiences as a space: read and refused, the same and new people, what a message changes, and a planted best audience."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.llm.errors import UserError
from parley.llm.journal import own_usage
from parley.model.files import JOURNAL
from parley.model.scenario import Scenario, load_preset
from parley.studies.search.audience import MOST, most_of_a_party, people_in
from parley.studies.search.bench import Rooms, count_met, people_of, with_people_for_all
from parley.studies.search.measures import changes_of
from parley.studies.search.methods import RANDOM
from parley.studies.search.searching import BEST, CHANCE, Plan
from parley.studies.search.space import Setting, Space, load_space, space_of

SPACE = """
scenario = "two_way"

[audience]
seats = [["first"], ["first", "second"]]
traits = ["openness=very_low", "openness=very_high"]

[interventions.message]
kind = "message"
by = "Press Office"
text = "I think {topic} is a catastrophic problem."
round = 2
every = 1
cost = { once = 1, person = 2 }
"""
SMALL = ["--method=random", "--trials=4", "--rooms=2", "--new-rooms=5", "--runners=0", "--rounds=2", "--no-qualify"]
ALONE, BOTH = (
    Setting("message", (("seats", seats), ("traits", "openness=very_high"))) for seats in ("first", "first,second")
)


def read(text: str = SPACE) -> Space:
    return space_of(tomllib.loads(text), Path("mine.toml"))


def base(repetitions: int) -> Scenario:
    settings = {"topic": "racism", "llm": "oracle", "rounds": 3, "repetitions": repetitions}
    return load_preset("two_way", settings)


def test_every_combination_is_an_audience() -> None:
    """Two compositions by two levels of openness; a list of seats is one value; the intervention does not get them as keys."""
    space = read()
    assert len(space.audiences) == space.size == 4
    assert space.audience_of(BOTH) == BOTH.values
    assert space.intervention(BOTH).kind == "message"
    assert BOTH.label == "message, seats first+second, traits openness=very_high"
    assert len(load_space("audiences").audiences) == 15


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('llms = ["first=oracle", "first=fake"]', "unknown setting of an audience"),
        ('society = ["us", "uk"]', "unknown setting of an audience"),
        ('llm = ["oracle", "fake"]', "unknown setting of an audience"),
        ('graph = ["a.csv", "b.csv"]', "unknown setting of an audience"),
        ('seat = ["first", "second"]', "did you mean seats"),
        ('personas = ["voters", "../secret"]', "is a file or folder"),
        ('personas = ["voters", "people.csv"]', "is a file or folder"),
        ('roles = ["./mine.py:Role", "b"]', "no code"),
        ("believers = { low = 0.0, high = 1.0 }", "needs a step"),
        (f"size = {{ low = 1, high = {MOST} }}", "more than 200 audiences"),
        ('disclose = ["nothing"]', "two or more values"),
        ('disclose = [["nothing", 3], ["gender"]]', "two or more values"),
    ],
)
def test_only_settings_of_people_vary(line: str, said: str) -> None:
    """What names a model, a server, code or a file is refused, in one line."""
    with pytest.raises(UserError, match=said) as refused:
        read(SPACE.replace("[audience]", f"[audience]\n{line}"))
    assert "\n" not in str(refused.value)


def test_a_setting_is_fixed_or_varies() -> None:
    with pytest.raises(UserError, match=r"has a value in \[settings\] and several values in \[audience\]"):
        read(SPACE.replace("[audience]", '[settings]\nseats = ["first"]\n[audience]'))


def test_a_person_of_an_audience_costs() -> None:
    """1 once and 2 a person: 3 for one person, 5 for two; a Default costs nothing."""
    plan = Plan(read(), Rooms(base(7), 2, 5), RANDOM, 4, 0, 0)
    assert (plan.cost(ALONE), plan.cost(BOTH)) == (3, 5)
    assert people_in(base(7).with_settings({"seats": "first,second,default"})) == 2
    assert most_of_a_party([base(7), base(7).with_settings({"seats": "first,first,second,default"})]) == 2


def test_audiences_share_people_and_new_rooms_have_new_ones() -> None:
    """12 repetitions: who sits alone sits in the pair of the same repetition; nobody of the last 7 was in the first 5 of any."""
    space = read()
    rooms = Rooms(with_people_for_all(base(12), space.audiences), 5, 7)
    assert (rooms.base.people.cast, rooms.base.people.block) == ("listed", 1)
    alone, both = (rooms.of(space.audience_of(setting)) for setting in (ALONE, BOTH))
    assert all(mine < ours for mine, ours in zip(alone.people, both.people, strict=True))
    assert [len(people) for people in alone.people] == [5, 7]
    assert count_met([alone, both]) == (0, 14)
    assert people_of([]) == set()


def test_too_few_personas_keep_the_casting_and_who_was_met_is_counted() -> None:
    """Forty people of a party cannot be new in 60 repetitions."""
    space = read()
    listed = with_people_for_all(base(60), space.audiences)
    assert listed.people.cast == "circle"
    met, people = Plan(space, Rooms(listed, 30, 30), RANDOM, 4, 0, 0).met
    assert 0 < met <= people


def test_runs_are_counted_with_those_without_the_message() -> None:
    """Search: 4 settings and 4 controls. New rooms: the best, a run for each of 4 random audiences, and 4 controls."""
    assert Plan(read(), Rooms(base(7), 2, 5), RANDOM, 4, 0, 0).most_runs == (8, 9)


def test_rooms_of_other_audiences_have_no_message() -> None:
    """Of three new repetitions the second is another audience's."""
    rooms = Rooms(base(5), 2, 3)
    (message,) = rooms.with_new_settings(read(), [ALONE, None, ALONE]).interventions
    assert message.rooms == (*rooms.names[0], *rooms.names[2])


def table(values: list[float], reason: str = "") -> pd.DataFrame:
    """Two repetitions of an audience in two rooms."""
    keys = {"topic": "t", "repetition": [0, 0, 1, 1], "group": ["a", "b"] * 2, "room": ["a0", "b0", "a1", "b1"]}
    reasons = [reason if np.isnan(value) else "" for value in values]
    return pd.DataFrame(keys | {"value": values, "reason": reasons})


def test_a_change_is_that_of_the_same_audience() -> None:
    """Repetition 0: (3 - 1 + 6 - 2) / 2 = 3. Repetition 1 lacks a room without the message: missing, with its reason."""
    changes = changes_of(table([3.0, 6.0, 5.0, 5.0]), table([1.0, 2.0, 1.0, np.nan], "no number"))
    assert changes["value"].tolist()[0] == 3.0
    assert np.isnan(changes["value"].tolist()[1])
    assert changes["reason"].tolist() == ["", "no number"]
    assert changes["group"].nunique() == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--set", "traits=openness=low"], "the space varies"), (["--set", "roles=x"], "x")],
)
def test_a_search_that_cannot_be_run_is_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "no"
    assert run.main(["study", "search", "audiences", "--llm", "oracle", "--out", str(folder), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not folder.exists()


def searched(folder: Path, llm: str, *words: str) -> Path:
    command = ["study", "search", "audiences", "--llm", f"oracle,{llm}", "--out", str(folder)]
    assert run.main([*command, *(words or SMALL)]) == 0
    return folder


@pytest.mark.thorough
def test_the_planted_audience_is_found(tmp_path: Path) -> None:
    """Influence grows with openness and with distance: open-minded people of the first party, who begin low, move most."""
    words = [
        "--method",
        "random",
        "--trials",
        "15",
        "--rooms",
        "3",
        "--new-rooms",
        "8",
        "--runners",
        "0",
        "--no-qualify",
    ]
    folder = searched(tmp_path / "planted", "kappa=0.15,mu=0,sigma=0.05,by_trait=openness:0.4", *words)
    new = pd.read_csv(folder / "new_rooms.csv").set_index("condition")
    assert new.loc[BEST, "setting"].startswith("message, seats first")
    assert new.loc[BEST, "setting"].endswith("openness=very_high")
    assert "second" not in new.loc[BEST, "setting"]
    assert new.loc[BEST, "gain_low"] > 0
    page = (folder / "search.md").read_text()
    assert "is better than a random audience" in page
    assert "All people in new repetitions are new." in page
    assert CHANCE in new.index


@pytest.mark.thorough
def test_where_no_message_moves_anybody_no_audience_is_better(tmp_path: Path) -> None:
    folder = searched(tmp_path / "null", "kappa=0,mu=0,sigma=0")
    assert "no better than a random audience" in (folder / "search.md").read_text()


@pytest.mark.thorough
def test_a_stopped_search_of_audiences_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    """After 150 calls it stops; the same command has the calls and the page of a whole search, and repeated it asks nothing."""
    whole, part = searched(tmp_path / "whole", "kappa=0.3"), tmp_path / "part"
    command = ["study", "search", "audiences", "--llm", "oracle,kappa=0.3", "--out", str(part), *SMALL]
    assert run.main([*command, "--max-calls", "150"]) != 0
    for _ in range(2):
        assert run.main(command) == 0
        assert calls(part) == calls(whole)
    assert (part / "search.md").read_text() == (whole / "search.md").read_text()


def calls(folder: Path) -> dict[str, int]:
    return {str(path.parent.relative_to(folder)): own_usage(path)[0] for path in sorted(folder.rglob(JOURNAL))}
