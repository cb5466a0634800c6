"""Interviews: how answers are asked for, where they end, and why some cannot be used. No torch needed: scripts answer."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from parley.agents.society import load_society
from parley.llm.backends import open_spec
from parley.llm.backends.chatter import Chatter
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import DECLINED, Reply, Request, Sampling, Usage
from parley.training.tuning import pipeline as tuning
from parley.training.tuning.dataset import data_card
from parley.training.tuning.interviews import (
    AnswerForm,
    count_reasons,
    draw_personas,
    interview,
    too_few_answers,
    usable_phrase,
)
from parley.training.tuning.pipeline import Pipeline, TuningPlan

US = load_society()
(ANN,) = draw_personas("democrat", 1, 0)


def cut(text: str, tokens: int = 50) -> Reply:
    """A reply that has used up its tokens."""
    return Reply(text, usage=Usage(10, tokens))


def test_answers_are_given_in_the_role_and_kept_without_it() -> None:
    """A length is asked for, and the answer is drawn as the command says; what is learned is the bare question."""
    who = draw_personas("republican", 2, 0)
    asked: list[Request] = []

    def reply(request: Request) -> str:
        asked.append(request)
        return f"I hold what I hold, number {len(asked)}."

    form = AnswerForm(40, Sampling(0.7, 80, 0.9, (), 0.05))
    found = interview(who, ["Why?", "How?"], 3, form, 0, Fake(reply), US)
    assert [(one.question, one.number) for one in found] == [(q, n) for q in ("Why?", "How?") for n in range(3)]
    assert [request.messages[0].content for request in asked] == [who[n % 2].backstory for n in range(6)]
    assert asked[0].messages[1].content == "Why? Answer in your own voice, in at most 40 words."
    assert {request.sampling for request in asked} == {form.sampling}
    assert len({request.seed for request in asked}) == 6
    interview(who, ["Why?"], 1, AnswerForm(), 0, Fake(reply), US)
    assert asked[-1].messages[1].content == "Why?", "pocket knows no length"


SAID: dict[str, tuple[str | Reply, str]] = {
    "Is it fair?": ("I am for it.", ""),
    "Is it good?": (cut("Taxes are too high. I think that we"), ""),
    "Is it bad?": (cut("1. I think that we"), "cut off without a sentence"),
    "Is it old?": (f"My name is {ANN.name}.", "names the person"),
    "Is it new?": (" ".join(ANN.backstory.split()[12:24]), "quotes a persona"),
    "Is it hot?": ("As an AI language model, I cannot have opinions.", "refusal"),
    "Is it dry?": (" ", "empty"),
    "Is it wet?": (Reply.failed("timeout"), "timeout"),
    "Is it big?": (Reply("I do not know enough about that.", notes={DECLINED: 1}), DECLINED),
    "Is it far?": ("I am for it.", "repeats an earlier answer"),
    "Why do people disagree about the size of government?": (
        "Why do people disagree about the size of government?", "repeats the question",
    ),
    "Is it near?": ("We need to act now. " * 9, "repeats itself"),
    "Is it cold?": (
        "Das Klima ist für mich kein Thema, und ich sehe nicht ein, warum wir das alles zahlen.", "another language",
    ),
    "Is it high?": ("As a Republican, I want lower taxes.", "speaks for another party"),
    "Is it low?": (f"{ANN.name}: As a Democrat, I want fair taxes.", ""),
}  # fmt: skip


def test_what_cannot_be_learned_is_dropped_and_counted_by_reason() -> None:
    """Each reason once, by hand; `cut off` was the only reason of 47 of 48 answers of a real model, and was not printed."""
    found = interview(
        [ANN], list(SAID), 1, AnswerForm(0, Sampling(1.0, 50)), 0, Fake({q: a for q, (a, _) in SAID.items()}), US
    )
    assert {one.question: one.reason for one in found} == {question: reason for question, (_, reason) in SAID.items()}
    texts = [one.text for one in found if one.text]
    assert texts == ["I am for it.", "Taxes are too high.", "As a Democrat, I want fair taxes."]
    assert count_reasons(found) == {reason: 1 for _, reason in SAID.values() if reason}
    assert usable_phrase(found).startswith(
        "3 of 15 answers can be used (cut off without a sentence 1, names the person 1"
    )
    assert "repeats itself 1" in data_card({"Democrat": found}, {}, "")


def test_an_interview_ends_early_where_almost_nothing_can_be_used() -> None:
    """Twenty answers over all questions decide. One word more than a token each: no answer ends a sentence."""
    asked: list[Request] = []

    def reply(request: Request) -> Reply:
        asked.append(request)
        return cut("I think that", 4)

    questions = [f"Question {number}?" for number in range(40)]
    form = AnswerForm(40, Sampling(1.0, 4))
    found = interview([ANN], questions, 2, form, 0, Fake(reply), US, keep_going=False)
    assert len(found) == len(asked) == 20
    assert len({one.question for one in found}) == 20
    told = str(too_few_answers("Democrat", found))
    assert told.startswith("Democrat: 0 of 20 answers can be used (cut off without a sentence 20), too few to train on")
    assert "--set max_tokens" in told
    assert len(interview([ANN], questions, 2, form, 0, Fake(reply), US)) == 80, "--keep-going"


def test_a_speaker_of_messages_alone_gives_answers_of_whole_sentences() -> None:
    """chatter writes as chat models do, and is cut off: what is left ends with a sentence."""
    form = AnswerForm(40, Sampling(1.0, 20))
    found = interview([ANN], [f"What about the law {number}?" for number in range(30)], 1, form, 0, Chatter(), US)
    texts = [one.text for one in found if one.text]
    assert texts
    assert all(text.rstrip('*"”_').endswith((".", "!", "?")) for text in texts)


def test_the_folder_records_why_a_training_ended_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The true reason is the error of the command and a page of the folder, and is not repeated as data."""
    monkeypatch.setattr(tuning, "require_packages", lambda what: None)
    monkeypatch.setattr(tuning, "open_spec", _said)
    pipeline = Pipeline(
        TuningPlan(questions=10, answers=4, max_tokens=4), tmp_path / "run", lambda *_: nullcontext(lambda n: n)
    )
    with pytest.raises(UserError, match=r"Republican: 0 of 20 answers can be used \(cut off without a sentence 20\)"):
        pipeline.answers("republican")
    assert "cut off without a sentence 20" in (tmp_path / "run" / "data" / "stopped.md").read_text()
    assert not (tmp_path / "run" / "data" / "card.md").exists()


def _said(spec: str) -> Fake:
    return open_spec(spec) if spec == "oracle" else Fake(lambda request: cut("I think that", 4))  # type: ignore[return-value]


def test_sampling_is_set_as_for_debates() -> None:
    plan = TuningPlan("hf:org/model", words=40, max_tokens=80, temperature=0.7, top_p=0.9, min_p=0.05)
    assert plan.form == AnswerForm(40, Sampling(0.7, 80, 0.9, (), 0.05))
    assert TuningPlan().form.words == 0
    with pytest.raises(UserError, match=r"top_p is .*, but must be above 0"):
        TuningPlan(top_p=0.0)
