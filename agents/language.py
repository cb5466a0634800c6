"""A language as a folder: the prompts, scales and short sentences that agents are sent (agents/languages/<code>/).

prompts/*.txt                     what agents, mediators and writers are asked
wordings/NAME/*.txt               some of these prompts in other words that mean the same (a paper's own: agents/published)
sentences.toml                    short texts that code puts together, with the words that a reply has to begin with
scales.toml, probes.toml          rating scales, and survey questions that fit any topic
questions.toml                    how new divisive questions are checked
roles.toml, traits.toml           roles, and temperaments
identity.toml                     how a speaker says who it is, and the commonest words (analysis/reply_faults.py)
reader.toml                       how replies are understood (agents/foreign_replies.py); English needs none
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from parley.agents.datafiles import HERE, read_toml, require_section
from parley.agents.published.pack import (
    NEW,
    PROMPTS,
    check_pack,
    is_pack,
    pack_digest,
    pack_folder,
    prompt_file,
    prompt_names,
)
from parley.llm.errors import UserError, unknown_name
from parley.llm.file_cache import read_once
from parley.llm.prompts import Template, digests, prompt

LANGUAGES = HERE / "languages"
REPRESENTATIVE = "representative"
WORDINGS, GIVEN = "wordings", "given"
PUBLISHED = "published"
"""What facts call the wording of a pack, and the name of its digest in a record."""


@cache
def _prompts_of(folder: Path) -> Path:
    """Return the folder of a language's prompts: each call of a model asks for it, and a path is slow to make."""
    return folder / "prompts"


class Language(NamedTuple):
    """A language by its code (`de`) and its folder."""

    code: str
    folder: Path
    wording: str = GIVEN

    def prompt(self, name: str) -> Template:
        """Return a prompt by name, such as `opening` or `representative/ask`, in this wording. Errors: UserError if missing."""
        if self.wording == GIVEN:
            return prompt(_prompts_of(self.folder), name)
        own = (
            prompt_file(self.wording, name)
            if is_pack(self.wording)
            else self.folder / WORDINGS / self.wording / f"{name}.txt"
        )
        return prompt(own.parents[name.count("/")] if own.is_file() else _prompts_of(self.folder), name)

    def filled(self, name: str, /, **slots: object) -> str:
        """Return a prompt with its slots filled: of a pack, whose check knows which slots it may lack, those that it has."""
        template = self.prompt(name)
        known = template.slots if is_pack(self.wording) else slots.keys()
        return template.fill(**{slot: text for slot, text in slots.items() if slot in known})

    def has(self, name: str) -> bool:
        """Return whether there is a prompt of this name, in this wording or as given."""
        return (is_pack(self.wording) and prompt_file(self.wording, name).is_file()) or (
            self.folder / "prompts" / f"{name}.txt"
        ).is_file()

    @property
    def wordings(self) -> list[str]:
        """The wordings of instructions that this language has; `given` is that of prompts/."""
        return [GIVEN, *sorted(path.name for path in (self.folder / WORDINGS).glob("*") if path.is_dir())]

    def worded(self, wording: str) -> Language:
        """Return the language with another wording of its instructions, or with that of a pack.

        Errors: UserError if it has none of this name, and for a pack with a fault.
        """
        wording = self.wording_named(wording)
        if is_pack(wording):
            check_pack(wording, self._replace(wording=GIVEN))
        elif wording not in self.wordings:
            unknown = unknown_name(f"wording of the language {self.code}", wording, self.wordings)
            raise UserError(f"{unknown}. To use the prompts of a paper, give a folder with them ({NEW})")
        return self._replace(wording=wording)

    def wording_named(self, wording: str) -> str:
        """Return a wording as it is written: the path of a folder that is called like no wording of the language gets `./`."""
        known = is_pack(wording) or wording in self.wordings
        return wording if known or not pack_folder(wording).is_dir() else f"./{wording}"

    @property
    def wording_folder(self) -> Path:
        """The folder of its wording, which may also word topics and the judge; there is none for `given`."""
        return pack_folder(self.wording) if is_pack(self.wording) else self.folder / WORDINGS / self.wording

    @property
    def reworded(self) -> set[str]:
        """The names of the prompts that its wording has."""
        return prompt_names(self.wording_folder / PROMPTS if is_pack(self.wording) else self.wording_folder)

    @property
    def wording_kind(self) -> str:
        """The wording by its name; that of a pack, whose path means nothing elsewhere, by the same word everywhere."""
        return PUBLISHED if is_pack(self.wording) else self.wording

    def words(self, name: str) -> str:
        """Return a short text of sentences.toml. Errors: UserError if it is missing."""
        return str(self.entry(name))

    def fill(self, name: str, /, **slots: object) -> str:
        """Return a short text of sentences.toml with its {slots} filled.

        >>> ENGLISH.fill("age", age=34)
        '34 years old'
        """
        return self.words(name).format(**slots)

    def entry(self, name: str) -> Any:
        """Return an entry of sentences.toml, a text or a list. Errors: UserError if it is missing."""
        sentences = self.data("sentences")
        if name not in sentences:
            raise UserError(
                f"sentences.toml of the language {self.code} lacks {name}: copy its line from agents/languages/en"
            )
        return sentences[name]

    def data(self, name: str) -> Mapping[str, Any]:
        """Return a data file of the language, such as `scales`. Errors: UserError if it is missing or broken."""
        return _read(self.folder, name)

    def join(self, parts: Sequence[str]) -> str:
        """Return a list of parts as text.

        >>> ENGLISH.join(["Ann", "Bob", "Cem"])
        'Ann, Bob and Cem'
        """
        return f"{', '.join(parts[:-1])} {self.words('and')} {parts[-1]}" if len(parts) > 1 else "".join(parts)

    def country(self, name: str) -> str:
        """Return the name of a country in this language: that of [countries] in sentences.toml, else the name as it is."""
        return str(require_section(self.data("sentences"), "countries", "sentences.toml").get(name, name))

    def frame(self, word: str) -> str:
        """Return the word for an event: that of this language for debate and conversation, any other as it is."""
        return str(require_section(self.data("sentences"), "frames", "sentences.toml").get(word, word))

    def prompt_digests(self, folder: str = "") -> dict[str, str]:
        """Return the digest of each prompt by name; of those in a folder of prompts, with the folder in the name."""
        names = digests(self.folder / "prompts" / folder)
        by_name = {name: self.prompt(f"{folder}/{name}" if folder else name).digest for name in names}
        if folder:
            return {f"{folder}/{name}": digest for name, digest in by_name.items()}
        return by_name | ({PUBLISHED: pack_digest(self.wording)} if is_pack(self.wording) else {})


@read_once(lambda folder, name: folder / f"{name}.toml")
def _read(folder: Path, name: str) -> dict[str, Any]:
    return read_toml(folder / f"{name}.toml")


def language_codes() -> list[str]:
    """Return the codes of the languages that have prompts."""
    return sorted(path.parent.name for path in LANGUAGES.glob("*/prompts"))


@cache
def load_language(code: str, beside: Path | None = None) -> Language:
    """Return a language: that of the folder `languages/CODE` next to a society, else the shipped one.

    Errors: UserError on an unknown code.
    """
    folder = beside / "languages" / code if beside else None
    if folder and (folder / "prompts").is_dir():
        return Language(code, folder)
    if code not in language_codes():
        raise unknown_name("language", code, language_codes())
    return Language(code, LANGUAGES / code)


def language_of_study(language: Language, study: Path) -> Language:
    """Return the prompts and short texts of a study in a language: those of the folder `data/CODE` of the study.

    A language of the user's own has them in its folder, as `studies/NAME`. Errors: UserError where there are none.
    """
    folders = [language.folder / "studies" / study.name, study / "data" / language.code]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    if folder is None:
        raise UserError(
            f"the study {study.name} has no prompts in the language {language.code}: copy {study.name}/data/en to {folders[0]}, "
            "and translate its texts"
        )
    return language._replace(folder=folder, wording=GIVEN if is_pack(language.wording) else language.wording)


ENGLISH = Language("en", LANGUAGES / "en")
