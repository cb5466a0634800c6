"""Questions, answers and data sets of the self-fine-tuning. No torch needed: the oracle and scripts answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from data_checks import check_each
from hypothesis import given as drawn
from hypothesis import strategies as st

from parley.agents.persona import load_personas
from parley.agents.society import DEFAULT, load_society
from parley.agents.topic import load_topic, topic_names
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Message, Request
from parley.training.tuning import dataset
from parley.training.tuning.dataset import (
    TURNS,
    check_examples,
    digest_of,
    dpo_examples,
    given_questions,
    held_out_questions,
    parse_questions,
    question_problem,
    sft_examples,
    shuffle_parties,
    split_examples,
    survey_questions,
    turn_pairs,
    write_questions,
)
from parley.training.tuning.interviews import (
    AnswerForm,
    PersonaAnswer,
    draw_personas,
    interview,
    read_answers,
    word_runs,
    write_answers,
)

US = load_society()
SEED_ITEMS = Path(__file__).parents[3] / "shared" / "data" / "reference" / "seed_items.json"


def test_the_ten_questions_are_the_papers() -> None:
    if not SEED_ITEMS.exists():
        pytest.skip("the papers' items are not here")
    told = json.loads(SEED_ITEMS.read_text())["finetune_seed_questions_001_table2"]
    assert sorted(given_questions(US)) == sorted(told)


@check_each(
    ("text", "found"),
    [
        ("1. What is fair?\n2) How so, and why?", ["What is fair?", "How so, and why?"]),
        ("Sure, here you are:\n- What is fair?\n\n* Who pays?", ["What is fair?", "Who pays?"]),
        ("“What is fair?”", ["What is fair?"]),
        ("(3) What is fair?", ["What is fair?"]),
        ("What is fair? I wonder.", []),
        ("1. Taxes\n2. Guns", []),
        ("", []),
    ],
)
def test_questions_are_read_line_by_line(text: str, found: list[str]) -> None:
    """A line that is no question is none: a heading must not be trained on."""
    assert parse_questions(text) == found


@drawn(st.text())
def test_no_reply_breaks_the_reader(text: str) -> None:
    assert all(one.endswith("?") and "\n" not in one for one in parse_questions(text))


@check_each(
    ("question", "reason"),
    [
        ("What do you think about the size of government?", ""),
        ("Should Republicans and Democrats work together more often?", ""),
        ("Don't you think that taxes are too high?", "takes a side"),
        ("Why should taxes be lowered for everybody?", "takes a side"),
        ("What do you think of the radical agenda in schools?", "takes a side"),
        ("How do you feel about the Republicans in Congress?", "takes a side"),
        ("What values are, do you believe, essential to the American identity?", "a repetition"),
        ("Why, exactly?", "too short or too long"),
        (load_topic("racism").probe("attitude").question, "a survey's own question"),
    ],
)
def test_questions_with_a_stance_of_their_own_are_dropped(question: str, reason: str) -> None:
    assert question_problem(question, given_questions(US), US) == reason


def test_the_known_truth_speaker_writes_a_hundred() -> None:
    """All different, the ten given ones first, and the same for the same seed."""
    written = write_questions(100, 3, open_spec("oracle"), US)
    assert len(set(written.questions)) == 100
    assert written.questions[:10] == given_questions(US)
    assert written == write_questions(100, 3, open_spec("oracle"), US)
    assert written.questions != write_questions(100, 4, open_spec("oracle"), US).questions
    assert not set(written.questions) & set(survey_questions(US))


def test_a_writer_that_repeats_itself_is_asked_again_and_then_given_up() -> None:
    asked: list[Request] = []

    def same(request: Request) -> str:
        asked.append(request)
        return "1. What do you think about the future of farming?"

    assert len(write_questions(11, 0, Fake(same), US).questions) == 11
    asked.clear()
    with pytest.raises(UserError, match=r"only 11 of 12 questions are usable after 60 replies \(a repetition: 59\)"):
        write_questions(12, 0, Fake(same), US)
    assert len(asked) == TURNS * 10
    assert all("Example question: " in request.messages[0].content for request in asked)


def test_fewer_questions_than_ten_ask_nobody() -> None:
    assert write_questions(4, 0, Fake(lambda request: pytest.fail("asked")), US).questions == given_questions(US)[:4]


def test_a_quote_is_eight_words_in_a_row() -> None:
    told = word_runs("One, two three four five six seven eight nine")
    assert word_runs("well, one two three four five six seven eight") & told
    assert not word_runs("one two three four five six seven") & told


def _answers(texts: dict[str, list[str | None]]) -> list[PersonaAnswer]:
    return [
        PersonaAnswer(question, number, text) for question, found in texts.items() for number, text in enumerate(found)
    ]


def test_training_data_hold_questions_and_answers_and_nothing_else() -> None:
    own = _answers({"Why?": ["Because.", None], "How?": ["So.", "Thus."]})
    found = sft_examples(own, 0)
    assert sorted((one["prompt"][0]["content"], one["completion"][0]["content"]) for one in found) == [
        ("How?", "So."), ("How?", "Thus."), ("Why?", "Because."),
    ]  # fmt: skip
    assert len({digest_of(sft_examples(own, seed)) for seed in (0, 0, 1, 2, 3, 4)}) > 1, "the order is drawn"
    assert digest_of(found) == digest_of(sft_examples(own, 0))


def test_pairs_are_of_one_question_and_place() -> None:
    """What lacks its twin, or is the same on both sides, teaches no preference."""
    own = _answers({"Why?": ["Because.", "Alike."], "How?": ["So.", None]})
    other = _answers({"Why?": ["Never.", "Alike."], "How?": [None, "Thus."]})
    (found,) = dpo_examples(own, other, 0)
    assert [found[name][0]["content"] for name in ("prompt", "chosen", "rejected")] == ["Why?", "Because.", "Never."]


def test_the_null_has_as_many_answers_to_each_question_and_no_party() -> None:
    """Two usable answers of three to one question, one of two to the other. Drawn of both parties, each text at most once."""
    own = _answers({"Why?": ["own a", None, "own b"], "How?": ["own c"]})
    other = _answers({"Why?": ["other a", "other b", None], "How?": ["other c"]})
    drawn = [shuffle_parties(own, other, 0, number) for number in range(1, 201)]
    for null in drawn:
        assert [answer.question for answer in null] == ["Why?", "Why?", "How?"]
        assert len({answer.text for answer in null}) == 3
    assert drawn[0] == shuffle_parties(own, other, 0, 1)
    share = sum((answer.text or "").startswith("own") for null in drawn for answer in null) / 600
    assert share == pytest.approx(0.5, abs=0.08), "half of the texts are the party's own"


def test_the_null_of_dpo_turns_half_of_the_pairs_round() -> None:
    pairs = dpo_examples(_answers({"Why?": list("abcdef")}), _answers({"Why?": list("uvwxyz")}), 0)
    turned = turn_pairs(pairs, 0, 1)
    assert sum(pair["chosen"][0]["content"] in "uvwxyz" for pair in turned) == 3
    assert [{pair["chosen"][0]["content"], pair["rejected"][0]["content"]} for pair in turned] == [
        {pair["chosen"][0]["content"], pair["rejected"][0]["content"]} for pair in pairs
    ]
    assert turned != turn_pairs(pairs, 0, 2)


@drawn(st.lists(st.sampled_from("abcdefgh"), min_size=1), st.floats(0, 0.9))
def test_no_question_is_on_both_sides_of_a_split(asked: list[str], share: float) -> None:
    found = sft_examples([PersonaAnswer(f"{one}?", number, str(number)) for number, one in enumerate(asked)], 0)
    kept, held = split_examples(found, held_out_questions([f"{one}?" for one in asked], share))
    sides = [{one["prompt"][0]["content"] for one in side} for side in (kept, held)]
    assert not sides[0] & sides[1]
    assert len(kept) + len(held) == len(found)
    assert bool(held) == (share > 0), "a share is a question at least"


def test_what_is_held_out_does_not_hang_on_what_was_answered() -> None:
    """SFT has an example for each answer, DPO only for pairs: no question that SFT learned is held out from DPO."""
    questions = [f"Question {number}?" for number in range(20)]
    held = held_out_questions(questions, 0.1)
    own = _answers({question: ["So."] for question in questions})
    other = _answers({question: ["No."] for question in questions if question not in sorted(held)[:1]})
    learned, _ = split_examples(sft_examples(own, 0), held)
    _, kept_back = split_examples(dpo_examples(own, other, 0), held)
    assert len(kept_back) == 1
    assert not {one["prompt"][0]["content"] for one in learned} & {one["prompt"][0]["content"] for one in kept_back}


def test_no_persona_and_no_survey_question_gets_into_training() -> None:
    (person,) = draw_personas("republican", 1, 0)
    statement = load_topic("gun_violence").probe("attitude").question
    for bad in (person.backstory, f"You know: {statement}"):
        with pytest.raises(RuntimeError, match="training data"):
            check_examples(sft_examples([PersonaAnswer("Why?", 0, bad)], 0), [person], US)
    system = {"prompt": [{"role": "system", "content": "You are Ann."}], "completion": []}
    with pytest.raises(RuntimeError, match="system"):
        check_examples([system], [person], US)


@pytest.mark.parametrize("party", ["republican", "democrat"])
def test_the_whole_way_with_the_known_truth_speaker(party: str) -> None:
    """A hundred questions and their answers by real personas pass the check; every debated topic is among them."""
    oracle = open_spec("oracle")
    who = draw_personas(party, 1, 0)
    found = interview(who, write_questions(100, 0, oracle, US).questions, 2, AnswerForm(), 0, oracle, US)
    usable = [one for one in found if one.text]
    assert len(usable) > 150
    check_examples(sft_examples(found, 0), load_personas(party), US)
    assert not any(load_personas(DEFAULT)[0].backstory in (one.text or "") for one in found)
    assert {
        slug
        for slug in topic_names()
        for one in usable
        if load_topic(slug).title in f"{one.question} {one.text}".lower()
    }


def test_answers_survive_their_file(tmp_path: Path) -> None:
    found = [*_answers({"Why?": ["Zoë\u2028 “so” 🙂", None]}), PersonaAnswer("How?", 0, None, "refusal")]
    write_answers(found, tmp_path / "a.jsonl")
    assert read_answers(tmp_path / "a.jsonl") == found
    with pytest.raises(UserError, match="cannot read the answers"):
        read_answers(tmp_path / "b.jsonl")


def test_the_card_counts_and_shows_text_as_text() -> None:
    own = _answers({"Why?": ["<script>alert(1)</script>", "Alike.", None]})
    other = _answers({"Why?": ["[no](http://x)", "Alike.", "More."]})
    told = dataset.data_card({"republican": own, "democrat": other}, {"a repetition": 3}, "By hand.")
    assert "| republican | 3 | 2 |" in told
    assert "a repetition 3" in told
    assert "33.3%" not in told
    assert "25.0% of the distinct ones" in told
    assert "<script>" not in told
    assert "[no](http" not in told
    assert Message("user", "Why?").content in told
