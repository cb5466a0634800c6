"""Makes examples of a training fit for the tokenizer that reads them: no system message where its template knows none, and no
example that is longer than the training reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from parley.llm.backends.hf.prompts import DATE
from parley.llm.errors import UserError
from parley.llm.request import Message, fold_system_message

ANSWERS = ("completion", "chosen", "rejected")
"""The keys of an example that hold what is written after its prompt."""


def fit_template(examples: Sequence[Any], tokenizer: Any) -> list[Any]:
    """Return the examples as they are, or with the system message at the start of the first message.

    The second is for templates that refuse a system role: the same is done when the model is asked (llm/backends/hf/prompts.py).
    """
    if not any(turn["role"] == "system" for example in examples for turn in example["prompt"]):
        return list(examples)
    try:
        _encode([example["prompt"] for example in examples[:1]], tokenizer)
    except TemplateError:
        return [example | {"prompt": _folded(example["prompt"])} for example in examples]
    return list(examples)


def _folded(prompt: Sequence[Any]) -> list[dict[str, str]]:
    messages = fold_system_message([Message(turn["role"], turn["content"]) for turn in prompt])
    return [message._asdict() for message in messages]


def check_lengths(examples: Sequence[Any], tokenizer: Any, most: int) -> None:
    """Errors: UserError if a prompt with an answer has more tokens than a training reads: it would be cut, or left out."""
    chats = [[*example["prompt"], *example[key]] for example in examples for key in ANSWERS if key in example]
    longest = max(map(len, _encode(chats, tokenizer)), default=0)
    if longest > most:
        raise UserError(
            f"a prompt with its answer has {longest} tokens, and would be cut at {most}: set --length {longest}"
        )


def _encode(chats: Sequence[Sequence[Any]], tokenizer: Any) -> list[list[int]]:
    """Return the tokens of each chat."""
    return list(
        tokenizer.apply_chat_template([list(chat) for chat in chats], return_dict=True, date_string=DATE)["input_ids"]
    )
