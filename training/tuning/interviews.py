"""Interviews of personas: the answers that a model is trained on, and why an answer cannot be used.

Personas of a party answer each question; the persona is the system message, as in a debate. An answer that was cut off ends with
its last whole sentence. An answer is dropped, with its reason, if the model should not learn it: it says who speaks, quotes a
backstory, refuses, repeats the question or itself, was given before word for word, or speaks for another party.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from parley.agents.persona import US_VOTERS, Persona, load_personas
from parley.agents.reply_cleaning import clean_speech, is_refusal, whole_sentences
from parley.agents.society import Society
from parley.analysis.reply_faults import claim_pattern, is_foreign, phrases
from parley.llm.driver import Progress, ask, drive
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import DECLINED, Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive, stream

QUOTE = 8
"""An answer quotes a backstory when both have this many words in a row in common."""
FIRST, FEWEST = 20, 0.25
"""Answers, spread over all questions, after which an interview ends if a smaller share of them can be used."""
COPIED = 0.5
"""An answer repeats the question, or itself, from this share of its five-word phrases on."""
REMEDIES = {
    "cut off without a sentence": "set a larger max_tokens, such as --set max_tokens=200",
    "repeats itself": "draw in another way, such as --set temperature=1 --set min_p=0.05",
    "another language": "draw in another way, such as --set temperature=.7 --set top_p=.9",
}
"""What to do about a reason, where it is not another model."""


class AnswerForm(NamedTuple):
    """How an interview asks. words: the length that the question asks for (0: none). sampling: how an answer is drawn."""

    words: int = 0
    sampling: Sampling = Sampling()


class PersonaAnswer(NamedTuple):
    """The `number`-th answer to a question: its text, or None and the reason why it cannot be used."""

    question: str
    number: int
    text: str | None
    reason: str = ""


def draw_personas(party: str, count: int, seed: int, folder: Path = US_VOTERS) -> tuple[Persona, ...]:
    """Draw with the seed the `count` personas of a party that answer, from the set of personas in a folder."""
    personas = load_personas(party, folder)
    return tuple(stream(seed, "people", party).sample(personas, min(count, len(personas))))


def interview(
    personas: Sequence[Persona], questions: Sequence[str], each: int, form: AnswerForm, seed: int, backend: Backend,
    society: Society, unquoted: Sequence[Persona] = (), keep_going: bool = True, progress: Progress | None = None,
) -> list[PersonaAnswer]:  # fmt: skip
    """Return `each` answers to every question; the personas take turns.

    An answer that quotes a backstory of `personas` or `unquoted` is not usable. Without `keep_going`, the first answers alone are
    returned if almost none of them can be used.
    """
    tasks = list(product(questions, range(each)))
    speakers = [personas[place % len(personas)] for place in range(len(tasks))]
    requests = [
        _answer_request(person, *task, form, seed, society) for person, task in zip(speakers, tasks, strict=True)
    ]
    reader = _AnswerReader(form, society, word_runs(*[person.backstory for person in (*personas, *unquoted)]))
    replies: dict[int, Reply] = {}
    first = list(range(0, len(tasks), max(1, len(tasks) // FIRST)))[:FIRST]
    for places in (first, [place for place in range(len(tasks)) if place not in set(first)]):
        new_replies = drive([ask(requests[place]) for place in places], backend, progress)
        replies |= dict(zip(places, new_replies, strict=True))
        answers = reader.answers({place: (tasks[place], speakers[place], replies[place]) for place in sorted(replies)})
        if not keep_going and sum(answer.text is not None for answer in answers) < FEWEST * len(answers):
            break
    return answers


def _answer_request(
    person: Persona, question: str, number: int, form: AnswerForm, seed: int, society: Society
) -> Request:
    prompt_text = (
        society.language.prompt("political_answer").fill(question=question, words=form.words)
        if form.words
        else question
    )
    messages = (Message("system", person.backstory), Message("user", prompt_text))
    seed = derive(seed, "answer", person.id, question, number)
    return Request(messages, form.sampling, seed, purpose="interview", facts=Facts(question=question))


class _AnswerReader:
    """Reads replies: the text that can be learned, or why there is none."""

    def __init__(self, form: AnswerForm, society: Society, backstories: set[tuple[str, ...]]):
        self.tokens, self.language, self.backstories = form.sampling.max_tokens, society.language, backstories
        self.labels = {code: party.label for code, party in society.parties.items()}
        try:
            self.forms: Mapping[str, Any] = society.language.data("identity")
        except UserError:
            self.forms = {}

    def answers(self, given: Mapping[int, tuple[tuple[str, int], Persona, Reply]]) -> list[PersonaAnswer]:
        """Return the answers of one party, in their order."""
        answers, earlier_texts = [], set[str]()
        for task, person, reply in given.values():
            text = clean_speech(reply.text or "", person.name, None)
            if reply.usage.completion_tokens >= self.tokens:
                text = whole_sentences(text)
            reason = self._problem(reply, text, person, task[0])
            reason = reason or ("repeats an earlier answer" if text.lower() in earlier_texts else "")
            earlier_texts.add(text.lower())
            answers.append(PersonaAnswer(*task, None if reason else text, reason))
        return answers

    def _problem(self, reply: Reply, text: str, person: Persona, question: str) -> str:
        """Return why an answer cannot be used; empty when it can."""
        if reply.failure:
            return reply.failure.name
        if reply.notes.get(DECLINED):
            return DECLINED
        if not text:
            return "cut off without a sentence" if (reply.text or "").strip() else "empty"
        if is_refusal(text):
            return "refusal"
        if re.search(rf"\b{re.escape(person.name)}\b", text):
            return "names the person"
        if word_runs(text) & self.backstories:
            return "quotes a persona"
        return self._copy(text, question) or self._stranger(text, person)

    def _copy(self, text: str, question: str) -> str:
        answer_phrases, question_phrases = phrases(text), set(phrases(question))
        if answer_phrases and sum(phrase in question_phrases for phrase in answer_phrases) >= COPIED * len(
            answer_phrases
        ):
            return "repeats the question"
        return (
            "repeats itself"
            if answer_phrases and len(set(answer_phrases)) <= (1 - COPIED) * len(answer_phrases)
            else ""
        )

    def _stranger(self, text: str, person: Persona) -> str:
        if self.forms and is_foreign(text, self.language) == 1.0:
            return "another language"
        others = tuple(sorted({label for code, label in self.labels.items() if code != person.party}))
        claim = claim_pattern(tuple(self.forms.get("is_party", ())), "{party}", others)
        return "speaks for another party" if claim and claim.search(text) else ""


def word_runs(*texts: str) -> set[tuple[str, ...]]:
    """Return every run of QUOTE words: texts that share one quote each other."""
    runs = set()
    for text in texts:
        words = re.findall(r"(?:[^\W\d_]|')+", text.lower())
        runs |= {tuple(words[start : start + QUOTE]) for start in range(len(words) - QUOTE + 1)}
    return runs


def count_reasons(answers: Sequence[PersonaAnswer]) -> dict[str, int]:
    """Return how many answers cannot be used, by reason, the most frequent reason first."""
    return dict(Counter(answer.reason for answer in answers if answer.text is None).most_common())


def usable_phrase(answers: Sequence[PersonaAnswer]) -> str:
    """Return how many answers can be used, and why the others cannot.

    >>> usable_phrase([PersonaAnswer("Why?", 0, "So."), PersonaAnswer("Why?", 1, None, "refusal")])
    '1 of 2 answers can be used (refusal 1)'
    """
    reasons = ", ".join(f"{reason} {number}" for reason, number in count_reasons(answers).items())
    usable = sum(answer.text is not None for answer in answers)
    return f"{usable} of {len(answers)} answers can be used{f' ({reasons})' * bool(reasons)}"


def too_few_answers(party: str, answers: Sequence[PersonaAnswer]) -> UserError:
    """Return the error for answers of which almost none can be used: how many, the reasons, and what to do about the first."""
    main = next(iter(count_reasons(answers)), "")
    remedy = REMEDIES.get(main, "choose another model with --llm")
    return UserError(f"{party}: {usable_phrase(answers)}, too few to train on: {remedy}, and give another --out")


def write_answers(answers: Sequence[PersonaAnswer], path: Path) -> None:
    """Write one answer per line, unusable ones with their reason."""
    path.write_text("".join(json.dumps(answer._asdict()) + "\n" for answer in answers), encoding="utf-8")


def read_answers(path: Path) -> list[PersonaAnswer]:
    """Return the answers of a file. Errors: UserError when it cannot be read."""
    try:
        return [PersonaAnswer(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"cannot read the answers in {path}: {error}") from error
