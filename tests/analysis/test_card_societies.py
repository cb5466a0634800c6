"""The card of another society: the names and looks of its parties, and what is left out where it has no people for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import run
from parley.agents.datafiles import HERE
from parley.agents.society import load_society
from parley.analysis.card.card import battery
from parley.analysis.card.comparison import read_card, write_comparison
from parley.analysis.card.conditions import Batch, gender, with_genders
from parley.analysis.card.figure import kinds
from parley.analysis.card.labels import condition
from parley.analysis.card.remedies import choose_remedies
from parley.analysis.card.sections import absent, fill_names, sections
from parley.llm.errors import UserError
from parley.model.scenario import Scenario, load_preset
from parley.studies.structured.experiments import experiment, without_genders

PARTIES = {"elf": ("Elf", "Elves", "#008000"), "orc": ("Orc", "Orcs", "#800000")}


@pytest.fixture(scope="module")
def shire(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A society with two parties, one topic, and voters without a gender; its path."""
    folder, us = tmp_path_factory.mktemp("lands") / "shire", HERE / "societies" / "us"
    for name in ("parties", "topics"):
        (folder / name).mkdir(parents=True)
    lines = ['title = "Shire"', 'debaters = ["elf", "orc"]', 'topics = ["racism"]']
    for party, (label, plural, colour) in PARTIES.items():
        about = {"label": label, "plural": plural, "colour": colour, "marker": "P", "line": "-", "person": label}
        about_lines = [f'{key} = "{value}"' for key, value in about.items()]
        people = [
            f'[[persona]]\nname = "{name}"\nbackstory = "You are {name} and an {label}."' for name in ("Al", "Bo", "Cy")
        ]
        (folder / "parties" / f"{party}.toml").write_text("\n".join([*about_lines, *people]), encoding="utf-8")
    (folder / "parties" / "default.toml").write_text(
        'label = "Default"\nplural = "Defaults"\nperson = "neutral"\n[[persona]]\nname = "Ava"\nbackstory = "You are you."\n'
    )
    (folder / "society.toml").write_text("\n".join(lines), encoding="utf-8")
    topic = (us / "topics" / "racism.toml").read_text(encoding="utf-8")
    (folder / "topics" / "racism.toml").write_text(
        topic.replace("democrat", "elf").replace("republican", "orc"), encoding="utf-8"
    )
    for name in ("questionnaire.toml", "validation.toml"):
        (folder / name).write_text((us / name).read_text(encoding="utf-8"), encoding="utf-8")
    return str(folder)


def base(society: str, **settings: object) -> Scenario:
    return load_preset("three_way", {"society": society, **settings})


def test_texts_name_the_parties(shire: str) -> None:
    society = load_society(shire)
    assert (
        fill_names("{a first}, {firsts}, {seconds'} end", ("Elf", "Orc"), ("Elves", "Orcs"))
        == "an Elf, Elves, Orcs' end"
    )
    assert condition("shuffled orc", society) == "replies of other rooms, Orcs rated"
    looks = kinds(society)
    assert [title for title, _ in looks.values()][:3] == ["Elves", "Orcs", "Default"]
    assert looks["second_away"][1] == {"color": "#800000", "marker": "P"}


def test_without_men_and_women_there_is_no_section_on_gender(shire: str, tmp_path: Path) -> None:
    first, chosen = Batch(base(shire), tmp_path), sections()
    assert with_genders(first.base) == ""
    assert gender(first) == {}
    missing = {name: reason for name, section in chosen.items() if (reason := absent(section, first))}
    assert list(missing) == ["gender"]
    assert "the society Shire has no set of personas" in missing["gender"]
    whole = experiment("echo", ["oracle"], first.society)
    assert list(without_genders(whole).conditions) == ["2R", "2D", "2R+N", "2D+N"]
    with pytest.raises(UserError, match="as men and as women"):
        without_genders(experiment("gender", ["oracle"], first.society))


def test_without_figures_of_humans_the_card_says_so(shire: str, tmp_path: Path) -> None:
    bias = sections(("bias",))["bias"]
    assert "no people.toml" in bias.slots(Batch(base(shire), tmp_path))["humans"]
    here = bias.slots(Batch(base("us"), tmp_path))["humans"]
    assert here.startswith(
        "The last row is the share of Democrats minus the share of Republicans who call it a very big problem"
    )


def test_remedies_are_those_that_the_society_can_have(shire: str) -> None:
    """The same remedies seat its own parties; a set of personas that it lacks is left out of `all`."""
    known = {one.name: one for one in choose_remedies("all", None, "oracle", load_society(shire))}
    assert "personas" not in known
    assert known["bias"].settings["confirmation_bias"] == ["elf:strong", "orc:strong"]


def test_experiments_of_the_study_seat_its_parties(shire: str) -> None:
    chosen = experiment("gender", ["oracle"], load_society(shire))
    assert "Orc man, two women" in chosen.conditions
    assert {party for *_, party in chosen.main} == {"elf", "orc"}
    assert experiment("baseline", ["oracle"], load_society(shire)).title == "A Neutral, an Elf, an Orc"
    first = experiment("orders", ["oracle"], load_society(shire)).first
    assert (first["R-N-D"], first["D-R-N"], first["N-R-D"]) == ("elf", "orc", "default")


@pytest.mark.thorough
def test_cards_of_two_societies_are_not_subtracted(tmp_path: Path, shire: str) -> None:
    """And the names of neither are used for both."""
    folder = tmp_path / "us"
    assert run.main(["audit", "--llm", "oracle", "--topic", "racism", "--blocks", "2", "--set", "rounds=1", "--sections", "bias",
                     "--out", str(folder)]) == 0  # fmt: skip
    told = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    other = told | {"battery": battery(base(shire)), "parties": ["Elves", "Orcs"]}
    (tmp_path / "shire").mkdir()
    (tmp_path / "shire" / "card.json").write_text(json.dumps(other), encoding="utf-8")
    page = write_comparison([read_card(folder), read_card(tmp_path / "shire")], tmp_path / "both").read_text(
        encoding="utf-8"
    )
    assert "society" in page
    assert "agents of the first party minus Default" in page
