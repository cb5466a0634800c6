"""The pocket model's tokenizer: whole words and phrases of the corpus, tokens for roles and people, and a chat template.

A Unigram model whose tokens are words and phrases, so that a text has the fewest tokens. Every word of the corpus is one token,
and 1,500 phrases of two to four words as well ("as far as it goes"). A phrase never reaches over a punctuation mark, and holds no
number, no name and no label of a scale: a label is always one token. Other words are written in pieces, which the model reads
and never says (`unspoken_tokens`), so that it can say no word that does not exist.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, trainers
from transformers import PreTrainedTokenizerFast

from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.pocket.prompt_ids import SLOTS, mask_names, name_tokens
from parley.llm.request import Message
from tools.pocket.corpus.documents import Document
from tools.pocket.corpus.people import SIDES, TAUGHT

PAD, BOS, SYSTEM, USER, ASSISTANT, END, UNKNOWN = (
    "<pad>",
    "<s>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|end|>",
    "<unk>",
)
LEANS = {"": BOS, **dict(zip(SIDES, ("<r>", "<d>"), strict=True))}
"""What a chat begins with, by the side to which the model's own bias leans. A chat template knows BOS alone: the others are there
for one place, read by survey and speech alike, to hold the bias, so that a fine-tuning finds it there (tools/log)."""
_SPECIAL = (UNKNOWN, PAD, *LEANS.values(), SYSTEM, USER, ASSISTANT, END)
SPACE = "▁"
UNSPOKEN = -15.0
"""Tokens with a lower score are pieces of words: they are read and never said."""
PHRASES, LONGEST, PIECES = 1500, 4, 400
"""Phrases, their most words, and pieces of other words."""
OFTEN = 20
"""How often a word begins a line, a quotation or a bracket that has a token without a space before it."""
NUMBERS, YEARS = range(101), range(1940, 2031)
_CHUNK = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*(?: [A-Za-z]+(?:['’-][A-Za-z]+)*)*")
_PERSON = re.compile(r"<name\d+>(?:['’]s)?")
_WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")
_BEGINNING = re.compile(r"""(?<=[\n"'(\[])[A-Za-z]+""")
_MARK = re.compile(r"[^\sA-Za-z0-9<>]")
TEMPLATE = (
    "{{ '<s>' }}{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def train_tokenizer(documents: Iterable[Document]) -> PreTrainedTokenizerFast:
    """Return a tokenizer in which every word, label and number up to 100 is one token (asserted)."""
    texts_ = list(texts(documents))
    words = Counter(word for text in [*texts_, *_labels()] for word in _WORD.findall(_PERSON.sub(" ", text)))
    marks = sorted({mark for text in texts_ for mark in _MARK.findall(text)})
    chunks = Counter(chunk for text in texts_ for chunk in _CHUNK.findall(_PERSON.sub("<>", text)))
    phrases = _most_useful(find_phrases(chunks, 2 * PHRASES), list(words), chunks)
    beginnings = Counter(word for text in texts_ for word in _BEGINNING.findall(text))
    raw = _unigram(list(words), marks, phrases, [word for word, number in beginnings.items() if number >= OFTEN])
    raw.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    raw.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in _SPECIAL[1:]])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        bos_token=BOS,
        eos_token=END,
        pad_token=PAD,
        unk_token=UNKNOWN,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = TEMPLATE
    for word in [*words, *_labels(), *map(str, NUMBERS), *SLOTS]:
        assert len(tokenizer(word)["input_ids"]) == 1, f"{word!r} is more than one token"
    return tokenizer


def _unigram(
    words: Sequence[str], marks: Sequence[str], phrases: Sequence[str], beginnings: Sequence[str] = ()
) -> Tokenizer:
    raw = Tokenizer(models.Unigram(_scores(words, marks, phrases, beginnings), unk_id=0, byte_fallback=True))
    raw.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    return raw


def _most_useful(phrases: Sequence[str], words: Sequence[str], chunks: Counter[str]) -> list[str]:
    """Return the PHRASES that save the most tokens when all of them can be used."""
    raw, saved = _unigram(words, [], phrases), Counter[str]()
    for chunk, number in chunks.items():
        for token in raw.encode(chunk).tokens:
            saved[token] += number * token.count(SPACE, 1)
    return sorted(phrases, key=lambda phrase: -saved[SPACE + phrase.replace(" ", SPACE)])[:PHRASES]


def _scores(
    words: Sequence[str], marks: Sequence[str], phrases: Sequence[str], beginnings: Sequence[str]
) -> list[tuple[str, float]]:
    """Return every token with its score: fewest tokens win, whole words before pieces, earlier tokens before later ones."""
    numbers = [*map(str, NUMBERS), *map(str, YEARS)]
    whole = [*SLOTS, *words, *numbers, *(phrase.replace(" ", SPACE) for phrase in phrases)]
    spoken = [*(SPACE + word for word in whole), *SLOTS, *map(str, range(21)), *marks, "\n", "\n\n"]
    spoken += [SPACE + mark for mark in marks]
    pieces = dict.fromkeys([SPACE, *_letters(), *_pieces(words)])
    bytes_ = [f"<0x{number:02X}>" for number in range(256)]
    tokens = dict.fromkeys([*_SPECIAL, *spoken])
    scored = [(token, -10.0 - 1e-4 * place) for place, token in enumerate(tokens)]
    scored += [(word, -16.0) for word in dict.fromkeys(beginnings) if word not in tokens]
    pieces = {piece: None for piece in pieces if piece not in beginnings}
    scored += [(piece, -20.0 - 3.0 * (len(piece) == 1)) for piece in pieces if piece not in tokens]
    return scored + [(byte, -40.0) for byte in bytes_]


def _letters() -> list[str]:
    return [chr(code) for code in (*range(ord("a"), ord("z") + 1), *range(ord("A"), ord("Z") + 1), *range(48, 58))]


def _pieces(words: Sequence[str]) -> list[str]:
    """Return common parts of words, with and without a space before them: for words that the corpus does not hold."""
    raw = Tokenizer(models.BPE())
    raw.train_from_iterator(
        [SPACE + word for word in words], trainers.BpeTrainer(vocab_size=PIECES, show_progress=False)
    )
    whole_words = {SPACE + word for word in words}
    return sorted(token for token in raw.get_vocab() if len(token) > 1 and token not in whole_words)


def _labels() -> list[str]:
    return [label for slug in TAUGHT for label in banks().topics[slug].labels]


def find_phrases(chunks: Counter[str], count: int) -> list[str]:
    """Return the most useful phrases: the pair of neighbours that is most frequent is joined, again and again.

    chunks: stretches of words without punctuation, with their numbers.
    """
    barred = set(_labels())
    rows = [(chunk.split(" "), number) for chunk, number in chunks.items() if " " in chunk]
    pairs: Counter[tuple[str, str]] = Counter()
    where: dict[tuple[str, str], set[int]] = defaultdict(set)

    def note(place: int, sign: int) -> None:
        parts, number = rows[place]
        for pair in pairwise(parts):
            if sum(phrase.count(" ") + 1 for phrase in pair) <= LONGEST and not barred & set(pair):
                pairs[pair] += sign * number
                where[pair].add(place)

    for place in range(len(rows)):
        note(place, 1)
    phrases: list[str] = []
    while len(phrases) < count and pairs:
        pair = max(pairs, key=lambda pair: (pairs[pair], pair))
        if pairs[pair] < 2:
            break
        joined = " ".join(pair)
        phrases.append(joined)
        for place in sorted(where.pop(pair)):
            note(place, -1)
            rows[place] = (_joined(rows[place][0], pair, joined), rows[place][1])
            note(place, 1)
        del pairs[pair]
    return list(dict.fromkeys(phrases))


def _joined(parts: list[str], pair: tuple[str, str], joined: str) -> list[str]:
    result: list[str] = []
    place = 0
    while place < len(parts):
        if tuple(parts[place : place + 2]) == pair:
            result.append(joined)
            place += 2
        else:
            result.append(parts[place])
            place += 1
    return result


def unspoken_tokens(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """Return the ids that the model reads and never says: pieces of words, bytes, and the marks of a chat but its end."""
    scores = dict(json.loads(tokenizer.backend_tokenizer.to_str())["model"]["vocab"])
    spoken = {token for token, score in scores.items() if score > UNSPOKEN} - set(_SPECIAL) | {END}
    return sorted(number for token, number in tokenizer.get_vocab().items() if token not in spoken)


def texts(documents: Iterable[Document]) -> Iterator[str]:
    """All that is written in some documents, with tokens in place of names."""
    for document in documents:
        questions = [Message("user", fork.question) for fork in document.forks]
        names = name_tokens([*document.messages, *questions])
        yield from (message.content for message in mask_names(document.messages, names))
        for question, fork in zip(mask_names(questions, names), document.forks, strict=True):
            yield "\n\n" + question.content.rsplit("\n\n", 1)[-1]
            yield mask_names([Message("assistant", fork.reply)], names)[0].content
