"""A sheet holds evidence with its place, or says that something is not known; answers of the author are never evidence."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model.events import Event
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.studies.sheets.facts import FACTS, SheetRun
from parley.studies.sheets.forms import form_names, load_form, load_forms, read_answers
from parley.studies.sheets.sheet import AUTHOR, UNKNOWN, fill_form, write_sheets

HOSTILE = "<script>alert(1)</script> | x | [a](http://evil) experiment"


def test_every_item_is_evidence_or_not_known(ran: Callable[..., Path]) -> None:
    """Each form names facts that exist, each fact is in a form, each cell has a place, and what only the author knows is open."""
    run, used = SheetRun(ran()), set()
    assert form_names() == ["control", "odd", "pimmur", "rat-rs", "trails"]
    for form in load_forms("all"):
        cells = fill_form(form, run, {})
        used |= {name for item in form.items for name in item.facts}
        assert {cell.item.key for cell in cells} == {item.key for item in form.items}
        assert all(cell.place and cell.text for cell in cells)
        assert {cell.item.key for cell in cells if cell.kind == UNKNOWN} >= {
            one.key for one in form.items if one.author_only
        }
    assert used == set(FACTS)


def test_facts_are_those_of_the_record(ran: Callable[..., Path]) -> None:
    """Hand-counted: 3 rooms of two, 2 rounds: 12 lines. After round 1 each prompt holds the partner's line, and no other room's.

    Three Defaults are surveyed outside of the rooms.
    """
    run = SheetRun(ran())
    text = {name: found.text for name, function in FACTS.items() if (found := function(run))}
    assert text["talk"].startswith("12 messages, 0 missing; 0 said in a room with no other agent")
    assert "9 agents with 9 different personas of 3 kinds (default, democrat, republican)" in text["people"]
    assert "word for word: 6 of 6; as a control, an earlier message of another room: 0." in text["remembered"]
    assert text["hints"].startswith("Prompts with a word such as experiment, study or hypothesis: 0 of ")
    assert "human_data" not in text
    assert "no interval and no verdict" in text["change"] or "unknown" in text["change"]


def test_guesses_are_evidence_and_a_folder_of_several_runs_is_refused(tmp_path: Path) -> None:
    """All 4 agents choose the first option, which is the right one. A sweep has no sheet of its own."""
    given = {"repetitions": 1, "topic": "racism,abortion", "rounds": 1, "also": "studied:end,expected:end"}
    answer = Fake(lambda request: request.answers[0] if request.answers else "I see.")
    run_scenario(RunSpec(load_preset("two_way").with_settings(given), tmp_path / "r", ()), backend=answer)
    found = FACTS["guessed"](SheetRun(tmp_path / "r"))
    assert found is not None
    assert "4 agents: opinion change: 4, memory: 0" in found.text
    assert "The right answer is opinion change; 17% are expected to choose it by chance." in found.text
    assert found.text.count("2 agents: less agreement: 2") == 2, (
        "each topic has its own question on the change expected"
    )
    (tmp_path / "sweep.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match="has several runs: give one run, a folder in "):
        SheetRun(tmp_path)


def test_text_of_a_model_is_escaped_and_hints_are_found(tmp_path: Path) -> None:
    """A line of a model that is markup stays text in both files; a prompt that says `experiment` is counted."""

    def speak(request: Request) -> str:
        return request.answers[0] if request.answers else HOSTILE

    scenario = load_preset("two_way").with_settings({"repetitions": 1, "topic": "racism", "rounds": 2, "llm": "oracle"})
    run_scenario(RunSpec(scenario, tmp_path / "r", ()), backend=Fake(speak))
    pages = write_sheets(tmp_path / "r", load_forms("pimmur"), {("pimmur", "realism"): HOSTILE}, HOSTILE)
    html, markdown = pages[0].read_text(encoding="utf-8"), pages[0].with_suffix(".md").read_text(encoding="utf-8")
    assert "<script" not in html
    assert "<script" not in markdown
    assert "evil" in html
    assert 'href="http' not in html
    hints = re.search(r"hypothesis: (\d+) of", markdown)
    assert hints
    assert int(hints[1]) > 0
    assert "(with one room there is no control)" in markdown


def test_answers_of_the_author_are_the_authors(ran: Callable[..., Path], tmp_path: Path) -> None:
    """An answer fills an open item, and is shown as the author's; unknown keys are refused in one line."""
    forms, path = load_forms("pimmur"), tmp_path / "answers.toml"
    path.write_text('author = "A. Author"\n[pimmur]\nrealism = "We compare with a panel."\n[odd]\nnothing = "x"\n')
    author, answers = read_answers(path, forms)
    assert author == "A. Author"
    cells = fill_form(forms[0], SheetRun(ran()), answers)
    assert [cell.kind for cell in cells if cell.item.key == "realism"] == [AUTHOR]
    for text in ('[pimmur]\nrealisms = "x"', "[pimmur]\nrealism = 1", "pimmur = 1", "author = 1", "["):
        path.write_text(text)
        with pytest.raises(UserError) as error:
            read_answers(path, forms)
        assert "\n" not in str(error.value)


def test_a_form_is_one_file(tmp_path: Path) -> None:
    """A form of the user is read by its path; faults are named in one line."""
    path = tmp_path / "mine.toml"
    item = '[[items]]\nkey = "a"\nsection = "S"\nasks = "Q?"\nsays = "x"\nfacts = ["size"]\n'
    good = f'title = "T"\nsource = "S"\nabout = "A."\n{item}'
    path.write_text(good)
    assert load_forms(str(path))[0].items[0].facts == ("size",)
    for text in (
        good.replace("size", "sizes"),
        good.replace("key", "kay"),
        good + item,
        'title = "T"',
    ):
        path.write_text(text)
        with pytest.raises(UserError) as error:
            load_form(path)
        assert "\n" not in str(error.value)
    with pytest.raises(UserError, match="pimmur"):
        load_forms("pimur")


def test_runs_without_ratings_prompts_or_results(
    record: Callable[..., Path], header: Callable[..., Event], tmp_path: Path
) -> None:
    """A run without replies says `unknown`, never zero; an empty record is refused."""
    folder = record([header()])
    run = SheetRun(folder)
    for form in load_forms("all"):
        fill_form(form, run, {})
    text = {name: found for name, function in FACTS.items() if (found := function(run))}
    assert not text["change"].known
    assert not text["remembered"].known
    assert "survey" not in text
    assert "unfinished" in text["finished"].text
    record([])
    with pytest.raises(UserError, match="no results yet"):
        SheetRun(folder)


def refusal(read: Callable[[Path], object], path: Path) -> str:
    """What a reader says of a file; "" if it takes it."""
    try:
        read(path)
    except UserError as error:
        return str(error)
    return ""


def test_hostile_forms_and_answers_are_one_line(tmp_path: Path) -> None:
    """Binary, huge, nested and foreign files, folders, wrong types and unknown keys are one line that names the file."""
    head, item = 'title="t"\nsource="s"\nabout="a"\n', '[[items]]\nkey="k"\nsection="s"\nasks="a"\nsays="b"\n'
    broken = ["\x00", "PK\x03\x04", "a = " + "[" * 50_000, "x" * ((1 << 24) + 1), "=", "a = 1\na = 2"]
    more = [
        "facts=1",
        "facts=[1]",
        "facts=[[]]",
        'facts=["none"]',
        "other=1",
        "author_only=1",
        "author_only=[]",
        "author_only=1",
        'author_only="yes"',
        item,
    ]
    forms = [
        *broken, "", head, "items=1", "items=[]", "items=[1]", "items={}", head + "[items]\na=1", item,
        *[head + item + one for one in more], *[head + item.replace('key="k"', f"key={one}") for one in ("1", "[]")],
        *[head.replace('"t"', one) + item for one in ("1", "[]", "{}")], head + "odd=1\n" + item,
    ]  # fmt: skip
    answers = [
        *broken, "author=1", "author=[]", "pimmur=1", "pimmur=[]", "[pimmur]\nnone='x'", "[pimmur]\nrealism=1",
        "[pimmur]\nrealism=''",
        "[pimmur]\nrealism=[]", "[pimmur.realism]\na=1", "[[pimmur]]\nrealism='x'", "[pimmr]\nrealism='x'", "other=1",
    ]  # fmt: skip
    path = tmp_path / "f.toml"
    readers: list[tuple[Callable[[Path], object], list[str]]] = [
        (load_form, forms), (lambda file: read_answers(file, load_forms("all")), answers),
    ]  # fmt: skip
    for read, texts in readers:
        for text in texts:
            path.write_text(text, encoding="utf-8")
            said = refusal(read, path)
            assert str(path) in said, text[:80]
            assert 0 < said.find(" ") < len(said) < 1000, text[:80]
            assert "\n" not in said, text[:80]
        path.write_bytes(b"\xff\xfe")
        for odd in (path, tmp_path):
            with pytest.raises(UserError, match=str(odd)):
                read(odd)
