"""The pocket model's tokenizer: byte-level BPE trained on the corpus, tokens for roles and people, and a chat template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from parley.llm.backends.oracle.phrases import topics
from parley.llm.backends.pocket.names import SLOTS
from parley.training.pocket_corpus.documents import Document

PAD, BOS, SYSTEM, USER, ASSISTANT, END = "<pad>", "<s>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"
LEANS = {"": BOS, "republican": "<r>", "democrat": "<d>"}
"""What a chat begins with, by the side to which the model's own bias leans. A chat template knows BOS alone: the others are there
for one place, read by survey and speech alike, to hold the bias, so that a fine-tuning finds it there (docs/log.md)."""
VOCABULARY = 3072
_SPLIT = r" ?<name\d+>|'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
TEMPLATE = (
    "{{ '<s>' }}{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def train_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """A tokenizer in which every label of a labelled scale and every number up to 100 is one token (asserted)."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    raw.decoder = decoders.ByteLevel()
    special = [PAD, *LEANS.values(), SYSTEM, USER, ASSISTANT, END]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(SLOTS),
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(_with_words(texts), trainer)
    raw.add_tokens(list(SLOTS))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        bos_token=BOS,
        eos_token=END,
        pad_token=PAD,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = TEMPLATE
    for word in _whole():
        assert len(tokenizer(word)["input_ids"]) == 1, f"{word!r} is more than one token"
    return tokenizer


def _whole() -> list[str]:
    """What must be one token."""
    labels = [f" {label}" for bank in topics().values() for label in bank.labels]
    return [*labels, *[str(number) for number in range(101)], *SLOTS]


def _with_words(texts: Iterable[str]) -> Iterator[str]:
    yield from texts
    for word in _whole():
        yield from [word] * 500


def texts(documents: Iterable[Document]) -> Iterator[str]:
    """All that is written in some documents."""
    for document in documents:
        yield from (message.content for message in document.messages)
        for fork in document.forks:
            yield fork.question
            yield fork.reply
