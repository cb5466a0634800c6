"""Neutral questions on US politics: ten given ones, and more that a model writes from them (Taubenfeld et al. 2024, section 5).

A writer is shown one of the ten at a time and asked for ten more (the prompt of their Table 2). Repetitions, near repetitions
and questions that take a side are dropped and counted; where too few are left it is asked again.

What personas of a party answer to neutral questions, at temperature 1 (Taubenfeld et al. 2024, section 5).

The persona is the system message, as in a debate, the question the whole user message. An answer that names the person,
quotes the backstory, steps out of the role or is cut off is dropped with its reason: the data must teach what is said, not
who says it.

Answers as training data: question and answer without the persona, so that what shifts is the model as it is (D5, row 7).

For SFT an example is a question and one party's answer; for DPO a question, the own party's answer (chosen) and the other's
(rejected), the i-th with the i-th (D5, row 10).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from parley.agents.datafiles import read_toml
from parley.agents.persona import Persona, load_personas, persona_set
from parley.agents.question_generator import find_duplicate, takes_a_side
from parley.agents.reply_cleaning import is_refusal
from parley.agents.topic import load_topic, topic_names
from parley.analysis.formatting import escape_markdown, markdown_table
from parley.llm.driver import Progress, ask, drive
from parley.llm.errors import UserError
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive, digest, stream

HERE = Path(__file__).parent
BATCH, TURNS, TOKENS = 10, 6, 500
"""Questions asked for at a time, how often each of the ten may be the example, and the most tokens of a reply."""
_LINE = re.compile(r"^\s*(?:[-*•]|\(?\d+[.):])?\s*[\"“]?(.+?\?)[\"”]?\s*$")
_PARTIES = (re.compile(r"\brepublicans?\b|\bgop\b", re.I), re.compile(r"\bdemocrats?\b|\bdemocratic party\b", re.I))


@dataclass(frozen=True)
class Questions:
    """The questions, and why others were dropped (reason: count)."""

    questions: tuple[str, ...]
    dropped: dict[str, int]


def given() -> tuple[str, ...]:
    """The ten questions of the paper's Table 2."""
    return tuple(read_toml(HERE / "questions.toml")["questions"])


def write_questions(count: int, seed: int, backend: Backend, progress: Progress | None = None) -> Questions:
    """`count` questions, the given ones first. Errors: UserError when the writer finds too few."""
    found, dropped = list(given()[:count]), Counter[str]()
    for turn in range(TURNS):
        if len(found) >= count:
            break
        for text in drive([ask(request) for request in _requests(seed, turn)], backend, progress):
            _take(parse(text.text or ""), found, dropped)
            dropped["reply failed"] += text.failure is not None
    if len(found) < count:
        raise UserError(
            f"only {len(found)} usable questions of {count} after {TURNS * len(given())} replies ({_told(dropped)}): "
            "let another model write them (--writer), or ask for fewer (--questions)"
        )
    return Questions(tuple(found[:count]), {reason: number for reason, number in dropped.items() if number})


def parse(text: str) -> list[str]:
    """The questions of a reply, one a line, without numbers.

    >>> parse("Sure:\\n1. What is fair?\\n- How so?")
    ['What is fair?', 'How so?']
    """
    return [" ".join(match[1].split()) for line in text.splitlines() if (match := _LINE.match(line))]


def question_problem(question: str, known: Sequence[str]) -> str:
    """Why a question is not taken, or nothing."""
    if not 4 <= len(question.split()) <= 40:
        return "too short or too long"
    if takes_a_side(question) or sum(bool(party.search(question)) for party in _PARTIES) == 1:
        return "takes a side"
    if find_duplicate(question, statements()):
        return "a survey's own question"
    return "a repetition" if find_duplicate(question, known) else ""


def statements() -> list[str]:
    """The questions by which attitudes are measured: none of them may be trained on."""
    return sorted({probe.question for slug in topic_names() for probe in load_topic(slug).probes.values()})


def _take(written: Sequence[str], found: list[str], dropped: Counter[str]) -> None:
    for question in written:
        reason = question_problem(question, found)
        if reason:
            dropped[reason] += 1
        else:
            found.append(question)


def _requests(seed: int, turn: int) -> list[Request]:
    """One for each of the ten."""
    template = prompt(HERE / "prompts", "questions")
    return [
        Request(
            (Message("user", template.fill(number=BATCH, question=question)),),
            Sampling(1.0, TOKENS),
            derive(seed, "questions", number, turn),
            purpose="questions",
            facts={"count": BATCH, "question": question},
        )
        for number, question in enumerate(given())
    ]


def _listed(dropped: Counter[str]) -> str:
    return ", ".join(f"{reason}: {number}" for reason, number in sorted(dropped.items()) if number) or "nothing dropped"


Run = tuple[str, ...]
QUOTE = 8
"""Words in a row that an answer may not have in common with a backstory."""


class PersonaAnswer(NamedTuple):
    """The `number`-th answer to a question: its text, or why there is none that can be used."""

    question: str
    number: int
    text: str | None
    reason: str = ""


def people(party: str, count: int, seed: int, personas: str = "voters") -> tuple[Persona, ...]:
    """The personas that answer: `count` of a party's in a set, drawn with the seed (D5: one a seed unless told otherwise)."""
    known = load_personas(party, persona_set(personas))
    return tuple(stream(seed, "people", party).sample(known, min(count, len(known))))


def interview(
    who: Sequence[Persona], questions: Sequence[str], each: int, tokens: int, seed: int, backend: Backend,
    unsaid: Sequence[Persona] = (), progress: Progress | None = None,
) -> list[PersonaAnswer]:  # fmt: skip
    """`each` answers to every question, the people taking turns. No answer quotes them, nor any of `unsaid`."""
    asked = [(question, number) for question in questions for number in range(each)]
    persons = [who[place % len(who)] for place in range(len(asked))]
    requests = [_request(person, *one, tokens, seed) for person, one in zip(persons, asked, strict=True)]
    replies = drive([ask(request) for request in requests], backend, progress)
    told = runs(*[person.backstory for person in (*who, *unsaid)])
    return [
        _answer(*one, person, reply, told, tokens) for one, person, reply in zip(asked, persons, replies, strict=True)
    ]


def reasons(answers: Sequence[PersonaAnswer]) -> dict[str, int]:
    """Why answers cannot be used, with counts."""
    return dict(sorted(Counter(answer.reason for answer in answers if answer.text is None).items()))


def answer_problem(reply: Reply, person: Persona, told: Set[Run], tokens: int) -> str:
    """Why an answer cannot be used, or nothing. `told`: the runs of words that it may not have.

    An answer of `tokens` tokens is one that was cut off: learned, it would teach to break off. (One that came to its end with
    the last of them cannot be told from it.)
    """
    if reply.failure:
        return reply.failure.name
    text = reply.text or ""
    if not text.strip():
        return "empty"
    if reply.usage.completion_tokens >= tokens:
        return "cut off"
    if is_refusal(text):
        return "refusal"
    if re.search(rf"\b{re.escape(person.name)}\b", text):
        return "names the person"
    return "quotes a persona" if runs(text) & told else ""


def runs(*texts: str) -> set[Run]:
    """Every QUOTE words in a row: texts quote each other where they share one."""
    found = set()
    for text in texts:
        words = re.findall(r"[a-z']+", text.lower())
        found |= {tuple(words[start : start + QUOTE]) for start in range(len(words) - QUOTE + 1)}
    return found


def _request(person: Persona, question: str, number: int, tokens: int, seed: int) -> Request:
    messages = (Message("system", person.backstory), Message("user", question))
    named, facts = derive(seed, "answer", person.id, question, number), Facts(question=question)
    return Request(messages, Sampling(1.0, tokens), named, purpose="interview", facts=facts)


def _answer(question: str, number: int, person: Persona, reply: Reply, told: Set[Run], tokens: int) -> PersonaAnswer:
    reason = answer_problem(reply, person, told, tokens)
    return PersonaAnswer(question, number, None if reason else " ".join((reply.text or "").split()), reason)


Example = dict[str, Any]
SHOWN = 5


def examples(answers: Sequence[PersonaAnswer], seed: int) -> list[Example]:
    """For SFT: {"prompt": [user message], "completion": [assistant message]}, in an order drawn with the seed."""
    found = [_asked(one.question) | {"completion": _said(one.text)} for one in answers if one.text is not None]
    stream(seed, "order").shuffle(found)
    return found


def pairs(own: Sequence[PersonaAnswer], other: Sequence[PersonaAnswer], seed: int) -> list[Example]:
    """For DPO: {"prompt", "chosen", "rejected"}; what lacks its twin, or is the same text, is left out."""
    twins = {(one.question, one.number): one.text for one in other}
    found = []
    for one in own:
        twin = twins.get((one.question, one.number))
        if one.text is not None and twin is not None and one.text != twin:
            found.append(_asked(one.question) | {"chosen": _said(one.text), "rejected": _said(twin)})
    stream(seed, "order").shuffle(found)
    return found


def held_out(questions: Sequence[str], share: float) -> set[str]:
    """The share of the questions that are held out, one at least where it is above 0: the same ones whatever was answered."""
    asked = sorted(set(questions), key=lambda text: digest(text))
    return set(asked[: max(1, round(share * len(asked)))]) if share else set()


def split(found: Sequence[Example], held: Set[str]) -> tuple[list[Example], list[Example]]:
    """To train on, and those of the questions that are held out."""
    kept: tuple[list[Example], list[Example]] = ([], [])
    for one in found:
        kept[one["prompt"][0]["content"] in held].append(one)
    return kept


def digest_of(found: Sequence[Example]) -> str:
    """16 bytes in hex over the examples in their order."""
    return digest(json.dumps(found, sort_keys=True)).hex()


def check(found: Sequence[Example], people: Sequence[Persona]) -> None:
    """What may not be in training data: personas, and the statements by which attitudes are measured. Errors: RuntimeError."""
    asked, told = statements(), runs(*[person.backstory for person in people])
    for text in {message["content"] for one in found for messages in one.values() for message in messages}:
        if statement := next((statement for statement in asked if statement in text), ""):
            raise RuntimeError(f"training data hold a survey's own question: {statement}")
        if runs(text) & told:
            raise RuntimeError("training data quote a persona")
    roles = {message["role"] for one in found for messages in one.values() for message in messages}
    if roles - {"user", "assistant"}:
        raise RuntimeError(f"training data hold messages of {sorted(roles)}")


def write_answers(answers: Sequence[PersonaAnswer], path: Path) -> None:
    """One answer a line, those that cannot be used with their reason."""
    path.write_text("".join(json.dumps(one._asdict()) + "\n" for one in answers), encoding="utf-8")


def read_answers(path: Path) -> list[PersonaAnswer]:
    """The answers of a file. Errors: UserError when it is none."""
    try:
        return [PersonaAnswer(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"cannot read the answers in {path}: {error}") from error


def card(
    title: str, answers: Mapping[str, Sequence[PersonaAnswer]], dropped: Mapping[str, int], notes: Sequence[str]
) -> str:
    """What the data hold, for a person: counts, what was dropped, overlap, examples (text of a model: as plain text)."""
    questions = list(dict.fromkeys(one.question for found in answers.values() for one in found))
    lines = [
        f"# {title}",
        "",
        *notes,
        "",
        "## Counts",
        "",
        markdown_table(_HEADER, map(_row, answers, answers.values())),
    ]
    lines += ["", f"{len(questions)} questions, the same for all. Dropped while they were written: {_told(dropped)}."]
    lines += ["", f"Answers of both parties alike, word for word: {_overlap(answers):.1%} of the distinct ones.", ""]
    lines += ["## Questions", "", *[f"{place}. {escape_markdown(one)}" for place, one in enumerate(questions, 1)], ""]
    lines += ["## Examples", ""]
    for question in questions[:SHOWN]:
        lines += [f"**{escape_markdown(question)}**", ""]
        for party, found in answers.items():
            text = next((one.text for one in found if one.question == question and one.text), None)
            lines += [f"- {party}: {escape_markdown(text) if text else '(none)'}"]
        lines += [""]
    return "\n".join(lines)


_HEADER = ("party", "answers", "usable", "not usable", "distinct", "words, mean")


def _row(party: str, found: Sequence[PersonaAnswer]) -> list[str]:
    texts = [one.text for one in found if one.text is not None]
    words = f"{fmean(len(text.split()) for text in texts):.1f}" if texts else "0"
    return [party, f"{len(found)}", f"{len(texts)}", _told(reasons(found)), f"{len(set(texts))}", words]


def _overlap(answers: Mapping[str, Sequence[PersonaAnswer]]) -> float:
    """Share of distinct texts that stand in more than one party's answers."""
    texts = [{one.text for one in found if one.text} for found in answers.values()]
    every = set().union(*texts)
    return sum(sum(text in one for one in texts) > 1 for text in every) / len(every) if every else 0.0


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {number}" for reason, number in counts.items()) or "none"


def _asked(question: str) -> Example:
    return {"prompt": [{"role": "user", "content": question}]}


def _said(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]
