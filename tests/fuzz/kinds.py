"""Long texts of one kind each: what a model that loops, or a hostile server, sends."""

from __future__ import annotations

from collections.abc import Sequence

UNITS: Sequence[str] = (
    "\n", " ", "\u2028", "\r\n \n", "_", "[", '"', "“", "<", "5", "1 ", "A>", "A > B ", "<think>", "Ann:", "\nAnswer", "ich bin ",
    "option A ", "you are ", "„a",
)  # fmt: skip
"""The first twenty are quick to read even for a slow reader, and find each of the slow patterns that we had."""
MORE: Sequence[str] = (
    "\t", "*", "#", ">", "- ", "(", ")", "{", "'", "`", "\\", "|", "=", ".", "...", ":", ";", "!?", ",", "~", "/", "10.", "1,",
    "7 out of ", "0-", "²", "\u0663", "a", "A ", "A = ", "A, B and ", "a and ", "->", "&gt;", "→", "</think>", "<thinking",
    "[THINK]", "<|channel|>", "analysisA", "Bob (", "\n**Bob", "Ann_", "answer: ", "Here is ", "sure ", "not ", "I think ",
    "I'd rate it ", "as an ai ", "i cannot ", "i will take ", "post 2 ", "like ", "like a b c 5", "Belief: ", "\n1. ", "2. x\n",
    "is it so? ", "pets | ", "[1] ", '"a b c d" [1] ', "«", "because ", "scale of 0 ", "from 0 to ", "racism is a ",
    "very serious ", "serious problem (", "a very big problem ", "between ", "je ne ", "no puedo ", "🙂", "\u200d", "\u0301",
    "ß", "\ufeff", "\0", "a\n", "One. ", "it's ", "statement ", "choose ", "years ", "44 ", "null ", "sieben von ", "\\boxed{",
    '{"rating": ', "[[", "$", "1\ufe0f",
)  # fmt: skip


def long_text(unit: str, size: int) -> str:
    """Return a text of `size` characters that repeats a unit and ends in another letter."""
    return (unit * (size // len(unit) + 1))[: size - 1] + "x"
