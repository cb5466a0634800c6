"""Writes the corpus:  python -m tools.pocket.corpus.corpus --out DIR [--seed 0] [--rooms 4500] [--kappa 0 --mu 0]

The same seed gives the same corpus, byte for byte. Assertions on what it must hold stand in `check`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from parley.llm.backends.oracle.phrases import banks, sentences
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker
from tools.pocket.corpus.debates import rooms
from tools.pocket.corpus.documents import Document, read, write
from tools.pocket.corpus.single_questions import singles

SINGLES_PER_ROOM = 7.0
KINDS = frozenset(
    (
        "debate",
        "audience",
        "window",
        "survey",
        "summary",
        "interview",
        "unlabelled",
        "census",
        "lines",
        "backstory",
        "questions",
        "self",
        "facts",
        "few_lines",
    )
)
"""What a corpus must hold, each at least once."""


def documents(seed: int, count: int, changes: dict[str, float]) -> Iterator[Document]:
    """The documents of `count` rooms and the single questions that go with them."""
    stage = CorpusSpeaker(changes)
    per_room = singles(seed, CorpusSpeaker({**changes, "sigma": 0.0}), int(count * SINGLES_PER_ROOM))
    yield from chain.from_iterable(rooms(seed, stage, count))
    yield from per_room


def check(path: Path) -> str:
    """Assertions on a corpus; what it holds, in one line. Errors: AssertionError."""
    kinds: Counter[str] = Counter()
    replies = stances = 0
    answers = {bank.stance_sentence(point) for bank in banks().topics.values() for point in range(len(bank.labels))}
    for document in read(path):
        kinds[document.kind] += 1
        assert document.messages or document.forks, "an empty document"
        for role, content in document.messages:
            if role == "system":
                assert not any(answer in content for answer in answers), f"a persona that answers a survey: {content}"
            elif role == "assistant" and document.kind == "debate":
                replies += 1
                stances += any(
                    sentence.startswith("I think ") and sentence.endswith((" problem.", " idea."))
                    for sentence in sentences(content)
                )
        for fork in document.forks:
            assert fork.answers or document.kind in ("audience", "self", "facts", "few_lines"), (
                f"a survey without an answer: {fork}"
            )
            assert not fork.answers or abs(sum(fork.answers.values()) - 1) < 1e-6, "shares that do not sum to 1"
    assert set(kinds) == KINDS, kinds
    assert 0.6 < stances / replies < 0.9, "stance sentences out of bounds"
    return f"{dict(kinds)}; {replies} replies in debates, {stances / replies:.0%} with the stance sentence"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", type=int, default=4500)
    parser.add_argument("--kappa", type=float)
    parser.add_argument("--mu", type=float)
    given = parser.parse_args(arguments)
    changes = {name: value for name, value in (("kappa", given.kappa), ("mu", given.mu)) if value is not None}
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "corpus.jsonl"
    write(documents(given.seed, given.rooms, changes), path)
    print(check(path))


if __name__ == "__main__":
    main()
