"""What the pocket model is measured by: its debates beside the generator's own, counterfactual transcripts, and its text."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, pairwise

import pandas as pd
from scipy import stats

from parley.agents.topic import load_topic
from parley.llm.backends.oracle.phrases import FOLDER, GRADES, TopicBank, banks, sentences
from parley.llm.request import Backend, Reply
from parley.llm.seeding import derive
from parley.model.debate import DebateModel
from parley.model.events import Event, Rated, Seated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario

_FIRST_PERSON = re.compile(r"\b(?:I|me|my|we|our)\b|^As an? ")
_WORD = re.compile(r"[a-z]+(?:['’-][a-z]+)*")


def hold_debates(scenario: Scenario, backend: Backend) -> list[Event]:
    """Hold a scenario's debates; what happened."""
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend, recorder=recorder).run()
    return list(recorder.events)


def ratings(events: Iterable[Event]) -> pd.DataFrame:
    """A row for every answered survey: topic, group, party, room, seat, round, expected (0-10, mean of the distribution)."""
    seats: dict[int, Seated] = {}
    rows = []
    for event in events:
        if isinstance(event, Seated):
            seats[event.agent] = event
        elif isinstance(event, Rated):
            seat = seats[event.agent]
            rows.append((seat.topic, seat.group, seat.party, seat.room, seat.seat, event.round, event.expected))
    return pd.DataFrame(rows, columns=["topic", "group", "party", "room", "seat", "round", "expected"])


def differences(rated: pd.DataFrame, planted: pd.DataFrame, round_: int) -> pd.DataFrame:
    """Ratings after a round beside the generator's, by topic, group and party.

    Columns: planted, found (means over rooms), difference and its 95% interval (low, high; Student's t over rooms, the same
    personas sitting in both), rooms.
    """
    keys = ["topic", "group", "party", "room"]
    both = pd.concat(
        {
            name: table[table["round"] == round_].groupby(keys)["expected"].mean()
            for name, table in (("planted", planted), ("found", rated))
        },
        axis=1,
    )
    rows = []
    for cell, rooms in both.groupby(level=keys[:3]):
        gap = rooms["found"] - rooms["planted"]
        reach = stats.t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / math.sqrt(len(gap))
        rows.append(
            (
                *cell,
                rooms["planted"].mean(),
                rooms["found"].mean(),
                gap.mean(),
                gap.mean() - reach,
                gap.mean() + reach,
                len(gap),
            )
        )
    return pd.DataFrame(rows, columns=[*keys[:3], "planted", "found", "difference", "low", "high", "rooms"])


def counterfactual(
    scenario: Scenario, events: Sequence[Event], backend: Backend, told: bool, rounds: int = 2
) -> pd.DataFrame:
    """Ratings after `rounds` rounds in which the others' lines were replaced by ones of one grade (None: as they were said).

    A line is two sentences of the grade, or (`told`) the stance sentence and one. Own replies are those of the record. Columns:
    topic, party, room, grade, expected.
    """
    texts = {
        (event.room, event.agent, event.round): event.text or "" for event in events if isinstance(event, Utterance)
    }
    alone = scenario.with_settings({"rounds": 0, "survey": "never"})
    probes = {slug: load_topic(slug).probe(scenario.surveys.probe) for slug in scenario.subject.topic}
    rows = []
    for grade in (None, *GRADES):
        requests, about = [], []
        for room in DebateModel(alone, backend=backend).rooms:
            for number, member in room.members.items():
                rng = random.Random(f"{room.id} {number} {grade}")
                others = [agent for agent in room.members if agent != number]
                for round_ in range(1, rounds + 1):
                    for other in others:
                        line = _line(texts[room.id, other, round_], room.topic, grade, told, rng)
                        member.hear(room.members[other].name, line)
                    member.compose_speech(0)
                    member.absorb_speech(Reply(texts[room.id, number, round_]))
                requests.append(member.compose_survey(probes[room.topic], derive(0, room.id, number)))
                about.append((room.topic, member.persona.party, room.id, grade))
        for row, reply in zip(about, backend.complete(requests), strict=True):
            probe = probes[row[0]]
            rows.append((*row, probe.attitude(probe.scale.expected(reply.answers or {}))))
    return pd.DataFrame(rows, columns=["topic", "party", "room", "grade", "expected"])


def _line(text: str, topic: str, grade: int | None, told: bool, rng: random.Random) -> str:
    if grade is None:
        return text
    bank = banks().topics[topic]
    drawn = [rng.choice(form) for form in rng.sample(bank.by_grade[grade], 2)]
    return " ".join([bank.stance_sentence(grade), drawn[0]] if told else drawn)


def monotone(rated: pd.DataFrame) -> pd.DataFrame:
    """By topic and party: Spearman's rho of grade heard and mean rating; the pushes of grades 0 and 10 from the actual debate.

    push_down and push_up are mean differences over rooms with the half-width of their 95% interval beside them.
    """
    rows = []
    for (topic, party), cell in rated.groupby(["topic", "party"]):
        means = cell.dropna(subset="grade").groupby("grade")["expected"].mean()
        wide = cell.assign(grade=cell["grade"].fillna(-1)).pivot_table(index="room", columns="grade", values="expected")
        pushes = [value for grade in (0, 10) for value in _mean_reach(wide[grade] - wide[-1])]
        rows.append((topic, party, stats.spearmanr(means.index, means).statistic, *means, *pushes))
    names = [
        "topic",
        "party",
        "rho",
        *[f"g{grade}" for grade in GRADES],
        "push_down",
        "down_reach",
        "push_up",
        "up_reach",
    ]
    return pd.DataFrame(rows, columns=names)


def _mean_reach(values: pd.Series) -> tuple[float, float]:
    return values.mean(), stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))


def text_quality(events: Sequence[Event]) -> dict[str, float]:
    """Of replies, unless said otherwise: see docs/models.md for what each figure is."""
    seats = {event.agent: event for event in events if isinstance(event, Seated)}
    present: dict[str, set[str]] = {}
    for seat in seats.values():
        present.setdefault(seat.room, set()).add(seat.name)
    all_names = {name for names in present.values() for name in names}
    spoken = [event for event in events if isinstance(event, Utterance)]
    replies = [(event, event.text or "", seats[event.agent]) for event in spoken if event.text]
    lines = [sentence for _, text, _ in replies for sentence in sentences(text)]
    is_own_party = [party == seat.party for _, text, seat in replies for party in _parties(text)]
    return {
        "replies": len(spoken),
        "silent": 1 - len(replies) / len(spoken),
        "on_topic": _share(_on_topic(text, banks().topics[seat.topic]) for _, text, seat in replies),
        "names_party": len(is_own_party),
        "wrong_party": 1 - _share(is_own_party),
        "addresses_present": _share(
            _names(text, present[event.room] - {seat.name}) for event, text, seat in replies if event.round > 1
        ),
        "names_absent": _share(_strangers(text, all_names - present[event.room]) for event, text, _ in replies),
        "invented_word": _share(_unknown_words(text, present[event.room]) for event, text, _ in replies),
        "as_in_bank": _share(sentence in _bank() or _frames().fullmatch(sentence) for sentence in lines),
        "graded": _share(banks().topics[seat.topic].grade(text) is not None for _, text, seat in replies),
        **_grade_r(events, seats),
        "distinct_2": _distinct(text for _, text, _ in replies),
        "repeated": _repeated([event for event, _, _ in replies]),
        "words": sum(len(text.split()) for _, text, _ in replies) / len(replies),
    }


def _grade_r(events: Sequence[Event], seats: dict[int, Seated]) -> dict[str, float]:
    """Pearson's r of a reply's grade and the speaker's rating before it: of all replies, and within topics and parties."""
    rated = {(event.agent, event.round): event.expected for event in events if isinstance(event, Rated)}
    rows = [
        (seats[event.agent].topic, seats[event.agent].party, banks().topics[seats[event.agent].topic].grade(event.text or ""),
         rated[event.agent, event.round - 1])
        for event in events if isinstance(event, Utterance)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["topic", "party", "grade", "rating"]).dropna()
    inner = frame[["grade", "rating"]] - frame.groupby(["topic", "party"])[["grade", "rating"]].transform("mean")
    return {
        "grade_r": float(frame["grade"].corr(frame["rating"])),
        "grade_r_within": float(inner["grade"].corr(inner["rating"])),
    }


def persons(rated: pd.DataFrame, planted: pd.DataFrame) -> pd.DataFrame:
    """First ratings person by person beside the generator's, by topic and party: r, and the mean distance."""
    keys = ["topic", "group", "room", "seat"]
    both = rated[rated["round"] == 0].merge(
        planted[planted["round"] == 0], on=[*keys, "party"], suffixes=("", "_planted")
    )
    rows = [
        (
            *cell,
            rows["expected"].corr(rows["expected_planted"]),
            (rows["expected"] - rows["expected_planted"]).abs().mean(),
        )
        for cell, rows in both[both["party"] != "default"].groupby(["topic", "party"])
    ]
    return pd.DataFrame(rows, columns=["topic", "party", "r", "distance"])


def _share(hits: Iterable[object]) -> float:
    flags = [bool(hit) for hit in hits]
    return sum(flags) / len(flags)


def _on_topic(text: str, bank: TopicBank) -> bool:
    """Says a sentence of its topic or names it, and none of another topic."""
    others = [other for other in banks().topics.values() if other.slug != bank.slug]
    strayed = any(other.grade(sentence) is not None for sentence in sentences(text) for other in others)
    return not strayed and (bank.grade(text) is not None or banks().recognised(text) == bank.slug)


def _parties(text: str) -> Iterator[str]:
    """The party that each sentence in the first person names, where it names just one."""
    for sentence in sentences(text):
        named = [party for party in banks().sides if banks().names_party(sentence, party)]
        if _FIRST_PERSON.search(sentence) and len(named) == 1:
            yield named[0]


def _strangers(text: str, absent: Iterable[str]) -> bool:
    """Does a line name a person who is not in the room, or a token that stands for no person?"""
    return "<name" in text or _names(text, absent)


def _names(text: str, names: Iterable[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names)


def _unknown_words(text: str, names: Iterable[str]) -> set[str]:
    """The words of a text that stand neither in a bank nor among the names."""
    told = set(_WORD.findall(" ".join(names).lower()))
    return set(_WORD.findall(text.lower())) - _lexicon() - told


@cache
def _lexicon() -> frozenset[str]:
    """The words of all banks, and of the sentences that their templates make."""
    folders = FOLDER / banks().language, banks().folder
    names = {
        path.relative_to(folder).with_suffix("").as_posix() for folder in folders for path in folder.rglob("*.toml")
    }
    lines = chain(chain.from_iterable(_strings(banks().data(name)) for name in names - {"language"}), _bank())
    return frozenset(word for line in lines for word in _WORD.findall(line.lower()))


@cache
def _bank() -> frozenset[str]:
    return frozenset(sentence for bank in banks().topics.values() for sentence in bank.grades)


@cache
def _frames() -> re.Pattern[str]:
    """The sentences of the common bank, whatever name, topic or frame stands in them."""
    lines = sorted(set(_strings(banks().data("common"))))
    forms = [re.sub(r"\\\{\w+\\\}", ".+", re.escape(line)) for line in lines]
    return re.compile("|".join(forms))


def _strings(held: object) -> Iterator[str]:
    if isinstance(held, str):
        yield held
    elif isinstance(held, dict | list):
        for inner in held.values() if isinstance(held, dict) else held:
            yield from _strings(inner)


def _distinct(texts: Iterable[str]) -> float:
    """Distinct-2: different pairs of words as a share of all pairs (Li et al. 2016)."""
    pairs = Counter(pair for text in texts for pair in pairwise(text.split()))
    return len(pairs) / max(sum(pairs.values()), 1)


def _repeated(utterances: Sequence[Utterance]) -> float:
    """Share of sentences that were said before in the same room, by any speaker."""
    before: dict[str, set[str]] = {}
    hits = []
    for event in utterances:
        heard = before.setdefault(event.room, set())
        for sentence in sentences(event.text or ""):
            hits.append(sentence in heard)
            heard.add(sentence)
    return sum(hits) / len(hits)
