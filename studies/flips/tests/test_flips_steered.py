"""Steering words struck out: what is removed, that nothing else is, and what the report says where nothing was there."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from audit_coverage import driven
from data_checks import check_each
from standins import opinionated

from parley.agents.language import ENGLISH, Language, load_language
from parley.agents.persona import Persona, all_personas
from parley.agents.society import load_society
from parley.agents.steering import steering_sentences, strike, word_list
from parley.analysis.card.conditions import Batch
from parley.analysis.card.records import ConditionRecords
from parley.analysis.steering import steering_of, unsteered
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model import run_folder
from parley.model.debate import DebateModel
from parley.model.scenario import Scenario, load_preset
from parley.studies.flips import arms, report, steered
from parley.studies.flips.decomposition import FULL, LEVEL

BIASED = {"confirmation_bias": ("strong",)}


def base(llm: str = "oracle", blocks: int = 5, **settings: object) -> Scenario:
    """A debate of three on racism, one round, asked as `run.py study flips` asks."""
    small = {"topic": "racism", "repetitions": blocks, "rounds": 1, "llm": llm}
    return load_preset("three_way").with_settings({**small, **arms.SETTINGS, **settings})


def study(scenario: Scenario, folder: Path) -> ConditionRecords:
    return driven(Batch(scenario, folder), arms.sections(arms))


@check_each(
    ("code", "text", "left"),
    [
        (
            "en",
            "You are Alex, a local citizen. You are stubborn and never change your mind.",
            "You are Alex, a local citizen.",
        ),
        (
            "en",
            "You are Ann. Your daughter has your stubborn streak.",
            "You are Ann. Your daughter has your stubborn streak.",
        ),
        ("en", "You are Bo. Nobody will CONVINCE you! You vote Green.", "You are Bo. You vote Green."),
        (
            "en",
            "You are Cy. You give injections. The docks are on both sides.",
            "You are Cy. You give injections. The docks are on both sides.",
        ),
        ("de", "Du bist Jo. Du bist stur. Du wählst grün.", "Du bist Jo. Du wählst grün."),
        ("de", "Du bist Jo. Der Sturm nahm dein Dach.", "Du bist Jo. Der Sturm nahm dein Dach."),
    ],
)
def test_sentences_that_say_how_to_debate_are_struck_out(code: str, text: str, left: str) -> None:
    """Whole sentences with a word of the list, in any case of letters; who a person is stays."""
    assert strike(Persona("x", "green", "Alex", text), load_language(code)) == left


def test_what_cannot_be_struck_out_is_one_line(tmp_path: Path) -> None:
    """A language without a list, and a persona of which nothing would be left."""
    with pytest.raises(UserError, match="the language fr has no list of steering words"):
        steering_sentences("Tu es Léa.", Language("fr", tmp_path))
    with pytest.raises(UserError, match="deletes every sentence of the persona Alex"):
        strike(Persona("x", "green", "Alex", "You are stubborn."), ENGLISH)


def test_only_the_made_up_town_has_steering_sentences() -> None:
    """A party of the shipped countries is who people are; the parties of `neutral` are how they debate."""
    for name in ("us", "uk", "germany", "neutral"):
        society = load_society(name)
        people = [one for party in society.parties for one in all_personas(party, society.folder / "parties")]
        found = [one for one in people if steering_sentences(one.backstory, society.language)]
        assert bool(found) == (name == "neutral"), (name, found[:1])


def test_another_list_of_words_is_another_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with steering=struck is not continued with other words; a run that strikes nothing does not depend on the list."""
    given = base(blocks=1)
    before = [run_folder._data_digest(one) for one in (given, unsteered(given))]
    other = tmp_path / "steering.toml"
    other.write_text('words = ["parade"]', encoding="utf-8")
    monkeypatch.setattr(run_folder, "word_list", lambda language: other)
    after = [run_folder._data_digest(one) for one in (given, unsteered(given))]
    assert (before[0] == after[0], before[1] == after[1]) == (True, False)


def system_messages(scenario: Scenario) -> list[str]:
    """Return the system message of every request of a run."""
    sent: list[str] = []

    def answer(request: Request) -> str:
        sent.append(request.messages[0].content)
        return opinionated(request)

    DebateModel(scenario, backend=Fake(answer)).run()
    return sent


def test_no_prompt_of_a_struck_run_steers() -> None:
    """Every system message of the town's people is without their steering sentences; with steering=given these are there."""
    town = {"society": "neutral", "topic": (), "personas": "simple", "repetitions": 1, "rounds": 1, "llm": "oracle"}
    scenario = load_preset("three_way").with_settings(town)
    assert any(phrase.endswith("personas") for phrase in steering_of(scenario))
    assert any(steering_sentences(text, ENGLISH) for text in system_messages(scenario))
    assert steering_of(unsteered(scenario)) == []
    struck = system_messages(unsteered(scenario))
    assert struck
    assert not [text for text in struck if steering_sentences(text, ENGLISH)]


@pytest.mark.thorough
def test_the_arm_is_the_debate_without_the_setting(tmp_path: Path) -> None:
    """With a strong confirmation bias struck out, the lines and ratings are those of a run without it; nothing struck, no arm."""
    (steered_run, plain) = (study(base(**one), tmp_path / str(len(one))) for one in (BIASED, {}))
    assert steered.ARM not in plain.records
    assert steered.sentences(plain, steered.effects(steered.changes(steered.compared(plain)))) == [steered.NOTHING]
    (struck,), (full,) = steered_run.records[steered.ARM], plain.records[FULL]
    assert list(struck.utterances["text"]) == list(full.utterances["text"])
    assert list(struck.attitudes["rating"]) == list(full.attitudes["rating"])
    assert list(steered_run.records[FULL][0].attitudes["rating"]) != list(full.attitudes["rating"])
    page = report.write(steered_run, tmp_path).read_text(encoding="utf-8")
    assert "Struck out: confirmation_bias=strong." in page


def test_a_language_without_a_list_strikes_settings_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its personas stay as they are, and are not said to steer; a run that strikes them is refused in one line."""
    town = {"society": "neutral", "topic": (), "personas": "simple", "llm": "oracle", "confirmation_bias": ("strong",)}
    scenario = load_preset("three_way").with_settings(town)
    for module in ("analysis.steering", "agents.steering"):
        monkeypatch.setattr(f"parley.{module}.has_list", lambda language: False)
    assert steering_of(scenario) == ["confirmation_bias=strong"]
    assert unsteered(scenario).speech.steering == "given"
    assert steering_of(unsteered(scenario)) == []
    with pytest.raises(UserError, match="has no list of steering words"):
        word_list(scenario.society.language)


@pytest.mark.thorough
def test_ignored_steering_words_are_not_claimed(tmp_path: Path) -> None:
    """The null: a speaker that ignores the bias says other lines by chance, and no sentence claims an effect."""
    ignoring = study(base("oracle,ignores=confirmation_bias", **BIASED), tmp_path)
    units = steered.changes(steered.compared(ignoring))
    assert units.shape == (5, len(steered.EFFECTS))
    found = steered.effects(units)
    assert (found["p_holm"].dropna() >= LEVEL).all()
    said = steered.sentences(ignoring, found)
    assert not [line for line in said if "not shown" not in line and "no variation" not in line]


def test_equal_debates_differ_in_no_group(tmp_path: Path) -> None:
    """On a speaker whom nothing moves each group has exactly 0, and the sentence says that nothing varies."""
    still = study(base("oracle,kappa=0,mu=0,sigma=0", **BIASED), tmp_path)
    units = steered.changes(steered.compared(still))
    assert units.to_numpy() == pytest.approx(0.0)
    lost = steered.compared(still)
    lost.loc[lost["block"] == lost["block"].iloc[0], "reason"] = "missing"
    assert len(steered.changes(lost)) == 4
    assert steered.changes(lost.assign(reason="missing")).empty
    said = steered.sentences(still, steered.effects(units))
    assert all("in each of 5 groups (no variation, so no interval)" in line for line in said)


def invented(full: list[float], without: list[float]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(full) - pd.Series(without) for name in steered.EFFECTS})


def test_effects_are_those_computed_by_hand() -> None:
    """Six groups that differ by .1 to .6: mean .35, half width t(5) * sd / sqrt(6)."""
    found = steered.effects(invented([0.2, 0.3, 0.4, 0.5, 0.6, 0.7], [0.1] * 6)).iloc[0]
    width = 2.5706 * 0.187083 / 6**0.5
    assert [found["estimate"], found["low"], found["high"]] == pytest.approx(
        [0.35, 0.35 - width, 0.35 + width], abs=1e-4
    )
    assert found["p_holm"] == pytest.approx(3 * found["p"])


@check_each("units", [0, 1, 4])
def test_few_groups_give_no_verdict(units: int) -> None:
    """Below five groups every sentence is unknown, and says why."""
    arm = ConditionRecords()
    arm.add(steered.ARM, None)  # type: ignore[arg-type]  only its name is looked at
    said = steered.sentences(arm, steered.effects(invented([0.5] * units, [0.1] * units)))
    assert all(line.endswith("there are fewer than 5 groups.") for line in said)
    assert len(said) == 2
