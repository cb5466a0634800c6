"""Is what was planted found again in every society? Six parties as two, and people of whom some are stubborn.

Runs have fixed seeds, so that a test gives the same answer on every machine. Its bounds are those of a binomial of 95% intervals.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from data_checks import check_each
from scipy import stats

from benchmarks.audit_coverage import bare, base_of, driven
from benchmarks.audit_coverage import held as recorded
from benchmarks.planted_truth import Planted, covered, truth
from parley.agents.society import DEFAULT, load_society
from parley.analysis.card.conditions import Batch
from parley.analysis.card.estimates import CardEstimate
from parley.analysis.card.protocol import card_estimates
from parley.analysis.card.sections import pull, sections
from parley.analysis.influence_model import ALL, CLOSED, recover_parameters
from parley.llm.backends.oracle.dynamics import planted
from parley.model.scenario import Scenario, load_preset
from parley.studies.calibrate.measures import NONE_IN_COMMON, Known, _grade, calibrate, planted_value, write

ROOMS = 10
SIZES = pytest.mark.parametrize("seeds", [7, pytest.param(20, marks=pytest.mark.nightly)])
"""Runs with other seeds: few in each lane, more at night."""
STILL = (("kappa", 0.0), ("mu", 0.0))
TOPICS = {"germany": "tempolimit", "uk": "rail_ownership", "neutral": "harbour_bridge"}
PARAMETERS = ("kappa", "mu", "bias")


def everybody(society: str, changes: tuple[tuple[str, float], ...], seed: int, rooms: int = ROOMS) -> Scenario:
    """A debate of all parties of a society and its neutral seat, on one topic."""
    llm = ",".join(["oracle", *[f"{name}={value}" for name, value in changes]])
    seats = (*[party for party in load_society(society).parties if party != DEFAULT], DEFAULT)
    topic = {"topic": TOPICS[society], "probe": "attitude_labelled", "seats": seats}
    settings = {"society": society, "llm": llm, "seed": seed, "repetitions": rooms, "rounds": 4, **topic}
    return load_preset("three_way").with_settings(settings)


@cache
def fitted(society: str, seeds: int, changes: tuple[tuple[str, float], ...] = ()) -> pd.DataFrame:
    """Fits over everybody and by party of runs with these seeds, with `truth` (NaN: none) and `inside`."""
    law, frames = planted(dict(changes), society), []
    for seed in range(seeds):
        run = recorded(everybody(society, changes, seed))
        seats = tuple(run.attitudes["party"].unique())
        rows = pd.concat([recover_parameters(run, _grade, by_party) for by_party in (False, True)], ignore_index=True)
        keys = zip(rows["topic"], rows["parameter"], rows["party"], strict=True)
        frames.append(
            rows.assign(seed=seed, truth=[planted_value(law[topic], name, party, seats) for topic, name, party in keys])
        )
    found = pd.concat(frames, ignore_index=True)
    return found.assign(inside=found["truth"].between(found["low"], found["high"]))


def fewest(trials: int, coverage: float = 0.95, chance: float = 0.01) -> int:
    """Hits that intervals of this coverage fall short of with this chance."""
    return int(stats.binom.ppf(chance, trials, coverage))


@pytest.mark.thorough
@SIZES
@check_each("society", ["germany", "uk"])
def test_one_fit_over_all_parties_finds_what_is_planted(society: str, seeds: int) -> None:
    """People who move alike: an interval of each parameter over all parties and the Default for each seed; nearly all hold it."""
    rows = fitted(society, seeds)
    for name in PARAMETERS:
        of = rows[(rows["party"] == ALL) & (rows["parameter"] == name)]
        assert len(of) == seeds
        assert of["inside"].sum() >= fewest(seeds)
        errors = (of["estimate"] - of["truth"]).dropna()
        assert abs(errors.mean()) <= 3 * errors.std() / len(errors) ** 0.5


@pytest.mark.thorough
@SIZES
@check_each("society", ["germany", "uk", "neutral"])
def test_each_party_is_found_by_itself(society: str, seeds: int) -> None:
    """Of the intervals by party, 85% and more hold the truth: for each stubbornness its own kappa and mu, and one level."""
    rows = fitted(society, seeds)
    for name in PARAMETERS:
        of = rows[(rows["party"] != ALL) & (rows["parameter"] == name)]
        assert of["inside"].mean() >= 0.85, name
        for party, own in of.groupby("party"):
            assert own["inside"].sum() >= fewest(seeds), (name, party)


@pytest.mark.thorough
@SIZES
def test_a_fit_over_stubborn_and_open_people_is_not_an_average_and_is_marked(seeds: int) -> None:
    """What would go wrong without a look at the parties: a level two points off. Ten rooms find the difference in most runs."""
    rows = fitted("neutral", seeds)
    whole, parts = rows[rows["party"] == ALL].set_index("parameter"), rows[rows["party"] != ALL]
    assert whole.loc[list(PARAMETERS[:2]), "truth"].isna().all()
    assert abs(whole.loc["bias", "estimate"].mean() - 6.0) > 1, "the level of one fit over all is wrong"
    assert parts.groupby("seed")["differs"].first().sum() >= fewest(seeds, 0.9)
    closed = parts[parts["parameter"] == CLOSED].groupby("party")["estimate"].mean()
    assert closed["stubborn"] == pytest.approx(0.011, abs=0.004)
    assert closed["open"] == pytest.approx(0.11, abs=0.02)


@pytest.mark.thorough
@SIZES
@check_each("society", ["germany", "neutral"])
def test_where_nothing_is_planted_nothing_is_found(society: str, seeds: int) -> None:
    """kappa = mu = 0: an interval leaves out 0 no more often than its level lets it, and parties are not found to differ."""
    rows = fitted(society, seeds, STILL)
    for name in ("kappa", "mu"):
        whole = rows[(rows["party"] == ALL) & (rows["parameter"] == name)]
        assert whole["inside"].sum() >= fewest(seeds)
        parts = rows[(rows["party"] != ALL) & (rows["parameter"] == name)]
        assert parts["inside"].mean() >= 0.9
    assert rows[rows["party"] != ALL].groupby("seed")["differs"].first().sum() <= 1


@pytest.mark.thorough
@SIZES
@check_each("society", ["germany", "uk"])
def test_people_who_move_alike_are_not_found_to_differ(society: str, seeds: int) -> None:
    """A test at .01 over all pairs of parties: at most one false alarm in all runs."""
    rows = fitted(society, seeds)
    assert rows[rows["party"] != ALL].groupby("seed")["differs"].first().sum() <= 1


def test_the_page_says_that_people_differ(tmp_path: Path) -> None:
    """Stubborn people: no planted value in common, a line that says by how much parties differ, and a row for each."""
    base = load_preset("three_way").with_settings(
        {"society": "neutral", "topic": "harbour_bridge", "repetitions": 20, "rounds": 4}
    )
    study = calibrate(base, (Known("oracle", "oracle"),))
    scenario = next(study)
    run = recorded(scenario)
    try:
        study.send(run)
    except StopIteration as done:
        estimates = done.value
    text = write(estimates, tmp_path, base).read_text(encoding="utf-8")
    assert NONE_IN_COMMON in text
    assert "people differ, so one fit to all people does not give their average" in text
    assert "| a footbridge over the harbour | Stubborn locals | 0.005 |" in text
    assert "| a footbridge over the harbour | Open-minded locals | 0.050 |" in text


def test_people_of_one_stubbornness_have_one_planted_value() -> None:
    """By hand: .05 and .06 shrink to a tenth; two kinds have a value in common only if they move alike, or not at all."""
    law = planted(society="neutral")["neutral/harbour_bridge"]
    assert planted_value(law, "kappa", "stubborn", ()) == pytest.approx(0.005)
    assert planted_value(law, CLOSED, "stubborn", ()) == pytest.approx(0.011)
    assert planted_value(law, "bias", "stubborn", ()) == 6.0
    assert pd.isna(planted_value(law, "mu", ALL, ("stubborn", "open")))
    assert planted_value(law, "mu", ALL, ("undecided", "open", DEFAULT)) == pytest.approx(0.06)
    still = planted({"kappa": 0.0, "mu": 0.0}, "neutral")["neutral/harbour_bridge"]
    assert planted_value(still, "kappa", ALL, ("stubborn", "open")) == 0.0


def card(society: str, folder: Path, seed: int = 5, **setting: float) -> tuple[list[CardEstimate], Batch]:
    """The section on pull and influence of a card of eight blocks."""
    topic = {"topic": TOPICS[society], "society": society, "repetitions": 8, "seed": seed}
    known = {name: bare(section) for name, section in sections(("pull",)).items()}
    first = Batch(base_of(setting, topic), folder)
    return card_estimates(driven(first, known), first, known), first


def test_a_card_of_stubborn_people_says_so_and_gives_no_average(tmp_path: Path) -> None:
    """The claims over both parties are withdrawn with a reason, those of each party hold the truth, "In short" names both."""
    claims, first = card("neutral", tmp_path)
    whole = [one for one in claims if one.quantity in ("kappa", "mu", "lost", "half_life", "level", "level_default")]
    assert whole
    assert {(one.known, one.reason) for one in whole} == {(False, pull.DIFFER)}
    law = planted(society="neutral")["neutral/harbour_bridge"]
    planned = Planted({"neutral/harbour_bridge": law}, first.base)
    parts = {one.quantity: (one, truth(planned, one, pd.Series(dtype=float))) for one in claims if one not in whole}
    assert parts["kappa_first"][1] == pytest.approx(0.005)
    assert parts["closed_apart"][1] == pytest.approx(-0.099)
    names = ("kappa_first", "kappa_second", "mu_first", "mu_second", "closed_apart")
    assert sum(covered(*parts[name]) for name in names) >= len(names) - 1
    (said,) = pull.sentences(claims, first)
    assert said.startswith("**The parties move differently.**")
    assert "Stubborn locals move" in said
    assert "So the card gives no average over both parties." in said


def test_a_card_of_people_who_move_alike_keeps_its_average(tmp_path: Path) -> None:
    """Germany: both parties move by the planted law, and so does the average over them."""
    claims, first = card("germany", tmp_path)
    found = {one.quantity: one for one in claims if one.topic == ALL}
    assert found["kappa"].known
    assert found["closed_apart"].low < 0 < found["closed_apart"].high
    assert "move differently" not in " ".join(pull.sentences(claims, first))


@pytest.mark.thorough
@pytest.mark.parametrize("cards", [3, pytest.param(10, marks=pytest.mark.nightly)])
def test_cards_of_stubborn_people_without_any_law_find_no_difference(tmp_path: Path, cards: int) -> None:
    """kappa = mu = 0: nothing moves anybody, so that stubbornness cannot show; in no card anything is withdrawn."""
    for seed in range(cards):
        claims, _ = card("neutral", tmp_path / str(seed), seed, kappa=0.0, mu=0.0)
        assert not [one for one in claims if one.reason == pull.DIFFER]
