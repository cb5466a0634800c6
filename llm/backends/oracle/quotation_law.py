"""The planted law of quotations: how often the oracle quotes what it is shown, and how often it invents a quotation."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from parley.llm.backends.oracle.bank_files import read_file
from parley.llm.backends.oracle.phrases import FOLDER, sentences
from parley.llm.errors import UserError


class QuotationLaw(NamedTuple):
    """The probability of quoting a passage that is shown, and of inventing a quotation where passages are shown."""

    quotes: float = 0.8
    fabricates: float = 0.1

    def check(self) -> None:
        """Errors: UserError for a probability that is none."""
        if not all(0 <= value <= 1 for value in self):
            raise UserError("oracle: quotes and fabricates must be from 0 to 1, as in oracle,quotes=0")


USUAL = QuotationLaw()


def quotations(passages: Sequence[str], language: str, law: QuotationLaw, rng: random.Random) -> list[str]:
    """Return the quotations from passages: of each a sentence with its number, and an invented one, by the law."""
    stated = [f'"{rng.choice(sentences(text))}" [{number}]' for number, text in enumerate(passages, 1)]
    stated = [line for line in stated if rng.random() < law.quotes]
    if passages and rng.random() < law.fabricates:
        invented = read_file(FOLDER / language / "correction.toml")["fabricated"]
        stated.append(f'"{rng.choice(invented)}" [1]')
    return stated
