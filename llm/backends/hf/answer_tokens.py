"""The allowed answers of a closed question as tokens, and the reply from their probabilities; torch is not needed."""

from __future__ import annotations

from collections.abc import Callable, Collection

from parley.llm.request import Failure, Reply, Request, Usage, set_choice


class AnswerTokens:
    """The allowed answers as tokens: `common` is what all of them begin with, `rest` what tells them apart.

    `single`: each answer is one token of its own behind `common`. `begun`: the beginning of the reply is given, and the answer
    need not end the reply. `ends` are the tokens after which an answer is over: the model's end tokens, a full stop, a
    line break.
    """

    def __init__(
        self,
        request: Request,
        encode: Callable[[str], list[int]],
        ends: Collection[int],
        space: str = "",
        begun: str = "",
    ):
        """`space` comes before an answer; `encode` adds no special tokens; `begun` is what the prompt has of the reply."""
        self.begun = bool(request.answer_prefix or begun)
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

    def apart(self, shares: list[float]) -> list[float]:
        """Return the share of each answer without that of the longer ones that begin with it: "1" without "10"."""
        if not self.begun or self.single:
            return shares
        exact = list(shares)
        for place in sorted(range(len(exact)), key=lambda place: -len(self.rest[place])):
            own = self.rest[place]
            longer = [other for other, ids in enumerate(self.rest) if len(ids) > len(own) and ids[: len(own)] == own]
            exact[place] = max(0.0, exact[place] - sum(exact[other] for other in longer))
        return exact


def scored_reply(request: Request, prompt_tokens: int, shares: list[float]) -> Reply:
    """Return a reply with the distribution over the answers; a named failure where each has a probability of 0."""
    usage = Usage(prompt_tokens, 0)
    if not sum(shares):
        return Reply(None, Failure("no_probability", "every allowed answer has the probability 0"), usage, covered=0.0)
    reply = Reply(None, usage=usage, way="exact")
    set_choice(reply, request, shares)
    return reply
