"""One verdict: the question, and what is read out of the replies.

Every statement of a run before a judge: journaled, so that a killed judging goes on and asks nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.datafiles import read_toml
from parley.agents.scales import read_rating
from parley.agents.topic import Topic, load_topic, scales
from parley.analysis.journaled_calls import check_manifest, open_journal, read_answers
from parley.analysis.tables import Tables
from parley.llm.backends import identity_spec, open_spec
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar, Conversation, ask_all
from parley.llm.errors import UserError
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

VERDICTS = "verdicts.sqlite"
WHO = ["topic", "group", "repetition", "room", "seat", "party", "agent", "round", "iteration"]


def judge_run(
    tables: Tables,
    folder: Path,
    spec: str,
    judging: Judging,
    bar: Bar,
    budget: Budget = NO_LIMIT,
    ledger: Ledger | None = None,
    opened: Callable[[str], Backend] = open_spec,
) -> pd.DataFrame:
    """A row a turn: WHO, statement (the agent's first, second, ...), text, score (1-7 on the topic's claim, NaN: none),
    readings (how many), reasons (why replies were not read, or why nothing was said). A turn without words keeps its place.
    Errors: UserError on a folder of another judging; BudgetSpent, what was answered being kept.
    """
    backend = opened(spec)
    with lock_folder(folder):
        _claim(folder, spec, judging)
        with open_journal(backend, folder / VERDICTS, budget, ledger) as journal:
            found = verdict_table(tables, journal, judging, bar, (spec, budget.keep_going))
        found.to_csv(folder / "verdicts.csv", index=False)
    return found


def verdict_table(
    tables: Tables, backend: Backend, judging: Judging, bar: Bar, how: tuple[str, bool] = ("the judge", True)
) -> pd.DataFrame:
    """The same without a folder. `how`: the judge's name, and whether to keep going where nothing that it says can be read."""
    turns = tables.utterances.reset_index(drop=True)
    said = turns[turns["text"].notna()]
    names = tables.agents.set_index(["room", "agent"])["name"]
    statements = [
        Statement(f"{row.room} {row.iteration}", load_topic(row.topic), row.text, names[row.room, row.agent], row.party)
        for row in said.itertuples()
    ]
    with bar("verdicts", 0) as progress:
        asking = [judge_statement(statement, judging) for statement in statements]
        found = read_answers(asking, backend, progress, _why, (how[0], "verdicts"), how[1])
    rows = turns[[*WHO, "text"]]
    rows.insert(len(WHO), "statement", rows.groupby(["room", "agent"]).cumcount() + 1)
    judged = pd.DataFrame(_columns(found), index=said.index).reindex(turns.index)
    judged["reasons"] = judged["reasons"].fillna(turns["reason"]).fillna("")
    return pd.concat([rows, judged.astype({"readings": "Int64"})], axis=1)


def score_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as a table of scores (analysis/scores): the group is the condition, the room the run, the seat the agent."""
    named = {"group": "condition", "room": "run", "seat": "agent"}
    return verdicts.drop(columns="agent").rename(columns=named)[["topic", *named.values(), "statement", "score"]]


def _why(one: Verdict) -> str | None:
    return None if one.score is not None else (*one.reasons, "empty")[0]


def _columns(found: list[Verdict]) -> dict[str, list[Any]]:
    return {
        "score": [one.score if one.score is not None else float("nan") for one in found],
        "readings": [len(one.readings) for one in found],
        "reasons": [", ".join(one.reasons) or None for one in found],
    }


def _claim(folder: Path, spec: str, judging: Judging) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in prompts()}
    check_manifest(folder / "judge.json", {"llm": identity_spec(spec), **asdict(judging), "prompts": texts}, "judging")


HERE = Path(__file__).parent
PROMPTS = HERE / "prompts"
SCALE = "agreement_1_7"
TOKENS = 12


@dataclass(frozen=True)
class Judging:
    """How a judge is asked: `calls` times a statement at `temperature`; `shown` examples; whether it is told who speaks (`name`,
    `party`). A backend that gives the distribution of answers is asked once and its mean taken. The values are those of the
    UCL study's public code (3 calls, 0.01), but for the seed: a different one each call.
    """

    calls: int = 3
    temperature: float = 0.01
    shown: int = 4
    told: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.calls < 1 or self.temperature < 0 or self.shown < 0:
            raise UserError("a judge is asked at least once, at a temperature of 0 or more, with 0 or more examples")
        if unknown_ := set(self.told) - {"name", "party"}:
            raise UserError(f"a judge can be told name and party, not {', '.join(sorted(unknown_))}")


class Statement(NamedTuple):
    """What is judged; `place` names it (room and turn), and with it the random stream."""

    place: str
    topic: Topic
    text: str
    name: str
    party: str


class Verdict(NamedTuple):
    """`score` is the mean of the readings (1-7), None when there is none; `reasons` say why replies were not read, in order."""

    score: float | None
    readings: tuple[float, ...]
    reasons: tuple[str, ...]


def judge_statement(statement: Statement, judging: Judging) -> Conversation[Verdict]:
    """Ask the judge about one statement: once, and where the reply has no distribution the other times too."""
    first = yield from ask_all([compose_verdict(statement, judging, 0)])
    if first[0].answers or judging.calls == 1:
        return read_verdict(first)
    others = yield from ask_all([compose_verdict(statement, judging, call) for call in range(1, judging.calls)])
    return read_verdict((*first, *others))


def compose_verdict(statement: Statement, judging: Judging, call: int) -> Request:
    """The rules as system message, examples as turns of a chat, the statement last."""
    scale = scales()[SCALE]
    ends = {"low": scale.low, "high": scale.high}
    named = ", ".join(f"{point} {scale.labels[point]}" for point in scale.points)
    rules = Message("system", prompt(PROMPTS, "judge").fill(scale=named, **ends))
    messages = [rules]
    for example, score in examples(statement.topic.root)[: judging.shown]:
        messages += [Message("user", _case(example, "", statement.topic)), Message("assistant", str(score))]
    by = ", ".join(getattr(statement, name) for name in judging.told)
    messages.append(Message("user", _case(statement.text, f" ({by})" if by else "", statement.topic)))
    seed = derive(judging.seed, "judge", statement.place, call)
    facts: Facts = {"statement": statement.text, "claim": claim(statement.topic), "scale": scale}
    sampling = Sampling(judging.temperature, TOKENS)
    return Request(tuple(messages), sampling, seed, scale.answers, "agreement", facts=facts)


def read_verdict(replies: Sequence[Reply]) -> Verdict:
    """The mean of what could be read; of a distribution its mean."""
    scale = scales()[SCALE]
    readings: list[float] = []
    reasons: list[str] = []
    for reply in replies:
        if reply.answers:
            readings.append(scale.expected(reply.answers))
        elif reply.failure:
            reasons.append(reply.failure.name)
        else:
            found = read_rating(reply.text, scale, "strict")
            readings += [] if found.value is None else [found.value]
            reasons += [found.reason] if found.reason else []
    return Verdict(fmean(readings) if readings else None, tuple(readings), tuple(reasons))


def claim(topic: Topic) -> str:
    """The proposition that is judged: that of the topic's agreement probe."""
    return topic.claim


@cache
def examples(slug: str) -> tuple[tuple[str, int], ...]:
    """The scored statements of a topic, the extremes first (a judge that is shown two has seen both ends)."""
    entries: Sequence[Mapping[str, object]] = read_toml(HERE / "examples.toml").get(slug, [])
    found = [(str(entry["statement"]), int(str(entry["score"]))) for entry in entries]
    return tuple(sorted(found, key=lambda pair: -abs(pair[1] - 4)))


def _case(text: str, by: str, topic: Topic) -> str:
    scale = scales()[SCALE]
    slots = {"low": scale.low, "high": scale.high, "anchors": scale.anchors}
    return prompt(PROMPTS, "case").fill(statement=text, by=by, claim=claim(topic), **slots)


def prompts() -> Iterator[Path]:
    """The files that the question is made of."""
    yield from (*sorted(PROMPTS.glob("*.txt")), HERE / "examples.toml")
