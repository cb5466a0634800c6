"""Messages as token ids: through the tokenizer's chat template, or as one plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from parley.llm.request import Message, Request, plain_text

DATE = "26 Jul 2024"
"""What templates that state a date are told: the same prompt today and tomorrow."""


def encode(requests: Sequence[Request], tokenizer: Any, style: str) -> list[list[int]]:
    """Each prompt's token ids, up to where the reply begins (all at once: the tokenizer works on all cores)."""
    if not requests:
        return []
    if is_plain(tokenizer, style):
        texts = [plain_text(request.messages, closed=bool(request.answers)) for request in requests]
        return list(tokenizer(texts)["input_ids"])
    try:
        return _chats([request.messages for request in requests], tokenizer)
    except TemplateError:  # some templates know no system role: the persona then opens the first user message
        return _chats([fold_system_message(request.messages) for request in requests], tokenizer)


def is_plain(tokenizer: Any, style: str) -> bool:
    """Is the prompt one plain text (asked for, or because the tokenizer has no chat template)?"""
    return style == "plain" or (style == "auto" and not tokenizer.chat_template)


def _chats(chats: Sequence[Sequence[Message]], tokenizer: Any) -> list[list[int]]:
    said = [[{"role": message.role, "content": message.content} for message in messages] for messages in chats]
    encoded = tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=True, date_string=DATE)
    return list(encoded["input_ids"])


def fold_system_message(messages: Sequence[Message]) -> list[Message]:
    """The messages with the system messages put in front of the first user message."""
    system = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if not system or not rest:
        return list(messages)
    return [Message("user", "\n\n".join([*system, rest[0].content])), *rest[1:]]
