"""Wordings and white space of prompts: the same questions in other words, and what a record says of them."""

from __future__ import annotations

import pytest

from parley.agents.language import GIVEN, LANGUAGES, load_language
from parley.llm.request import Message
from parley.llm.spacing import PAIRS, respace_messages, restore_messages
from parley.model.debate import DebateModel
from parley.model.events import Rated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import provenance_prompts
from parley.model.scenario import load_preset


def run_two(**settings: str) -> tuple[list[float | None], list[str | None], set[str]]:
    """The ratings, the lines, and the digests of all prompts of a small debate on the oracle."""
    recorder, known = MemoryRecorder(), {"topic": "racism", "repetitions": 2, "rounds": 1, "llm": "oracle"}
    model = DebateModel(load_preset("two_way", {**known, **settings}), recorder=recorder)
    model.run()
    ratings = [event.attitude for event in recorder.events if isinstance(event, Rated)]
    lines = [event.text for event in recorder.events if isinstance(event, Utterance)]
    return ratings, lines, {event.key for event in recorder.events if hasattr(event, "key")}


def test_every_wording_asks_for_the_same() -> None:
    """A rewording with another slot would lose a part of the question; one that is the same text would vary nothing."""
    for code in ("de", "en"):
        language = load_language(code)
        assert language.wordings == [GIVEN, "papers", "second"], code
        names = [path.stem for path in (LANGUAGES / code / "wordings" / "second").glob("*.txt")]
        names += [
            f"representative/{path.stem}"
            for path in (LANGUAGES / code / "wordings/second/representative").glob("*.txt")
        ]
        assert len(names) == 16 + 11, code
        for name in names:
            given, other = language.prompt(name), language.worded("second").prompt(name)
            assert given.slots == other.slots, (code, name)
            assert given.digest != other.digest, (code, name)


def test_the_record_names_the_prompts_of_its_wording() -> None:
    """The header has the digests of the prompts that were sent, so that a reader sees which wording was used."""
    given, second = (provenance_prompts(load_preset("two_way", {"wording": name})) for name in (GIVEN, "second"))
    assert {name for name in given if given[name] != second[name]} >= {"opening", "turn", "survey_labelled"}
    assert given["summary"] == second["summary"]


def test_white_space_comes_back() -> None:
    """The oracle reads the words as they were, whatever is between them; a model reads the white space."""
    messages = (Message("system", "You are Ann."), Message("user", "Hello. Go on.\n\nAnn: Yes. No."))
    for spacing in ("newline", *PAIRS):
        spaced = respace_messages(messages, spacing)
        assert all(new.content != old.content for new, old in zip(spaced[1:], messages[1:], strict=True))
        assert [one.content.split() for one in spaced] == [one.content.split() for one in messages]
        assert restore_messages(spaced, spacing) == messages


def test_the_oracle_ignores_wording_and_white_space() -> None:
    """Its law does not read them: ratings are the same, and other prompts were sent."""
    ratings, lines, keys = run_two()
    for settings in ({"spacing": "newline"}, {"spacing": "blank_lines"}, {"spacing": "double_spaces"}):
        again = run_two(**settings)
        assert again[:2] == (ratings, lines), settings
        assert not again[2] & keys, settings
    worded = run_two(wording="second")
    assert worded[0] == ratings
    assert not worded[2] & keys


@pytest.mark.parametrize("wording", [GIVEN, "second"])
def test_a_planted_effect_of_wording_is_only_where_it_is_planted(wording: str) -> None:
    """`oracle,wording=1` raises ratings by a point after lines were heard, in the second wording alone."""
    plain, planted = run_two(wording=wording)[0], run_two(wording=wording, llm="oracle,wording=1")[0]
    moved = [new - old for new, old in zip(planted, plain, strict=True) if new is not None and old is not None]
    assert (max(moved) > 0) == (wording != GIVEN)
    assert min(moved) >= 0
