"""The oracle as a representative and as a judge of representatives: by the planted law, from what is shown, and never a guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from parley.agents.probe import scales
from parley.agents.question import load_questions
from parley.agents.representative import CritiqueBrief, OtherOpinion, Representative
from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.positions import read, shown
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

US = banks()
ASKED, ELSEWHERE = load_questions()[:2]
OPINION = (
    "Frankly, my answer is a firm yes. From what the evidence shows, it works. It would do a good deal for people's safety. "
    "Whatever is decided, I ask for a way to appeal. I say this without heat."
)
DRAFT = "Our answer is a firm no. What counts for us is what the evidence shows."
BRIEF = CritiqueBrief(ASKED, OPINION, DRAFT)


def ask(request: Request) -> Reply:
    (reply,) = open_backend("").complete([request])
    return reply


def critique(brief: CritiqueBrief, knows: str = "", seed: int = 0) -> Reply:
    return ask(Representative(brief, knows).compose_critique(seed))


def test_a_representative_shows_the_habits_and_the_verdict_of_the_opinion() -> None:
    """A no before somebody who says yes is far too much of a no; one value is met, the other and the demand are missed."""
    text = critique(BRIEF).text or ""
    own = shown(US, text)
    assert (own.opener, own.demand, own.closer) == ("Frankly,", "a way to appeal", "I say this without heat.")
    assert set(own.values) == {"evidence", "safety"}
    assert any(line in text for line in US.deliberation["verdicts"]["far_no"])
    missed = [line.format(value="people's safety") for line in US.deliberation["concerns"]["missed"]]
    assert any(line in text for line in missed)
    agreed = critique(replace(BRIEF, draft=DRAFT.replace("firm no", "firm yes"))).text or ""
    assert any(line in agreed for line in US.deliberation["verdicts"]["right"])


def test_what_the_opinion_does_not_show_is_taken_from_critiques_elsewhere() -> None:
    """Habits stay over questions: an opinion cut short is filled up, and without C there is nothing to fill it from."""
    bare = replace(
        BRIEF,
        opinion="My answer is a firm yes.",
        others=(OtherOpinion(ELSEWHERE, critique="Look, so. Where is a way to appeal?"),),
    )
    assert (shown(US, critique(bare, "C").text or "").opener, shown(US, critique(bare, "C").text or "").demand) == (
        "Look,",
        "a way to appeal",
    )
    assert shown(US, critique(bare).text or "").demand == ""


@pytest.mark.parametrize(
    "brief", [replace(BRIEF, opinion="Childcare is dear to me."), replace(BRIEF, draft="We like children.")]
)
def test_what_it_cannot_read_it_does_not_represent(brief: CritiqueBrief) -> None:
    failure = critique(brief).failure
    assert failure is not None
    assert failure.name == "no_known_sentence"


def test_what_a_text_shows_is_what_was_planted() -> None:
    assert shown(US, "Nothing that is known.").opener == ""
    assert shown(US, OPINION).values == ("evidence", "safety")
    assert read(US, OPINION, ASKED.question).stance == 7.0


def judged(purpose: str, answers: Sequence[str], opinion: str, **facts: object) -> Reply:
    """What a judge says of somebody who wrote an opinion on the question."""
    told = cast(Facts, {"issue": ASKED.question, "opinion": opinion, **facts})
    return ask(Request((Message("user", "Judge."),), Sampling(0.0, 8), 0, tuple(answers), purpose, facts=told))


def payoff(opinion: str, statement: str) -> Reply:
    scale = scales()["agreement_1_7"]
    return judged("payoff", scale.answers, opinion, statement=statement, scale=scale)


def expected(reply: Reply) -> float:
    assert reply.answers is not None
    return sum(int(point) * share for point, share in reply.answers.items())


def test_a_payoff_falls_with_distance_and_with_what_is_left_out() -> None:
    """7 less 0.7 a point of distance, 0.6 for each value and for the demand that the statement leaves out."""
    values = "What counts for us is what the evidence shows and people's safety."
    near = f"Our answer is a firm yes. {values} We ask for a way to appeal."
    assert expected(payoff(OPINION, near)) == pytest.approx(7.0, abs=0.3)
    assert expected(payoff(OPINION, near.replace("firm yes", "plain no"))) == pytest.approx(7 - 0.7 * 5, abs=0.3)
    assert expected(payoff(OPINION, "Our answer is a firm yes.")) == pytest.approx(7 - 3 * 0.6, abs=0.3)
    failure = payoff("I like children.", near).failure
    assert failure is not None
    assert failure.name == "no_known_sentence"


def preferred(first: str, second: str, answers: Sequence[str] = ("1", "2")) -> Reply:
    return judged("authorship", answers, OPINION, statement=DRAFT, candidates=[first, second])


def test_the_autorater_prefers_the_persons_habits_in_either_place() -> None:
    mine, other = critique(BRIEF).text or "", "Look, this is close to what I think. Where is a vote on it in the end?"
    assert preferred(mine, other).answers == {"1": 1.0, "2": 0.0}
    assert preferred(other, mine).answers == {"1": 0.0, "2": 1.0}
    assert preferred(other, other).answers == {"1": 0.5, "2": 0.5}
    assert preferred(other, mine, ()).text == "2"
    tied = preferred(other, other, ()).failure
    assert tied is not None
    assert tied.name == "tie"


def agreeable(first: str, second: str, opinion: str = OPINION, answers: Sequence[str] = ("1", "2")) -> Reply:
    return judged("preference", answers, opinion, candidates=[first, second])


def test_of_two_statements_it_prefers_the_one_with_more_agreement() -> None:
    """Five points nearer is 3.5 more agreement; what is alike is a tie, and what cannot be read is no verdict."""
    near, far = "Our answer is a firm yes.", "Our answer is a plain no."
    assert agreeable(near, far).answers == {"1": 1.0, "2": 0.0}
    assert agreeable(far, near).answers == {"1": 0.0, "2": 1.0}
    assert agreeable(far, f"{far} We ask for a way to appeal.").answers == {"1": 0.0, "2": 1.0}
    assert agreeable(near, near).answers == {"1": 0.5, "2": 0.5}
    assert agreeable(far, near, answers=()).text == "2"
    for wrong in (agreeable(near, "We like children."), agreeable(near, far, "Childcare is dear to me.")):
        assert wrong.failure is not None
        assert wrong.failure.name == "no_known_sentence"
