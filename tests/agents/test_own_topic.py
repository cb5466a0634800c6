"""A topic in one line: `--topic "Should cities ban cars?"` runs everywhere, and is asked about in the right direction."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.own_topic import LONGEST, split_topics
from parley.agents.skeleton import write_skeleton
from parley.agents.society import load_society, split_name
from parley.agents.society_check import check_path
from parley.agents.topic import load_topic
from parley.analysis.tables import Tables, load
from parley.llm.errors import UserError
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

CARS = "Should cities ban cars, vans and lorries from their centres?"
STATEMENT = "Cities should ban cars from their centres."
GERMAN = "Soll die Stadt Autos aus dem Zentrum verbannen?"


def test_survey_questions_follow_from_a_question_and_from_a_statement() -> None:
    question, statement = load_topic(CARS), load_topic(STATEMENT)
    assert question.probe("attitude").question == f'How much do you agree that the answer to "{CARS}" is yes?'
    assert question.probe("attitude@phrases").sentence == "I think that is {label}."
    assert load_topic("Is the moon cold?").probe("attitude@phrases").sentence.startswith("I {label} that the answer")
    assert (question.heading, question.question, question.axis) == (CARS, CARS, "agreement")
    assert statement.probe("attitude").question == f'How much do you agree that "{STATEMENT[:-1]}" is right?'
    assert statement.question == f'Do you agree that "{STATEMENT[:-1]}" is right?'


@check_each("line", [CARS, STATEMENT, f"germany/{GERMAN}"])
def test_every_survey_question_of_a_line_reads_its_own_answers(line: str) -> None:
    """A label that lies in another one ("agree" in "disagree") would turn an opinion round."""
    topic = load_topic(line)
    for probe in (*topic.probes.values(), topic.probe("attitude@phrases")):
        for point, answer in zip(probe.scale.points, probe.scale.answers, strict=True):
            reply = probe.sentence.format(label=answer, number=point) if probe.sentence else answer
            assert probe.read(reply).value == point, (probe.name, reply)


@pytest.mark.parametrize(
    "line", ["Which cars should cities ban?", f"Should {'x ' * LONGEST}?", "Should {topic} be banned?"]
)
def test_a_line_that_nobody_can_agree_with_is_refused(line: str) -> None:
    with pytest.raises(UserError, match=r"a debate needs a yes-or-no question|a topic must be one line"):
        load_topic(line)


def test_words_that_are_no_sentence_say_what_is_missing() -> None:
    with pytest.raises(UserError, match="a yes-or-no question that ends with a question mark, such as"):
        load_topic("banning cars")


def test_a_comma_and_a_slash_of_a_sentence_divide_nothing() -> None:
    assert split_topics(f"racism, {CARS},./mine.toml") == ("racism", CARS, "./mine.toml")
    assert load_preset("two_way", {"topic": f"{CARS},racism"}).subject.topic == (CARS, "racism")
    assert split_name("Should men and/or women vote?") == ("us", "Should men and/or women vote?")
    germany = load_society("germany")
    assert germany.qualified(germany.qualified(GERMAN)) == f"germany/{GERMAN}"


def test_the_oracle_debates_any_line_by_a_known_law(tmp_path: Path) -> None:
    """Left begins at 9, right at 1, and both move toward 6.5; the reversed question gives the same opinions."""
    tables = ran(
        load_preset("three_way", {"llm": "oracle", "topic": CARS, "repetitions": 4, "rounds": 3}), tmp_path / "given"
    )
    assert not tables.attitudes["attitude"].isna().any()
    start, end = (mean_by_party(tables, number) for number in (0, 3))
    assert (start["democrat"] > 8, start["republican"] < 2, abs(start["default"] - 6.5) < 0.5) == (True, True, True)
    assert end["democrat"] < start["democrat"]
    assert end["republican"] > start["republican"]
    reversed_ = load_preset(
        "three_way", {"llm": "oracle", "topic": CARS, "repetitions": 4, "rounds": 3, "probe": "attitude_reversed"}
    )
    assert mean_by_party(ran(reversed_, tmp_path / "reversed"), 0) == pytest.approx(start, abs=0.01)


def test_lines_on_a_topic_in_one_line_are_understood(tmp_path: Path) -> None:
    """Without a pull of its own, the speaker moves by what it hears alone."""
    scenario = load_preset("two_way", {"llm": "oracle,mu=0,sigma=0", "topic": CARS, "repetitions": 2, "rounds": 2})
    tables = ran(scenario, tmp_path)
    start, end = (mean_by_party(tables, number) for number in (0, 2))
    assert end["republican"] > start["republican"] + 0.3
    assert end["democrat"] < start["democrat"] - 0.3


def test_people_of_another_society_debate_a_line_in_their_language(tmp_path: Path) -> None:
    scenario = load_preset(
        "two_way", {"llm": "oracle", "society": "germany", "topic": GERMAN, "repetitions": 1, "rounds": 1}
    )
    tables = ran(scenario, tmp_path)
    assert tables.topics == [f"germany/{GERMAN}"]
    assert tables.title(tables.topics[0]) == GERMAN


def test_a_line_becomes_a_file_that_asks_the_same(tmp_path: Path) -> None:
    path = write_skeleton("topic", tmp_path / "cars.toml", CARS)
    assert check_path(str(path)) == []
    written, line = load_topic(str(path)), load_topic(CARS)
    assert {name: probe.question for name, probe in written.probes.items()} == {
        name: probe.question for name, probe in line.probes.items()
    }
    tables = ran(
        load_preset("two_way", {"llm": "oracle", "topic": str(path), "repetitions": 1, "rounds": 1}), tmp_path / "run"
    )
    assert not tables.attitudes["attitude"].isna().any()


def ran(scenario: Scenario, folder: Path) -> Tables:
    run_scenario(RunSpec(scenario, folder))
    return load(folder)


def mean_by_party(tables: Tables, number: int) -> dict[str, float]:
    rated = tables.attitudes[tables.attitudes["round"] == number]
    return dict(rated.groupby("party")["attitude"].mean())
