"""What came of a study of substitution, in words: discrepancies, win rates, what is missing, how good the scorer is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.deliberation.episode import HUMAN, Episode
from parley.analysis.deliberation.payoffs import open_payoff
from parley.analysis.deliberation.position_change import ClusteredMean, cluster_caution
from parley.analysis.deliberation.preference_judge import LOSS, TIE, WIN, win_rates
from parley.analysis.deliberation.substitution import AGAIN, ALL, ONE, REGIMES, STRANGER, Calibration, summary
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import count_phrase, count_table, format_estimate, format_number, markdown_table
from parley.analysis.report import Report
from parley.llm.backends import split_spec

if TYPE_CHECKING:
    from parley.analysis.deliberation.substitution_study import Substitution

HUMANS = (
    "**Opinions of people, the rest by {ours}.** What can be concluded: that real texts run through the whole procedure, and "
    "where it breaks. What cannot: anything about these people, about how well they are represented, or about the statements; "
    "our own speakers do not understand what people wrote."
)
TITLES = {
    AGAIN: "nobody (the same again)",
    ONE: "one, by the own representative",
    STRANGER: "one, by a stranger's",
    ALL: "all, by their own",
}


TWICE = "Two re-simulations of the same people differ too (first row): only what is beyond that is the representatives' doing."
PREFERRED = (
    "{judge} says from the opinion which of two statements a participant would rather agree with, that with representatives or "
    "that of the true profile, in both orders; a verdict that turns with the order is a tie. Win rate: wins and half the ties of "
    "those substituted, 95% intervals over groups. At 0.5 neither is preferred."
)


class SubstitutionResult(NamedTuple):
    """`left_out`: why voices are not represented (reason: count); `silent`: why representatives wrote nothing, one each.

    `payoffs`, `gaps` (discrepancies) and `verdicts` are the tables of substitution_study.py, substitution.py and
    preference_judge.py.
    """

    left_out: dict[str, int]
    payoffs: pd.DataFrame
    gaps: pd.DataFrame
    verdicts: pd.DataFrame
    silent: Sequence[str]
    calibration: Calibration | None


def report(episodes: Sequence[Episode], found: SubstitutionResult, asked: Substitution, path: Path) -> Path:
    """Write it, with the figure; the path. episodes: those that were re-simulated."""
    page = Report(path.parent, path.stem, "Representatives in the place of participants")
    page.add(_asked(episodes, asked), *_limits(episodes, found, asked))
    page.section(
        "Payoff discrepancy",
        "Model profile minus true profile, mean over those substituted; 95% intervals over groups.",
    )
    if len(points := _points(found.gaps)):
        title, caption = f"discrepancy, signed ({asked.payoff})", f"On {disclaimers.spec_label(asked.llm)}"
        drawn = dot_plot(points, ["substituted"], "value", title, caption)
        page.figure(drawn, path.stem, "Payoff discrepancy by who is substituted")
    page.add(_discrepancies(found.gaps))
    page.add(
        "Two re-simulations of the same people differ too (first row): only what is beyond that is the representatives' doing."
    )
    page.section("What a judge prefers", PREFERRED.format(judge=asked.judge), _preferred(found.verdicts))
    page.section("Missing", _missing(found))
    if found.calibration:
        page.section("Is the scorer any good?", _calibrated(found.calibration))
    return page.write()


def _points(gaps: pd.DataFrame) -> pd.DataFrame:
    """The signed discrepancies that are known: a row a kind of substitution."""
    found = summary(gaps)
    known = {regime: one for regime in REGIMES if (one := found.get((regime, "signed"))) and not math.isnan(one.value)}
    return pd.DataFrame(
        [
            {"substituted": TITLES[name], "value": one.value, "low": one.low, "high": one.high}
            for name, one in known.items()
        ]
    )


def _asked(episodes: Sequence[Episode], asked: Substitution) -> str:
    unit = open_payoff(asked.payoff).UNIT
    by = ", as it was recorded" if asked.payoff == "own" else f" by {asked.judge}, a scorer of ours"
    groups, who = len({one.session for one in episodes}), f" ({asked.adapter})" if asked.adapter else ""
    return (
        f"{count_phrase(len(episodes), 'episode')}, {count_phrase(groups, 'group')}. Representatives: {asked.llm}{who}, told "
        f"{asked.knows or 'the base'}; mediator {asked.mediator} on {asked.mediator_llm}; payoff {asked.payoff} ({unit}){by} and "
        f"not the study's payoff model; {asked.repetitions} re-simulations of each."
    )


def _discrepancies(gaps: pd.DataFrame) -> str:
    found = summary(gaps)
    body = [
        [TITLES[regime], _told(found.get((regime, "signed"))), _told(found.get((regime, "absolute"))), str(len(part)),
         str(int(part["missing"].sum()))]
        for regime in REGIMES
        if len(part := gaps[gaps["regime"] == regime])
    ]  # fmt: skip
    return markdown_table(["substituted", "signed", "absolute", "episodes", "people without a payoff"], body)


def _preferred(verdicts: pd.DataFrame) -> str:
    rates, body = win_rates(verdicts), []
    for regime, rate in rates.items():
        part = verdicts[verdicts["regime"] == regime]
        counts, unread = part["verdict"].value_counts(), part.loc[part["verdict"] == "", "reason"]
        kinds = [str(int(counts.get(kind, 0))) for kind in (WIN, TIE, LOSS)]
        body.append([TITLES[regime], _told(rate), *kinds, count_table(unread) or "0"])
    return markdown_table(["substituted", "win rate", "wins", "ties", "losses", "missing"], body)


def _limits(episodes: Sequence[Episode], found: SubstitutionResult, asked: Substitution) -> Iterator[str]:
    """What can and what cannot be concluded."""
    ours = sorted(
        {split_spec(spec)[0] for spec in (asked.llm, asked.mediator_llm, asked.judge)} & set(disclaimers.LABELS)
    )
    people = [one for one in episodes if one.source == HUMAN]
    if people and ours:
        told = ", ".join(f"{name} ({disclaimers.LABELS[name]})" for name in ours)
        yield f"> {HUMANS.format(ours=told)}"
    elif note := disclaimers.is_own_model(asked.llm, asked.mediator_llm, asked.judge):
        yield f"> {note}"
    if people and not any(voice.critique for one in people for voice in one.voices):
        yield (
            "> Nobody here wrote a critique. The true profile is a revision without critiques; what is measured is what adding "
            "those of representatives changes, not how well they stand in for anybody."
        )
    if quiet := sum(count for why, count in found.left_out.items() if why.startswith("no critique")):
        yield (
            f"> Not represented because they wrote no critique themselves, where others did: {quiet}. A representative of theirs "
            "would add a critique; what that changes is not how well it stands in for them."
        )
    groups = len({one.session for one in episodes})
    if few := cluster_caution(groups):
        yield f"> {few}"


def _missing(found: SubstitutionResult) -> str:
    payoffs = found.payoffs
    without = payoffs.loc[payoffs["value"].isna(), "reason"]
    told = [f"{why} {count}" for why, count in found.left_out.items()]
    parts = [
        f"Not represented: {', '.join(told) or 'nobody'}.",
        f"Representatives silent: {count_table(found.silent) or 'none'}; where one "
        "of those substituted is there is no statement.",
    ]
    return " ".join([*parts, f"Payoffs missing: {count_table(without) or 'none'} of {len(payoffs)}."])


def _calibrated(found: Calibration) -> str:
    rows = [
        ["correlation with the final rating", _told(found.r), str(found.r.n)],
        ["prefers the statement that they preferred", _told(found.preferred), str(found.preferred.n)],
        ["score minus rating", _told(found.bias), str(found.bias.n)],
        ["distance", _told(found.error), str(found.error.n)],
    ]
    table = markdown_table(["beside the final ratings", "value", "n"], rows)
    return f"{table}\n\n{format_number(found.missing)} ratings have no score. 95% intervals over participants."


def _told(one: ClusteredMean | None) -> str:
    return format_estimate(one.value, one.low, one.high) if one and not math.isnan(one.value) else "–"
