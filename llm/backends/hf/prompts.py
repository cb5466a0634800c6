"""Turns messages into token ids: through the tokenizer's chat template, or as one plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from parley.llm.request import Message, Request, fold_system_message, plain_text

DATE = "26 Jul 2024"
"""The date for templates that state one, so that a prompt is the same on every day."""


def encode(requests: Sequence[Request], tokenizer: Any, style: str) -> list[list[int]]:
    """Return each prompt's token ids, up to where the reply begins (all at once: the tokenizer works on all cores)."""
    if not requests:
        return []
    if is_plain(tokenizer, style):
        texts = [plain_text(request.messages, closed=bool(request.answers)) for request in requests]
        return list(tokenizer(texts)["input_ids"])
    try:
        return _encode_chats([request.messages for request in requests], tokenizer)
    except TemplateError:  # some templates know no system role: the persona then opens the first user message
        return _encode_chats([fold_system_message(request.messages) for request in requests], tokenizer)


def is_plain(tokenizer: Any, style: str) -> bool:
    """Is the prompt one plain text, because of `style` or because the tokenizer has no chat template?"""
    return style == "plain" or (style == "auto" and not tokenizer.chat_template)


def encode_text(tokenizer: Any, text: str) -> list[int]:
    """Return the token ids of a text, without special tokens."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _encode_chats(chats: Sequence[Sequence[Message]], tokenizer: Any) -> list[list[int]]:
    messages = [[message._asdict() for message in chat] for chat in chats]
    encoded = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True, date_string=DATE)
    return list(encoded["input_ids"])
