"""The planted law of guidance: what a statement of an official account does to feelings and attitudes, by hand."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import Any

import pytest
from data_checks import check_each

from parley.llm.backends import open_spec
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.emotions import said_tone
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.studies.guidance.law import QUIRK, GuidanceLaw
from parley.studies.guidance.oracle import tone_now
from parley.studies.guidance.report import RUBRIC

SAID = {"We understand you.": "empathic", "This is known.": "factual", "This account is open.": "empty"}


def request(turn: Callable[..., Request], *lines: str, slug: str = "racism", **more: Any) -> Request:
    return turn([("Official Account", line) for line in lines], slug, outside=SAID, **more)


def speaker(options: str) -> Oracle:
    opened = open_spec(f"oracle,kappa=0,mu=0,sigma=0{options}")
    assert isinstance(opened, Oracle)
    return opened


def attitudes(options: str, *asked: Request) -> list[float]:
    own = speaker(options)
    return [own.attitude(read(one, own.banks))[0] for one in asked]


def test_statements_move_the_attitude_by_their_style(turn: Callable[..., Request]) -> None:
    """Each statement heard counts; an empty one, and the same words without a style, move nothing."""
    empathic, factual, empty = SAID
    asked = [request(turn, *lines) for lines in ((), (empathic,), (empathic, empathic), (factual,), (empty,))]
    start, *after = attitudes(",empathic_attitude=0.5,factual_attitude=-1.5", *asked)
    assert after == pytest.approx([start + 0.5, start + 1, start - 1.5, start])
    assert attitudes("", *asked) == pytest.approx([start] * 5)


def test_a_statement_is_no_line_of_the_debate(turn: Callable[..., Request], line: Callable[..., str]) -> None:
    """Its sentences may have a grade: a line of the debate would draw the hearer, and any line lets the bias pull."""
    graded = line("racism", 0)
    own = open_spec("oracle,sigma=0")
    assert isinstance(own, Oracle)
    before, heard = turn((), "racism"), turn([("Ann", graded)], "racism")
    guided = turn([("Ann", graded)], "racism", outside={graded: "factual"})
    start, moved, same = (own.attitude(read(one, own.banks))[0] for one in (before, heard, guided))
    assert moved != pytest.approx(start)
    assert same == pytest.approx(start)


def test_the_tone_of_posts_is_what_was_planted(turn: Callable[..., Request], asked: Callable[..., Reply]) -> None:
    """Over 300 replies the sentences on feeling have the planted tone, and the judge reads what was said."""
    (empathic, *_), own = SAID, speaker(",tone=5,empathic_tone=-1.5")
    for lines, shift in (((), 0.0), ((empathic,), -1.5), ((empathic, empathic), -3.0)):
        requests = [request(turn, *lines, seed=seed) for seed in range(300)]
        expected = tone_now(read(requests[0], own.banks), own.laws.of("guidance"))
        assert expected == pytest.approx(tone_now(read(request(turn), own.banks), GuidanceLaw(5.0)) + shift)
        texts = [reply.text or "" for reply in own.complete(requests)]
        tones = [tone for text in texts if (tone := said_tone(own.banks, text)) is not None]
        assert len(tones) == len(texts)
        assert fmean(tones) == pytest.approx(expected, abs=4 * 1.0 / 300**0.5)
    judged = asked("", purpose="sentiment", facts={"statement": texts[0], "scale": RUBRIC.scale})
    assert float(judged.text or "") == pytest.approx(tones[0])


def test_replies_stay_within_their_words(turn: Callable[..., Request]) -> None:
    """The sentence on feeling is part of the length asked for."""
    replies = speaker(",tone=3").complete([turn((), "racism", words=25, seed=seed) for seed in range(60)])
    assert all(len((reply.text or "").split()) <= 25 for reply in replies)
    assert all(said_tone(banks(), reply.text or "") is not None for reply in replies)


def test_nothing_changes_unless_it_is_planted(turn: Callable[..., Request]) -> None:
    """Old runs keep their words and their identity: no sentence on feeling, and no entry in the header."""
    plain = open_spec("oracle")
    assert "guidance" not in plain.identity
    assert open_spec("oracle,tone=4").identity["guidance"]["tone"] == 4
    replies = plain.complete([turn((), "racism", seed=seed) for seed in range(40)])
    assert all(said_tone(banks(), reply.text or "") is None for reply in replies)


def test_the_judge_of_sentiment(asked: Callable[..., Reply], line: Callable[..., str]) -> None:
    """A known sentence without a feeling is neutral, two feelings are their mean, unknown words are no zero."""
    scale = RUBRIC.scale

    def judged(text: str) -> Reply:
        return asked("", purpose="sentiment", facts={"statement": text, "scale": scale}, answers=scale.answers)

    assert judged(line("racism", 0)).text == "5"
    both = judged("I am angry and afraid. I feel relieved.")
    assert both.answers is not None
    assert sum(int(point) * share for point, share in both.answers.items()) == pytest.approx((2 + 8) / 2)
    lost = judged("Words that no bank holds.")
    assert lost.text is None
    assert lost.failure is not None
    assert lost.failure.name == "no_known_sentence"


def test_people_differ_in_tone(turn: Callable[..., Request]) -> None:
    """Baselines have the standard deviation QUIRK."""
    own = speaker(",tone=5")
    tones = [
        tone_now(read(turn(persona=f"You are person {number}."), own.banks), own.laws.of("guidance"))
        for number in range(300)
    ]
    spread = (fmean([(tone - 5) ** 2 for tone in tones])) ** 0.5
    assert spread == pytest.approx(QUIRK, abs=0.15)


@check_each("options", ["tone=11", "tone=-1"])
def test_impossible_numbers_are_refused(options: str) -> None:
    with pytest.raises(UserError, match=r"tone is .*, but must be between 0 and 10"):
        open_spec(f"oracle,{options}")
