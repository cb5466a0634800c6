"""The training data of a fine-tuning: neutral questions, and examples made of them and of the answers of personas.

Source: Taubenfeld et al. 2024, section 5. A model that is shown a question writes ten more (the prompt of their Table 2). The
questions shown are those of the society's questions_of_politics.toml, for `us` the paper's ten, which are also trained on.
Without that file they are the questions of its topics, and the model writes all that is trained on. A question that repeats
another one or takes a side is dropped and counted. Personas answer the questions in interviews (interviews.py).

An example has no persona, so that the model itself changes. For SFT it is a question with an answer of the party. For DPO it
is a question with an answer of the party (chosen) and the answer of the other party (`Society.other`) with the same number
(rejected). In the null, parties are shuffled: for SFT each answer is drawn from those of both parties to its question, for DPO
half of the pairs are turned round.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import cycle, islice
from statistics import fmean
from typing import Any, NamedTuple

from parley.agents.datafiles import read_toml
from parley.agents.persona import Persona
from parley.agents.question_generator import find_duplicate, takes_a_side
from parley.agents.society import Society
from parley.agents.topic import load_topic, society_topics
from parley.analysis.formatting import escape_markdown, markdown_table
from parley.llm.backends.oracle.phrases import banks
from parley.llm.driver import Progress, ask, drive
from parley.llm.errors import UserError
from parley.llm.request import Backend, Message, Request, Sampling
from parley.llm.seeding import derive, digest, stream
from parley.training.tuning.interviews import PersonaAnswer, count_reasons, word_runs

GIVEN = "questions_of_politics.toml"
"""The file of a society with the questions that are given."""
BATCH, REQUESTS, TURNS, TOKENS = 10, 10, 6, 500
"""Questions per request, the fewest requests per turn, the turns, and the maximum tokens of a reply."""
SHOWN = 5
"""Questions whose answers the card shows."""
QUESTION_LINE = re.compile(r"(?:[-*•]|\(?\d+[.):])? ?[\"“„]?(.+?\?)[\"”“]?")
Example = dict[str, Any]


class Questions(NamedTuple):
    """The questions, and how many others were dropped, by reason."""

    questions: tuple[str, ...]
    dropped: dict[str, int]


def given_questions(society: Society) -> tuple[str, ...]:
    """Return the questions that a society gives, for `us` the ten of the paper's Table 2; none without such a file."""
    path = society.folder / GIVEN
    return tuple(read_toml(path)["questions"]) if path.is_file() else ()


def write_questions(
    count: int, seed: int, backend: Backend, society: Society, progress: Progress | None = None
) -> Questions:
    """Return `count` questions, the given ones first. Errors: UserError when the model writes too few."""
    questions, dropped, replies = list(given_questions(society)[:count]), Counter[str](), 0
    for turn in range(TURNS):
        if len(questions) >= count:
            break
        for reply in drive([ask(request) for request in _question_requests(seed, turn, society)], backend, progress):
            for question in parse_questions(reply.text or ""):
                if reason := question_problem(question, questions, society):
                    dropped[reason] += 1
                else:
                    questions.append(question)
            dropped["reply failed"] += reply.failure is not None
            replies += 1
    dropped = +dropped
    if len(questions) < count:
        reasons = ", ".join(f"{reason}: {number}" for reason, number in sorted(dropped.items()))
        raise UserError(
            f"only {len(questions)} of {count} questions are usable after {replies} replies "
            f"({reasons or 'nothing dropped'}): choose another model with --writer, or fewer questions with --questions"
        )
    return Questions(tuple(questions[:count]), dict(dropped))


def _question_requests(seed: int, turn: int, society: Society) -> list[Request]:
    """Return one request per example, and at least REQUESTS: the given questions are the examples, else those of the topics."""
    template = society.language.prompt("political_questions")
    examples = given_questions(society) or [load_topic(slug).question for slug in society_topics(society)]
    return [
        Request(
            (Message("user", template.fill(number=BATCH, question=question, politics=society.politics)),),
            Sampling(1.0, TOKENS),
            derive(seed, "questions", number, turn),
            purpose="questions",
            facts={"count": BATCH, "question": question},
        )
        for number, question in enumerate(islice(cycle(examples), max(REQUESTS, len(examples))))
    ]


def parse_questions(text: str) -> list[str]:
    """Return the questions of a reply, one per line, without their numbers.

    >>> parse_questions("Sure:\\n1. What is fair?\\n- How so?")
    ['What is fair?', 'How so?']
    """
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [match[1] for line in lines if (match := QUESTION_LINE.fullmatch(line))]


def question_problem(question: str, earlier_questions: Sequence[str], society: Society) -> str:
    """Return why a question is dropped; empty when it is usable. One that names a single party takes a side."""
    if not 4 <= len(question.split()) <= 40:
        return "too short or too long"
    named = [party for party in society.parties if banks(society.name).names_party(question, party)]
    if takes_a_side(question, society.language) or len(named) == 1:
        return "takes a side"
    if find_duplicate(question, survey_questions(society)):
        return "a survey's own question"
    return "a repetition" if find_duplicate(question, earlier_questions) else ""


def survey_questions(society: Society) -> list[str]:
    """Return the questions that measure attitudes on the topics of a society. Training data must not contain them."""
    topics = map(load_topic, society_topics(society))
    return sorted({probe.question for topic in topics for probe in topic.probes.values()})


def sft_examples(answers: Sequence[PersonaAnswer], seed: int) -> list[Example]:
    """Return {"prompt": [user message], "completion": [assistant message]} per answer, in an order drawn with the seed."""
    examples = [
        {"prompt": chat("user", answer.question), "completion": chat("assistant", answer.text)}
        for answer in answers
        if answer.text is not None
    ]
    stream(seed, "order").shuffle(examples)
    return examples


def dpo_examples(party_answers: Sequence[PersonaAnswer], other: Sequence[PersonaAnswer], seed: int) -> list[Example]:
    """Return {"prompt", "chosen", "rejected"} per pair of answers that are usable and differ, in an order drawn with the seed."""
    others = {(answer.question, answer.number): answer.text for answer in other}
    examples = []
    for question, number, text, _ in party_answers:
        rejected = others.get((question, number))
        if text is not None and rejected is not None and text != rejected:
            answers = {"chosen": chat("assistant", text), "rejected": chat("assistant", rejected)}
            examples.append({"prompt": chat("user", question), **answers})
    stream(seed, "order").shuffle(examples)
    return examples


def shuffle_parties(
    party_answers: Sequence[PersonaAnswer], other: Sequence[PersonaAnswer], seed: int, number: int
) -> list[PersonaAnswer]:
    """Return as many usable answers to each question as `party_answers` has, drawn from those of both parties: the null of SFT.

    number: of the shuffle; each number has another draw.
    """
    drawn = []
    for question in dict.fromkeys(answer.question for answer in party_answers):
        usable = [
            [answer for answer in some if answer.question == question and answer.text is not None]
            for some in (party_answers, other)
        ]
        pool = [answer.text for answers in usable for answer in answers]
        texts = stream(seed, "shuffled parties", number, question).sample(pool, len(usable[0]))
        drawn += [PersonaAnswer(question, place, text) for place, text in enumerate(texts)]
    return drawn


def turn_pairs(examples: Sequence[Example], seed: int, number: int) -> list[Example]:
    """Return pairs of which a drawn half is turned round: the null of DPO. number: of the shuffle."""
    turned = set(stream(seed, "shuffled parties", number).sample(range(len(examples)), len(examples) // 2))
    return [
        {**pair, "chosen": pair["rejected"], "rejected": pair["chosen"]} if place in turned else pair
        for place, pair in enumerate(examples)
    ]


def chat(role: str, text: str) -> list[dict[str, str]]:
    """Return one message in the form of TRL's data sets."""
    return [{"role": role, "content": text}]


def held_out_questions(questions: Sequence[str], share: float) -> set[str]:
    """Return a share of the questions, at least one where it is above 0. The answers do not matter to the choice."""
    ordered = sorted(set(questions), key=digest)
    return set(ordered[: max(1, round(share * len(ordered)))]) if share else set()


def split_examples(examples: Sequence[Example], held_out: Set[str]) -> tuple[list[Example], list[Example]]:
    """Return the examples to train on, and those of the held-out questions."""
    sides: tuple[list[Example], list[Example]] = ([], [])
    for example in examples:
        sides[example["prompt"][0]["content"] in held_out].append(example)
    return sides


def digest_of(examples: Sequence[Example]) -> str:
    """Return 16 bytes in hex over the examples in their order."""
    return digest(json.dumps(examples, sort_keys=True)).hex()


def check_examples(examples: Sequence[Example], personas: Sequence[Persona], society: Society) -> None:
    """Errors: RuntimeError when training data contain a persona or a question that measures attitudes."""
    questions, backstories = survey_questions(society), word_runs(*[person.backstory for person in personas])
    messages = [message for example in examples for chat_messages in example.values() for message in chat_messages]
    for text in {message["content"] for message in messages}:
        if question := next((question for question in questions if question in text), ""):
            raise RuntimeError(f"training data contain a survey's own question: {question}")
        if word_runs(text) & backstories:
            raise RuntimeError("training data quote a persona")
    if roles := {message["role"] for message in messages} - {"user", "assistant"}:
        raise RuntimeError(f"training data contain messages of {sorted(roles)}")


def data_card(answers: Mapping[str, Sequence[PersonaAnswer]], dropped: Mapping[str, int], note: str) -> str:
    """Return the card of the data as Markdown: counts, what was dropped, overlap of the parties, examples."""
    questions = list(dict.fromkeys(answer.question for party in answers.values() for answer in party))
    header = ("party", "answers", "usable", "not usable", "distinct", "words, mean")
    lines = ["# Training data", "", note, "", "## Counts", ""]
    lines += [markdown_table(header, map(_count_row, answers, answers.values())), ""]
    lines += [f"{len(questions)} questions, the same for all. Dropped while they were written: {_listed(dropped)}.", ""]
    several = "both" if len(answers) == 2 else "several"
    lines += [f"Answers that {several} parties gave word for word: {_overlap(answers):.1%} of the distinct ones.", ""]
    lines += ["## Questions", ""]
    lines += [f"{place}. {escape_markdown(question)}" for place, question in enumerate(questions, 1)]
    lines += ["", "## Examples", ""]
    for question in questions[:SHOWN]:
        lines += [f"**{escape_markdown(question)}**", ""]
        for party, given in answers.items():
            text = next((answer.text for answer in given if answer.question == question and answer.text), None)
            lines += [f"- {party}: {escape_markdown(text) if text else '(none)'}"]
        lines += [""]
    return "\n".join(lines)


def _count_row(party: str, answers: Sequence[PersonaAnswer]) -> list[str]:
    texts = [answer.text for answer in answers if answer.text is not None]
    words = f"{fmean(len(text.split()) for text in texts):.1f}" if texts else "0"
    return [party, str(len(answers)), str(len(texts)), _listed(count_reasons(answers)), str(len(set(texts))), words]


def _overlap(answers: Mapping[str, Sequence[PersonaAnswer]]) -> float:
    """Return the share of distinct texts that more than one party gave."""
    counts = Counter(text for party in answers.values() for text in {answer.text for answer in party if answer.text})
    return sum(count > 1 for count in counts.values()) / len(counts) if counts else 0.0


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {number}" for reason, number in counts.items()) or "none"
