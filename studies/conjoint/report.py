"""The report of a conjoint experiment: effects of levels, the null, the best profile, and people compared with personas."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_estimate, format_number
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, too_few
from parley.analysis.unknown import unknown_sentence
from parley.llm.seeding import derive
from parley.model.titles import join_phrases

from .choices import ConjointStudy
from .design import ConjointDesign
from .measures import (
    EVEN,
    EXCHANGES,
    FEWEST_EXCHANGED,
    BestProfile,
    ExchangeTest,
    best_profile,
    compare_effects,
    estimate_effects,
    exchange_test,
    position_bias,
)
from .optimum import AVERAGE, GAIN, MOST, Contest, contest_table, play, strategy_table

READING = (
    "The AMCE of a level (average marginal component effect) is the share of profiles chosen with this level, minus the share "
    "chosen with the first level of the attribute, averaged over the other attributes. The mean of a level is the share of "
    "profiles with this level that are chosen; the mean is 0.50 if a level does not matter. Brackets hold 95% intervals, with "
    "errors clustered by respondent. Intervals are not corrected for the number of levels. A level has no interval if fewer "
    f"than {FEWEST} respondents saw the level or its baseline, or if a few respondents have most of the tasks. Respondents "
    "count as independent. If some respondents debated with one another, the intervals are too narrow: give all respondents of "
    "a debate one name in the column `respondent`, and number their tasks on."
)
LEVELS: Mapping[str, Column] = {
    "attribute": "attribute", "level": "level", "profiles": "profiles",
    "AMCE": lambda row: "baseline" if row["baseline"] else format_estimate(row["amce"], row["amce_low"], row["amce_high"], 3),
    "mean": estimate("mean", 3),
}  # fmt: skip
BESIDE: Mapping[str, Column] = {
    "attribute": "attribute", "level": "level", "personas": estimate("amce", 3), "people": estimate("amce_people", 3),
    "personas minus people": estimate("difference", 3),
}  # fmt: skip

SIDES: Mapping[str, Column] = {
    "side": "side", "against": "against", "respondents": "respondents", "share of choices": estimate("share", 3),
}  # fmt: skip
DISTRIBUTIONS = (
    "A side that cannot fix every attribute chooses a distribution over levels. A penalty keeps the best distribution close to "
    "the distribution of the design; one half of the respondents sets this penalty by cross-validation. An opponent who adapts "
    "plays the best answer to a distribution, learned on the same half of the respondents. The other half of the respondents "
    "judges all distributions. A share of 0.500 means that both are chosen equally often. The last row of the table is a "
    "difference between shares."
)


def write_conjoint(
    study: ConjointStudy, choices: pd.DataFrame, folder: Path, people: pd.DataFrame | None = None
) -> Path:
    """Write conjoint.md, its tables (choices, effects, people, comparison) and the figure; return the path of the page.

    people: their choices, as `read_choices` returns them.
    """
    design, effects = study.design, estimate_effects(choices, study.design)
    report = Report(folder, "conjoint", "Choices between two profiles")
    report.data(choices=choices, effects=effects)
    answered = choices.dropna(subset=["chosen"])
    report.add(
        f"{study.llm} chose between two profiles for {count_phrase(len(study.people), 'persona')}, {design.tasks} "
        f"pairs each. Every pair was shown in both orders, and the two answers are averaged. {READING}"
    )
    report.plain(f"The question: {design.question}")
    report.disclaim_models(study.llm)
    lost = choices[(choices["profile"] == 1) & choices["chosen"].isna()]
    report.missing(
        len(lost), len(study.tasks), "pairs lack an answer in one order or in both", count_table(lost["reason"])
    )
    lines = [*summarise(choices, design, study.seed), position_line(choices)]
    report.in_short(lines)
    if len(answered):
        shown = effects[~effects["baseline"]]
        look = "AMCE (difference in probability)", disclaimers.spec_label(study.llm), "Effect of each level on choices"
        report.figure(dot_plot(shown, ["attribute", "level"], "amce", *look), "conjoint", "AMCE of each level")
    report.section("Levels")
    report.table(effects, LEVELS)
    _add_distributions(report, choices, design, study.seed)
    if people is not None:
        _add_people(report, study, effects, people)
    report.add("The file `choices.csv` has one row per profile that was shown.")
    return report.write()


def summarise(choices: pd.DataFrame, design: ConjointDesign, seed: int) -> list[str]:
    """Return in sentences whether choices depend on the attributes, and which profile is the best one."""
    test = exchange_test(choices, design, np.random.default_rng(derive(seed, "exchanged choices")))
    best = best_profile(choices, design, np.random.default_rng(derive(seed, "folds")))
    return [exchange_line(test), *best_lines(best)]


def exchange_line(test: ExchangeTest) -> str:
    """Return whether choices depend on any attribute."""
    if np.isnan(test.p):
        reason = "no pair has an answer" if np.isnan(test.largest) else f"fewer than {FEWEST_EXCHANGED} respondents"
        return unknown_sentence("whether choices depend on the attributes", reason)
    start = "Choices depend" if test.p < 0.05 else "It is not shown that choices depend"
    return (
        f"{start} on the attributes: the largest AMCE is {format_number(test.largest, 3)} in size. If a random half of the "
        f"respondents had chosen the other profile of each pair ({EXCHANGES} draws), 95% of the largest AMCEs would be below "
        f"{format_number(test.bound, 3)} (p = {test.p:.3f})."
    )


def best_lines(best: BestProfile) -> list[str]:
    """Return the best profile, and how often it is chosen."""
    if not best.levels:
        return ["The best profile is unknown, because no pair has an answer."]
    named = ", ".join(f"{name}: {level}" for name, level in best.levels.items())
    if not best.picked:
        few = f"fewer than {2 * FEWEST} respondents"
        return [
            f"It is unknown which profile is the best, because there are {few}; in these choices the best profile has {named}."
        ]
    same = [name for name, level in best.levels.items() if best.picked.get(name) == level]
    share = format_estimate(best.share, best.low, best.high, 3)
    often = "more often" if best.low > EVEN else "not clearly more often"
    verdict = "no interval, because nothing varies" if np.isnan(best.low) else f"{often} than a drawn profile"
    agreed = (
        f"for {len(same)} of {count_phrase(len(best.levels), 'attribute')}{f' ({join_phrases(same)})' if same else ''}"
    )
    return [
        f"The best profile of all respondents: {named}.",
        f"One half of the respondents alone picks the same level {agreed}. The other half of the respondents chooses this "
        f"profile over a random profile with a probability of {share}: {verdict}.",
    ]


def position_line(choices: pd.DataFrame) -> str:
    """Return whether a profile is chosen because it is shown first."""
    bias = position_bias(choices)
    low, high = bias["low"], bias["high"]
    asked = "whether the position of a profile changes choices"
    if np.isnan(bias["share"]):
        return unknown_sentence(asked, "no pair has an answer in both orders")
    share = f"A is chosen with a probability of {format_estimate(bias['share'], low, high, 3)}"
    if bias["respondents"] < FEWEST:
        return f"{unknown_sentence(asked, too_few('respondent'))} {share}."
    if np.isnan(low):
        return f"Position: over both orders of each pair, {share} by every respondent (0.500 without a position bias)."
    verdict = "A is preferred" if low > EVEN else "B is preferred" if high < EVEN else "no clear position bias"
    return f"Position: over both orders of each pair, {share}: {verdict}. Without a position bias A has 0.500."


def _add_distributions(report: Report, choices: pd.DataFrame, design: ConjointDesign, seed: int) -> None:
    """Add the best distribution over profiles, and the one that an opponent who adapts can beat least."""
    if (largest := max(map(len, design.combinations.values()))) > MOST:
        report.section(
            "Distributions of profiles",
            f"Linked attributes have {largest:,} combinations, above {MOST}, so nothing is computed.",
        )
        return
    if (contest := play(choices, design, np.random.default_rng(derive(seed, "distributions")))) is None:
        return
    table = contest_table(contest)
    report.data(contest=table, strategies=strategy_table(contest, design))
    report.section("Distributions of profiles", DISTRIBUTIONS)
    report.lines(f"- {line}" for line in contest_lines(contest, table))
    if len(table):
        report.table(table, SIDES)
    report.add("The file `strategies.csv` has the probability of each level.")


def contest_lines(contest: Contest, table: pd.DataFrame) -> list[str]:
    """Return how often the best distribution is chosen, and whether an opponent who adapts changes which one is best."""
    if table.empty:
        return [f"With fewer than {2 * FEWEST} respondents, it is unknown how often distributions are chosen."]
    rows = {str(row["side"]): row for row in table.to_dict("records")}
    best, gain = rows[AVERAGE], rows[GAIN]
    shares = format_estimate(best["share"], best["share_low"], best["share_high"], 3)
    often = "more often" if best["share_low"] > EVEN else "not clearly more often"
    lines = [f"The best distribution (penalty {contest.penalty:g}) is chosen {often} than a drawn profile: {shares}."]
    if np.isnan(gain["share_low"]):
        alike = not np.any(contest.values[GAIN])
        said = (
            "is the best profile itself"
            if alike
            else f"and the best profile cannot be compared: {too_few('respondent')}"
        )
        return [*lines, f"Against an opponent who adapts, the distribution that is hardest to beat {said}."]
    more = format_estimate(gain["share"], gain["share_low"], gain["share_high"], 3)
    word = (
        "chosen more often than"
        if gain["share_low"] > 0
        else "chosen less often than"
        if gain["share_high"] < 0
        else "not clearly better than"
    )
    return [
        *lines,
        f"Against an opponent who adapts, the distribution that is hardest to beat is {word} the best profile: {more}.",
    ]


def _add_people(report: Report, study: ConjointStudy, effects: pd.DataFrame, people: pd.DataFrame) -> None:
    """Add the effects on people, and how they differ from those on personas."""
    people_effects = estimate_effects(people, study.design)
    compared = compare_effects(effects, people_effects)
    report.data(people=people_effects, comparison=compared)
    answered, whole = people["chosen"].notna().sum() // 2, len(people) // 2
    count = people.dropna(subset=["chosen"])["respondent"].nunique()
    report.section(
        "People",
        f"{count_phrase(int(answered), 'choice')} of {count_phrase(int(count), 'respondent')}; {whole - answered} choices are "
        "missing. The last column is the difference between the AMCEs of the two independent groups.",
    )
    report.table(compared, BESIDE)
    report.lines(f"- People. {line}" for line in summarise(people, study.design, study.seed))
    away = compared[(compared["difference_low"] > 0) | (compared["difference_high"] < 0)]
    judged = compared["difference_low"].notna().sum()
    report.add(f"For {len(away)} of {judged} levels with an interval, personas and people differ clearly.")
