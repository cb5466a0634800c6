"""People of one's own in one file or one line: a table, a DataFrame, a list of dicts, a number and who they are."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import parley
from parley.agents.own_people import given_people, own_people
from parley.agents.persona import load_personas
from parley.agents.society import load_society
from parley.llm.errors import UserError
from parley.model.scenario import load_preset

ROWS = [
    {"party": "Democrat", "name": "Ann", "job": "nurse", "city": "Leeds"},
    {"party": "Democrat", "name": "Bea", "job": "baker", "city": ""},
    {"party": "republican", "name": "Cem", "job": "driver", "city": "York"},
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_each_row_is_a_person_and_each_further_column_a_sentence(tmp_path: Path) -> None:
    pd.DataFrame(ROWS).to_csv(tmp_path / "people.csv", index=False)
    folder = own_people(str(tmp_path / "people.csv"), load_society())
    assert folder is not None
    ann, bea = load_personas("democrat", folder)
    who = "an American who leans left and supports the Democratic Party"
    assert ann.backstory == f"You are Ann. You are {who}. Your job: nurse. Your city: Leeds."
    assert bea.backstory == f"You are Bea. You are {who}. Your job: baker."
    assert load_personas("default", folder) == tuple(load_personas("default", load_society().folder / "parties")), (
        "the control is the society's"
    )


def test_a_person_is_no_default(tmp_path: Path) -> None:
    """Answers of a newcomer's bus driver were taken for the model's own opinion."""
    (tmp_path / "people.csv").write_text("party,name,job\ndefault,Cy,bus driver\n", encoding="utf-8")
    with pytest.raises(UserError, match="row 2: 'default' is the party of agents without a persona"):
        own_people(str(tmp_path / "people.csv"), load_society())


def test_a_backstory_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        "party,name,backstory\ndemocrat,Ann,You are Ann. You like bats.\n", encoding="utf-8"
    )
    folder = own_people(str(tmp_path / "people.csv"), load_society())
    assert folder is not None
    assert load_personas("democrat", folder)[0].backstory == "You are Ann. You like bats."


def test_a_line_makes_people_of_each_party_with_names_of_their_own() -> None:
    germany = load_society("germany")
    folder = own_people("60 Pflegekräfte aus Leipzig", germany)
    assert folder is not None
    people = load_personas("spd", folder)
    assert len({person.name for person in people}) == 60
    assert people[0].backstory.endswith("Du gehörst zu dieser Gruppe: 60 Pflegekräfte aus Leipzig.")


def test_a_run_takes_dicts_and_a_frame(tmp_path: Path) -> None:
    """The same people, the same record: in which form they came makes no difference."""
    common = {"topic": "racism", "llm": "oracle", "repetitions": 1, "rounds": 1, "progress": False}
    runs = [
        parley.run("three_way", personas=people, out=tmp_path / name, **common)
        for name, people in (("dicts", ROWS), ("frame", pd.DataFrame(ROWS)))
    ]
    assert set(runs[0].agents["name"]) >= {"Cem"}
    assert runs[0].attitudes.equals(runs[1].attitudes)


def test_a_missing_value_of_a_frame_is_no_sentence() -> None:
    """pandas has NaN where a row lacks a value: "Your city: nan." would be a made-up fact."""
    frame = pd.DataFrame([{"party": "democrat", "name": "Ann", "city": "Leeds"}, {"party": "democrat", "name": "Bea"}])
    folder = own_people(given_people(frame), load_society())
    assert folder is not None
    assert [person.backstory.count("Your city") for person in load_personas("democrat", folder)] == [1, 0]


def test_more_people_than_names_are_refused() -> None:
    with pytest.raises(UserError, match="people: give fewer people, or a table with names"):
        own_people("9999 nurses from Leeds", load_society())


def test_what_is_wrong_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("party,name\ndemocrat,Ann\ngrey,Bob\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"row 3.*grey"):
        _ = load_preset("two_way", {"personas": str(tmp_path / "people.csv")}).persona_folder
    with pytest.raises(UserError, match="a DataFrame, or a list of dicts"):
        given_people([])
