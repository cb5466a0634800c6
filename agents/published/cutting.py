"""Cuts a paper's own prompts, personas, topics and judge out of the text of the paper, for `run.py new wording`.

The rules of a paper (agents/societies/NAME/papers) are where its pieces stand: a section, the first and last words of a piece,
the marks of its slots. The text itself is the user's. A section, a piece or a slot that is not where the rules say, or not as
often, is refused: the text is then of another version.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from parley.agents.datafiles import quoted, read_toml, save_text, table_rows
from parley.agents.language import Language, load_language
from parley.agents.persona import PEOPLE, all_personas, persona_set
from parley.agents.published.pack import JUDGE, PERSONAS, PROMPTS, SOURCE, TOPICS, VALIDATION, prompt_faults
from parley.agents.society import SIMPLE, SOCIETIES, US
from parley.agents.topic import topic_file
from parley.llm.errors import UserError

RULES = "*/papers/*.toml"
"""The rules of papers, in the folders of the societies that they study."""
LARGEST = 1 << 22
"""Bytes of the longest text of a paper."""
PRINTED, PATTERN = "printed", "by the pattern of what is printed"
Rules = Mapping[str, Any]
_LEFT = re.compile(r"<\w+>|\[[A-Z][A-Z _]+\]")
"""Marks of slots in the papers: one that is left over has no rule."""


@dataclass(frozen=True)
class Piece:
    """A file of a pack. section: where the text has it. how: printed there, or made by the pattern of what is printed."""

    file: str
    text: str
    section: str
    how: str = PRINTED


@dataclass
class Text:
    """The text of a paper as given, in sections by the rules of its paper."""

    name: str
    text: str
    rules: Rules
    sha256: str
    language: Language = field(init=False)

    def __post_init__(self) -> None:
        self.language = load_language(self.rules["language"])

    def section(self, name: str) -> str:
        """Return the lines of a section, which begins at its last heading. Errors: UserError if it is not found."""
        rule = self.rules["sections"][name]
        heads = list(re.finditer(rule["begins"], self.text, re.MULTILINE))
        end = re.compile(rule["ends"], re.MULTILINE).search(self.text, heads[-1].end()) if heads else None
        if end is None:
            raise UserError(
                f"{self.name}: {name} was not found in the place where {self.rules['title']} has it. Give the whole text of the "
                "paper, as its HTML page or pdftotext shows it, with every heading on a separate line"
            )
        return self.text[heads[-1].end() : end.start()]

    def refused(self, section: str, what: str) -> UserError:
        """Return the error of a section that is not as the rules say."""
        return UserError(f"{self.name}: {section} {what}. The text may be another version of {self.rules['title']}")


def write_pack(files: Sequence[Path], out: Path) -> list[Piece]:
    """Cut the pieces of papers and write them to the new folder `out`. Errors: UserError, and nothing is written."""
    if out.exists():
        raise UserError(f"{out} exists already: give another path")
    if not files:
        raise UserError("`new wording` needs the text of the paper: add --from FILE")
    texts = [read_text(file) for file in files]
    if len({text.rules["title"] for text in texts}) < len(texts):
        raise UserError("--from names the same paper twice: give each paper once")
    pieces = [piece for text in texts for piece in cut(text)]
    for piece in pieces:
        save_text(out / piece.file, piece.text)
    save_text(out / SOURCE, _source(texts, pieces))
    return pieces


def read_text(file: Path) -> Text:
    """Return the text of a paper with the rules that know it. Errors: UserError for a file that is no text of such a paper."""
    try:
        content = file.read_bytes()[: LARGEST + 1]
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    if content.startswith(b"%PDF"):
        raise UserError(
            f"{file} is a PDF: write its text to a file first, with pdftotext or from the paper's HTML page"
        )
    if len(content) > LARGEST:
        raise UserError(f"{file} is larger than {LARGEST >> 20} MiB, which is too large for the text of a paper")
    try:
        text = content.decode("utf-8").replace("\r\n", "\n").replace("\xa0", " ").replace("\xad", "")
    except UnicodeDecodeError as error:
        raise UserError(f"cannot read {file}: it is not UTF-8 text") from error
    matching = [rules for rules in paper_rules() if re.search(rules["known_by"], text)]
    if not matching:
        titles = "; ".join(rules["title"] for rules in paper_rules())
        raise UserError(f"{file} is not the text of a paper whose prompts Parley can find: {titles}")
    heads = [(re.search(rules["known_by"], text).start(), rules) for rules in matching]  # type: ignore[union-attr]
    rules = min(heads, key=lambda head: head[0])[1]
    return Text(
        file.name, text, rules, hashlib.sha256(content).hexdigest()
    )  # another paper may be among the references


@cache
def paper_rules() -> tuple[Rules, ...]:
    """Return the rules of all papers."""
    return tuple(read_toml(path) for path in sorted(SOCIETIES.glob(RULES)))


def cut(text: Text) -> list[Piece]:
    """Return all pieces that the rules of a text's paper name. Errors: UserError."""
    kinds: dict[str, Callable[[Text, Any], Iterator[Piece]]] = {
        "prompts": _prompts,
        "heads": _heads,
        "profile": _profile,
        "judge": _judge,
        "topics": _topics,
        "people": _people,
        "questions": _questions,
    }
    pieces = [piece for kind, cutter in kinds.items() if kind in text.rules for piece in cutter(text, text.rules[kind])]
    for piece in pieces:
        if piece.file.startswith(f"{PROMPTS}/"):
            name = piece.file.removeprefix(f"{PROMPTS}/").removesuffix(".txt")
            for fault in prompt_faults(f"{piece.section}: {name}", name, piece.text, text.language):
                raise UserError(f"{text.name}: {fault}")
    return pieces


def _prompt(name: str, text: str, section: str) -> Piece:
    return Piece(f"{PROMPTS}/{name}.txt", text, section)


def _span(text: Text, rule: Rules) -> str:
    """Return the text from the first to the last words of a piece. Errors: UserError unless it is there once."""
    section = text.section(rule["section"])
    passages = re.findall(f"(?s)(?={rule['first']})(?:.*?{rule['last']})", section)
    if len(passages) != 1:
        times = f"{len(passages)} times" if passages else "in no place"
        raise text.refused(rule["section"], f"has the piece that begins with {rule['first']!r} {times}")
    if "{" in passages[0] or "}" in passages[0]:
        raise text.refused(rule["section"], "has a brace in a prompt, where Parley's slots are in braces")
    return str(passages[0])


def _slotted(text: Text, section: str, piece: str, slots: Sequence[Rules]) -> str:
    """Return a piece with Parley's slots for the marks of the paper. Errors: UserError for a missing, doubled or unknown mark."""
    for rule in slots:
        marks, wanted = re.findall(rule["mark"], piece), rule.get("times", 1)
        if len(marks) != wanted:
            shown = f"{marks[0]} ({rule['slot']})" if marks else f"for {rule['slot']}"
            raise text.refused(section, f"has the slot {shown} {len(marks)} times, and not {wanted}")
        piece = re.sub(rule["mark"], f"{{{rule['slot']}}}", piece)
    if left := _LEFT.search(piece):
        raise text.refused(section, f"has the slot {left[0]}, which Parley does not know")
    return piece


def _prompts(text: Text, rules: Sequence[Rules]) -> Iterator[Piece]:
    for rule in rules:
        yield _prompt(rule["name"], _slotted(text, rule["section"], _span(text, rule), rule["slots"]), rule["section"])


def _judge(text: Text, rule: Rules) -> Iterator[Piece]:
    """The prompt of the judge as a rubric: one message, with the scored examples inside it."""
    section, whole = rule["section"], _span(text, rule)
    blocks, forms = re.findall(rule["examples"], whole), re.findall(rule["example"], whole)
    if len(blocks) != 1 or len(forms) != 1:
        raise text.refused(section, "does not show the judge's examples as one list")
    example = _slotted(text, section, forms[0], rule["example_slots"])
    case = _slotted(text, section, whole.replace(blocks[0], "{examples}\n"), rule["slots"])
    values = {"purpose": "agreement", "scale": rule["scale"], "case": case, "example": example}
    lines = [f"{key} = {quoted(value)}" for key, value in values.items()]
    yield Piece(JUDGE, "\n".join([*lines, "repeats = 3", "temperature = 0.01", ""]), section)


def _line(text: str) -> str:
    return " ".join(text.replace("|", " ").split())


def _only_section(text: Text) -> tuple[str, str]:
    (name,) = text.rules["sections"]
    return name, _line(text.section(name))


def _heads(text: Text, rules: Sequence[Rules]) -> Iterator[Piece]:
    """The lines of a representative's prompt, each up to its colon, and those that Parley has in one file."""
    section, row = _only_section(text)
    lines = {rule["name"]: _head(text, section, row, rule) for rule in rules}
    joined = text.rules["joined"]
    for name, line in lines.items():
        if name.startswith("representative/"):
            yield _prompt(name, line, section)
    yield _prompt(joined["name"], "\n".join(lines[name] for name in joined["of"]), section)


def _head(text: Text, section: str, row: str, rule: Rules) -> str:
    matches = list(re.finditer(rule["line"], row))
    if len(matches) != (times := rule.get("times", 1)):
        raise text.refused(section, f"has the line of {rule['name']} {len(matches)} times, and not {times}")
    forms = {
        match[0].replace(match["number"], "{number}") if "number" in match.groupdict() else match[0]
        for match in matches
    }
    if len(forms) > 1:
        raise text.refused(section, f"has the line of {rule['name']} in {len(forms)} forms")
    return f"{forms.pop()} {{{rule['slot']}}}{rule.get('ends', '')}"


def _profile(text: Text, rule: Rules) -> Iterator[Piece]:
    """The line on the person, and how it writes an answer to the questionnaire."""
    section, row = _only_section(text)
    matches = list(re.finditer(rule["line"], row))
    if len(matches) != 1:
        raise text.refused(section, f"has the line of {rule['name']} {len(matches)} times, and not 1")
    item = re.compile(rule["items"])
    count, place = 0, matches[0].end()
    while match := item.match(row, place + 1):
        count, place = count + 1, match.end()
    if count < rule["fewest"]:
        raise text.refused(
            section, f"has {count} answers behind the line of {rule['name']}, and not {rule['fewest']} or more"
        )
    yield _prompt(rule["name"], f"{matches[0][0]} {{profile}}", section)
    yield _prompt(rule["item"], "{title}: {answer}.", section)


def _topics(text: Text, rule: Rules) -> Iterator[Piece]:
    """A topic file for each row of the table: Parley's, with case, question and claim of the paper."""
    section = rule["section"]
    row = _line(text.section(section))
    for slug, name in rule["names"].items():
        others = "|".join(re.escape(other) for other in rule["names"].values())
        cells = rf"(?<!\w){re.escape(name)} (?P<case>(?:(?!{rule['claim']}).)+[.!]) (?P<question>[^.!?]+\?) "
        cells += rf"{rule['claim']} (?P<claim>[^?]+)\?(?= (?:{others}) |\s*\Z)"
        matches = list(re.finditer(cells, row))
        if len(matches) != 1:
            raise text.refused(section, f"has the row {name} {len(matches)} times, and not 1")
        yield Piece(f"{TOPICS}/{slug}.toml", _topic(slug, matches[0].groupdict(), text.language), section)


def _topic(slug: str, cells: Mapping[str, str], language: Language) -> str:
    ours = re.sub(
        r"(?m)^(#|case =|base =|question = ).*\n", "", topic_file(slug).read_text(encoding="utf-8").partition("\n[")[0]
    )
    probes = topic_file(slug).read_text(encoding="utf-8").partition("\n[")[2]
    head, agreement, rest = f"[{probes}".partition("[probes.agreement]")
    agree = language.words("agree")
    question = f"question = {quoted(agree + cells['claim'] + '?')}"
    rest = re.sub(r"(?m)^question = .*$", lambda _: question, rest, count=1)
    keys = {"question": cells["question"], "case": cells["case"], "base": slug}
    lines = "".join(f"{key} = {quoted(value)}\n" for key, value in keys.items())
    return f"{ours}{lines}\n{head}{agreement}{rest}"


def _people(text: Text, rule: Rules) -> Iterator[Piece]:
    """The simple personas in all variants, for the people of Parley's set `simple`, by the pattern of the printed ones."""
    section = rule["section"]
    rows = {match["party"]: match for match in re.finditer(rule["row"], text.section(section), re.MULTILINE)}
    for party, label in rule["parties"].items():
        if label not in rows:
            raise text.refused(section, f"has no row {label}")
        yield Piece(f"{PERSONAS}/{party}.toml", _personas(text, rule, party, rows[label]), section, PATTERN)


def _personas(text: Text, rule: Rules, party: str, row: re.Match[str]) -> str:
    first_names = dict.fromkeys(person.name for person in all_personas(party, persona_set(f"{US}/{SIMPLE}")))
    names = [row["name"], *(name for name in first_names if name != row["name"])]
    sentence, times = re.subn(rule["noun"], "{noun}", " ".join(row["text"].split()), count=1)
    if not times or sentence.count(row["name"]) != 1:
        raise text.refused(rule["section"], f"has a row {row['party']} of another form")
    tables = [
        {"name": name}
        | ({"gender": gender} if gender else {})
        | {"backstory": sentence.replace("{noun}", f" {noun}" if noun else "").replace(row["name"], name)}
        for gender, noun in {"": "", **PEOPLE}.items()
        for name in names
    ]
    return table_rows("persona", tables)


def _questions(text: Text, rule: Rules) -> Iterator[Piece]:
    """The questions by which personas are checked, by column."""
    section, columns = rule["section"], rule["columns"]
    questions = [_line(question) for question in re.findall(r"[^?]+\?", _line(text.section(section)))]
    if len(questions) != rule["count"]:
        raise text.refused(section, f"has {len(questions)} questions, and not {rule['count']}")
    lists = {column: questions[place :: len(columns)] for place, column in enumerate(columns)}
    tables = [[f"{column} = [", *(f"  {quoted(line)}," for line in texts), "]"] for column, texts in lists.items()]
    yield Piece(VALIDATION, "\n".join([line for table in tables for line in table]) + "\n", section)


def _source(texts: Sequence[Text], pieces: Sequence[Piece]) -> str:
    """Return where all pieces come from: title and digest of each text, never its path."""
    lines = [f"language = {quoted(texts[0].language.code)}", ""]
    for text in texts:
        stated = {"title": text.rules["title"], "sha256": text.sha256, "cut": datetime.now(UTC).date().isoformat()}
        lines += ["[[paper]]", *(f"{key} = {quoted(value)}" for key, value in stated.items())]
        ours = ", ".join(map(quoted, text.rules["not_printed"]))
        lines += [f"not_printed = [{ours}]", ""]
    for piece in pieces:
        lines += [
            "[[piece]]",
            f"file = {quoted(piece.file)}",
            f"section = {quoted(piece.section)}",
            f"how = {quoted(piece.how)}",
            "",
        ]
    return "\n".join(lines)
