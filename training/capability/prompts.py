"""A chat as one text that a reply is joined to, for any tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from parley.llm.backends.hf.prompts import DATE, folded
from parley.llm.plain import plain
from parley.llm.request import Message


def prompt(messages: Sequence[Message], tokenizer: Any) -> str:
    """The chat up to where the reply begins: through the chat template, or as plain text that ends in a space."""
    if not tokenizer.chat_template:
        return plain(messages, closed=False) + " "
    try:
        return _templated(messages, tokenizer)
    except TemplateError:  # some templates know no system role: the persona then opens the first user message
        return _templated(folded(messages), tokenizer)


def _templated(messages: Sequence[Message], tokenizer: Any) -> str:
    said = [{"role": message.role, "content": message.content} for message in messages]
    return str(tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False, date_string=DATE))
