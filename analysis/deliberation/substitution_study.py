"""The study of substitution: representatives write, a mediator revises, a scorer says what it is worth; and its report.

All replies are journaled in the folder of the study, so a study that was stopped goes on where it ended.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.mediators import open_mediator
from parley.agents.mediators.base import Statement
from parley.agents.representative import Critique, parse_knowledge
from parley.analysis import disclaimers
from parley.analysis.bootstrap import too_few
from parley.analysis.deliberation import preference_judge, representation, substitution
from parley.analysis.deliberation.episode import HUMAN, Episode, to_line
from parley.analysis.deliberation.payoffs import AGREEMENT, open_payoff, own_model, scored_by
from parley.analysis.deliberation.position_change import ClusteredMean, cluster_caution
from parley.analysis.deliberation.preference_judge import statement_pairs
from parley.analysis.deliberation.substitution import (
    AGAIN,
    ALL,
    MUTE,
    MUTE_ALL,
    ONE,
    OWN,
    STRANGER,
    Calibration,
    Resimulation,
    in_order,
    named,
)
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import cell, count_phrase, count_table, format_estimate
from parley.analysis.journaled_calls import CallDesk, check_manifest
from parley.analysis.judging import UNASKED, Verdict, missing, undecided
from parley.analysis.report import Report
from parley.analysis.statistics.gate import gate_sentence
from parley.llm.backends import check_spec, identity_spec, split_spec
from parley.llm.errors import UserError
from parley.llm.request import Backend
from parley.llm.seeding import derive, digest
from parley.model.scenario_run import lock_folder

PREDICTED = "predicted"
HUMANS = (
    "> **The opinions are those of people; {ours} wrote the rest.** The study shows that real texts run through the "
    "whole procedure, and where it breaks. It shows nothing about these people, about how well they are represented, "
    "or about the statements: our own speakers do not understand what people wrote."
)
TITLES = {
    AGAIN: "no one (the same again)",
    ONE: "one, by the own representative",
    STRANGER: "one, by a stranger's",
    ALL: "all, by their own",
    MUTE: "one, without a critique",
    MUTE_ALL: "all, without critiques",
}
TWICE = "Two re-simulations of the same people differ too (first row): only what is beyond that is due to the representatives."
PREFERRED = (
    "{judge} says from the opinion which of two statements a participant would rather agree with: that with "
    "representatives, or that of the true profile. It is asked in both orders; if the order decides, the verdict is "
    "a tie. The win rate is wins plus half the ties of the substituted participants, with 95% intervals over groups. "
    "At 0.5 neither statement is preferred."
)


class Writer(NamedTuple):
    """A further model that writes: its name on the page, its spec, and the name of its adapter ("": none)."""

    name: str
    spec: str
    adapter: str = ""


@dataclass(frozen=True)
class Substitution:
    """Who writes, who mediates, who says what a statement is worth, how often each group is re-simulated.

    others: further models that write. mute: whether groups are also simulated without critiques. name: of the first model on the
    page, if there are others (default: its spec).
    """

    llm: str = "pocket"
    adapter: str = ""
    knows: str = "OC"
    mediator: str = "draft_revise"
    mediator_llm: str = "oracle"
    payoff: str = "judge"
    judge: str = "oracle"
    repetitions: int = 3
    seed: int = 0
    others: tuple[Writer, ...] = ()
    mute: bool = False
    name: str = ""

    @property
    def writers(self) -> dict[str, representation.Author]:
        """The models that write, by the name that their regimes carry: "" for the first."""
        first = {"": representation.Author(self.llm, self.adapter, self.knows)}
        return first | {one.name: representation.Author(one.spec, one.adapter, self.knows) for one in self.others}

    def __post_init__(self) -> None:
        for spec in (self.llm, *(one.spec for one in self.others), self.mediator_llm, self.judge):
            check_spec(spec)
        if self.repetitions < 1:
            raise UserError("--repetitions must be at least 1")
        object.__setattr__(self, "knows", parse_knowledge(self.knows))
        if not open_mediator(self.mediator).calls(1):
            raise UserError(
                f"mediator {self.mediator} ignores critiques, so representatives would change nothing: use "
                "--mediator draft_revise or --mediator habermas"
            )
        if getattr(open_mediator(self.mediator), "ballots", PREDICTED) != PREDICTED:
            raise UserError("the members of recorded episodes cannot be asked for ballots: set ballots=predicted")
        open_payoff(self.payoff)


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


def run_substitution(episodes: Sequence[Episode], settings: Substitution, desk: CallDesk) -> Path:
    """Write payoffs.csv, discrepancies.csv, verdicts.csv, statements.csv and substitute.md; return the path of the
    last.

    Errors: UserError on a folder of another study, if no participant can be represented, if there are more statements
    than can be scored at once, and if the representatives' model does not have the adapter.
    """
    cases = _representable_cases(episodes)
    with_cases = {case.episode for case in cases.cases}
    groups = [episode for episode in episodes if episode.id in with_cases]
    _check_capacity(groups, settings)
    opened = {
        name: representation.open_authors(author) for name, author in settings.writers.items() if author.adapter
    }  # refuses a model without the adapter before anything is asked
    desk.folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(desk.folder):
        specs: dict[str, Any] = {
            name: identity_spec(getattr(settings, name)) for name in ("llm", "mediator_llm", "judge")
        }
        specs["others"] = [[one.name, identity_spec(one.spec), one.adapter] for one in settings.others]
        manifest = {**asdict(settings), **specs, "episodes": digest(*map(to_line, episodes)).hex()}
        check_manifest(desk.folder / "substitute.json", manifest, "study of substitution")
        written = _write_critiques(cases.cases, settings, opened, desk)
        resimulations = _write_statements(groups, written, settings, desk)
        payoffs = _score_payoffs(groups, resimulations, settings, desk)
        verdicts = _judge_statements(resimulations, settings, desk)
        calibration = _calibrate(episodes, settings, desk)
    gaps = substitution.discrepancies(payoffs)
    tables = {
        "payoffs": payoffs, "discrepancies": gaps, "verdicts": verdicts, "statements": _statement_rows(resimulations)
    }  # fmt: skip
    for name, frame in tables.items():
        frame.to_csv(desk.folder / f"{name}.csv", index=False)
    silent = [critique.reason for critique in written.values() if critique.text is None]
    result = SubstitutionResult(cases.left_out, payoffs, gaps, verdicts, silent, calibration)
    return _write_report(groups, result, settings, desk.folder / "substitute.md")


def _statement_rows(resimulations: Sequence[Resimulation]) -> pd.DataFrame:
    """Return a row per re-simulation, with its statement or the reason why it is missing."""
    rows = [
        (episode.id, *profile, cell(said.text or ""), said.reason or "") for episode, profile, said in resimulations
    ]
    return pd.DataFrame(rows, columns=["episode", "regime", "substituted", "number", "statement", "reason"])


def _representable_cases(episodes: Sequence[Episode]) -> representation.Cases:
    """Return the cases with opinion, draft and critique; if there are none, those with opinion and draft."""
    for written in (True, False):
        if (cases := representation.representation_cases(episodes, written)).cases:
            return cases
    raise UserError(
        "no participant can be represented, because none has both an opinion and a draft: give other episodes"
    )


def _check_capacity(groups: Sequence[Episode], settings: Substitution) -> None:
    """Errors: UserError if a group gets more statements than the scorer takes at once, with how many repetitions fit."""
    most, each = open_payoff(settings.payoff).MOST, max(len(list(_profiles(one, 1, settings))) for one in groups)
    if most is not None and each * settings.repetitions > most:
        advice = f"set --repetitions {most // each} or less" if each <= most else "choose another --payoff"
        raise UserError(
            f"payoff {settings.payoff} can score at most {most} statements per group, not {each * settings.repetitions} "
            f"({each} per repetition): {advice}"
        )


def _write_critiques(
    cases: Sequence[representation.RepresentationCase],
    settings: Substitution,
    opened: dict[str, Backend],
    desk: CallDesk,
) -> dict[tuple[str, str, int], Critique]:
    """Return critiques by case key, own or stranger (with the model), and repetition.

    opened: models that are open already, by the name of the writer; each is let go after its critiques, so that the
    mediator's has room.
    """
    others = representation.strangers(cases, settings.seed)
    orders = {
        (case.key, who, number): representation.WritingOrder(case, subject, number)
        for case in cases
        for number in range(settings.repetitions)
        for who, subject in ((OWN, case), (STRANGER, others.get(case.key)))
        if subject
    }
    written: dict[tuple[str, str, int], Critique] = {}
    for writer, author in settings.writers.items():
        critiques = representation.write_texts(
            list(orders.values()), author, settings.seed, desk, opened.pop(writer, None)
        )
        keys = [(key, named(who, writer), number) for key, who, number in orders]
        written |= dict(zip(keys, critiques, strict=True))
    return written


def _profiles(episode: Episode, repetitions: int, settings: Substitution) -> Iterator[substitution.Profile]:
    return substitution.profiles(episode, repetitions, list(settings.writers), settings.mute)


def _write_statements(
    groups: Sequence[Episode], written: substitution.Texts, settings: Substitution, desk: CallDesk
) -> list[Resimulation]:
    """Return what the mediator writes in each re-simulation."""
    mediator = open_mediator(settings.mediator)
    plans = [(one, profile) for one in groups for profile in _profiles(one, settings.repetitions, settings)]
    asking = [substitution.resimulated(*plan, written, mediator, settings.seed) for plan in plans]
    statements: list[Statement] = desk.ask(asking, settings.mediator_llm, "statements", _statement_failure)
    return [Resimulation(*plan, statement) for plan, statement in zip(plans, statements, strict=True)]


def _score_payoffs(
    groups: Sequence[Episode], resimulations: Sequence[Resimulation], settings: Substitution, desk: CallDesk
) -> pd.DataFrame:
    """Return a row per payoff: episode, session, participant, regime, number, value, reason."""
    scorer = open_payoff(settings.payoff)
    texts: dict[str, dict[str, None]] = {episode.id: {} for episode in groups}  # distinct statements in order
    for episode, _, statement in resimulations:
        if statement.text is not None:
            texts[episode.id][statement.text] = None
    seats = [
        (one, voice) for one in groups for voice in one.voices if voice.participant in substitution.represented(one)
    ]
    asking = [
        scorer.score(episode, voice, list(texts[episode.id]), derive(settings.seed, "payoff", episode.id))
        for episode, voice in seats
    ]
    scores: list[tuple[Verdict, ...]] = desk.ask(asking, settings.judge, "payoffs", score_failure, own_model(scorer))
    known = {
        (episode.id, voice.participant, text): score
        for (episode, voice), row in zip(seats, scores, strict=True)
        for text, score in zip(texts[episode.id], row, strict=True)
    }
    rows = []
    for episode, profile, statement in resimulations:
        silent = missing(f"no statement ({statement.reason})")
        for who in substitution.substituted(episode, profile):
            score = known[episode.id, who, statement.text] if statement.text is not None else silent
            rows.append((episode.id, episode.session, who, profile.regime, profile.number, score.value, score.reason))
    columns = ["episode", "session", "participant", "regime", "number", "value", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"value": float})


def _judge_statements(resimulations: Sequence[Resimulation], settings: Substitution, desk: CallDesk) -> pd.DataFrame:
    """Return what the judge prefers: the statement with representatives, or the one without."""
    pairs = statement_pairs(resimulations)
    asking = [preference_judge.compare_statements(pair, settings.seed) for pair in pairs]
    return preference_judge.statement_table(pairs, desk.ask(asking, settings.judge, "verdicts", undecided))


def _calibrate(episodes: Sequence[Episode], settings: Substitution, desk: CallDesk) -> Calibration | None:
    """Compare the scorer with participants' ratings; None without ratings, and if the payoff is the rating itself."""
    ratings: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    for episode_id, participant, name, rating in substitution.rated_statements(episodes):
        ratings[episode_id, participant].append((name, rating))
    if not ratings or settings.payoff == "own":
        return None
    scorer = open_payoff(settings.payoff)
    seats = {(one.id, voice.participant): (one, voice) for one in episodes for voice in one.voices}
    asking = [
        scorer.score(
            *seats[key], [getattr(seats[key][0], name) for name, _ in rated], derive(settings.seed, "payoff", key[0])
        )
        for key, rated in ratings.items()
    ]
    scores: list[tuple[Verdict, ...]] = desk.ask(asking, settings.judge, "payoffs", score_failure, own_model(scorer))
    rows = [
        (*key, name, rating, score.value)
        for (key, rated), verdicts in zip(ratings.items(), scores, strict=True)
        for (name, rating), score in zip(rated, verdicts, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["episode", "participant", "statement", "rating", "score"])
    return substitution.calibrate_payoff(table.astype({"score": float}), same_scale=scorer.UNIT == AGREEMENT)


def _statement_failure(statement: Statement) -> str | None:
    """Return why a mediator that was asked has no statement; None also where it was not asked."""
    reason = statement.reason if statement.text is None else None
    return None if reason and reason.startswith(substitution.SILENT) else reason


def score_failure(scores: Sequence[Verdict]) -> str | None:
    """Return why none of the statements has a payoff; None also where the scorer was not asked."""
    reasons = [score.reason for score in scores if score.value is None]
    return reasons[0] if reasons and len(reasons) == len(scores) and not reasons[0].startswith(UNASKED) else None


def _write_report(episodes: Sequence[Episode], result: SubstitutionResult, settings: Substitution, path: Path) -> Path:
    """Write the report with its figure; return its path. episodes: those that were re-simulated."""
    report, means = (
        Report(path.parent, path.stem, "Representatives in place of participants"),
        substitution.summary(result.gaps),
    )
    report.add(_setting_line(episodes, settings), *_limits(episodes, result, settings))
    about = "The payoff in a profile minus that in the true profile, averaged over the substituted participants."
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
    parts = {
        regime: part
        for regime in in_order(result.gaps["regime"])
        if len(part := result.gaps[result.gaps["regime"] == regime])
    }
    rows = [
        [_title(regime, settings), _estimate(means[regime, "signed"]), _estimate(means[regime, "absolute"]), str(len(part)),
         str(int(part["missing"].sum()))]
        for regime, part in parts.items()
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
    others = "".join(f", and {one.name}" for one in settings.others)
    groups, adapter = len({one.session for one in episodes}), f" ({settings.adapter})" if settings.adapter else ""
    return (
        f"{count_phrase(len(episodes), 'episode')}, {count_phrase(groups, 'group')}. "
        f"Representatives: {settings.name or settings.llm}{adapter}{others}, told {settings.knows or 'the base'}. "
        f"Mediator: {settings.mediator} on {settings.mediator_llm}. "
        f"Payoff: {settings.payoff} ({scorer.UNIT}), {by}; it is not the study's payoff model. "
        f"Each profile is re-simulated {settings.repetitions} times."
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
        yield (
            f"> Not represented because they wrote no critique themselves, where others did: {quiet}. Their representative would "
            "add a critique; what that changes is not how well it represents them."
        )
    if caution := cluster_caution(len({episode.session for episode in episodes})):
        yield f"> {caution}"


def _win_rows(verdicts: pd.DataFrame, settings: Substitution) -> Iterator[list[str]]:
    for regime, rate in preference_judge.win_rates(verdicts).items():
        part = verdicts[verdicts["regime"] == regime]
        counts, unread = part["verdict"].value_counts(), part.loc[part["verdict"] == "", "reason"]
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
    report.section("How good is the scorer?")
    report.table(
        [[what, _estimate(mean), str(mean.n)] for what, mean in rows.items()],
        ["compared with final ratings", "value", "n"],
    )
    report.add(f"{calibration.missing} ratings have no score. Brackets hold 95% intervals over participants.")
    r, few = calibration.r, too_few("participant")
    report.add(gate_sentence("the scorer", "its correlation with final ratings", r.value, r.low, r.high, few))


def _estimate(mean: ClusteredMean) -> str:
    return format_estimate(mean.value, mean.low, mean.high)
