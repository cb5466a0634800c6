"""Scored replies as examples: which reply to a prompt is preferred to which, and the null in which the winner is random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from parley.llm.request import Message
from parley.llm.seeding import stream
from parley.training.tuning.dataset import Example, chat
from parley.training.tuning.recipe import SFT

Prompt = tuple[Message, ...]
TRAINED, SHUFFLED = "trained", "shuffled"
"""Adapters: that of the preferences, and those of shuffled ones (`shuffled 1`, ...)."""


class Ranking(NamedTuple):
    """Pairs of places in a list of scores (preferred, other), and how many pairs were left out because they tie."""

    pairs: list[tuple[int, int]]
    ties: int


class ScoredReply(NamedTuple):
    """A reply to a prompt, and its score."""

    prompt: Prompt
    text: str
    score: float


class Preference(NamedTuple):
    """Two replies to a prompt; the first is preferred. margin: its score minus that of the other."""

    about: Prompt
    chosen: str
    rejected: str
    margin: float

    def turned(self) -> Preference:
        """Return the preference for the other reply."""
        return self._replace(chosen=self.rejected, rejected=self.chosen, margin=-self.margin)


def pair_places(scores: Sequence[float]) -> Ranking:
    """Return the best with the worst, the second best with the second worst, and so on.

    >>> pair_places([3, 5, 1, 3])
    Ranking(pairs=[(1, 2)], ties=1)
    """
    ranked = sorted(range(len(scores)), key=lambda place: -scores[place])
    every = [(ranked[place], ranked[-1 - place]) for place in range(len(ranked) // 2)]
    pairs = [(high, low) for high, low in every if scores[high] > scores[low]]
    return Ranking(pairs, len(every) - len(pairs))


def turn_half(given: Sequence[Preference], seed: int, number: int) -> list[Preference]:
    """Return the preferences with half of them, drawn with the seed and the number of the shuffle, turned round."""
    turned = set(stream(seed, "shuffled preferences", number).sample(range(len(given)), len(given) // 2))
    return [preference.turned() if place in turned else preference for place, preference in enumerate(given)]


def preferences(replies: Sequence[ScoredReply], method: str) -> tuple[list[Preference], int]:
    """Return the preferences by prompt (`pair_places`; for SFT the first pair of a prompt), and how many pairs tie."""
    preferred, ties = [], 0
    for prompt_replies in _by_prompt(replies).values():
        ranking = pair_places([reply.score for reply in prompt_replies])
        ties += ranking.ties
        for high, low in ranking.pairs[:1] if method == SFT else ranking.pairs:
            best, worst = prompt_replies[high], prompt_replies[low]
            preferred.append(Preference(best.prompt, best.text, worst.text, best.score - worst.score))
    return preferred, ties


def shuffle_preferences(
    given: Sequence[Preference], replies: Sequence[ScoredReply], method: str, seed: int, number: int
) -> list[Preference]:
    """Return preferences without a reason: for DPO half of the pairs turned round, for SFT a reply to the prompt by lot.

    number: of the shuffle; each number has another draw.
    """
    if method != SFT:
        return turn_half(given, seed, number)
    by_prompt, shuffled = _by_prompt(replies), []
    for place, preference in enumerate(given):
        prompt_replies = by_prompt[preference.about]
        drawn = stream(seed, "random winner", number, place).choice(prompt_replies)
        shuffled.append(
            preference._replace(chosen=drawn.text, margin=drawn.score - min(reply.score for reply in prompt_replies))
        )
    return shuffled


def lessons(
    replies: Sequence[ScoredReply], method: str, shuffles: int, seed: int
) -> tuple[dict[str, list[Preference]], int]:
    """Return the preferences that each adapter learns (TRAINED, `shuffled 1`, ...), and how many pairs tie."""
    given, ties = preferences(replies, method)
    nulls = {
        f"{SHUFFLED} {number}": shuffle_preferences(given, replies, method, seed, number)
        for number in range(1, shuffles + 1)
    }
    return {TRAINED: given, **nulls}, ties


def preference_examples(given: Sequence[Preference], method: str, seed: int) -> list[Example]:
    """Return {"prompt", "completion"} (SFT) or {"prompt", "chosen", "rejected"} (DPO) per preference, in a drawn order."""
    examples: list[Example] = []
    for preference in given:
        prompt = [chat_message for message in preference.about for chat_message in chat(*message)]
        chosen, rejected = chat("assistant", preference.chosen), chat("assistant", preference.rejected)
        answers = {"completion": chosen} if method == SFT else {"chosen": chosen, "rejected": rejected}
        examples.append({"prompt": prompt, **answers})
    stream(seed, "order").shuffle(examples)
    return examples


def _by_prompt(replies: Sequence[ScoredReply]) -> Mapping[Prompt, list[ScoredReply]]:
    by_prompt: dict[Prompt, list[ScoredReply]] = {}
    for reply in replies:
        by_prompt.setdefault(reply.prompt, []).append(reply)
    return by_prompt
