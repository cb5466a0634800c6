"""The thoughts that some models write before they answer, between `<think>` and `</think>`."""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"^\s*(?:<think(?:ing)?>)?(.*?)</think(?:ing)?>|^\s*<think(?:ing)?>(.*)", re.S)


def split_thinking(text: str) -> tuple[str, str]:
    """Return the answer, and the thoughts before it. A thought that does not end leaves no answer.

    >>> split_thinking("<think>Let me see.</think> Yes."), split_thinking("<think>Let me"), split_thinking("Yes.")
    (('Yes.', 'Let me see.'), ('', 'Let me'), ('Yes.', ''))
    """
    if found := _THOUGHT.match(text):
        return text[found.end() :].lstrip(), (found[1] or found[2] or "").strip()
    return text, ""
