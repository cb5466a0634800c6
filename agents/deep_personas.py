"""Deep personas: a drawn core of demographics, then attributes of a taxonomy, each written by a model given all before it.

The backstory of a person is its name, the core, and the sentences in the order in which they were written, so that the first
k sentences are the same person with fewer attributes. Source: DeepPersona (2025); departures: studies/deep_personas/README.md.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from parley.agents.datafiles import save_text
from parley.agents.language import Language
from parley.agents.persona import Persona
from parley.agents.persona_generator import check_unused, find_clash, list_names, persona_rows
from parley.agents.society import Society
from parley.agents.taxonomy import FILE, Attribute, Taxonomy
from parley.llm.driver import Conversation, ask, drive
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive, stream
from parley.llm.user_file import read_user_table

PURPOSE = "attribute"
ATTEMPTS = 3
WORDS, LONGEST, TOKENS = 25, 40, 120
"""Words that are asked for, words that are taken at most, and tokens of a reply."""
CORE = "core"
COLUMNS = ("party", "name", "place", "path", "closeness", "value", "sentence", "reason")
SUFFIX = ".attributes.csv"


class Value(NamedTuple):
    """An attribute of a person: the sentence on it, or "" and the reason why it is missing."""

    path: str
    closeness: str
    sentence: str
    reason: str = ""


class DeepPersona(NamedTuple):
    """A person. intro: who it is. core: name, value, sentence of each core attribute. values: attributes in their order."""

    party: str
    name: str
    intro: str
    core: tuple[tuple[str, str, str], ...]
    values: tuple[Value, ...] = ()

    def text(self, depth: int | None = None) -> str:
        """Return the backstory with the first `depth` attributes (None: all); missing ones add nothing."""
        return " ".join([self.intro, *self.sentences(depth)])

    def sentences(self, depth: int | None = None) -> list[str]:
        """Return the sentences of the core, then those of the first `depth` attributes."""
        core = [sentence for _, _, sentence in self.core]
        return core + [value.sentence for value in self.values[:depth] if value.sentence]


def begin_person(party: str, name: str, society: Society, taxonomy: Taxonomy, seed: int) -> DeepPersona:
    """Return a person of a party with its core, drawn with the seed, and without attributes."""
    drawn = taxonomy.draw_core(stream(seed, "core", party, name))
    core = tuple(
        (attribute.name, drawn[attribute.name], attribute.sentence(drawn[attribute.name]))
        for attribute in taxonomy.core
    )
    intro = society.language.fill("plain_person", name=name, person=society.parties[party].person)
    return DeepPersona(party, name, intro, core)


def fill_person(
    person: DeepPersona, attributes: Sequence[Attribute], language: Language, seed: int
) -> Conversation[DeepPersona]:
    """Return the person with these attributes, written one after another, after a conversation."""
    for attribute in attributes:
        value = yield from write_value(person, attribute, language, seed)
        person = person._replace(values=(*person.values, value))
    return person


def write_value(person: DeepPersona, attribute: Attribute, language: Language, seed: int) -> Conversation[Value]:
    """Return the sentence on an attribute that fits all that is known of a person, after at most ATTEMPTS replies."""
    text = person.text()
    question = language.prompt(PURPOSE).fill(persona=text, attribute=attribute.about, words=WORDS)
    facts: Facts = {"persona": text, "attribute": attribute.about, "words": WORDS}
    wrong = ""
    for attempt in range(ATTEMPTS):
        attempt_seed = derive(seed, PURPOSE, person.party, person.name, text, attribute.path, attempt)
        sampling = Sampling(1.0, TOKENS)
        reply = yield from ask(Request((Message("user", question),), sampling, attempt_seed, (), PURPOSE, facts=facts))
        if not (wrong := sentence_problem(reply, " ".join(person.sentences()), language)):
            return Value(attribute.path, attribute.closeness, _sentence(reply))
    return Value(attribute.path, attribute.closeness, "", wrong)


def sentence_problem(reply: Reply, person_text: str, language: Language) -> str:
    """Return what is wrong with a reply as a further sentence about a person, or "": a failure, its length, or a contradiction
    of age, work and family (clashes.toml of the language, which looks for the age in the first two sentences known).
    """
    if reply.failure:
        return reply.failure.name
    if not (sentence := _sentence(reply)):
        return "empty"
    if len(sentence.split()) > LONGEST:
        return "too_long"
    clash = find_clash(f"{person_text} {sentence}", language)
    return f"contradiction ({clash})" if clash and clash != find_clash(person_text, language) else ""


def _sentence(reply: Reply) -> str:
    """Return a reply on one line, as a sentence that ends."""
    text = " ".join((reply.text or "").split()).strip('"„“”')
    return f"{text}." if text and text[-1] not in ".!?" else text


def write_deep(
    party: str,
    folder: Path,
    backend: Backend,
    model: str,
    seed: int,
    society: Society,
    taxonomy: Taxonomy,
    depth: int,
    count: int = 0,
) -> Path:
    """Write `<folder>/<party>.toml`, its attributes as <party>.attributes.csv, and the taxonomy. Returns the first.

    depth: attributes of a person. count: people, with the first names of the party; 0: all. Errors: UserError if the file
    exists, if there are too few names or attributes, and if no sentence can be used.
    """
    path, names = check_unused(folder, party), list_names(party, society)
    if count > len(names):
        raise UserError(f"{party} has {len(names)} first names: give at most --count {len(names)}, not {count}")
    conversations = []
    for name in names[: count or len(names)]:
        drawn = taxonomy.draw_attributes(depth, stream(seed, "attributes", party, name))
        person = begin_person(party, name, society, taxonomy, seed)
        conversations.append(fill_person(person, drawn, society.language, seed))
    people = drive(conversations, backend)
    values = [value for person in people for value in person.values]
    if values and not any(value.sentence for value in values):
        raise UserError(
            f"the model wrote no usable sentence for {party} (first reason: {values[0].reason}): try another --llm"
        )
    save_people(
        people, folder, f"written by {model} to the prompt attribute.txt (python run.py study personas --set deep)"
    )
    save_text(folder / FILE, taxonomy.text)
    return path


def save_people(people: Sequence[DeepPersona], folder: Path, written: str) -> None:
    """Write people of one party as a set of personas, with a file of their attributes."""
    party = people[0].party
    rows = persona_rows([Persona("", party, person.name, person.text()) for person in people])
    save_text(folder / f"{party}.toml", f"# Deep personas ({party}), {written}.\n" + rows)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(COLUMNS)
    for person in people:
        writer.writerow((person.party, person.name, -1, "intro", CORE, "", person.intro, ""))
        writer.writerows(
            (person.party, person.name, 0, f"{CORE}/{name}", CORE, value, text, "") for name, value, text in person.core
        )
        writer.writerows(
            (person.party, person.name, place, value.path, value.closeness, "", value.sentence, value.reason)
            for place, value in enumerate(person.values, 1)
        )
    save_text(folder / f"{party}{SUFFIX}", table.getvalue())


def read_people(folder: Path) -> list[DeepPersona]:
    """Return the people of all parties in a folder, as `save_people` wrote them. Errors: UserError without a file."""
    people: list[DeepPersona] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        table = read_user_table(path, COLUMNS, "studies/deep_personas/README.md")
        cells = zip(*(table.texts(name) for name in COLUMNS), strict=True)
        rows = [dict(zip(COLUMNS, values, strict=True)) for values in cells]
        for name in dict.fromkeys(row["name"] for row in rows):
            people.append(_read_person([row for row in rows if row["name"] == name]))
    if not people:
        raise UserError(
            f"{folder} has no file *{SUFFIX}: write deep personas with python run.py study personas --set deep --out {folder}"
        )
    return people


def _read_person(rows: Sequence[dict[str, str]]) -> DeepPersona:
    intro = next((row["sentence"] for row in rows if row["path"] == "intro"), "")
    core = [row for row in rows if row["path"].startswith(f"{CORE}/")]
    values = [row for row in rows if row["closeness"] != CORE]
    return DeepPersona(
        rows[0]["party"],
        rows[0]["name"],
        intro,
        tuple((row["path"].partition("/")[2], row["value"], row["sentence"]) for row in core),
        tuple(Value(row["path"], row["closeness"], row["sentence"], row["reason"]) for row in values),
    )
