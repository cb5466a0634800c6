"""A language as a folder: the prompts, scales and short sentences that agents are sent (agents/languages/<code>/).

prompts/*.txt                     what agents, mediators and writers are asked
wordings/NAME/*.txt               some of these prompts in other words that mean the same
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
from parley.llm.errors import UserError, unknown_name
from parley.llm.file_cache import read_once
from parley.llm.prompts import Template, digests, prompt

LANGUAGES = HERE / "languages"
REPRESENTATIVE = "representative"
WORDINGS, GIVEN = "wordings", "given"


class Language(NamedTuple):
    """A language by its code (`de`) and its folder."""

    code: str
    folder: Path
    wording: str = GIVEN

    def prompt(self, name: str) -> Template:
        """Return a prompt by name, such as `opening` or `representative/ask`, in this wording. Errors: UserError if missing."""
        wording_folder = self.folder / WORDINGS / self.wording
        reworded = self.wording != GIVEN and (wording_folder / f"{name}.txt").is_file()
        return prompt(wording_folder if reworded else self.folder / "prompts", name)

    @property
    def wordings(self) -> list[str]:
        """The wordings of instructions that this language has; `given` is that of prompts/."""
        return [GIVEN, *sorted(path.name for path in (self.folder / WORDINGS).glob("*") if path.is_dir())]

    def worded(self, wording: str) -> Language:
        """Return the language with another wording of its instructions. Errors: UserError if it has none of this name."""
        if wording not in self.wordings:
            raise unknown_name(f"wording of the language {self.code}", wording, self.wordings)
        return self._replace(wording=wording)

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
        return {f"{folder}/{name}": digest for name, digest in by_name.items()} if folder else by_name


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
    return language._replace(folder=folder)


ENGLISH = Language("en", LANGUAGES / "en")
