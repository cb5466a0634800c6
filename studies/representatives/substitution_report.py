"""The report of a study of substitution: payoff discrepancies, and what a judge prefers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.deliberation.episode import HUMAN, Episode
from parley.analysis.deliberation.position_change import ClusteredMean, cluster_caution
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import count_phrase, count_table, format_estimate
from parley.analysis.report import Report
from parley.analysis.statistics.attenuation import gate_sentence
from parley.analysis.statistics.intervals import too_few
from parley.llm.backends import split_spec
from parley.studies.representatives import preference_judge, substitution
from parley.studies.representatives.payoff_measures import Calibration
from parley.studies.representatives.payoffs import open_payoff, scored_by
from parley.studies.representatives.resimulation import Substitution
from parley.studies.representatives.substitution import AGAIN, ALL, MUTE, MUTE_ALL, ONE, STRANGER, in_order

HUMANS = (
    "> **People wrote the opinions, and {ours} wrote all other texts.** The study tests the procedure with real texts. The "
    "study shows nothing about these people, their representation or the statements, because Parley's own speakers do not "
    "understand what people wrote."
)
TITLES = {
    AGAIN: "no one (the same again)",
    ONE: "one, by the own representative",
    STRANGER: "one, by a stranger's",
    ALL: "all, by their own",
    MUTE: "one, without a critique",
    MUTE_ALL: "all, without critiques",
}
TWICE = (
    "The first row compares two simulations of the true profile. Representatives cause only the part of a difference that is "
    "beyond the first row's difference."
)
PREFERRED = (
    "{judge} reads a participant's opinion and chooses between the statement with representatives and the statement of the true "
    "profile. The judge reads the two statements in both orders; if the order decides, the verdict is a tie. The win rate is "
    "wins plus half the ties of the substituted participants, with 95% intervals over groups. At a win rate of 0.5 neither "
    "statement is preferred."
)


class SubstitutionResult(NamedTuple):
    """Tables of a study: payoffs, gaps (discrepancies), verdicts. left_out: why voices are not represented (reason:
    count).

    silent: why representatives wrote nothing, one each.
    """

    left_out: dict[str, int]
    payoffs: pd.DataFrame
    gaps: pd.DataFrame
    verdicts: pd.DataFrame
    silent: Sequence[str | None]
    calibration: Calibration | None


def write_substitution(
    episodes: Sequence[Episode], result: SubstitutionResult, settings: Substitution, path: Path
) -> Path:
    """Write the report with its figure; return its path. episodes: those that were re-simulated."""
    report, means = (
        Report(path.parent, path.stem, "Representatives in place of participants"),
        substitution.summary(result.gaps),
    )
    report.add(_setting_line(episodes, settings), *_limits(episodes, result, settings))
    about = (
        "The payoff discrepancy is the payoff in a profile minus the payoff in the true profile, averaged over "
        "the substituted participants."
    )
    report.section("Payoff discrepancy", f"{about} Brackets hold 95% intervals over groups.")
    points = [
        {"substituted": _title(regime, settings), "value": mean.value, "low": mean.low, "high": mean.high}
        for (regime, measure), mean in means.items()
        if measure == "signed" and not math.isnan(mean.value)
    ]
    if points:
        title, caption = f"discrepancy, signed ({settings.payoff})", f"On {disclaimers.spec_label(settings.llm)}"
        drawn = dot_plot(pd.DataFrame(points), ["substituted"], "value", title, caption)
        report.figure(drawn, path.stem, "Payoff discrepancy by who is substituted")
    parts = {regime: result.gaps[result.gaps["regime"] == regime] for regime in in_order(result.gaps["regime"])}
    rows = [
        [_title(regime, settings), _estimate(means[regime, "signed"]), _estimate(means[regime, "absolute"]),
         str(len(regime_gaps)), str(int(regime_gaps["missing"].sum()))]
        for regime, regime_gaps in parts.items()
    ]  # fmt: skip
    report.table(rows, ["substituted", "signed", "absolute", "episodes", "people without a payoff"])
    report.add(TWICE)
    report.section("What a judge prefers", PREFERRED.format(judge=settings.judge))
    report.table(_win_rows(result.verdicts, settings), ["substituted", "win rate", "wins", "ties", "losses", "missing"])
    report.section("Missing", _missing_line(result))
    if result.calibration:
        _add_calibration(report, result.calibration)
    return report.write()


def _title(regime: str, settings: Substitution) -> str:
    """Return who is substituted by whom, in words; with the model that writes, if there are several."""
    kind, _, writer = regime.partition(":")
    named_ = (writer or settings.name or settings.llm) if settings.others and kind not in substitution.WITHOUT else ""
    return TITLES[kind] + (f" ({named_})" if named_ else "")


def _setting_line(episodes: Sequence[Episode], settings: Substitution) -> str:
    scorer = open_payoff(settings.payoff)
    by = "as it was recorded" if settings.payoff == "own" else f"scored by {scored_by(scorer, settings.judge)}"
    others = "".join(f", and {other.name}" for other in settings.others)
    groups, adapter = (
        len({episode.session for episode in episodes}),
        f" ({settings.adapter})" if settings.adapter else "",
    )
    return (
        f"{count_phrase(len(episodes), 'episode')}, {count_phrase(groups, 'group')}. Representatives: "
        f"{settings.name or settings.llm}{adapter}{others}, informed of {settings.knows or 'the base'}. Mediator: "
        f"{settings.mediator} on {settings.mediator_llm}. The payoff is {settings.payoff} ({scorer.UNIT}), {by}; it is not "
        f"the study's payoff model. Each profile is re-simulated {settings.repetitions} times."
    )


def _limits(episodes: Sequence[Episode], result: SubstitutionResult, settings: Substitution) -> Iterator[str]:
    """Yield what can and what cannot be concluded."""
    specs = (settings.llm, settings.mediator_llm, settings.judge)
    own_models = sorted({split_spec(spec)[0] for spec in specs} & set(disclaimers.LABELS))
    people = [episode for episode in episodes if episode.source == HUMAN]
    if people and own_models:
        yield HUMANS.format(ours=", ".join(f"{name} ({disclaimers.LABELS[name]})" for name in own_models))
    elif note := disclaimers.is_own_model(*specs):
        yield f"> {note}"
    if people and not any(voice.critique for episode in people for voice in episode.voices):
        yield (
            "> No participant wrote a critique, so the true profile is a revision without critiques. The study "
            "measures what the representatives' critiques change, not how well they represent the participants."
        )
    if quiet := sum(count for reason, count in result.left_out.items() if reason.startswith("no critique")):
        yield (f"> Participants are not represented if they wrote no critique themselves, where others did: {quiet}.")
    if caution := cluster_caution(len({episode.session for episode in episodes})):
        yield f"> {caution}"


def _win_rows(verdicts: pd.DataFrame, settings: Substitution) -> Iterator[list[str]]:
    for regime, rate in preference_judge.win_rates(verdicts).items():
        regime_verdicts = verdicts[verdicts["regime"] == regime]
        counts, unread = (
            regime_verdicts["verdict"].value_counts(),
            regime_verdicts.loc[regime_verdicts["verdict"] == "", "reason"],
        )
        wins = [str(int(counts.get(kind, 0))) for kind in preference_judge.POINTS]
        yield [_title(regime, settings), _estimate(rate), *wins, count_table(unread) or "0"]


def _missing_line(result: SubstitutionResult) -> str:
    payoffs = result.payoffs
    unscored = count_table(payoffs.loc[payoffs["value"].isna(), "reason"]) or "none"
    left_out = ", ".join(f"{reason} {count}" for reason, count in result.left_out.items()) or "none"
    silent = count_table(result.silent) or "none"
    return (
        f"Participants not represented: {left_out}. Representatives silent: {silent}; "
        f"a profile with a silent representative has no statement. Payoffs missing: {unscored} of {len(payoffs)}."
    )


def _add_calibration(report: Report, calibration: Calibration) -> None:
    rows = {
        "correlation with the final rating": calibration.r,
        "prefers the statement that the participant preferred": calibration.preferred,
        "score minus rating": calibration.bias,
        "distance from the rating": calibration.error,
    }
    report.section("How good is the scorer of payoffs?")
    report.table(
        [[what, _estimate(mean), str(mean.n)] for what, mean in rows.items()],
        ["compared with final ratings", "value", "n"],
    )
    report.add(f"{calibration.missing} ratings have no score. Brackets hold 95% intervals over groups.")
    r, few = calibration.r, too_few("group")
    report.add(gate_sentence("the scorer", "its correlation with final ratings", r.value, r.low, r.high, few))


def _estimate(mean: ClusteredMean) -> str:
    return format_estimate(mean.value, mean.low, mean.high)
