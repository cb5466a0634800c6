"""Answers as training data: question and answer without the persona, so that what shifts is the model as it is (D5, row 7).

For SFT an example is a question and one party's answer; for DPO a question, the own party's answer (chosen) and the other's
(rejected), the i-th with the i-th (D5, row 10).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from statistics import fmean
from typing import Any

from parley.agents.persona import Persona
from parley.analysis.formatting import escape_markdown, markdown_table
from parley.llm.errors import UserError
from parley.llm.seeding import digest, stream
from parley.training.tuning.answers import PersonaAnswer, reasons, runs, statements

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
