"""How near is a representative to its person at each step: the opinion, a ballot on candidates, the final vote.

For each step of a recorded session the person's own act is compared with that of its representative, with that of another
group member's representative (a stranger's: the null), and with what the same person does when asked the same once more (the
ceiling). The unit is the session. Representatives know what the person did before the step, and nothing of the step itself.

likeness, 1 for the same:
    opinion   1 minus the mean distance between the payoffs (`payoffs/`) that a scorer reads from the two opinions, over the same
              statements, as a share of the payoff's range
    ballot    Kendall's tau-b of the two ballots; -1 for opposite ones, unknown where all candidates of one are tied
    vote      1 for the same vote, 0.5 where one of the two is a tie, 0 for opposite ones
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.ballots import renumbered
from parley.agents.mediators.base import ATTEMPTS
from parley.agents.representative import OPINION, CritiqueBrief, Representative, parse_knowledge
from parley.agents.social_choice import Places, preference_levels, read_ranking
from parley.analysis.deliberation.run_episodes import USUAL, rule_of, run_names
from parley.analysis.journaled_calls import CallDesk, check_manifest
from parley.analysis.judging import Verdict
from parley.analysis.statistics.intervals import SIGNED, mean_interval, why_no_interval
from parley.llm.backends import check_spec, identity_spec
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request, Sampling
from parley.llm.router import open_all
from parley.llm.seeding import derive, digest
from parley.model.scenario_run import lock_folder
from parley.studies.representatives.ballot_equivalence import Poll, compare_ballots
from parley.studies.representatives.ballots import UNIT, rank_correlation
from parley.studies.representatives.payoffs import AGREEMENT, open_payoff, own_model, ranking
from parley.studies.representatives.representation import Author, open_authors
from parley.studies.representatives.step_cases import Sessions, StepCase, read_sessions

OWN, STRANGER, TWICE = WHO = ("own", "stranger", "twice")
"""Who is compared with the person: its representative, a stranger's, the person asked once more."""
RANGES = {AGREEMENT: 6.0, ranking.UNIT: 1.0}
"""The units of payoffs by which opinions are compared, and the range of each."""
ALL_TIED, NOT_ASKED = "all candidates tied", "the person cannot be asked again"


@dataclass(frozen=True)
class StepStudy:
    """Who acts for people, what it knows, and who reads opinions. again: whether people are asked a second time."""

    llm: str = "pocket"
    adapter: str = ""
    knows: str = "OCP"
    payoff: str = "judge"
    judge: str = "oracle"
    seed: int = 0
    again: bool = True

    def __post_init__(self) -> None:
        for spec in (self.llm, self.judge):
            check_spec(spec)
        object.__setattr__(self, "knows", parse_knowledge(self.knows))
        if self.payoff == "own" or open_payoff(self.payoff).UNIT not in RANGES:
            raise UserError(
                f"--payoff {self.payoff} cannot be read from an opinion: choose judge, ranking or trained:FOLDER (form rating)"
            )


class Act(NamedTuple):
    """What someone did at a step: an opinion or an order, or neither and the reason."""

    text: str | None = None
    order: Places | None = None
    reason: str = ""


class StepResult(NamedTuple):
    """A row per person and step; a row per ballot or vote that is replaced (`compare_ballots`); the sessions."""

    cases: pd.DataFrame
    replaced: pd.DataFrame
    sources: list[Sessions]


def compare_steps(paths: Sequence[Path], settings: StepStudy, desk: CallDesk) -> StepResult:
    """Return the likeness of each of WHO to the person at each step, and what their ballots change.

    Columns of the cases: step, session, episode, participant, round, own, stranger, twice (NaN: unknown), and the reason of each:
    why_own, ...
    Errors: UserError on a folder of another study, or if no one can be compared.
    """
    prefixes = [f"{name}/" for name in run_names(paths)] if len(paths) > 1 else [""]
    sources = [read_sessions(path, settings.seed, prefix) for path, prefix in zip(paths, prefixes, strict=True)]
    cases = [(case, source) for source in sources for case in source.cases]
    if not cases:
        raise UserError(
            "no group has two people with an opinion and a draft, so no person can be compared: give other episodes"
        )
    desk.folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(desk.folder):
        specs = {name: identity_spec(getattr(settings, name)) for name in ("llm", "judge")}
        content = digest(*(repr((*case.key, case.text, case.order)) for case, _ in cases)).hex()
        check_manifest(desk.folder / "steps.json", {**asdict(settings), **specs, "steps": content}, "study of steps")
        acts = _represent(cases, settings, desk) | _ask_again(sources, settings, desk)
        likeness = _opinion_likeness([case for case, _ in cases], acts, settings, desk)
    rows = [_row(case, acts, likeness) for case, _ in cases]
    return StepResult(pd.DataFrame(rows), compare_ballots(_polls(cases, acts)), sources)


Acts = Mapping[tuple[str, tuple[Any, ...]], Act]
"""By who acts, and the key of the case."""


def _represent(cases: Sequence[tuple[StepCase, Sessions]], settings: StepStudy, desk: CallDesk) -> dict[Any, Act]:
    """Return what the representatives do: the person's own, and a stranger's."""
    author = Author(settings.llm, settings.adapter, settings.knows)
    orders = [(who, case) for case, _ in cases for who in (OWN, STRANGER)]
    asking = [
        _act(case, case.brief if who == OWN else case.stranger, author, who, settings.seed) for who, case in orders
    ]
    acts = desk.ask(asking, settings.llm, "representatives", lambda act: act.reason or None, open_authors(author))
    return {(who, case.key): act for (who, case), act in zip(orders, acts, strict=True)}


def _act(case: StepCase, brief: CritiqueBrief, author: Author, who: str, seed: int) -> Conversation[Act]:
    """Ask a representative for an opinion or an order; an order that cannot be read is asked for again."""
    speaker = Representative(brief, author.knows, Sampling(author.temperature, author.tokens), author.adapter)
    named = derive(seed, "step", who, author.knows, *case.key)
    if case.step == OPINION:
        sampling = Sampling(author.temperature, max(author.tokens, 2 * case.words))
        speaker = Representative(brief, author.knows, sampling, author.adapter)
        return _read_text((yield from ask(speaker.compose_opinion(named, case.words))))
    act = Act(reason="not asked")
    for attempt in range(ATTEMPTS):
        attempt_seed = derive(named, "attempt", attempt)
        act = _read_order((yield from ask(speaker.compose_ballot(case.statements, attempt_seed, attempt > 0))), case)
        if act.order is not None:
            break
    return act


def _ask_again(sources: Sequence[Sessions], settings: StepStudy, desk: CallDesk) -> dict[Any, Act]:
    """Return what people do who are asked the same once more, with another seed, by the model of their run."""
    acts_by_case: dict[Any, Act] = {}
    for source in sources if settings.again else ():
        cases = [case for case in source.cases if case.request is not None]
        if source.scenario and cases:
            spec = source.scenario.models.llm
            backend = open_all(spec, source.scenario.llm_by_party)
            asking = [_again(case, settings.seed) for case in cases]
            acts = desk.ask(asking, spec, "people again", lambda act: act.reason or None, backend)
            acts_by_case |= {(TWICE, case.key): act for case, act in zip(cases, acts, strict=True)}
    return acts_by_case


def _again(case: StepCase, seed: int) -> Conversation[Act]:
    request: Request | None = case.request
    assert request is not None
    sampling = request.sampling._replace(temperature=request.sampling.temperature or 1.0)
    reply = yield from ask(replace(request, sampling=sampling, seed=derive(seed, TWICE, *case.key)))
    return _read_text(reply) if case.step == OPINION else _read_order(reply, case)


def _polls(cases: Sequence[tuple[StepCase, Sessions]], acts: Acts) -> Iterator[Poll]:
    """Yield each recorded choice among statements, with the ballots of WHO; the order of their texts numbers candidates."""
    choices: dict[tuple[Any, ...], list[tuple[StepCase, Sessions]]] = defaultdict(list)
    for case, source in cases:
        if case.order:
            choices[case.step, case.session, case.episode.id, case.round, tuple(sorted(case.statements))].append(
                (case, source)
            )
    for (step, session, episode, round_, statements), voters in choices.items():
        own_orders = {case.voice.participant: _numbered(case, case.order) for case, _ in voters}
        instead: dict[str, dict[str, Places]] = {}
        reasons: dict[tuple[str, str], str] = {}
        for who, case in [(who, case) for who in WHO for case, _ in voters]:
            act, member = acts.get((who, case.key), Act(reason=NOT_ASKED)), case.voice.participant
            ballots = instead.setdefault(who, {})
            if act.order is None:
                reasons[who, member] = act.reason
            else:
                ballots[member] = _numbered(case, act.order)
        scenario = voters[0][1].scenario
        rule = rule_of(scenario.speech.mediator) if scenario else USUAL
        yield Poll(step, session, episode, round_, statements, rule, own_orders, instead, reasons)


def _numbered(case: StepCase, order: Places) -> Places:
    """Return a ballot with the numbers of the candidates in the order of their texts."""
    by_text = sorted(range(len(case.statements)), key=lambda shown: case.statements[shown])
    return renumbered(order, by_text.index)


def _read_text(reply: Reply) -> Act:
    written = Representative.absorb_text(reply)
    return Act(written.text, None, "" if written.text is not None else written.reason)


def _read_order(reply: Reply, case: StepCase) -> Act:
    ranking = read_ranking(reply.text, len(case.statements))
    reason = reply.failure.name if reply.failure else ranking.reason or ""
    return Act(None, ranking.order, reason if ranking.order is None else "")


def _opinion_likeness(
    cases: Sequence[StepCase], acts: Acts, settings: StepStudy, desk: CallDesk
) -> dict[tuple[str, tuple[Any, ...]], tuple[float, str]]:
    """Return the likeness of opinions to the person's own, by the payoffs that the scorer reads from them."""
    scorer, texts = open_payoff(settings.payoff), list[tuple[str, StepCase, str]]()
    for case in cases:
        if case.step == OPINION:
            texts.append(("", case, case.text))
            texts += [(who, case, act.text) for who in WHO if (act := acts.get((who, case.key))) and act.text]
    asking = []
    for who, case, text in texts:
        voice, named = replace(case.voice, opinion=text), derive(settings.seed, "payoff", who, *case.key)
        asking.append(scorer.score(case.episode, voice, case.statements, named))
    rows: list[tuple[Verdict, ...]] = desk.ask(asking, settings.judge, "payoffs", _unscored, own_model(scorer))
    scores = {
        (who, case.key): [verdict.value for verdict in row] for (who, case, _), row in zip(texts, rows, strict=True)
    }
    reasons = {(who, case.key): _unscored(row) or "" for (who, case, _), row in zip(texts, rows, strict=True)}
    return {
        key: (1 - distance / RANGES[scorer.UNIT], "")
        if (distance := mean_distance(row, scores["", key[1]])) is not None
        else (math.nan, f"no payoff ({reasons[key] or reasons['', key[1]]})")
        for key, row in scores.items()
        if key[0]
    }


def mean_distance(first: Sequence[float | None], second: Sequence[float | None]) -> float | None:
    """Return the mean distance over the statements that have both payoffs; None without one.

    >>> mean_distance([1.0, None, 4.0], [2.0, 3.0, 7.0])
    2.0
    """
    pairs = [(x, y) for x, y in zip(first, second, strict=True) if x is not None and y is not None]
    return fmean(abs(x - y) for x, y in pairs) if pairs else None


def _unscored(row: Sequence[Verdict]) -> str | None:
    """Return why none of the statements has a payoff."""
    reasons = [verdict.reason for verdict in row if verdict.value is None]
    return reasons[0] if reasons and len(reasons) == len(row) else None


def _row(case: StepCase, acts: Acts, likeness: Mapping[Any, tuple[float, str]]) -> dict[str, Any]:
    row: dict[str, Any] = {"step": case.step, "session": case.session, "episode": case.episode.id}
    row |= {"participant": case.voice.participant, "round": case.round}
    for who in WHO:
        if (act := acts.get((who, case.key))) is None:
            row |= {who: math.nan, f"why_{who}": NOT_ASKED}
        elif act.reason:
            row |= {who: math.nan, f"why_{who}": act.reason}
        elif case.step == OPINION:
            value, reason = likeness[who, case.key]
            row |= {who: value, f"why_{who}": reason}
        else:
            value = order_likeness(case.step, case.order, act.order or (), len(case.statements))
            row |= {who: value, f"why_{who}": ALL_TIED if math.isnan(value) else ""}
    return row


def order_likeness(step: str, first: Places, second: Places, count: int) -> float:
    """Return tau-b of two ballots; of two votes 1 minus half the distance of what they prefer (a tie is in the middle).

    >>> order_likeness("vote", (0, 1), ((0, 1),), 2), order_likeness("ballot", (0, 1, 2), (0, 2, 1), 3)
    (0.5, 0.33333333333333337)
    """
    levels = [preference_levels(order, count) for order in (first, second)]
    if step == "ballot":
        return rank_correlation(*levels)
    prefers = [float(np.sign(ballot[1] - ballot[0])) for ballot in levels]
    return 1 - abs(prefers[0] - prefers[1]) / 2


def step_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per step and measure: own, stranger, twice, gain (own minus stranger), short (twice minus own).

    Values are means over the cases of a session first; the interval is over sessions (none below five). A difference
    counts the cases that have both. Columns: step, measure, value, low, high, sessions, cases, missing, reason.
    """
    table_rows = []
    for step in dict.fromkeys(rows["step"]):
        step_rows = rows[rows["step"] == step]
        values = {who: step_rows[who] for who in WHO}
        values |= {"gain": step_rows[OWN] - step_rows[STRANGER], "short": step_rows[TWICE] - step_rows[OWN]}
        for measure, column in values.items():
            readable = column.dropna()
            means = readable.groupby(step_rows.loc[readable.index, "session"]).mean().to_numpy(dtype=float)
            low, high = mean_interval(means, bounds=SIGNED if measure in WHO else None)
            value = float(means.mean()) if len(means) else math.nan
            table_rows.append({
                "step": step, "measure": measure, "value": value, "low": low, "high": high, "sessions": len(means),
                "cases": len(readable), "missing": len(column) - len(readable), "reason": why_no_interval(means, UNIT),
            })  # fmt: skip
    return pd.DataFrame(table_rows)
