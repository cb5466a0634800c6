"""Oracle and pocket read the instructions to speak in the wording `papers`, whichever of the two was sent."""

from __future__ import annotations

from data_checks import check_each

from parley.agents.society import load_society
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.prompt_parser import asked_as_in_papers
from parley.llm.backends.pocket.prompt_ids import mask_names
from parley.llm.request import Message
from parley.model.debate import DebateModel
from parley.model.events import Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import load_preset

SLOTS = {"name": "J.R. Smith", "topic": "gun violence", "frame": "conversation"}


@check_each("society", ["us", "germany"])
@check_each("name", ["start", "turn"])
def test_the_instructions_become_those_of_the_papers(society: str, name: str) -> None:
    """Word for word, in both languages: a changed prompt without its pattern would make pocket write nonsense and change every
    planted number.
    """
    language = load_society(society).language
    prompts = [language.prompt(name), language.worded("papers").prompt(name)]
    given, papers = [
        f"Bob: Guns!\n\n{prompt.fill(**{slot: SLOTS[slot] for slot in prompt.slots})} Mind your part."
        for prompt in prompts
    ]
    assert given != papers
    assert asked_as_in_papers([Message("user", given)], banks(society)) == (Message("user", papers),)
    own = [Message("assistant", given)]
    assert asked_as_in_papers(own, banks(society)) == tuple(own)
    if society == "us":
        assert mask_names([Message("user", given)], {}) == [Message("user", papers)]


def test_a_debate_of_rule_based_speakers_is_the_same_in_both_wordings() -> None:
    """Line by line: the wording is for real models, and no planted truth depends on it."""

    def lines(wording: str) -> list[str | None]:
        settings = {
            "topic": "racism",
            "repetitions": 1,
            "rounds": 2,
            "survey": "never",
            "llm": "oracle",
            "wording": wording,
        }
        recorder = MemoryRecorder()
        DebateModel(load_preset("three_way").with_settings(settings), recorder=recorder).run()
        return [event.text for event in recorder.events if isinstance(event, Utterance)]

    assert lines("given") == lines("papers")
