"""Evidence: a folder of texts, cut into passages, in which a corrector searches; and the check of what it quotes.

A passage is a paragraph of a .txt or .md file (headings are left out). Passages are ranked by the word weights of
agents/memory.py. A quotation is text in quotation marks; the number of a passage may follow it: "They grew as much." [2].
It is compared with the passages word for word. Capitals, line breaks, forms of quotation marks and punctuation at its ends do not
count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from parley.agents.memory import relevance
from parley.llm.errors import UserError
from parley.llm.trust import check_data

ENDINGS = (".txt", ".md")
VERBATIM, UNNUMBERED, ELSEWHERE, OF_POST, FABRICATED = "verbatim", "unnumbered", "elsewhere", "of_post", "fabricated"
QUOTATION_KINDS = {
    VERBATIM: "word for word in the passage whose number follows",
    UNNUMBERED: "word for word in a passage, but no number follows",
    ELSEWHERE: "word for word in another passage than the one whose number follows",
    OF_POST: "words of the post that is answered",
    FABRICATED: "in no passage of the folder, and not in the post",
}
"""What a quotation can be; the first that fits, with `of_post` before `unnumbered` and `elsewhere`."""
FEWEST_WORDS = 3
"""Text in quotation marks with fewer words is a quotation only if a number follows."""
_QUOTED = re.compile(
    r"(?:\"([^\"]+)\"|“([^“”]+)”|„([^„“”\"]+)[“”\"]|«([^«»]+)»|»([^«»]+)«)[.,;:]?\s*+(?:\[(\d{1,9})\])?"
)
_NUMBER = re.compile(r"\[(\d{1,9})\]")
_MARKS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})


class Passage(NamedTuple):
    """A paragraph of a file, counted from 1."""

    file: str
    paragraph: int
    text: str

    @property
    def source(self) -> str:
        """The file and the number of the paragraph: `census.txt 2`."""
        return f"{self.file} {self.paragraph}"


class Quotation(NamedTuple):
    """A quotation, the number that follows it (None: no number), and what it is (QUOTATION_KINDS)."""

    text: str
    number: int | None
    kind: str


@dataclass(frozen=True)
class Evidence:
    """The passages of a folder, in the order of files and paragraphs."""

    passages: tuple[Passage, ...]

    def search(self, query: str, count: int) -> list[Passage]:
        """Return the passages most like a query, best first; none without a common word.

        >>> found = Evidence((Passage("a.txt", 1, "Trains are late."), Passage("b.txt", 1, "Bread is dark.")))
        >>> [passage.source for passage in found.search("dark bread", 2)]
        ['b.txt 1']
        """
        scores = relevance(query, [passage.text for passage in self.passages])
        ranked = sorted(range(len(scores)), key=lambda place: -scores[place])
        return [self.passages[place] for place in ranked[:count] if scores[place] > 0]

    def check(self, reply: str, shown: Sequence[Passage], post: str = "") -> list[Quotation]:
        """Return the quotations of a reply. shown: the passages that were shown, numbered from 1."""
        plain_passages = [plain(passage.text) for passage in self.passages]
        return [
            Quotation(text, number, self._kind(text, number, shown, plain_passages, post))
            for text, number in read_quotations(reply)
        ]

    def _kind(self, text: str, number: int | None, shown: Sequence[Passage], passages: Sequence[str], post: str) -> str:
        named = shown[number - 1].text if number is not None and 1 <= number <= len(shown) else ""
        if is_quoted(text, plain(named)):
            return VERBATIM
        if is_quoted(text, plain(post)):
            return OF_POST
        if any(is_quoted(text, passage) for passage in passages):
            return UNNUMBERED if number is None else ELSEWHERE
        return FABRICATED


def texts_of(folder: str | Path) -> list[Path]:
    """Return the files of a folder that may be quoted, in order."""
    return sorted(path for path in Path(folder).rglob("*") if path.suffix in ENDINGS and path.is_file())


def load_evidence(folder: Path) -> Evidence:
    """Read the .txt and .md files of a folder and of its subfolders. Errors: UserError without a passage."""
    check_data(folder)
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: name a folder of .txt or .md files as evidence")
    passages = [
        passage for path in texts_of(folder) for passage in _passages(path, path.relative_to(folder).as_posix())
    ]
    if not passages:
        raise UserError(f"{folder} has no text in .txt or .md files: put the texts that agents may quote into it")
    return Evidence(tuple(passages))


def _passages(path: Path, name: str) -> list[Passage]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path} as UTF-8 text: correct the file, or remove it from the folder") from error
    return [Passage(name, number, paragraph) for number, paragraph in enumerate(split_paragraphs(text), 1)]


def split_paragraphs(text: str) -> list[str]:
    r"""Return the paragraphs of a text, each on one line. An empty line ends a paragraph; headings (`# ...`) are left out.

    >>> split_paragraphs("# Bread\n\nIt is dark.\nAnd good.\n\nThe end.")
    ['It is dark. And good.', 'The end.']
    """
    body = "\n".join("" if re.match(r"#+\s", line) else line for line in text.splitlines())
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", body) if paragraph.strip()]


def read_quotations(reply: str) -> list[tuple[str, int | None]]:
    """Return the quotations of a reply, each with the number that follows it (None: no number).

    >>> read_quotations('It is safe: "It has no crack." [2] They call it "safe".')
    [('It has no crack.', 2)]
    """
    quotations = []
    for match in _QUOTED.finditer(reply):
        text = " ".join(next(filter(None, match.groups()[:5])).split())
        number = int(match[6]) if match[6] else None
        if number is not None or len(text.split()) >= FEWEST_WORDS:
            quotations.append((text, number))
    return quotations


def is_quoted(quotation: str, text: str) -> bool:
    """Return whether all parts of a quotation (ends and omissions, `...`, apart) are in a `plain` text, in their order.

    >>> is_quoted("They ... as much", plain("They grew as much."))
    True
    """
    start = 0
    parts = [fragment.strip(" .,;:!?\"'") for fragment in re.split(r"\[?(?:\.\.\.|…)\]?", plain(quotation))]
    for fragment in filter(None, parts):
        place = text.find(fragment, start)
        if place < 0:
            return False
        start = place + len(fragment)
    return any(parts)


def plain(text: str) -> str:
    """Return a text in small letters, on one line, with one form of quotation marks."""
    return " ".join(text.translate(_MARKS).casefold().split())


def listed(passages: Sequence[Passage]) -> str:
    """Return passages as numbered lines of a prompt.

    >>> listed([Passage("dam.txt", 2, "It is safe.")])
    '[1] It is safe.'
    """
    return "\n".join(f"[{number}] {passage.text}" for number, passage in enumerate(passages, 1))


def name_sources(reply: str, shown: Sequence[Passage]) -> str:
    """Return a reply with the source of each passage in the place of its number.

    >>> name_sources('"It is safe." [1]', [Passage("dam.txt", 2, "It is safe.")])
    '"It is safe." (dam.txt 2)'
    """

    def source(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"({shown[number - 1].source})" if 1 <= number <= len(shown) else match[0]

    return _NUMBER.sub(source, reply)
