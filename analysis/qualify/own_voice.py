"""Does a speaker know who it is, and do its lines go with its ratings? Two measures, each with its null.

Party: people of each party, who state no position, are asked which party they support. The null deals their replies to each
other. Lines: the model grades each line of the debate, without its speaker. Of two lines of a round, the one of the speaker who
rates higher should have the higher grade. The null deals all lines of a speaker to another speaker.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from parley.agents.society import Party, Society
from parley.agents.topic import load_topic
from parley.analysis.formatting import format_p
from parley.analysis.journaled_calls import check_manifest, run_journaled
from parley.analysis.judge_quality import on_axis
from parley.analysis.qualify.measures import SHUFFLES, values
from parley.analysis.qualify.questions import Battery
from parley.analysis.qualify.verdict import VOICED, OwnVoice
from parley.analysis.statement_judge import Judging, judge_run
from parley.analysis.statistics.intervals import Floats
from parley.analysis.statistics.null import share_as_large
from parley.analysis.table_export import write_csv
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence
from parley.llm.backends import identity_spec
from parley.llm.budget import Budget
from parley.llm.driver import Bar, Conversation, ask
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

NAMED = 5
"""People of each party who are asked which party they support."""
TOKENS = 40
APART = 1.0
"""Points by which the ratings of two speakers differ whose lines should differ."""


def ask_parties(
    society: Society, seed: int, spec: str, folder: Path, bar: Bar, budget: Budget, backend: Backend
) -> pd.DataFrame:
    """Return one row per person: party, names (the code of the party that the reply names; "": none or several), text."""
    people = [(party, name) for party in society.debaters for name in society.parties[party].names[:NAMED]]
    conversations = [_answer(society, party, name, seed) for party, name in people]
    with lock_folder(folder):
        check_manifest(folder / "parties.json", {"llm": identity_spec(spec), "seed": seed}, "questions about parties")
        replies = run_journaled(conversations, backend, folder, bar, "parties", budget, None, name=spec)
    parties = {code: society.parties[code] for code in society.debaters}
    rows = [
        (party, named_party(reply.text or "", parties), reply.text)
        for (party, _), reply in zip(people, replies, strict=True)
    ]
    return pd.DataFrame(rows, columns=["party", "names", "text"])


def _answer(society: Society, party: str, name: str, seed: int) -> Conversation[Reply]:
    language = society.language
    question = str(language.data("identity")["which_party"])
    backstory = str(language.data("planted")["supporter"]).format(name=name, person=society.parties[party].person)
    messages = (Message("system", backstory), Message("user", question))
    drawn = derive(seed, "which party", party, name)
    return (
        yield from ask(
            Request(messages, Sampling(0.0, TOKENS), drawn, purpose="interview", facts={"question": question})
        )
    )


def named_party(text: str, parties: dict[str, Party]) -> str:
    """Return the code of the party that a text names; "" where it names none, or several.

    >>> from parley.agents.society import load_society
    >>> society = load_society("us")
    >>> known = {code: society.parties[code] for code in society.debaters}
    >>> first, second = (society.plural(code) for code in society.debaters)
    >>> named_party(f"I vote for {first}.", known) == society.debaters[0], named_party(f"{first} and {second} both.", known)
    (True, '')
    """
    lower = text.lower()
    named = [
        code
        for code, party in parties.items()
        if any(re.search(rf"\b{re.escape(word)}\b", lower) for word in (party.label.lower(), *party.words))
    ]
    return named[0] if len(named) == 1 else ""


def own_party(answers: pd.DataFrame, seed: int = 0) -> OwnVoice:
    """Return the share of people who name the party that they were given, and no other; those who name none count as wrong.

    answers: of `ask_parties`.
    """
    given, named = answers["party"].to_numpy(), answers["names"].to_numpy()
    stream = np.random.default_rng(derive(seed, "dealt parties"))
    dealt = np.array([(stream.permutation(named) == given).mean() for _ in range(SHUFFLES)])
    share = float((named == given).mean())
    return OwnVoice(share, len(answers), float(dealt.mean()), share_as_large(dealt, share), int((named == "").sum()))


def grade_lines(tables: Tables, folder: Path, spec: str, bar: Bar, budget: Budget, backend: Backend) -> pd.DataFrame:
    """Return one row per line: round, speaker (room and agent), rating after it, grade (0-10 on the axis, by the model)."""
    verdicts = judge_run(tables, folder, spec, Judging(calls=1), bar, budget, opened=lambda _: backend)
    rated = tables.attitudes.assign(rating=values(tables.attitudes.rename(columns={"expected": "mean"})))
    rated = rated.drop_duplicates(["room", "agent", "round"]).set_index(["room", "agent", "round"])["rating"]
    lines = verdicts.assign(grade=on_axis(verdicts["score"], verdicts["topic"]))
    lines["speaker"] = lines["room"] + " " + lines["agent"].astype(str)
    places = pd.MultiIndex.from_frame(lines[["room", "agent", "round"]])
    return lines.assign(rating=rated.reindex(places).to_numpy())[["round", "speaker", "grade", "rating"]]


def agreement(lines: pd.DataFrame, seed: int = 0) -> OwnVoice:
    """Return how many pairs of lines of a round are graded in the order of their speakers' ratings; equal grades count half.

    Pairs whose ratings are less than APART points apart do not count. lines: of `grade_lines`. NaN without pairs.

    >>> two = pd.DataFrame({"round": [1, 1], "speaker": ["a", "b"], "grade": [2.0, 7.0], "rating": [1.0, 9.0]})
    >>> agreement(two).share, agreement(two.assign(grade=5.0)).share
    (1.0, 0.5)
    """
    grades, ratings = (
        lines.pivot(index="speaker", columns="round", values=name).to_numpy(float) for name in ("grade", "rating")
    )
    (right,), (pairs,) = _ordered(grades[None], ratings)
    missing = int(lines["grade"].isna().sum())
    if not pairs:
        return OwnVoice(np.nan, 0, np.nan, np.nan, missing)
    stream = np.random.default_rng(derive(seed, "dealt lines"))
    speakers = stream.permuted(np.tile(np.arange(len(grades)), (SHUFFLES, 1)), axis=1)
    rights, deal_pairs = _ordered(grades[speakers], ratings)  # with missing grades, a deal may have no pair
    dealt, share = rights[deal_pairs > 0] / deal_pairs[deal_pairs > 0], float(right / pairs)
    return OwnVoice(share, int(pairs), float(dealt.mean()), share_as_large(dealt, share), missing)


def _ordered(grades: Floats, ratings: Floats) -> tuple[Floats, Floats]:
    """Return by deal the pairs of lines in the order of the ratings, and all pairs. grades: (deals, speakers, rounds)."""
    first, second = np.triu_indices(len(ratings), 1)
    graded, rated = grades[:, first] - grades[:, second], ratings[first] - ratings[second]
    comparable = np.isfinite(graded) & (np.abs(rated) >= APART)
    right = np.where(comparable, (np.sign(graded * rated) + 1) / 2, 0.0)
    return right.sum(axis=(1, 2)), comparable.sum(axis=(1, 2)).astype(float)


def own_voice(
    tables: Tables, battery: Battery, spec: str, folder: Path, bar: Bar, budget: Budget, backend: Backend
) -> tuple[OwnVoice, OwnVoice]:
    """Ask what is needed, write own_voice.csv into the folder; return whether people name their party, and whether lines go with
    ratings. tables: of the short debate.
    """
    budget = budget._replace(keep_going=True)  # that replies cannot be read is a result
    parties = ask_parties(
        load_topic(battery.topics[0]).society, battery.seed, spec, folder / "parties", bar, budget, backend
    )
    lines = grade_lines(tables, folder / "grades", spec, bar, budget, backend)
    party, line = own_party(parties, battery.seed), agreement(lines, battery.seed)
    rows = [
        {"measure": name} | asdict(voice) for name, voice in (("names its party", party), ("lines and ratings", line))
    ]
    write_csv(pd.DataFrame(rows), folder / "own_voice.csv")
    return party, line


def voice_sentences(party: OwnVoice, line: OwnVoice) -> list[str]:
    """Return both measures of `own_voice` in words."""
    return [_party_sentence(party), _line_sentence(line)]


def _party_sentence(party: OwnVoice) -> str:
    named = f"{round(party.share * party.of)} of {party.of} people named their own party and no other party"
    unclear = f", and {party.missing} named no party or several parties" if party.missing else ""
    chance = f"{party.chance * party.of:.0f} are expected by chance, if replies are shuffled among people; P {format_p(party.p)}"
    return f"When asked which party they support, {named}{unclear} ({chance})."


def _line_sentence(lines: OwnVoice) -> str:
    if not lines.of:
        why = (
            f"the ratings of speakers are less than {APART:g} point apart, or too few replies have a score "
            f"({lines.missing} have none)"
        )
        return unknown_sentence("whether replies agree with ratings", why)
    does = "Replies agree with the ratings of their speakers"
    does = does if lines.p < VOICED else f"It is not shown that {does[0].lower()}{does[1:]}"
    chance = f"{100 * lines.chance:.0f}% are expected if replies are shuffled among speakers; P {format_p(lines.p)}"
    return (
        f"{does}. The model scored {100 * lines.share:.0f}% of {lines.of} pairs of replies of a round in the order of "
        f"the speakers' ratings ({chance})."
    )
