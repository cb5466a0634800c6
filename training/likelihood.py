"""How likely a local model finds a given reply: the sum of the log-probabilities of its tokens after a chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from parley.llm.request import Message, fold_system_message, plain_text


class Text(NamedTuple):
    """A chat and the reply to it. Every token of the reply counts."""

    messages: tuple[Message, ...]
    reply: str


class Likelihood(NamedTuple):
    """`logp`: nats, summed over the `tokens` of the reply."""

    logp: float
    tokens: int


def prompt_text(messages: Sequence[Message], tokenizer: Any) -> str:
    """Return the chat up to where the reply begins: by the chat template, or as plain text that ends in a space."""
    from jinja2 import TemplateError  # part of the [local] extra

    from parley.llm.backends.hf.answer_tokens import DATE

    def fill_template(chat: Sequence[Message]) -> str:
        turns = [{"role": message.role, "content": message.content} for message in chat]
        return str(tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False, date_string=DATE))

    if not tokenizer.chat_template:
        return plain_text(messages, closed=False) + " "
    try:
        return fill_template(messages)
    except TemplateError:  # a template without a system role: the persona opens the first user message
        return fill_template(fold_system_message(messages))


def likelihoods(texts: Sequence[Text], model: Any, tokenizer: Any, batch: int, ended: bool = False) -> list[Likelihood]:
    """Return one likelihood per text, in their order. With `ended` the tokenizer's end token counts as a part of the reply.

    The reply is tokenized together with the chat. `batch` texts go through the model at a time.
    """
    rows = [_tokens(text, tokenizer, ended) for text in texts]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place][0]))
    batches = [order[start : start + batch] for start in range(0, len(order), batch)]
    sums: dict[int, float] = {}
    for places in batches:
        sums |= zip(places, _sums([rows[place] for place in places], model), strict=True)
    return [Likelihood(sums[place], len(ids) - first) for place, (ids, first) in enumerate(rows)]


def lengths(texts: Sequence[Text], tokenizer: Any) -> list[int]:
    """Return the number of tokens of chat, reply and end token together."""
    return [len(_tokens(text, tokenizer, True)[0]) for text in texts]


def _tokens(text: Text, tokenizer: Any, ended: bool) -> tuple[list[int], int]:
    """Return chat and reply as token ids, and where the reply begins. A chat template brings its own special tokens."""
    prompt, special = prompt_text(text.messages, tokenizer), not tokenizer.chat_template
    ids = list(tokenizer(prompt + text.reply, add_special_tokens=special)["input_ids"])
    first = len(tokenizer(prompt.rstrip(" "), add_special_tokens=special)["input_ids"])
    return ids + ([tokenizer.eos_token_id] if ended else []), first


def _sums(rows: Sequence[tuple[list[int], int]], model: Any) -> list[float]:
    """Return the log-probability of each reply. Rows are padded at the end, which no counted token can see.

    Logits are computed only from the first reply of the batch on, since those of the prompts would be most of the work.
    """
    import torch
    from torch.nn.functional import cross_entropy

    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [0] * (width - len(ids)) for ids, _ in rows], device=model.device)
    labels = torch.tensor([[-100] * first + ids[first:] + [-100] * (width - len(ids)) for ids, first in rows])
    scored = width - min(first for _, first in rows) + 1
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False, logits_to_keep=scored).logits[:, :-1].float()
        nats = cross_entropy(logits.flatten(0, 1), labels[:, 1 - scored :].flatten().to(model.device), reduction="none")
    return [-float(total) for total in nats.view(len(rows), -1).double().sum(1)]
