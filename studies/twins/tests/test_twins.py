"""Twins: nothing of the predicted point or after it is in a prompt, planted people are found, and shuffled ones are not."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import run
from parley.agents.language import ENGLISH
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.studies.twins import nats
from parley.studies.twins.asking import (
    Answered,
    AskedAnswer,
    AskedMessage,
    Told,
    Twins,
    Written,
    choices,
    compose_answer,
    compose_message,
    read_answer,
)
from parley.studies.twins.history import LAST, points, strangers
from parley.studies.twins.law import USUAL, TwinLaw
from parley.studies.twins.measures import closed_way, compare_all, correlations, sentence
from parley.studies.twins.oracle import planted_answer, planted_message
from parley.studies.twins.people_file import ANSWER, ATTRIBUTE, MESSAGE, Event, RecordedPeople, Scale
from parley.studies.twins.planted import invent_people
from parley.studies.twins.report import movement_table
from parley.studies.twins.rollout import courses, measure_rollouts, roll_out
from parley.studies.twins.study import (
    OPINION,
    ROLLOUT,
    SAYING,
    STRANGER,
    TWIN,
    TwinStudy,
    baselines,
    predict_answers,
    predict_messages,
    told,
)

FIVE = Scale(1, 5)


class Direct:
    """The oracle's law without requests, so that many draws take seconds."""

    def __init__(self, law: TwinLaw = USUAL) -> None:
        self.law = law

    def value(self, known: Told, topic: str) -> float:
        rated = [(event.topic, event.value) for event in known.known.past if event.kind == ANSWER]
        return planted_answer(rated, [text for _, text in known.heard], topic, self.law)

    def answer(self, asked: list[AskedAnswer], title: str) -> list[Answered]:
        return [Answered(self.value(known, topic), exact=True) for known, topic, _ in asked]

    def write(self, asked: list[AskedMessage], title: str) -> list[Written]:
        wrote = [[event.text for event in known.known.past if event.kind == MESSAGE] for known, _ in asked]
        return [
            Written(planted_message(texts, self.value(*each), self.law))
            for texts, each in zip(wrote, asked, strict=True)
        ]


def measured(people: RecordedPeople, seed: int = 0, law: TwinLaw = USUAL) -> tuple[pd.DataFrame, pd.DataFrame]:
    study, twins = TwinStudy(people, "oracle", seed=seed), Direct(law)
    answers, predictions = predict_answers(study, twins)
    return pd.concat([answers, predict_messages(study, twins)[0]], ignore_index=True), predictions


def against_stranger(table: pd.DataFrame) -> dict[str, dict[str, object]]:
    rows = compare_all(table)
    return {row["measure"]: row for row in rows[rows["against"] == STRANGER].to_dict("records")}


def quiet(folder: Path) -> CallDesk:
    return CallDesk(folder, lambda title, total, unit="call": contextlib.nullcontext(lambda count: None))


def numbered(people: RecordedPeople) -> RecordedPeople:
    """Return the same people with a word of its own in each message, answer and attribute, so that a leak can be seen."""
    events = [
        event._replace(text=f"text{place}x") if event.kind in (MESSAGE, ATTRIBUTE)
        else event._replace(topic=f"{event.topic} q{event.order}w{event.wave}x")
        for place, event in enumerate(people.events)
    ]  # fmt: skip
    return replace(people, events=tuple(events))


def test_no_prompt_has_anything_of_its_point_or_after_it() -> None:
    """Each message has a word of its own, and each answer a question of its own by order and wave: none is shown too early."""
    people = numbered(invent_people("planted", 4))
    for point in points(people, 99, 0):
        event = point.event
        for whose in (point, *strangers(points(people, 99, 0), 2, 0)[point.key]):
            known = told(point, whose)
            request = compose_message(known, event.topic, 20, ENGLISH, 0)
            prompt = "\n".join(message.content for message in request.messages)
            at, person = (event.order, event.person) if whose is point else (whose.event.order, whose.event.person)
            for other in people.by_person[person]:
                later = other.kind != ATTRIBUTE and (other.order >= at or other.wave > 1)
                mark = other.topic if other.kind == ANSWER else other.text
                shown = f"{mark} Answer:" in prompt if other.kind == ANSWER else mark in prompt
                if later:
                    assert not shown, (point.key, other)
                elif other.kind == MESSAGE:
                    assert shown, (point.key, other)
            for other in people.by_group[event.group]:
                if other.kind == MESSAGE and other.order >= event.order and other.person != person:
                    assert other.text not in prompt
            assert not any(name in prompt for name in people.by_person)


def test_private_lines_are_not_heard_and_given_ones_are() -> None:
    base = Event("a", MESSAGE, "Tea?", text="mine", order=3, group="g")
    lines = [
        base._replace(person="b", text="secret", order=1, private=True),
        base._replace(person="m", kind="given", text="draft", order=2),
    ]
    people = RecordedPeople("file", (base._replace(text="first", order=0), *lines, base))
    (point,) = points(people, 5, 0)
    assert [line.text for line in point.heard] == ["draft"]


def test_only_the_last_lines_of_a_long_conversation_are_heard() -> None:
    lines = tuple(
        Event("b", MESSAGE, "Tea?", text=f"line {order}", order=order, group="g") for order in range(LAST + 5)
    )
    own = (
        Event("a", ATTRIBUTE, "age", text="3", group="g"),
        Event("a", MESSAGE, "Tea?", text="x", order=99, group="g"),
    )
    point = next(point for point in points(RecordedPeople("f", lines + own), 99, 0) if point.event.person == "a")
    assert [line.text for line in point.heard] == [f"line {order}" for order in range(5, LAST + 5)]


def test_strangers_are_of_other_groups_and_each_person_is_one_equally_often() -> None:
    chosen = points(invent_people("planted", 8), 1, 0)
    drawn = strangers(chosen, 2, 0)
    by_key = {point.key: point for point in chosen}
    counts: dict[str, int] = {}
    for key, others in drawn.items():
        assert len(others) == 2
        for other in others:
            assert other.event.topic == by_key[key].event.topic
            assert other.event.group != by_key[key].event.group
            counts[other.key] = counts.get(other.key, 0) + 1
    of_messages = [count for key, count in counts.items() if " message " in key]
    assert set(of_messages) == {2}
    alone = RecordedPeople(
        "f", (Event("a", ATTRIBUTE, "age", text="3"), Event("a", ANSWER, "Tea?", 0.5, scale=FIVE, order=1))
    )
    assert list(strangers(points(alone, 1, 0), 3, 0).values()) == [()]


def test_distances_by_hand() -> None:
    """Ann goes from 2 to 4 of 5 and says 5 a week later; bo's last answer is 1."""
    rows = [("a", 2, 0, 1), ("a", 4, 1, 1), ("a", 5, 9, 2), ("b", 3, 0, 1), ("b", 1, 1, 1)]
    events = [
        Event(who, ANSWER, "Tea?", FIVE.share(value), scale=FIVE, order=order, group="g", wave=wave)
        for who, value, order, wave in rows
    ]
    people = RecordedPeople("file", tuple(events))
    point = points(people, 5, 0)[0]
    assert point.event.value == 0.75
    assert baselines(people, point) == {"others": 0.75, "unchanged": 0.5, "again": 0.25}


def test_planted_people_are_found_in_opinions_messages_and_whole_conversations() -> None:
    table, predictions = measured(invent_people("planted"))
    found = against_stranger(table)
    assert float(str(found[OPINION]["gain_low"])) > 0.05
    assert float(str(found[SAYING]["gain_low"])) > 0.3
    assert sentence(found[OPINION]).startswith(
        "A twin predicts its person's next opinion better than a stranger's twin does, by 0.1"
    )
    r = correlations(predictions).set_index("predictor")
    assert r.loc[TWIN, "r_low"] > 0.6
    assert r.loc[STRANGER, "r_low"] < 0 < r.loc[STRANGER, "r_high"]
    closed = closed_way(table)
    assert closed is not None
    assert closed["closed_low"] < 1 < closed["closed_high"]


def test_a_twin_that_uses_nothing_of_its_history_gains_nothing() -> None:
    """Both twins then answer alike, so there is no difference to give an interval to."""
    found = against_stranger(measured(invent_people("planted"), law=TwinLaw(knows=0.0, follows=0.0))[0])
    assert found[OPINION]["gain"] == pytest.approx(0)
    assert "because all people have the same value" in sentence(found[OPINION])


@pytest.mark.parametrize("seeds", [15, pytest.param(400, marks=pytest.mark.nightly)])
def test_shuffled_people_are_claimed_in_six_percent_at_most(seeds: int) -> None:
    """2.5% are expected; each file has 36 people in 12 groups. Three claims of 15 have a probability of .6%."""
    claims = {OPINION: 0, SAYING: 0}
    for seed in range(seeds):
        for measure, row in against_stranger(measured(invent_people("shuffled", 12, seed), seed)[0]).items():
            claims[measure] += float(str(row["gain_low"])) > 0
    assert max(claims.values()) <= max(0.06 * seeds, 3), claims


def test_four_groups_give_no_verdict_and_one_large_group_neither() -> None:
    few = against_stranger(measured(invent_people("planted", 4))[0])[OPINION]
    assert sentence(few).startswith("With fewer than 5 groups")
    table = measured(invent_people("planted", 12))[0]
    lumped = table.assign(
        cluster=table["cluster"].where(table["cluster"].isin(sorted(set(table["cluster"]))[:5]), "all the rest")
    )
    assert "because one group of 6" in sentence(against_stranger(lumped)[OPINION])


def test_missing_answers_of_twins_are_missing(tmp_path: Path) -> None:
    """A reply that cannot be read has a reason, and the point is in no mean."""
    people = invent_people("planted", 6)
    study = TwinStudy(people, "fake", samples=1)
    twins = Twins("fake", ENGLISH, quiet(tmp_path), samples=1)
    twins.__dict__["backend"] = Fake(lambda request: Reply("4" if request.seed % 2 else "Hm."))
    table, predictions = predict_answers(study, twins)
    lost = table[TWIN].isna()
    assert 0 < lost.sum() < len(table)
    assert set(table.loc[lost, "reason"]) == {"no_answer"}
    assert predictions["predicted"].isna().sum() == lost.sum()
    row = compare_all(table).set_index("against").loc[STRANGER]
    assert row["points"] == (table[TWIN].notna() & table[STRANGER].notna()).sum()


def test_scales_and_readings_by_hand() -> None:
    assert choices(Scale(0, 100)) == tuple(str(10 * step) for step in range(11))
    assert choices(Scale(1, 7)) == tuple("1234567")
    reply = Reply(None, answers={"no": 0.25, "perhaps": 0.0, "yes": 0.75})
    assert read_answer(reply, Scale(0, 10, ("no", "perhaps", "yes"))) == Answered(0.75, exact=True)
    assert read_answer(Reply.failed("timeout"), FIVE).reason == "timeout"


def test_equal_questions_are_one_question_for_any_person() -> None:
    """A person's name is in no prompt and no seed; a stranger's twin without a conversation is the stranger's own twin."""
    asked = [(who, order, topic) for who in ("a", "b") for order, topic in enumerate(("Tea?", "Jam?"))]
    events = [Event(who, ANSWER, topic, 0.5, scale=FIVE, order=order) for who, order, topic in asked]
    people = RecordedPeople("f", tuple(events))
    first, second = (point for point in points(people, 5, 0) if point.event.topic == "Jam?")
    requests = [
        compose_answer(told(*each), "Jam?", FIVE, ENGLISH, 0) for each in ((first,), (second,), (first, second))
    ]
    assert len({request.key("model") for request in requests}) == 1


def rolled(people: RecordedPeople, tmp_path: Path, llm: str = "oracle") -> tuple[TwinStudy, list]:
    tmp_path.mkdir(exist_ok=True)
    study, twins = TwinStudy(people, llm, rollouts=99), Twins(llm, ENGLISH, quiet(tmp_path))
    asking = [roll_out(course, people, twins) for course in courses(people, 99, 0)]
    return study, twins.desk.ask(asking, llm, "conversations", lambda each: None, twins.backend)


def test_conversations_of_twins_move_as_people_do_and_hold_no_real_line(tmp_path: Path) -> None:
    """Planted people draw together, and so do their twins; shuffled people's ends are not nearer to their own twins."""
    people = invent_people("planted", 12)
    study, ended = rolled(people, tmp_path / "a")
    table = measure_rollouts(study, ended)
    assert len(table) == 36
    assert float(str(against_stranger(table)[ROLLOUT]["gain_low"])) > 0.05
    moved = movement_table(study, ended).set_index("title").loc["change of group SD"]
    assert moved["people_high"] < 0
    assert moved["twins_high"] < 0
    _, dealt = rolled(invent_people("shuffled", 12), tmp_path / "b")
    null = against_stranger(measure_rollouts(TwinStudy(invent_people("shuffled", 12), "oracle"), dealt))[ROLLOUT]
    assert float(str(null["gain_low"])) < 0


def test_no_real_line_of_the_conversation_is_in_a_prompt_of_a_roll_out(tmp_path: Path) -> None:
    people = numbered(invent_people("planted", 3))
    spoken = {event.text for event in people.events if event.kind == MESSAGE}
    twins, prompts = Twins("fake", ENGLISH, quiet(tmp_path), samples=1), []

    def reply(request: object) -> Reply:
        prompts.append("\n".join(message.content for message in request.messages))  # type: ignore[attr-defined]
        return Reply("4" if request.answers else "Simulated.")  # type: ignore[attr-defined]

    backend = Fake(reply)
    twins.desk.ask(
        [roll_out(course, people, twins) for course in courses(people, 99, 0)],
        "fake",
        "conversations",
        lambda each: None,
        backend,
    )
    assert any("Simulated." in prompt for prompt in prompts)
    assert not any(text in prompt for prompt in prompts for text in spoken)


def test_people_who_only_answer_cannot_be_rolled_out() -> None:
    people = invent_people("planted", 3)
    assert not courses(replace(people, events=tuple(event for event in people.events if event.kind != MESSAGE)), 9, 0)


@pytest.mark.thorough
def test_the_command_says_what_was_found_and_asks_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["study", "twins", "planted", "--llm", "oracle", "--groups", "8", "--rollouts", "8", "--out", str(tmp_path)]
    assert run.command([*words, "--dry-run"]) == 0
    assert "on 120 points of 24 people" in capsys.readouterr().out
    assert run.command(words) == 0
    first = (tmp_path / "twins.md").read_text(encoding="utf-8")
    assert "A twin predicts its person's next opinion better" in first
    assert "8 conversations of twins alone, with 6.0 lines" in first
    assert run.command([*words, "--max-calls", "1"]) == 0  # every answer is in the journal
    assert (tmp_path / "twins.md").read_text(encoding="utf-8") == first
    with pytest.raises(UserError, match="another study of twins"):
        run.command([*words[:-1], str(tmp_path), "--seed", "3"])


def test_mistakes_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("person,kind,topic,value,text,lowest,highest\na,answer,Tea?,2,,1,5\n", encoding="utf-8")
    for words, message in (
        ("nobody", "there are no people 'nobody': give planted, shuffled, or a table"),
        (str(path), "has nothing to predict"),
        (f"{path} --groups 3", "--groups only works with made-up people"),
        ("planted --epochs 2", "--epochs only works with --train"),
    ):
        with pytest.raises(UserError, match=message):
            run.command(["study", "twins", *words.split(), "--llm", "oracle", "--dry-run"])
    with pytest.raises(UserError, match="knows must be a share between 0 and 1"):
        run.command(
            ["study", "twins", "planted", "--groups", "5", "--llm", "oracle,knows=2", "--out", str(tmp_path / "o")]
        )


def test_nothing_is_nan_that_is_shown_as_a_number() -> None:
    rows = compare_all(measured(invent_people("planted", 5))[0])
    assert rows[["gain", "twin", "other"]].notna().all().all()
    assert not rows["reason"].str.contains("nan").any()
    assert math.isfinite(rows["gain_low"].iloc[0])


def test_scores_of_messages_are_kept_and_belong_to_their_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One nat by hand, read back from the file without a second scoring; a file of other messages is refused."""
    study, path, calls = TwinStudy(invent_people("planted", 6), "oracle", most=1), tmp_path / "nats.json", []

    def scored(*given: object) -> list[nats.Scored]:
        calls.append(given)
        own = [nats.Scored(point.key, point.key, -1.0, 5) for point in study.of_kind(MESSAGE)]
        others = [
            nats.Scored(point.key, study.by_stranger[point.key][0].key, -2.0, 5) for point in study.of_kind(MESSAGE)
        ]
        return own + others

    monkeypatch.setattr(nats, "_scored", scored)
    for _ in range(2):
        table = nats.measure_nats(study, 20, None, path)  # type: ignore[arg-type]
        assert (table[TWIN] - table[STRANGER]).tolist() == [1.0] * 18
    assert len(calls) == 1
    with pytest.raises(UserError, match="has the scores of other messages"):
        nats.measure_nats(TwinStudy(invent_people("planted", 7), "oracle", most=1), 20, None, path)  # type: ignore[arg-type]
    assert nats.scorer_of("oracle") is None
