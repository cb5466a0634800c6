"""The planted law of quotations: how often the oracle quotes what it is shown, and how often it invents a quotation."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from parley.llm.backends.oracle.bank_files import read_file
from parley.llm.backends.oracle.phrases import FOLDER, sentences
from parley.llm.errors import UserError


class CorrectionLaw(NamedTuple):
    """The probability of quoting a passage that is shown, and of inventing a quotation where passages are shown."""

    quotes: float = 0.8
    fabricates: float = 0.1

    def check(self) -> None:
        """Errors: UserError for a probability that is none."""
        if not all(0 <= value <= 1 for value in self):
            raise UserError("oracle: quotes and fabricates must be from 0 to 1, as in oracle,quotes=0")


USUAL = CorrectionLaw()


def quotations(passages: Sequence[str], bank: Mapping[str, Any], law: CorrectionLaw, rng: random.Random) -> list[str]:
    """Return the quotations from passages: of each a sentence with its number, and an invented one, by the law."""
    stated = [f'"{rng.choice(sentences(text))}" [{number}]' for number, text in enumerate(passages, 1)]
    stated = [line for line in stated if rng.random() < law.quotes]
    if passages and rng.random() < law.fabricates:
        stated.append(f'"{rng.choice(bank["fabricated"])}" [1]')
    return stated


def bank_of(language: str) -> Mapping[str, Any]:
    """Return the sentences and marks of a language (banks/<code>/correction.toml); empty where there are none."""
    return read_file(FOLDER / language / "correction.toml")
