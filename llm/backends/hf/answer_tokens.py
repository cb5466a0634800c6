"""Prompts and the allowed answers of closed questions as tokens, and the reply from their probabilities; without torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parley.llm.request import Failure, Message, Reply, Request, Usage, fold_system_message, plain_text, set_choice


@dataclass
class TokenTree:
    """Tokens behind a prompt: `parents` says behind which token each lies (-1: behind the prompt). Parents come first."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)

    def add(self, ids: Sequence[int]) -> list[int]:
        """Add a path of tokens; return the node of each."""
        path = [-1]
        for token in ids:
            pairs = list(zip(self.tokens, self.parents, strict=True))
            if (token, path[-1]) not in pairs:
                self.tokens.append(token)
                self.parents.append(path[-1])
                pairs.append((token, path[-1]))
            path.append(pairs.index((token, path[-1])))
        return path[1:]

    def path(self, node: int) -> list[int]:
        """Return the nodes from the prompt to a node, this one included."""
        return [*(self.path(self.parents[node]) if self.parents[node] >= 0 else []), node]

    def paths(self) -> list[list[int]]:
        """Return the path to each node behind which there is none."""
        return [self.path(node) for node in range(len(self.tokens)) if node not in self.parents]

    def depths(self) -> list[int]:
        """Return for each node how many nodes lie above it."""
        return [len(self.path(node)) - 1 for node in range(len(self.tokens))]

    def above(self) -> list[list[bool]]:
        """Return for each node whether each other node is above it, or itself."""
        return [[other in self.path(node) for other in range(len(self.tokens))] for node in range(len(self.tokens))]


class AnswerTokens:
    """The allowed answers as tokens.

    `common` is what all of them begin with, and `rest` what tells them apart. `tree` holds what has to be read behind the prompt:
    the tokens behind which an answer goes on. It is empty where each answer is one token.
    """

    def __init__(self, request: Request, encode: Callable[[str], list[int]], space: str = ""):
        """`space` comes before an answer; `encode` adds no special tokens."""
        answers = [encode(space + request.answer_prefix + answer) for answer in request.answers]
        shared = 0
        while (
            request.answer_prefix and min(map(len, answers)) > shared + 1 and len({ids[shared] for ids in answers}) == 1
        ):
            shared += 1
        self.common, self.rest = answers[0][:shared], [ids[shared:] for ids in answers]
        self.tree = TokenTree()
        paths = [[0, *(node + 1 for node in self.tree.add(ids[:-1]))] for ids in self.rest]
        longest = max(map(len, self.rest))
        self._nodes = np.array([path + [0] * (longest - len(path)) for path in paths])
        self._tokens = np.array([ids + [0] * (longest - len(ids)) for ids in self.rest])
        self._padding = np.arange(longest) >= np.array(list(map(len, self.rest)))[:, None]
        self._longer = np.array(
            [[self._is_next(short, long) for short in self.rest] for long in self.rest], dtype=float
        )

    def _is_next(self, short: list[int], long: list[int]) -> bool:
        """Is an answer the longest one with which another begins?"""
        begun = [ids for ids in self.rest if len(ids) < len(long) and long[: len(ids)] == ids]
        return bool(begun) and short == max(begun, key=len)

    def shares(self, logs: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the probability that a reply begins with each answer and with no longer one, (prompts, answers).

        `logs` takes nodes and tokens (answers, longest), and returns the log-probability of each token behind its node (prompts,
        answers, longest). Node 0 is the prompt, and n + 1 the node n of the tree.
        """
        begun = np.exp(np.where(self._padding, 0.0, logs(self._nodes, self._tokens)).sum(-1))
        shares: np.ndarray = np.maximum(begun - begun @ self._longer, 0.0)
        return shares


def scored_reply(request: Request, prompt_tokens: int, shares: list[float]) -> Reply:
    """Return a reply with the distribution over the answers; a named failure where each has a probability of 0."""
    usage = Usage(prompt_tokens, 0)
    if not sum(shares):
        return Reply(None, Failure("no_probability", "every allowed answer has the probability 0"), usage, covered=0.0)
    reply = Reply(None, usage=usage, way="exact")
    set_choice(reply, request, shares)
    return reply


DATE = "26 Jul 2024"
"""The date for templates that state one, so that a prompt is the same on every day."""


def encode(requests: Sequence[Request], tokenizer: Any, style: str) -> list[list[int]]:
    """Return each prompt's token ids, up to where the reply begins (all at once: the tokenizer works on all cores)."""
    if not requests:
        return []
    if is_plain(tokenizer, style):
        texts = [plain_text(request.messages, closed=bool(request.answers)) for request in requests]
        return list(tokenizer(texts)["input_ids"])
    from jinja2 import TemplateError  # pocket works without it

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
