"""A taxonomy of attributes of people as data: a core that is drawn without a model, and a tree of attributes around it.

The file format is described in agents/languages/en/taxonomy.toml. Each branch says how near its attributes are to the core.
Source: DeepPersona (2025); the departures are in studies/deep_personas/README.md.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from parley.agents.datafiles import read_toml
from parley.agents.language import LANGUAGES, Language
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import digest

FILE = "taxonomy.toml"
AGE = "age"
SHARES: Mapping[str, int] = {"near": 5, "middle": 3, "far": 2}
"""How many of ten attributes of a person are so near to the core."""
VALUE = "{value}"


class CoreAttribute(NamedTuple):
    """A core attribute: its sentence with {value}, what can be drawn, and the ages that some values are limited to."""

    name: str
    form: str
    values: tuple[str, ...]
    ages: Mapping[str, tuple[int, int]]

    def fitting(self, age: int | None) -> list[str]:
        """Return the values that fit an age (None: all)."""
        limits = [self.ages.get(value, (0, 200)) for value in self.values]
        return [
            value for value, (low, high) in zip(self.values, limits, strict=True) if age is None or low <= age <= high
        ]

    def sentence(self, value: str) -> str:
        """Return the sentence that states a value."""
        return self.form.replace(VALUE, value)


class Attribute(NamedTuple):
    """A leaf of the tree. path: its place, such as leisure/music/playing. about: what a sentence on it is about."""

    path: str
    about: str
    closeness: str

    @property
    def branch(self) -> str:
        return self.path.partition("/")[0]


class Taxonomy(NamedTuple):
    """The core, and all leaves of the tree in the order of the file. text: the file itself."""

    core: tuple[CoreAttribute, ...]
    leaves: tuple[Attribute, ...]
    text: str = ""

    @property
    def fingerprint(self) -> str:
        """A digest of the file."""
        return digest(self.text).hex()

    def draw_core(self, rng: random.Random) -> dict[str, str]:
        """Return a value for each core attribute by name; values that are limited to ages fit the age."""
        drawn: dict[str, str] = {}
        for attribute in self.core:
            drawn[attribute.name] = rng.choice(attribute.fitting(int(drawn[AGE]) if AGE in drawn else None))
        return drawn

    def draw_attributes(self, count: int, rng: random.Random) -> list[Attribute]:
        """Return different attributes, so that the first n of them have the SHARES of near, middle and far for every n.

        A level of closeness that is used up is left out. Errors: UserError if the taxonomy has too few.
        """
        if count > len(self.leaves):
            raise UserError(
                f"the taxonomy has {len(self.leaves)} attributes: give at most --depth {len(self.leaves)}, not {count}"
            )
        left = {level: [leaf for leaf in self.leaves if leaf.closeness == level] for level in SHARES}
        taken, drawn = dict.fromkeys(SHARES, 0), []
        for number in range(1, count + 1):
            due = {level: SHARES[level] / 10 * number - taken[level] for level in SHARES if left[level]}
            level = max(due, key=due.__getitem__)
            taken[level] += 1
            drawn.append(left[level].pop(rng.randrange(len(left[level]))))
        return drawn


def load_taxonomy(language: Language, path: Path | None = None) -> Taxonomy:
    """Return the taxonomy of a language, or of a file. Errors: UserError that says what to correct."""
    chosen = path or language.folder / FILE
    if not chosen.is_file() and path is None:
        languages = ", ".join(sorted(file.parent.name for file in LANGUAGES.glob(f"*/{FILE}")))
        raise UserError(
            f"the language {language.code} has no {FILE} (languages with this file: {languages}): copy the English "
            "file, translate the copy, and give the copy as --taxonomy FILE"
        )
    values = read_toml(chosen)
    if unknown := [key for key in values if key not in ("core", "branch")]:
        raise unknown_name(f"key in {chosen}", unknown[0], ("core", "branch"))
    core, leaves = tuple(_core(values, chosen)), tuple(_leaves(values, chosen))
    names, paths = [attribute.name for attribute in core], [leaf.path for leaf in leaves]
    if not core or not leaves:
        raise UserError(f"{chosen} needs at least one [[core]] and one [[branch]] with attributes")
    if twice := [name for name in (*names, *paths) if (*names, *paths).count(name) > 1]:
        raise UserError(f"{chosen} has {twice[0]} twice: give each attribute a different name")
    return Taxonomy(core, leaves, chosen.read_text(encoding="utf-8"))


def _core(values: Mapping[str, Any], path: Path) -> Iterator[CoreAttribute]:
    ages: list[str] = []
    for number, entry in enumerate(values.get("core", ()), 1):
        where = f"[[core]] {number} of {path}"
        if VALUE not in str(entry.get("form", "")) or not entry.get("name"):
            raise UserError(f"{where} needs the keys name and form, and the text of form must contain {VALUE}")
        if "values" in entry:
            listed = tuple(str(value) for value in entry["values"])
        elif {"low", "high"} <= set(entry) and entry["low"] <= entry["high"]:
            listed = tuple(str(value) for value in range(entry["low"], entry["high"] + 1))
        else:
            raise UserError(f"{where} needs a list `values`, or two numbers `low` and `high` with low below high")
        limits = {str(value): (int(span[0]), int(span[1])) for value, span in entry.get("ages", {}).items()}
        attribute = CoreAttribute(str(entry["name"]), str(entry["form"]), listed, limits)
        if unknown := [value for value in limits if value not in listed]:
            raise unknown_name(f"value in ages of {where}", unknown[0], listed)
        if limits and not ages:
            raise UserError(f"{where} limits values to ages: write a [[core]] attribute named {AGE} before this table")
        if empty := [age for age in ages if not attribute.fitting(int(age))]:
            raise UserError(f"{where} has no value for people of age {empty[0]}: allow a value at this age in `ages`")
        if attribute.name == AGE:
            ages = [value for value in listed if value.isdigit()]
        yield attribute


def _leaves(values: Mapping[str, Any], path: Path) -> Iterator[Attribute]:
    for number, entry in enumerate(values.get("branch", ()), 1):
        where = f"[[branch]] {number} of {path}"
        if not entry.get("name") or not isinstance(entry.get("attributes"), dict):
            raise UserError(f"{where} needs the keys name and closeness, and a table of attributes")
        if entry.get("closeness") not in SHARES:
            raise unknown_name(f"closeness in {where}", str(entry.get("closeness")), SHARES)
        yield from _walk(entry["attributes"], str(entry["name"]), entry["closeness"])


def _walk(tree: Mapping[str, Any], path: str, closeness: str) -> Iterator[Attribute]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _walk(value, f"{path}/{name}", closeness)
        else:
            yield Attribute(f"{path}/{name}", str(value), closeness)
