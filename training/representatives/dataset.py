"""Cases of representation as training data: the prompt of a representative, and the critique that the participant wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from parley.agents.representative import Representative, knowledge_line
from parley.analysis.deliberation.episode import Episode
from parley.analysis.deliberation.population import answers
from parley.analysis.deliberation.representation import (
    Cases,
    RepresentationCase,
    Split,
    describe_split,
    representation_cases,
)
from parley.analysis.formatting import escape_markdown, markdown_table
from parley.llm.seeding import stream
from parley.training.likelihood import Text
from parley.training.tuning.dataset import Example

SHOWN = 3


def text(case: RepresentationCase, knows: str, asked: RepresentationCase | None = None) -> Text:
    """The chat and the critique as it is to be written; `asked`: whom the prompt is about, if somebody else (a stranger)."""
    assert case.critique is not None
    return Text(Representative((asked or case).brief, knows).messages(), knowledge_line(case.critique))


def examples(found: Sequence[RepresentationCase], knows: str, seed: int) -> list[Example]:
    """{"prompt": [user message], "completion": [assistant message]}, in an order drawn with the seed."""
    made = [_example(text(case, knows)) for case in found]
    stream(seed, "representatives", "order").shuffle(made)
    return made


def written(episodes: Sequence[Episode]) -> Cases:
    """The cases that can be learned from: those with a critique of some words."""
    found = representation_cases(episodes)
    empty = sum(not knowledge_line(case.critique or "") for case in found.cases)
    kept = tuple(case for case in found.cases if knowledge_line(case.critique or ""))
    return Cases(kept, found.left_out | ({"empty critique": empty} if empty else {}))


def card(sides: Split, notes: Sequence[str]) -> str:
    """What the data hold, for a person: counts by side, what is known of participants, examples as plain text."""
    return "\n\n".join(_parts(sides, notes)) + "\n"


def _parts(sides: Split, notes: Sequence[str]) -> Iterator[str]:
    yield "# Data of representatives"
    yield "  \n".join(map(escape_markdown, notes))
    yield f"No participant, session or question is on two sides. {describe_split(sides)}."
    yield f"Answered in the questionnaire: {answers([one for kept in sides.values() for one in kept])}."
    header = ["side", "sessions", "episodes", "questions", "participants", "critiques", "words, mean"]
    yield markdown_table(header, [_row(name, kept) for name, kept in sides.items()])
    left = Counter[str]()
    for kept in sides.values():
        left.update(written(kept).left_out)
    yield (
        "Voices left out: "
        + (", ".join(f"{escape_markdown(why)} {count}" for why, count in left.items()) or "none")
        + "."
    )
    yield "## Examples"
    yield from (_shown(case) for kept in sides.values() for case in written(kept).cases[:SHOWN])


def _row(name: str, kept: Sequence[Episode]) -> list[str]:
    found = written(kept).cases
    words = [len(knowledge_line(case.critique or "").split()) for case in found]
    people = {case.participant for case in found}
    counts = [len({one.session for one in kept}), len(kept), len({one.question.id for one in kept}), len(people)]
    return [name, *map(str, counts), str(len(found)), f"{sum(words) / len(words):.1f}" if words else "0"]


def _shown(case: RepresentationCase) -> str:
    told = "".join(f"\n{message.content}" for message in Representative(case.brief, "DOCP").messages())
    lines = [f"> {escape_markdown(part)}  " for part in told.strip().split("\n")]
    return "\n".join(
        [
            f"**{escape_markdown(case.key)}**",
            "",
            *lines,
            "",
            f"**wrote:** {escape_markdown(knowledge_line(case.critique or ''))}",
        ]
    )


def _example(one: Text) -> Example:
    prompt = [{"role": message.role, "content": message.content} for message in one.messages]
    return {"prompt": prompt, "completion": [{"role": "assistant", "content": one.reply}]}
