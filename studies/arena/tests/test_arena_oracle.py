"""The planted law of persuasion: by hand, and what each of its numbers changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import pytest

from parley.agents.language import ENGLISH
from parley.agents.persona import Persona, load_personas
from parley.agents.persuasion import Reader, read_choice
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.dynamics import normal
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.speech_laws import QUIRK, USUAL_WORDS
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.llm.seeding import digest
from parley.studies.arena.writer import PARAPHRASE, PERSUASIVE, Aim, Writer, compose_rating, read_persuasiveness

ANN = load_personas("democrat")[0]
AIM = "to convince people that systemic racism is widespread in the United States"
AGAINST = "to convince people that racism is a thing of the past"
WRITER = Writer(ENGLISH)


def line(slug: str, grade: int) -> str:
    """A bank sentence of a grade."""
    return banks().topics[slug].by_grade[grade][0][0]


def answers(options: str, *asked: Request) -> list[float | None]:
    return [read_choice(reply).value for reply in open_spec(f"oracle{options}").complete(asked)]


def logit(share: float | None) -> float:
    assert share is not None
    return math.log(share / (1 - share))


def grades(texts: Sequence[str | None]) -> float:
    found = [banks().topics["racism"].grade(text or "") for text in texts]
    return fmean(grade for grade in found if grade is not None)


def written(options: str, *asked: Request) -> list[str | None]:
    return [reply.text for reply in open_spec(f"oracle{options}").complete(asked)]


def test_a_choice_follows_the_law() -> None:
    """Of two lines six grades apart, kappa .05 and taste 5: 1.5 logits, and the noise of the reader; the place adds its own."""
    strong, weak = line("racism", 8), line("racism", 2)
    reader = Reader(ANN, ENGLISH)
    noise = [QUIRK * normal(digest("persuasion", ANN.backstory, text)) for text in (strong, weak)]
    both = [reader.compose_choice(AIM, *order, 1) for order in ((strong, weak), (weak, strong))]
    first, second = map(logit, answers("", *both))
    assert first == pytest.approx(1.5 + noise[0] - noise[1])
    assert second == pytest.approx(-first)
    shifted = map(logit, answers(",place=0.7", *both))
    assert list(shifted) == pytest.approx([first + 0.7, second + 0.7])
    (away,) = map(logit, answers("", reader.compose_choice(AGAINST, strong, weak, 1)))
    assert away == pytest.approx(-1.5 + noise[0] - noise[1])
    (none,) = map(logit, answers(",taste=0", both[0]))
    assert none == pytest.approx(noise[0] - noise[1])
    words = [len(text.split()) for text in (strong, weak)]
    (longer,) = map(logit, answers(",taste=0,longer=1", both[0]))
    assert longer == pytest.approx(none + math.log2(words[0] / words[1]))


def test_a_rating_is_the_strength_on_the_scale() -> None:
    """Without taste, a message of the usual length is rated by the noise of the reader around the middle."""
    text = line("racism", 8)
    request = compose_rating(Reader(ANN, ENGLISH), AIM, text, 1)
    (reply,) = open_spec("oracle,taste=0").complete([request])
    noise = QUIRK * normal(digest("persuasion", ANN.backstory, text))
    assert read_persuasiveness(reply, ENGLISH).value == pytest.approx(5 + noise)
    assert USUAL_WORDS > 0


def test_unknown_messages_and_aims_are_failures() -> None:
    """The rule-based speaker guesses nothing about a text that it does not know."""
    reader = Reader(Persona("x", "democrat", "X", "You are X."), ENGLISH)
    asked = [reader.compose_choice(AIM, "Taxes!", "Fees!", 1), compose_rating(reader, "to sell a car", "Buy it.", 1)]
    assert all(reply.failure for reply in open_spec("oracle").complete(asked))


def test_advice_and_rewriting_change_the_grade_by_what_is_planted() -> None:
    """Means over 200 messages: good advice adds 3 points and bad advice takes 3, less what the ends of the scale cut off."""
    seeds = range(200)
    entries = {entry["points"]: entry["text"] for entry in banks().data("persuasion")["advice"]}

    def mean(options: str, advice: str) -> float:
        return grades(written(options, *(WRITER.compose_message(Aim(AIM), seed, advice) for seed in seeds)))

    plain, good, bad = (mean("", text) for text in ("", entries[3], entries[-3]))
    assert plain == pytest.approx(6, abs=0.4)
    assert good == pytest.approx(fmean((7, 9, 10)), abs=0.4)
    assert bad == pytest.approx(fmean((1, 3, 5)), abs=0.4)
    assert mean(",advice=0", entries[3]) == pytest.approx(plain)
    first, *_ = written("", WRITER.compose_message(Aim(AIM), 1))
    assert first
    begin = grades([first])
    for form, gain in ((PARAPHRASE, 0.0), (PERSUASIVE, 2.0)):
        again = written("", *(WRITER.compose_rewriting(AIM, first, form, seed) for seed in seeds))
        assert grades(again) == pytest.approx(min(begin + gain, 10), abs=0.3), form
        assert first not in again


def test_a_number_out_of_range_is_refused() -> None:
    """A taste of a million would overflow the logistic function."""
    with pytest.raises(UserError, match="gain must be between -100 and 100"):
        open_spec("oracle,gain=1000")
