"""Adding a party touches one file: a copy of a society with one more file of a party debates, is surveyed and is reported."""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

import pytest
from matplotlib.colors import to_hex

import run
from parley.agents.persona import load_personas
from parley.agents.skeleton import write_skeleton
from parley.agents.society import DEFAULT, SOCIETIES, Society, load_society
from parley.agents.society_check import check_path, derived_parts
from parley.analysis.figures import styles_of_run
from parley.analysis.tables import Tables, load
from parley.llm.backends.oracle.dynamics import planted, start
from parley.llm.backends.oracle.phrases import banks
from parley.llm.errors import UserError

pytestmark = pytest.mark.usefixtures("pictures")

GERMAN = """label = "BSW-Wähler"
person = "eine Person in Deutschland, die das BSW wählt"
words = ["bsw"]
names = ["Ortrun", "Gernot", "Wiebke"]
side = -0.3
colour = "#00b3a4"
marker = "h"
"""
GERMAN_ORACLE = """
[oracle]
identity = ["Ich stehe für das BSW.", "Meine Stimme hat das BSW.", "Das BSW spricht mir aus der Seele."]

[oracle.start]
tempolimit = 6.0
zuwanderung = 8.5
klimawandel = 4.0
"""
ENGLISH = """label = "Green"
person = "a voter of the Green Party"
words = ["green party"]
names = ["Pia", "Quentin", "Rosa"]
side = -0.2
colour = "#2e8b57"
marker = "^"
"""
ENGLISH_ORACLE = """
[oracle]
identity = ["I speak as a Green.", "My vote goes to the Green Party.", "The Green Party has my vote."]

[oracle.start]
library = 7.0
"""
CASES = {
    "germany": ("bsw", GERMAN, {"tempolimit": 6.7, "zuwanderung": 3.7, "klimawandel": 7.3}),
    "germany with oracle": ("bsw", GERMAN + GERMAN_ORACLE, {"tempolimit": 6.0, "zuwanderung": 8.5, "klimawandel": 4.0}),
    "skeleton": ("green", ENGLISH, {"library": 6.7}),
    "skeleton with oracle": ("green", ENGLISH + ENGLISH_ORACLE, {"library": 7.0}),
}
"""By case: the code of the new party, its file, and where its people begin on each topic (without [oracle]: on the straight
line through side and start of the others)."""
SEATS = {"germany": ["spd", "cdu", "linke", "gruene", "fdp", "afd"], "skeleton": ["left", "right"]}


def home(tmp_path: Path, base: str) -> Path:
    """A copy of a society."""
    if base == "skeleton":
        return write_skeleton("society", tmp_path / "land")
    return Path(shutil.copytree(SOCIETIES / base, tmp_path / "land"))


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
def test_one_new_file_is_enough_for_a_run_with_survey_and_report(tmp_path: Path, case: str) -> None:
    """Every agent speaks and is rated; the first ratings are the planted or derived ones; figures have the colour of the file."""
    base, (party, text, starts) = case.partition(" ")[0], CASES[case]
    folder, out, page = home(tmp_path, base), tmp_path / "run", tmp_path / "report.html"
    (folder / "parties" / f"{party}.toml").write_text(text, encoding="utf-8")
    society = load_society(str(folder))
    assert check_path(society.name) == []
    seats = ",".join([*SEATS[base], party, DEFAULT])
    words = [
        "--society",
        society.name,
        "--scenario",
        "three_way",
        "--llm",
        "oracle",
        "--repetitions",
        "3",
        "--rounds",
        "1",
    ]
    assert run.main([*words, "--set", f"seats={seats}", "--set", "also=agreement", "--out", str(out)]) == 0
    tables = load(out)
    assert set(tables.agents["party"]) == {*SEATS[base], party, DEFAULT}
    assert tables.utterances["text"].notna().all()
    assert tables.attitudes["attitude"].notna().all()
    assert set(tables.probes["probe"]) == {"agreement"}
    assert tables.probes["attitude"].notna().all()
    for topic, level in starts.items():
        begins_at(tables, society, party, f"{society.name}/{topic}", level)
    look = styles_of_run(tables)
    assert look[party]["color"] == society.parties[party].colour
    assert len({to_hex(one["color"]) for one in look.values()}) == len(look)
    assert run.main(["report", str(out), "--out", str(page)]) == 0
    assert society.label(party) in page.read_text(encoding="utf-8")
    assert look[party]["color"] in (out / "figures" / "attitudes.svg").read_text(encoding="utf-8")


def begins_at(tables: Tables, society: Society, party: str, topic: str, level: float) -> None:
    """The law has the level of the party, and the first rating of each of its people is the law's."""
    law = planted(society=society.name)[topic]
    assert law.start[party] == level
    people = load_personas(party, society.folder / "parties")
    expected = {one.name: start(banks(society.name), one.backstory, topic, law) for one in people}
    rated = tables.attitudes.query("round == 0 and party == @party and topic == @topic")
    assert sorted(rated["name"]) == sorted(expected)
    assert rated["expected"].to_list() == pytest.approx([expected[name] for name in rated["name"]], abs=1e-6)


def test_the_check_says_what_is_made_up_and_nothing_where_a_file_is_whole(tmp_path: Path) -> None:
    """A line for the people, a line a topic for the start, a line for the words; none of them for the parties of the skeleton."""
    folder = home(tmp_path, "skeleton")
    assert derived_parts(str(home(tmp_path / "other", "skeleton"))) == []
    path = folder / "parties" / "green.toml"
    path.write_text(ENGLISH.replace('colour = "#2e8b57"\n', ""), encoding="utf-8")
    assert check_path(str(path)) == []
    assert derived_parts(str(path)) == [
        "parties/green.toml: no [[persona]], so its 3 people say of themselves only: a voter of the Green Party",
        "parties/green.toml: no colour, so figures choose one",
        "parties/green.toml: no oracle.start for library, so its people begin at 6.7 (from its side)",
        "parties/green.toml: no oracle.identity, so its people say: I am a voter of the Green Party.",
    ]


def test_a_language_without_words_of_the_oracle_is_said_and_no_traceback(tmp_path: Path) -> None:
    """A country in a language of its own, and a party without [oracle] identity: the check says who cannot speak."""
    folder = home(tmp_path, "skeleton")
    (folder / "parties" / "green.toml").write_text(ENGLISH, encoding="utf-8")
    shutil.copytree(Path(SOCIETIES).parent / "languages" / "en", folder / "languages" / "rm")
    text = (folder / "society.toml").read_text(encoding="utf-8")
    (folder / "society.toml").write_text(re.sub('language = "en"', 'language = "rm"', text), encoding="utf-8")
    (line,) = [line for line in derived_parts(str(folder)) if "oracle" in line]
    assert line.startswith("--llm oracle cannot speak here, any other model can: the oracle has no sentences")


def test_a_party_sits_in_a_set_of_personas_that_has_no_file_of_it(tmp_path: Path) -> None:
    """In the sets `enhanced` and `twins` of a copy of `us` a third party has people of its names, men and women among them."""
    folder = home(tmp_path, "us")
    (folder / "parties" / "green.toml").write_text(ENGLISH, encoding="utf-8")
    assert check_path(str(folder)) == []
    people = load_personas("green:female", folder / "personas" / "twins")
    assert [one.backstory for one in people][:1] == ["You are Pia, a woman. You are a voter of the Green Party."]
    with pytest.raises(UserError, match="unknown party 'grean': did you mean green"):
        load_personas("grean", folder / "personas" / "twins")
    assert "personas/twins has no people of green, so they are made of `names` and `person`" in derived_parts(
        str(folder)
    )


def test_names_and_looks_of_all_parties_differ(tmp_path: Path) -> None:
    """The skeleton of a party can be dropped into the skeleton of a society as it is."""
    folder = home(tmp_path, "skeleton")
    write_skeleton("party", folder / "parties" / "green.toml")
    assert check_path(str(folder)) == []
    parties = load_society(str(folder)).parties
    assert list(parties) == ["left", "right", "green", DEFAULT]
    for one, other in itertools.combinations(parties.values(), 2):
        assert not set(one.names) & set(other.names)
        assert one.colour != other.colour
