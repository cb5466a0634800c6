"""The reader's closed form, the judge's exam, known lines, and readers in a network: by hand, planted, null, faults."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from parley.agents.topic import load_topic
from parley.analysis.tables import Tables, tables
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.events import Called
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset
from parley.studies.belief_reader.events import Examined
from parley.studies.belief_reader.exam import BAR, Likelihood, exact, exam_sentence, examine, likelihood, passes
from parley.studies.belief_reader.known_lines import PER_CORE, known_lines, read_known
from parley.studies.belief_reader.reader import Reader, Weights, belief_of, log_odds, read_all, read_weights, steps_of
from parley.studies.belief_reader.seats import ReaderSeat
from parley.studies.belief_reader.tags import APPEALS, DIRECTIONS, PARTS, Tag, answers_of, claim_of, reasons_of

RACISM = load_topic("racism")
WEIGHTS = Weights(0.4, {"cost": 0.6}, {"story": -0.1})
FOR, AGAINST = DIRECTIONS[:2]


def test_a_belief_moves_as_computed_by_hand() -> None:
    """From 50%: cost as a story is .5, cost again half of .6, safety against is -.4; nothing argued or read is 0."""
    lines = [Tag(FOR, "cost", "story"), Tag(FOR, "cost", "none"), Tag(AGAINST, "safety", "evidence"),
             Tag("neither", "none", "none"), Tag("", "cost", "none")]  # fmt: skip
    beliefs = read_all(0.5, lines, exact(RACISM), WEIGHTS)
    odds = np.array([0.0, 0.5, 0.8, 0.4, 0.4, 0.4])
    assert beliefs == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-12)


def test_repeats_are_counted_for_each_reason_and_side() -> None:
    """The same reason for the other side is new; three repeats add .5, .25, .125 of the first."""
    reader = Reader.begin(0.5, exact(RACISM), Weights(1.0))
    said = [Tag(FOR, "cost", "none"), Tag(AGAINST, "cost", "none"), *[Tag(FOR, "cost", "none")] * 3]
    assert [reader.read(tag) for tag in said] == pytest.approx([1, -1, 0.5, 0.25, 0.125])
    assert Reader.begin(1.0, exact(RACISM), Weights()).odds == pytest.approx(math.log(0.975 / 0.025))


def erring(right: float) -> Likelihood:
    """Return what answers are worth of a judge that mixes up the two sides, and is right in the rest."""
    matrix = np.array([[right, 1 - right, 0, 1], [1 - right, right, 0, 1], [0, 0, 1, 1]])
    return exact(RACISM)._replace(direction=matrix)


def test_a_judge_that_errs_moves_less_and_one_that_guesses_moves_nobody() -> None:
    """The step is log((q e^(x/2) + (1-q) e^(-x/2)) / (q e^(-x/2) + (1-q) e^(x/2))); 0 for q = .5."""
    tag, up, down = Tag(FOR, "cost", "none"), math.exp(0.3), math.exp(-0.3)
    for right in (1.0, 0.8, 0.5):
        step = Reader.begin(0.5, erring(right), WEIGHTS).read(tag)
        by_hand = math.log((right * up + (1 - right) * down) / (right * down + (1 - right) * up))
        assert step == pytest.approx(by_hand, abs=1e-12)
    assert Reader.begin(0.5, erring(0.5), WEIGHTS).read(tag) == pytest.approx(0, abs=1e-12)


def test_a_missing_part_is_summed_over() -> None:
    """Without a reason, the step lies between those of the reasons; without a direction it is 0."""
    steps, worth = steps_of(exact(RACISM), WEIGHTS), exact(RACISM)
    some = steps[worth.places(Tag(FOR, "", "none"))]
    assert 0.4 < some < 0.6
    assert steps[worth.places(Tag("", "cost", "story"))] == pytest.approx(0, abs=1e-12)


def tagged(slug: str, answer: Any) -> pd.DataFrame:
    """Return known lines with what a judge says; answer: maps a part and the true answer of a line to what is said."""
    known = known_lines(slug)
    frame = known.rename(columns={part: f"true_{part}" for part in PARTS})
    for part in PARTS:
        frame[part] = [answer(part, true, place) for place, true in enumerate(known[part])]
    return frame


def test_known_lines_have_each_reason_on_each_side_in_three_appeals() -> None:
    for slug in ("racism", "climate_change", "abortion", "inflation"):
        lines, topic = known_lines(slug), load_topic(slug)
        assert lines["text"].is_unique
        arguing = lines[lines["direction"] != "neither"]
        assert set(arguing.groupby(["reason", "direction"]).size()) == {PER_CORE}
        assert len(arguing) == 2 * PER_CORE * len(reasons_of(topic))
        by_side = pd.crosstab(arguing["appeal"], arguing["direction"])
        assert (by_side[FOR] - by_side[AGAINST]).abs().max() <= 1, "an appeal must not tell the side"
        assert set(arguing["appeal"]) == set(APPEALS)
    with pytest.raises(UserError, match="no known messages for blackout"):
        known_lines("blackout")


def test_claims_stand_for_the_upper_end_of_the_axis() -> None:
    assert claim_of(load_topic("climate_change")) == "climate change is a very big problem"
    assert claim_of(load_topic("abortion")) == "partial-birth abortions should be banned"


def test_an_exam_of_a_right_a_constant_and_a_guessing_judge() -> None:
    """Only the first passes; the answers of the others are worth nothing."""
    right = examine(tagged("racism", lambda part, true, place: true), RACISM)
    assert passes(right)
    assert exam_sentence(right).startswith("The judge tells directions apart in 48 of 48 known messages (100%")
    same = examine(tagged("racism", lambda part, true, place: answers_of(RACISM, part)[0]), RACISM)
    assert not passes(same)
    assert same["direction"].right == pytest.approx(21 / 48) == same["direction"].constant
    rng = np.random.default_rng(1)
    guess = examine(tagged("racism", lambda part, true, place: str(rng.choice(answers_of(RACISM, part)))), RACISM)
    for exams in (same, guess):
        assert not any(exam.informs for exam in exams.values())
        assert steps_of(likelihood(exams), Weights(5.0)) == pytest.approx(0, abs=1e-9)
        assert "the report gives no result" in exam_sentence(exams)
        assert all(exam.row["chance"] == pytest.approx(1 / len(exam.answers)) for exam in exams.values())


@pytest.mark.thorough
def test_guessing_judges_rarely_pass_and_their_answers_are_rarely_worth_something() -> None:
    """Of 200 judges who guess, none passes, and at most 6% seem to tell a part apart."""
    rng, passed, informed = np.random.default_rng(5), 0, []
    for _ in range(200):
        exams = examine(tagged("racism", lambda part, true, place: str(rng.choice(answers_of(RACISM, part)))), RACISM)
        passed += passes(exams)
        informed += [exam.informs for exam in exams.values()]
    assert passed == 0
    assert np.mean(informed) <= 0.06


def test_missing_answers_are_counted_and_not_wrong() -> None:
    """Of 48 lines 12 are unread: 36 of 36 are right; a judge of which nothing is read has no share, and passes nothing."""
    some = examine(tagged("racism", lambda part, true, place: "" if place % 4 == 0 else true), RACISM)["direction"]
    assert (some.lines, some.read, some.right) == (48, 36, 1.0)
    none = examine(tagged("racism", lambda part, true, place: ""), RACISM)
    assert none["direction"].read == 0
    assert math.isnan(none["direction"].right)
    assert not passes(none)
    assert "no answer could be read" in exam_sentence(none)
    assert steps_of(likelihood(none), Weights()) == pytest.approx(0, abs=1e-9)


def test_a_judge_of_two_thirds_is_not_shown_to_be_good() -> None:
    wrong = {FOR: AGAINST, AGAINST: "neither", "neither": FOR}
    exams = examine(
        tagged("racism", lambda part, true, place: wrong[true] if part == "direction" and place % 4 == 0 else true),
        RACISM,
    )
    assert exams["direction"].right == pytest.approx(0.75)
    assert exams["direction"].low < BAR < exams["direction"].high
    assert "not shown to be above the bar" in exam_sentence(exams)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("usual = 'high'", "usual must be a number"),
        ("cost = 1", "cost is no weight"), ("repeat = 2", "repeat is 2, but must be"),
        ("[reasons]\ncost = inf", "must be a number"), ("reasons = 3", "must be a table"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_weights_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "reader.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_weights(path)
    path.write_text("usual = 0.2\n[appeals]\nstory = 1\n", encoding="utf-8")
    assert read_weights(path) == Weights(0.2, {}, {"story": 1.0})


def test_own_known_lines_need_tags_of_the_topic(tmp_path: Path) -> None:
    path = tmp_path / "known.csv"
    path.write_text("text,direction,reason,appeal\nIt costs.,supports,cost,none\n", encoding="utf-8")
    assert read_known(path, "racism").iloc[0]["core"] == "line 2"
    path.write_text("text,direction,reason,appeal\nIt costs.,for,cost,none\n", encoding="utf-8")
    with pytest.raises(UserError, match="direction is for: use one of supports"):
        read_known(path, "racism")


def played(llm: str, **settings: Any) -> tuple[DebateModel, Tables, MemoryRecorder]:
    base = {"llm": llm, "repetitions": 1, "rounds": 3, "topic": ["racism"], **settings}
    scenario, recorder = load_preset("readers", base), MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    model.run()
    return model, tables([make_header(scenario, (), model.backend), *recorder.events]), recorder


@cache
def network() -> tuple[DebateModel, Tables, MemoryRecorder]:
    return played("oracle")


def test_readers_in_a_network_move_by_the_closed_form() -> None:
    """Each rating of a reader is its first belief moved by the recorded tags; readers say nothing and are asked nothing."""
    model, run, recorder = network()
    readers = [agent for agent in model.agents if isinstance(agent, ReaderSeat)]
    assert len(readers) == 8
    assert not set(run.utterances["agent"]) & {agent.unique_id for agent in readers}
    assert not {event.agent for event in recorder.events if isinstance(event, Called)} & {
        agent.unique_id for agent in readers
    }
    known = [event for event in recorder.events if isinstance(event, Examined)]
    frame = known_lines("racism").rename(columns={part: f"true_{part}" for part in PARTS})
    frame = frame.join(pd.DataFrame([event.tags for event in known], columns=list(PARTS)))
    worth = likelihood(examine(frame, RACISM))
    tags = [
        Tag(*row)
        for row in run.tags.sort_values("iteration")[["direction", "argument", "appeal"]]
        .fillna("")
        .itertuples(index=False)
    ]
    ratings = run.attitudes[run.attitudes["how"] == "reader"]
    for reader in readers:
        own = ratings[ratings["agent"] == reader.unique_id].sort_values("round")["attitude"]
        beliefs = read_all(reader.begun, tags, worth, Weights())
        assert own.to_numpy() == pytest.approx(10 * np.array(beliefs[:: len(tags) // 3]), abs=1e-9)
    collected = model.datacollector.get_agent_vars_dataframe()["attitude"].unstack()
    assert collected[readers[0].unique_id].tolist() == pytest.approx(own_course(run, readers[0].unique_id))


def own_course(run: Tables, agent: int) -> list[float]:
    return list(run.attitudes[run.attitudes["agent"] == agent].sort_values("round")["attitude"])


def test_the_same_seed_gives_the_same_record() -> None:
    assert played("oracle")[2].events == network()[2].events


def test_nobody_moves_by_a_judge_that_guesses() -> None:
    """Debaters are as before; readers keep their beliefs to the last digit."""
    _, run, _ = played("oracle,tag_right=0")
    ratings = run.attitudes[run.attitudes["how"] == "reader"]
    assert ratings.groupby("agent")["attitude"].agg(np.ptp).max() == pytest.approx(0, abs=1e-9)
    assert len(run.tags) == len(network()[1].tags)


def test_readers_hear_surrogates_messages_and_models_alike() -> None:
    """A message from outside is tagged too, and moves the readers to whom it is said."""
    text = known_lines("racism").iloc[0]["text"]
    line = f"message round=2 by=Ann text='{text}'"
    model, _, recorder = played("oracle", interventions=[line])
    outside = [event for event in recorder.events if type(event).__name__ == "Tagged" and event.iteration == 0]
    assert [(event.tags, event.hearers) for event in outside] == [((FOR, "cost", "evidence"), 8)]
    plain = next(agent for agent in network()[0].agents if isinstance(agent, ReaderSeat))
    moved = next(agent for agent in model.agents if isinstance(agent, ReaderSeat))
    assert moved.begun == plain.begun
    assert moved.belief != plain.belief


def test_what_does_not_fit_readers_is_refused() -> None:
    for settings, said in [
        ({"topic": ["blackout"]}, "no known messages for blackout"), ({"survey": "ends"}, "survey=rounds"),
        ({"measure": "mean"}, "measure=rating"), ({"listeners": 12}, "listeners"),
        ({"lowest": 0.9}, "lowest must not be above"),
    ]:  # fmt: skip
        with pytest.raises(UserError, match=said):
            played("oracle", **settings)


def test_log_odds_and_beliefs_undo_each_other() -> None:
    assert [belief_of(log_odds(belief)) for belief in (0.1, 0.5, 0.9)] == pytest.approx([0.1, 0.5, 0.9])
