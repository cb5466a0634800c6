"""What the pocket model is measured by in interviews about itself.

Each invented person gets each kind of question twice: in a wording of the corpus, and in one that the corpus never asks
(`held_out` in llm/backends/oracle/banks/en/self.toml). The null reads the same replies by the facts of the next person; that of
questions that cannot be answered (`unknown`) reads the replies to the question for the name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

import pandas as pd

from parley.agents.agent import Debater
from parley.agents.persona import Persona
from parley.agents.topic import topic_names
from parley.llm.backends.oracle.phrases import banks, expand
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.backends.oracle.self_facts import About, about
from parley.llm.backends.oracle.self_questions import FAR, clause
from parley.llm.request import DECLINED, Backend, Message, Reply, Request, Sampling
from parley.training.capability.tasks import seated
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker
from tools.pocket.corpus.listeners import line
from tools.pocket.corpus.people import SIDES, person

ALONE = ("name", "age", "job", "home", "family", "party", "unknown")
HEARD = ("said", "agree_with", "own")
"""Kinds of questions in an interview, and in a debate in which two others have said a line each and the person one."""
PEOPLE = 120


class Truth(NamedTuple):
    """What a right answer says: who the person is, the speaker asked about, the clause of that one's stance, and of the person's.

    `agrees`: the person's attitude is at most three points from that speaker's stance, as the oracle draws the line.
    """

    person: About
    name: str
    clause: str
    own: str
    agrees: bool


class Asked(NamedTuple):
    """A question of a kind to one person, in a wording of the corpus (`corpus`) or not (`held_out`)."""

    kind: str
    wording: str
    request: Request
    truth: Truth


def interview_figures(model: Backend, oracle: Backend, people: int = PEOPLE) -> pd.DataFrame:
    """Ask `people` invented partisans. Columns: kind, wording (corpus, held_out), asked, right, null, oracle, declined.

    `right`, `null` and `oracle` are shares of the questions asked (a failed call is not right), `declined` is that of the model's
    replies that carry the note DECLINED.
    """
    speakers = {"model": model, "oracle": oracle}
    questions = [question for number in range(people) for question in _questions(number)]
    replies = {
        name: speaker.complete([question.request for question in questions]) for name, speaker in speakers.items()
    }
    rows = []
    for kind, wording in product((*ALONE, *HEARD), ("corpus", "held_out")):
        places = _places(questions, kind, wording)
        right = {
            name: [_right(kind, replies[name][place], questions[place].truth) for place in places] for name in replies
        }
        read_by_null = places if kind != "unknown" else _places(questions, "name", wording)
        others = places[1:] + places[:1]
        null = [
            _right(kind, replies["model"][place], questions[other].truth)
            for place, other in zip(read_by_null, others, strict=True)
        ]
        declined = [DECLINED in replies["model"][place].notes for place in places]
        rows.append((kind, wording, len(places), *map(_share, (right["model"], null, right["oracle"], declined))))
    return pd.DataFrame(rows, columns=["kind", "wording", "asked", "right", "null", "oracle", "declined"])


def _places(questions: list[Asked], kind: str, wording: str) -> list[int]:
    return [place for place, question in enumerate(questions) if (question.kind, question.wording) == (kind, wording)]


def _share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def _questions(number: int) -> Iterator[Asked]:
    """Return every question to one person, drawn with a seed that no corpus uses."""
    rng = random.Random(f"interviewed {number}")
    who = person(rng.choice(SIDES), set(), rng, CorpusSpeaker(), brief=0.0)
    listener, truth = _listener(who, rng)
    for wording in ("corpus", "held_out"):
        for kind in ALONE:
            messages = (Message("system", who.backstory), Message("user", _worded(kind, wording, "", rng)))
            yield Asked(kind, wording, Request(messages, Sampling(), rng.getrandbits(31), (), "interview"), truth)
        for kind in HEARD:
            question = _worded(kind, wording, truth.name, rng)
            yield Asked(kind, wording, listener.compose_interview(question, rng.getrandbits(31)), truth)


def _listener(who: Persona, rng: random.Random) -> tuple[Debater, Truth]:
    """Return the person in a debate of three in which each has said one stance, the others' six points apart."""
    bank = banks().topics[rng.choice(topic_names())]
    names = ("Maria", "Victor") if who.name not in ("Maria", "Victor") else ("Helen", "Oscar")
    grades = rng.sample((rng.choice((0, 1, 2)), rng.choice((8, 9, 10))), 2)
    listener = seated(who, bank.slug, names, rng)
    for name, grade in zip(names, grades, strict=True):
        listener.hear(name, line(bank, grade, 1.0, rng))
    request = listener.compose_speech(rng.getrandbits(31))
    stage = CorpusSpeaker()
    stage.complete([request])
    attitude = stage.course(request)[1][-1]
    assert attitude is not None, "a debate on a known topic has an attitude"
    listener.absorb_speech(Reply(bank.stance_sentence(round(attitude))))
    agrees = abs(attitude - grades[0]) <= FAR
    return listener, Truth(
        about(read(request, banks())),
        names[0],
        clause(banks(), bank, grades[0]),
        clause(banks(), bank, round(attitude)),
        agrees,
    )


def _worded(kind: str, wording: str, name: str, rng: random.Random) -> str:
    """Return a question in one of its wordings of a kind."""
    bank = banks().data("self")[kind]
    question = str(rng.choice(bank["ask" if wording == "corpus" else wording]))
    if kind == "unknown":
        held_out = bank["held_out"]
        question = rng.choice(
            [
                candidate
                for candidate in expand(question, bank["slots"])
                if (candidate in held_out) == (wording != "corpus")
            ]
        )
    return question.replace("{name}", name)


def _right(kind: str, reply: Reply, truth: Truth) -> bool:
    """Tell whether a reply says what is true of the person, in the words of the persona or the line."""
    return reply.text is not None and READ[kind](reply.text, truth)


def _holds(fact: str, text: str, truth: Truth) -> bool:
    """Tell whether a text holds a fact of the persona; where the persona states none, that it is kept back."""
    stated = str(getattr(truth.person, fact))
    return stated in text if stated else text in banks().data("self")["unsaid"][fact]


def _declines(text: str, truth: Truth) -> bool:
    return text in banks().data("self")["unknown"]["answers"]


def _says_party(text: str, truth: Truth) -> bool:
    return banks().party(text) == truth.person.side


def _reports(text: str, truth: Truth) -> bool:
    return truth.name in text and truth.clause in text


def _sides(text: str, truth: Truth) -> bool:
    bank = banks().data("self")["agree_with"]
    forms = [form.format(name=truth.name) for form in bank["yes" if truth.agrees else "no"]]
    return any(form in text for form in forms)


def _repeats(text: str, truth: Truth) -> bool:
    return truth.own in text


READ: dict[str, Callable[[str, Truth], bool]] = {
    **{fact: partial(_holds, fact) for fact in ("name", "age", "job", "home", "family")},
    "party": _says_party,
    "unknown": _declines,
    "said": _reports,
    "agree_with": _sides,
    "own": _repeats,
}
"""How a reply to each kind of question is read."""
