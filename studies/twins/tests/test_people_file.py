"""The file of recorded people: what it says, what is refused in one line, and what each public layout becomes."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each

import run
from parley.llm.errors import UserError
from parley.studies.twins.layouts import CONVERTERS, checksum, convert, is_known, layouts
from parley.studies.twins.people_file import ANSWER, GIVEN, MESSAGE, people_table, read_people
from parley.studies.twins.planted import invent_people

DATA = Path(__file__).parents[3].parent / "shared" / "data"
HEAD = "person,kind,topic,value,text,lowest,highest,labels,order,group,wave,private\n"
GOOD = (
    "ann,attribute,age,34,,,,,,,,\nann,answer,Tea?,2,,1,5,,1,g,,\nann,message,Tea?,,I like it.,,,,2,g,,yes\n"
    "ann,answer,Tea?,4,,1,5,,3,g,,\nann,answer,Tea?,5,,1,5,,9,g,2,\nmod,given,Tea?,,A draft.,,,,2,g,,\n"
    "bo,answer,Tea?,,,1,5,,1,g,,\nbo,message,Tea?,,,,,,2,g,,\n"
)


def file(tmp_path: Path, rows: str, name: str = "people.csv") -> Path:
    path = tmp_path / name
    path.write_text(rows, encoding="utf-8")
    return path


def test_a_row_is_an_event_and_missing_is_counted_not_zero(tmp_path: Path) -> None:
    """2 on 1 to 5 is .25; a row without its value or text is no event; the draft is of nobody; what is written reads the same."""
    people = read_people(file(tmp_path, HEAD + GOOD))
    assert people.missing == {"answer": 1, "message": 1}
    assert [event.value for event in people.events if event.kind == ANSWER] == [0.25, 0.75, 1.0]
    assert [event.private for event in people.events if event.kind == MESSAGE] == [True]
    assert [event.kind for event in people.by_group["g"]].count(GIVEN) == 1
    assert set(people.by_person) == {"ann"}
    again = tmp_path / "again.csv"
    people_table(people).to_csv(again, index=False)
    assert read_people(again).events == people.events


REFUSED = {
    "ann,wish,Tea?,2,,1,5,,1,g,,": "row 2: kind is 'wish', but must be attribute, answer, message or given",
    "ann,answer,Tea?,2,,,,,1,g,,": "row 2: an answer needs the ends of its scale: fill in lowest and highest",
    "ann,answer,Tea?,six,,1,5,,1,g,,": "row 2: value is 'six', not a number from 1 to 5",
    "ann,answer,Tea?,6,,1,5,,1,g,,": "row 2: the answer 6 is not between lowest 1 and highest 5",
    "ann,answer,Tea?,2,,1,5,yes,1,g,,": "row 2: labels must be two or more different words",
    "ann,answer,Tea?,2,,1,5,,1.5,g,,": "row 2: order is 1.5, but must be a whole number",
    "ann,message,Tea?,,Hi,,,,1,g,,maybe": "row 2: private is 'maybe', but must be yes, no or empty",
    "ann,attribute,age,34,,,,,,,,": "has no answer and no message, so nothing can be predicted",
    "ann,answer,Tea?,2,,1,5,,1,g,,\nann,answer,Tea?,3,,1,5,,1,h,,": "two rows of kind answer on 'Tea\\?' at order 1",
    "ann,answer,Tea?,2,,1,5,,1,g,,\nbo,answer,Tea?,3,,1,7,,1,g,,": "the question 'Tea\\?' has two scales",
    ",answer,Tea?,2,,1,5,,1,g,,": "row 2: person is empty",
}


@check_each("rows", REFUSED)
def test_a_bad_file_is_refused_in_one_line_that_says_what_to_fix(rows: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=REFUSED[rows]) as caught:
        read_people(file(tmp_path, HEAD + rows + "\n"))
    assert "\n" not in str(caught.value)


def test_halves_share_no_person_and_no_group() -> None:
    """People who share a group, directly or through others, are on one side; both sides together are the file."""
    people = invent_people("planted", 9)
    first, second = people.halves(0)
    assert not set(first.by_person) & set(second.by_person)
    assert not set(first.by_group) & set(second.by_group)
    assert len(first.events) + len(second.events) == len(people.events)
    assert people.halves(0)[0].digest == first.digest
    assert len(people.drawn(4, 0).by_person) == 6  # whole groups of three


def test_people_of_one_group_cannot_be_split() -> None:
    with pytest.raises(UserError, match="cannot be split by person: all people are linked"):
        invent_people("planted", 1).halves(0)


def test_the_registry_has_a_converter_for_each_layout_and_says_what_each_needs() -> None:
    assert set(layouts()) == set(CONVERTERS)
    for layout in layouts().values():
        assert all((layout.licence, layout.source, layout.needs, layout.gives, layout.read_here))
        assert all(len(checksum) == 64 for checksum in layout.files.values())


def test_a_survey_in_two_waves(tmp_path: Path) -> None:
    """Attributes of wave 1, answers in the order of the questions, and wave 2 kept apart."""
    answers = file(tmp_path, "person,wave,age,tea,jam\nann,1,34,2,\nann,2,34,4,1\nbo,1,,5,3\n", "answers.csv")
    questions = file(
        tmp_path, "question,text,lowest,highest,labels\ntea,Tea?,1,5,\njam,Jam?,1,3,no|so|yes\n", "questions.csv"
    )
    people = convert(str(answers), "survey", questions)
    found = [
        (event.person, event.topic, event.value, event.order, event.wave)
        for event in people.events
        if event.kind == ANSWER
    ]
    assert found == [
        ("ann", "Tea?", 0.25, 0, 1), ("ann", "Tea?", 0.75, 0, 2), ("ann", "Jam?", 0.0, 1, 2),
        ("bo", "Tea?", 1.0, 0, 1), ("bo", "Jam?", 1.0, 1, 1),
    ]  # fmt: skip
    assert [(event.person, event.text) for event in people.events if event.kind == "attribute"] == [("ann", "34")]


def test_the_layout_of_groups_that_talk(tmp_path: Path) -> None:
    """Opinions before and after once a person and topic, and the lines between them by their round."""
    rows = "group,person,topic,before,after,round,message\ng,a,Tax?,1,6,1,Yes.\ng,a,Tax?,1,6,2,Still yes.\ng,b,Tax?,3,3,1,No.\n"
    people = convert(str(file(tmp_path, rows)), "debate")
    assert [(event.person, event.kind, event.order, event.value) for event in people.events if event.kind == ANSWER] == [
        ("a", "answer", 0, 0.0), ("a", "answer", 3, 1.0), ("b", "answer", 0, 0.4), ("b", "answer", 3, 0.4)
    ]  # fmt: skip
    assert [event.text for event in people.events if event.kind == MESSAGE] == ["Yes.", "Still yes.", "No."]


PUBLIC = {
    "cc_by/habermas_episode_childcare.json": ("habermas", 5, 0, 10),
    "cc_by/habermas_real_issues_opinions_consensus.json": ("opinion-halves", 48, 0, 96),
    "cc_by_sa/salvi_rct_750_pre_post_agreement.csv": ("debategpt", 750, 1500, 0),
    "mit/persuasiontrace_human_belief_traces.csv": ("persuasiontrace", 196, 557, 0),
}
"""Layout, people, answers and messages of each public file."""


@pytest.mark.parametrize("name", PUBLIC)
def test_public_files_are_converted_and_read_back(name: str, tmp_path: Path) -> None:
    path = DATA / name
    if not path.exists():
        pytest.skip("the public data of people are not beside this checkout (shared/data)")
    layout, count, answers, messages = PUBLIC[name]
    out = tmp_path / "people.csv"
    assert run.command(["study", "data", "convert", str(path), "--layout", layout, "--out", str(out)]) == 0
    people = read_people(out)
    kinds = [event.kind for event in people.events]
    assert (len(people.by_person), kinds.count(ANSWER), kinds.count(MESSAGE)) == (count, answers, messages)
    assert is_known(path, layout) is True
    assert checksum(path) == layouts()[layout].files[path.name]


def test_a_file_of_another_checksum_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = "debate_id,treatment_type,participant_side,topic,agreement_pre_likert,agreement_post_likert\n"
    rows = f"{head}1,HH,PRO,Tax?,2,\n1,HH,CON,Tax?,4,5\n"
    path = file(tmp_path, rows, "salvi_rct_750_pre_post_agreement.csv")
    assert (
        run.command(["study", "data", "convert", str(path), "--layout", "debategpt", "--out", str(tmp_path / "p.csv")])
        == 0
    )
    assert "its checksum differs" in capsys.readouterr().out
    assert len([event for event in read_people(tmp_path / "p.csv").events if event.kind == ANSWER]) == 3


def test_the_list_names_licence_needs_and_checksum(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.command(["study", "data"]) == 0
    printed = capsys.readouterr().out
    for layout in layouts().values():
        assert layout.name in printed
        assert layout.licence in printed
        assert all(checksum in printed for checksum in layout.files.values())


MISTAKES = {
    "convert people.json": "convert needs a file, --layout NAME and --out FILE",
    "convert a.csv --layout nothing --out b.csv": "nothing",
    "convert a.csv --layout survey --out b.csv": "--questions FILE goes with --layout survey: add it",
    "convert a.csv --layout debate --questions q.csv --out b.csv": "leave it out",
    "convert a.csv --layout debate --out b.txt": "must end in .csv",
    "list a.csv": "to convert a file, write",
}


@check_each("words", MISTAKES)
def test_mistakes_of_the_command(words: str) -> None:
    with pytest.raises(UserError, match=MISTAKES[words]):
        run.command(["study", "data", *words.split()])
