"""The allowed answers of a closed question as tokens, and the reply from their probabilities; torch is not needed."""

from __future__ import annotations

from collections.abc import Callable, Collection

from parley.llm.request import COVERED, Reply, Request, Usage, set_choice


class AnswerTokens:
    """The allowed answers as tokens: `common` is what all of them begin with, `rest` what tells them apart.

    `single`: each answer is one token of its own behind `common`. `begun`: the question says how the answer begins, and the
    answer need not end the reply. `ends` are the tokens after which an answer is over: the model's end tokens, a full stop, a
    line break.
    """

    def __init__(self, request: Request, encode: Callable[[str], list[int]], ends: Collection[int], space: str = ""):
        """`space` comes before an answer; `encode` adds no special tokens."""
        self.begun = bool(request.answer_prefix)
        answers = [encode(space + request.answer_prefix + answer) for answer in request.answers]
        shared = 0
        while self.begun and min(map(len, answers)) > shared + 1 and len({ids[shared] for ids in answers}) == 1:
            shared += 1
        self.common, self.rest = answers[0][:shared], [ids[shared:] for ids in answers]
        self.first = [ids[0] for ids in self.rest]
        self.longest = max(map(len, self.rest))
        self.single = self.longest == 1 and len(set(self.first)) == len(self.first)
        before = encode("5")  # behind an answer: alone, many tokenizers put a space in front of a mark
        marked = [encode(f"5{mark}") for mark in (".", "\n")]
        self.ends = sorted({*ends, *[ids[-1] for ids in marked if ids[:-1] == before]})


def scored_reply(request: Request, prompt_tokens: int, shares: list[float]) -> Reply:
    """Return a reply, which has neither text nor failure where the answers have too little probability together."""
    reply = Reply(None, usage=Usage(prompt_tokens, 0), way="text", covered=min(sum(shares), 1.0))
    if sum(shares) >= COVERED:
        reply.way = "exact"
        set_choice(reply, request, shares)
    return reply
