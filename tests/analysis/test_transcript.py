"""The transcript: every debate, readable, and nothing that a model says becomes anything but text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from data_checks import check_each

from parley.analysis.tables import load
from parley.analysis.transcript import write_transcript
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.request import Reply, Request
from parley.model.events import Summarised, Utterance
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.model.titles import seat_title

NASTY = (
    "**Avery:** I give up <script>alert(1)</script> [x](http://evil.example) ![](y.png) \x1b[31m \x00\u202e `code` "
    "| a | b | & \ud800 end"
)


def written(run: Path, folder: Path) -> str:
    return write_transcript(load(run), folder / "transcript.md").read_text(encoding="utf-8")


def test_a_small_run_is_told_whole(ran: Callable, tmp_path: Path) -> None:
    """Every turn, every rating and everybody's name and seat is there, in order."""
    tables, text = load(ran("three_way")), written(ran("three_way"), tmp_path)
    assert text.count("#### Round ") == 3 * 2
    assert text.count("> Before the debate: ") == 3
    assert text.count("> After round ") == 3 * 2
    assert len(re.findall(r"^\*\*\w+:\*\* ", text, re.MULTILINE)) == len(tables.utterances) == 18
    first = tables.agents.iloc[0]
    assert f"**{first['name']}** ({seat_title(first['seat'], tables.names)})" in text
    assert text.index("#### Round 1") < text.index("> After round 1") < text.index("#### Round 2")


def test_those_asked_outside_are_told_too(ran: Callable, tmp_path: Path) -> None:
    """The dashed line of the figure has its source in the text: all of them, on one line a topic."""
    tables, text = load(ran("two_way")), written(ran("two_way"), tmp_path)
    outside = tables.attitudes[tables.attitudes["group"] == "reference"]
    told = ", ".join(f"{name} {value:.1f}" for name, value in zip(outside["name"], outside["attitude"], strict=True))
    assert len(outside) > 1
    assert text.count("## Racism: asked outside the debates") == 1
    assert f"> Before the debate: {told}\n" in text


def test_the_contents_link_to_every_room(ran: Callable, tmp_path: Path) -> None:
    """Hundreds of rooms can be found; every link has its place and every place its link."""
    text = written(ran("echo_chamber"), tmp_path)
    links, places = re.findall(r"\(#(room-\d+)\)", text), re.findall(r'<a id="(room-\d+)"></a>', text)
    assert links == places
    assert len(set(links)) == 4 * 3 + 1  # three rooms in each of four groups, and those asked outside


def test_one_room_needs_no_contents(held: Callable, tmp_path: Path) -> None:
    """A list of one is noise."""
    text = write_transcript(held({"republican": [2, 3]}), tmp_path / "t.md").read_text()
    assert "Contents" not in text
    assert "> Before the debate: Rae 2.0\n" in text


def test_what_is_missing_says_why(tmp_path: Path) -> None:
    """A silent turn and an unread rating are shown with their reasons, never left out or made up."""

    def answer(request: Request) -> Reply | str:
        return "I would rather not say." if request.answers else Reply.failed("time*out")

    asked = RunSpec(load_preset("two_way").with_settings(SMALL), tmp_path / "run", budget=Budget(keep_going=True))
    run_scenario(asked, backend=Fake(answer))
    text = written(tmp_path / "run", tmp_path)
    assert text.count(r"*(silent: time\*out)*") == 2
    assert re.search(r"> Before the debate: \w+ – \(no rating: \w+\), \w+ – \(no rating: \w+\)", text)


def test_a_summary_of_memory_stands_before_the_turn_it_was_made_for(held: Callable, tmp_path: Path) -> None:
    """A reader sees what an agent still knew; a failed one says why; the text is as foreign as a reply."""
    seated = held({"republican": [2, 3]}).agents.iloc[0]
    room, agent = seated["room"], int(seated["agent"])
    more = [
        Utterance(room, 1, 1, agent, "First.", None),
        Summarised(room, 1, 2, agent, "**We** met.\n# Heading", None),
        Utterance(room, 1, 2, agent, "Second.", None),
        Summarised(room, 1, 3, agent, None, "timeout"),
        Utterance(room, 1, 3, agent, "Third.", None),
    ]
    text = write_transcript(held({"republican": [2, 3]}, more=more), tmp_path / "t.md").read_text()
    said = [line for line in text.splitlines() if line.startswith("*")]
    assert said[-5:] == [
        "**Rae:** First.",
        r"*Rae's memory: \*\*We\*\* met. \# Heading*",
        "**Rae:** Second.",
        "*Rae's memory: – (no summary: timeout)*",
        "**Rae:** Third.",
    ]


def test_a_changed_experiment_does_not_go_by_the_presets_title(ran: Callable, tmp_path: Path) -> None:
    """The transcript is headed as the summary is."""
    assert "with other settings: rounds=2). Model: oracle" in written(ran("three_way"), tmp_path)


SMALL = {"repetitions": 1, "topic": "racism", "rounds": 1, "llm": "oracle"}


def told(text: str, folder: Path) -> list[str]:
    """The transcript of a room whose every reply is this text."""
    run_scenario(
        RunSpec(load_preset("two_way").with_settings(SMALL), folder),
        backend=Fake(lambda request: "5" if request.answers else text),
    )
    return written(folder, folder).split("\n")


@pytest.mark.thorough
@check_each("text", [NASTY, "# Heading", "> quote", "- item", "---", "<!-- x", "Hi\n## Fake\n- x\r> y"])
def test_a_models_text_stays_on_its_line_and_is_no_markup(text: str, tmp_path: Path) -> None:
    """Markdown, HTML, scripts, links, headings, control characters and escapes leave the page as a plain reply does."""
    markup = re.compile(r"(?<!\\)[*`\[\]#|~!]|[<>]|https?://")
    for line, plain in zip(told(text, tmp_path / "nasty"), told("PLAIN", tmp_path / "plain"), strict=True):
        before, spoken, _ = plain.partition("PLAIN")
        assert line.startswith(before)
        assert line.isprintable()
        assert line == plain if not spoken else before and not markup.search(line.removeprefix(before))


def test_names_and_headings_from_a_record_are_harmless_too(held: Callable, tmp_path: Path) -> None:
    """A record may come from anywhere: its names, seats and titles are foreign text as well."""
    tables = held({"republican": [2, 3], "democrat": [8, 7]})
    evil = "<b>x</b>\n# y"
    for column in ("name", "seat"):
        tables.agents[column] = evil
    tables.attitudes["name"] = evil
    header = replace(tables.header, scenario=tables.header.scenario | {"name": evil, "title": evil, "llm": evil})
    shown = write_transcript(replace(tables, header=header), tmp_path / "t.md").read_text()
    assert "<b>" not in shown
    assert "\n# y" not in shown


def test_notes_to_oneself_stand_before_the_turn(ran: Callable, tmp_path: Path) -> None:
    """A reader sees what was thought before what was said, and can tell the two apart."""
    text = written(ran("two_way", think="latent"), tmp_path)
    notes = re.findall(
        r"^\*(\w+)'s note to itself \(latent\): Stance: .+ Feeling: .+\*\n\n\*\*(\w+):\*\*", text, re.MULTILINE
    )
    assert len(notes) == len(load(ran("two_way", think="latent")).private) == 12
    assert all(thinker == speaker for thinker, speaker in notes)
