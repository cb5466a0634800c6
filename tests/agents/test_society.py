"""A society as a folder: what it says, how its names are written, and that every planted fault is told in a line."""

from __future__ import annotations

import pickle
import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.language import ENGLISH, language_codes, load_language
from parley.agents.persona import DEFAULT, demographics, genders, introduction, load_personas, persona_set
from parley.agents.question import question_id, question_set
from parley.agents.skeleton import write_skeleton
from parley.agents.society import PartyNames, load_society, society_folder, society_names, society_of, split_name
from parley.agents.society_check import check_path, derived_parts
from parley.agents.topic import load_topic, society_topics, topic_file
from parley.llm.backends import open_spec
from parley.llm.errors import UserError
from parley.model.debate import DebateModel

SOCIETIES = society_names()


def test_four_societies_are_shipped_and_none_has_a_fault() -> None:
    """Every prompt has the slots of the English one, every party people and sentences, every topic its claim."""
    assert SOCIETIES == ["germany", "neutral", "uk", "us"]
    assert {name: check_path(name) for name in SOCIETIES} == {name: [] for name in SOCIETIES}


def test_a_name_is_one_of_us_unless_a_society_stands_before_it() -> None:
    assert load_topic("racism").society is load_society("us")
    assert load_topic("germany/tempolimit").society is load_society("germany")
    assert load_topic("germany/tempolimit").language.code == "de"
    assert split_name("./lands/mine/library") == ("./lands/mine", "library")
    assert persona_set("uk/voters") == load_society("uk").folder / "parties"
    assert load_society("uk").qualified("voters") == "uk/voters"
    assert load_society("uk").qualified("./mine.toml") == "./mine.toml"


def test_first_and_second_are_the_debaters_and_other_seats_stay() -> None:
    germany = load_society("germany")
    seats = ("first", "second:male", "first 2", "default", "gruene", "firstly")
    assert [germany.seat(seat) for seat in seats] == ["spd", "cdu:male", "spd 2", "default", "gruene", "firstly"]
    assert [germany.other(party) for party in germany.debaters] == ["cdu", "spd"]


def test_a_society_goes_to_another_process_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(load_society("uk"))) is load_society("uk")


def test_what_agents_are_told_of_each_other_is_in_their_language() -> None:
    """Hand-written sentences: who is who, in English and in German."""
    society = load_society("germany")
    anna, bernd = (
        load_personas("spd", persona_set("germany/voters"))[0],
        load_personas("cdu", persona_set("germany/voters"))[0],
    )
    told = demographics([anna], society)
    assert told.startswith(f"{anna.name} ist für die Partei SPD und ")
    assert told.endswith(" Jahre alt.")
    assert introduction([bernd], "ai", society.language) == f"{bernd.name} ist eine KI."
    people = load_personas("spd:female", persona_set("germany/simple"))[:2]
    one, two = (person.name for person in people)
    assert genders(people, society.language) == f"{one} ist eine Frau und {two} ist eine Frau."
    assert society.language.frame("debate") == "Debatte"
    assert ENGLISH.frame("debate") == "debate"
    assert society.language.join(["Ann", "Ben", "Cem"]) == "Ann, Ben und Cem"


def test_a_survey_is_asked_in_the_language_of_the_topic() -> None:
    asked = load_topic("germany/klimawandel").probe("attitude").ask("Debatte")
    assert "0 bedeutet überhaupt kein Problem und 10 bedeutet ein sehr großes Problem" in asked
    assert load_topic("germany/klimawandel").claim == "der Klimawandel ein sofortiges Handeln erfordert"
    read = load_topic("germany/klimawandel").probe("attitude_labelled").read
    assert [read(text).value for text in ("Ich halte den Klimawandel für ernst (8).", "ernst", "Weiß nicht")] == [
        8,
        8,
        None,
    ]


def test_a_society_may_have_questions_of_its_own() -> None:
    own = question_set("shipped", "germany")
    assert {one.society for one in own} == {"germany"}
    assert all(one.question.endswith("?") for one in own)
    assert question_set("shipped")[0].question == question_set("shipped", "uk")[0].question
    assert own[0].subject.probe("position").ask("Debatte").count("stimm")


def test_a_file_knows_the_society_whose_folder_it_lies_in(tmp_path: Path) -> None:
    """A topic by its path has the parties and the language of its society, and otherwise those that it names, or of us."""
    folder = write_skeleton("society", tmp_path / "mine")
    assert society_of(folder / "topics" / "library.toml") is load_society(str(folder))
    assert load_topic(str(folder / "topics" / "library.toml")).society.title == "My country"
    alone = shutil.copy(topic_file("germany/tempolimit"), tmp_path / "alone.toml")
    assert load_topic(str(alone)).society.name == "us"
    named = tmp_path / "named.toml"
    named.write_text('society = "germany"\n' + alone.read_text(encoding="utf-8"), encoding="utf-8")
    assert load_topic(str(named)).society.name == "germany"


@check_each("society", society_names())
def test_whatever_new_writes_passes_its_check(society: str, tmp_path: Path) -> None:
    """A skeleton that `check` refuses is the first thing that a new user meets. In a country's folder, and outside of any."""
    home = Path(shutil.copytree(society_folder(society), tmp_path / "land"))
    for folder in (home, tmp_path / "alone"):
        places = {"topic": folder / "topics" / "mine.toml", "personas": folder / "personas" / "mine"}
        if folder != home:
            places["party"] = folder / "mine.toml"
        for kind, place in places.items():
            write_skeleton(kind, place)
            assert check_path(str(place)) == [], (kind, place.name)


def test_a_new_society_has_no_fault_and_may_bring_its_language(tmp_path: Path) -> None:
    folder = write_skeleton("society", tmp_path / "mine")
    assert check_path(str(folder)) == []
    shutil.copytree(ENGLISH.folder, folder / "languages" / "xx")
    shutil.rmtree(folder / "languages" / "xx" / "prompts" / "representative")
    own = load_language("xx", folder)
    assert own.folder == folder / "languages" / "xx"
    assert "xx" not in language_codes()
    with pytest.raises(UserError, match=r"unknown language 'yy'"):
        load_language("yy", folder)


OLD_TOPIC = "[topics.old]\nbias = 5.0\nkappa = 0.05\nmu = 0.06\nsigma = 0.15\nepsilon = 10.0\n\n[topics.library]"
FAULTS = {
    "two parties of one colour": ("parties/right.toml", "#c1272d", "#1f5fa8", "2 parties have the colour #1f5fa8"),
    "a party without words": ("parties/left.toml", 'words = ["left party", "left voter"]', "words = []", "has no words"),
    "a party without a person": ("parties/left.toml", 'person = "a voter of the Left Party"', "", "left.toml lacks person"),
    "a debater who is no party": ("society.toml", '"left", "right"]', '"left", "up"]', "needs debaters"),
    "a colour that is none": ("parties/right.toml", "#c1272d", "red", "must be written as #rrggbb"),
    "a side beyond the axis": ("parties/right.toml", "side = 0.5", "side = 5", "must be from -1 (left) to 1 (right)"),
    "an unknown key": ("society.toml", "demonym", "demonim", "did you mean demonym?"),
    "an unknown language": ("society.toml", 'language = "en"', 'language = "xx"', "unknown language 'xx'"),
    "a topic that is not there": ("society.toml", '["library"]', '["bridge"]', "topics names bridge"),
    "a person who names no party": ("parties/left.toml", "You vote for the Left Party", "You vote", "does not name the party"),
    "a name twice": ("parties/right.toml", '["Greta"', '["Anna"', "the first name Anna is listed more than once"),
    "a high party that is none": ("topics/library.toml", 'high_party = "left"', 'high_party = "up"', "none of the debaters"),
    "no probe in words": ("topics/library.toml", "[probes.attitude_labelled]", "[probes.words]", "no probe attitude_labelled"),
    "no claim": ("topics/library.toml", "How much do you agree that the", "Is it so that the", "must begin with"),
    "a sentence twice": ("oracle/topics/library.toml", "I want a library soon", "No library, now or later", "is written twice"),
    "a title that differs": ("oracle/topics/library.toml", 'title = "a new town', 'title = "a town', "is not that of the topic"),
    "no proposition": ("oracle/topics/library.toml", "should build", "could build", "no [[propositions]]"),
    "a start on no topic": ("parties/left.toml", "library = 8.5", "tunnel = 8.5", "topic in oracle.start of parties/left.toml"),
    "a position on no topic": ("parties/left.toml", "library = \"strongly", "tunnel = \"strongly", "positions names tunnel"),
    "an unknown part": ("parties/left.toml", "[oracle.start]", "[oracle.begin]", "begin"),
    "parties in society.toml": ("society.toml", "debaters", "[parties.up]\n[more]\ndebaters", "each party into its own file"),
    "numbers on no topic": ("oracle/parameters.toml", "[topics.library]", OLD_TOPIC, "has [topics.old], which"),
    "broken TOML": ("questionnaire.toml", "[items.gender]", "[items.gender", "is not valid TOML"),
}  # fmt: skip


def test_every_planted_fault_is_told(tmp_path: Path) -> None:
    """One fault at a time; a check that finds none would let it pass."""
    for number, (name, (file, right, wrong, told)) in enumerate(FAULTS.items()):
        folder = write_skeleton("society", tmp_path / f"land{number}")
        text = (folder / file).read_text(encoding="utf-8")
        assert right in text, name
        (folder / file).write_text(text.replace(right, wrong), encoding="utf-8")
        problems = check_path(str(folder))
        assert any(told in problem for problem in problems), (name, problems)


def test_a_skeleton_is_never_written_over_a_file(tmp_path: Path) -> None:
    topic = write_skeleton("topic", tmp_path / "new" / "mine.toml")
    with pytest.raises(UserError, match="exists already"):
        write_skeleton("topic", topic)
    with pytest.raises(UserError, match=r"write parley new topic .*mine\.toml"):
        write_skeleton("topic", tmp_path / "mine")


def test_what_new_writes_is_accepted_by_check_and_by_a_debate(tmp_path: Path) -> None:
    """A newcomer's first file: each kind of skeleton, outside of a society and in one, is without a fault and runs."""
    land = write_skeleton("society", tmp_path / "land")
    for kind in ("party", "personas", "topic"):
        inside = {
            "topic": land / "topics" / "mine.toml",
            "personas": land / "personas" / "mine",
            "party": land / "parties" / "up.toml",
        }
        assert check_path(str(write_skeleton(kind, inside[kind]))) == [], kind
    topic, people = (
        write_skeleton(*what) for what in (("topic", tmp_path / "mine.toml"), ("personas", tmp_path / "people"))
    )
    assert check_path(str(topic)) == check_path(str(people)) == []
    model = DebateModel(
        "two_way", topic=str(topic), personas=str(people), llm="fake", repetitions=1, rounds=1, keep_going=True
    )
    model.run()
    assert {agent.persona.backstory for agent in model.agents} <= {
        one.backstory for party in load_society().parties for one in load_personas(party, people)
    }


def test_unknown_names_are_one_line(tmp_path: Path) -> None:
    for name, told in (
        ("germny", "unknown society 'germny': did you mean germany?"),
        (f"{tmp_path}/nowhere", "is not a society: it has no society.toml"),
    ):
        with pytest.raises(UserError, match=told.replace("?", r"\?")):
            load_society(name)
    with pytest.raises(UserError, match="unknown topic of germany 'racism'"):
        load_topic("germany/racism")
    with pytest.raises(UserError, match="unknown set of personas of uk 'twins'"):
        persona_set("uk/twins")


def test_names_of_parties_say_one_and_several() -> None:
    told = load_society("uk").header_entries(["labour", DEFAULT])
    names = PartyNames.from_header(told)
    assert names == {"labour": "Labour voter", "default": "Default"}
    assert names.plurals["labour"] == "Labour voters"
    assert society_topics(load_society("neutral")) == ["neutral/harbour_bridge", "neutral/market_noise"]


@pytest.mark.thorough
def test_a_file_with_a_wrong_kind_of_value_is_one_line(tmp_path: Path) -> None:
    """Every key of every file, left out, and with a number, a text or a table in its place: a UserError or nothing."""
    base, tried = write_skeleton("society", tmp_path / "base"), 0
    for path in sorted(base.rglob("*.toml")):
        text = path.read_text(encoding="utf-8")
        for key, line in re.findall(r'(?m)^(([\w-]+|"[^"]+") = .*)$', text):
            name = line
            for wrong in ("", f"{name} = 7", f'{name} = "x"', f"{name} = {{ a = 1 }}"):
                folder = tmp_path / f"land{(tried := tried + 1)}"
                shutil.copytree(base, folder)
                (folder / path.relative_to(base)).write_text(text.replace(key, wrong, 1), encoding="utf-8")
                assert isinstance(check_path(str(folder)), list)
                with suppress(UserError):
                    open_spec(f"oracle,society={folder}")
                shutil.rmtree(folder)
    assert tried > 200


def test_the_check_names_people_without_level_age_or_work(tmp_path: Path) -> None:
    """Such people begin where their party does, and do not answer when they are asked; a whole file has no such line."""
    folder = write_skeleton("society", tmp_path / "mine")
    path = folder / "parties" / "left.toml"
    text = path.read_text(encoding="utf-8")
    text = text.replace("You are Bela, 58, a teacher in", "You are Bela. You live in")
    path.write_text(text.replace(" You somewhat favor a new town library.", ""), encoding="utf-8")
    assert check_path(str(folder)) == []
    assert derived_parts(str(folder)) == [
        "parties/left.toml: Bela, David and Filip state no level on library, so --llm oracle begins at 8.5",
        "parties/left.toml: Bela states no age, so --llm oracle does not answer when asked for it",
        "parties/left.toml: Bela states no work, so --llm oracle does not answer when asked for it",
    ]


def test_the_check_says_each_fault_once_and_names_files_that_exist(tmp_path: Path) -> None:
    """A party whose description lacks its words was reported for personas/simple/green.toml as well, which is no file."""
    folder = write_skeleton("society", tmp_path / "mine")
    path = write_skeleton("party", folder / "parties" / "green.toml")
    path.write_text(path.read_text(encoding="utf-8").replace('Green Party"', 'Lawn Party"'), encoding="utf-8")
    problems = check_path(str(folder))
    assert len(problems) == len(set(problems)) == 4
    assert all(problem.startswith("parties/green.toml: ") for problem in problems)


def test_a_society_of_ones_own_is_never_asked_about_britain(tmp_path: Path) -> None:
    """A new society brings questions; without the file, one line says what to write, and check says it too."""
    folder = write_skeleton("society", tmp_path / "mine")
    own = question_set("shipped", str(folder))
    assert len(own) >= 3
    assert {one.split for one in own} == {"train", "iid_test", "ood_test"}
    assert all(one.id == question_id(one.topic, one.question) for one in own)
    bare = write_skeleton("society", tmp_path / "bare")
    (bare / "questions.toml").unlink()
    with pytest.raises(UserError, match=r"write .*bare/questions\.toml .*or give --set questions=FILE"):
        question_set("shipped", str(bare))
    assert derived_parts(str(bare)) == [
        "no questions.toml, so private deliberations (consensus) need --set questions=FILE"
    ]
