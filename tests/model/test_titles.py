"""Titles say who is seated."""

from __future__ import annotations

import shutil
from pathlib import Path

from data_checks import check_each

from parley.agents.society import PartyNames
from parley.agents.topic import TOPICS
from parley.model.scenario import load_preset
from parley.model.titles import group_title, heading

NAMES = PartyNames({"gruene": "Grüne", "afd": "AfD"})


@check_each(
    ("group", "title"),
    [
        ("cdu+spd+afd+fdp+gruene", "A CDU, an SPD, an AfD, an FDP and a Grüne"),
        ("republican+republican+default", "Two Republicans and a Default"),
        ("30 cdu+30 independent", "30 CDUs and 30 Independents"),
        ("democrat:male+independent", "A male Democrat and an Independent"),
    ],
)
def test_a_group_is_called_as_one_says_it(group: str, title: str) -> None:
    """Capitals and article of an acronym; the names that a society gives."""
    assert group_title(group, NAMES) == title


def test_a_title_of_many_groups_names_their_parties_once() -> None:
    """Seven parties with and without a Default are fourteen groups: their names filled 390 characters of a heading."""
    settings = {"society": "germany", "topic": "germany/tempolimit", "parties": "spd,cdu,gruene,fdp,linke,afd,default"}
    title = "14 groups of SPD, Default, CDU, Grüne, FDP, Linke and AfD in a debate"
    assert heading(load_preset("echo_chamber", settings)) == title


def test_a_scenario_with_other_seats_has_another_title(tmp_path: Path) -> None:
    """`A Republican, a Democrat and a Default agent debate` is not what sits where others were seated."""
    (tmp_path / "parties").mkdir()
    for party, label in (("cdu", "Die CDU"), ("spd", "SPD"), ("default", "Default")):
        about = f'label = "{label}"\nperson = "a voter"\n[[persona]]\nname = "{party}"\nbackstory = "You"\n'
        (tmp_path / "parties" / f"{party}.toml").write_text(about, encoding="utf-8")
    shutil.copytree(TOPICS, tmp_path / "topics")
    (tmp_path / "society.toml").write_text('debaters = ["cdu", "spd"]\n', encoding="utf-8")
    own = {"society": str(tmp_path), "topic": "racism", "reference": ""}
    three = load_preset("three_way")
    assert heading(three.with_settings({"rounds": 2})) == three.title
    assert heading(three.with_settings(own | {"seats": "cdu,spd"})) == "A Die CDU and an SPD in a debate"
    chat = own | {"seats": "spd,cdu", "frame": "exchange"}
    assert heading(three.with_settings(chat)) == "An SPD and a Die CDU in an exchange"
    network = load_preset("network").with_settings(own | {"parties": "cdu,spd", "size": 3, "graph": "complete"})
    assert heading(network) == "Two Die CDUs and an SPD in a network"
    assert "homophilous" not in load_preset("network").title
