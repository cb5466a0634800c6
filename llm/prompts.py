"""Prompts as text files with strict slots. The header of a record holds the digest of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from parley.llm.errors import UserError
from parley.llm.file_cache import read_once
from parley.llm.seeding import digest

_SLOT = re.compile(r"\{([a-z_]+)\}")


class Template:
    """Text with `{slot}`s, which a user may edit. Errors: UserError where the slots to fill are not exactly those of the text.

    A value is inserted as it is: braces in it are never read as slots.

    >>> Template("Hello {name}.").fill(name="{x}")
    'Hello {x}.'
    """

    def __init__(self, text: str, source: str = "inline"):
        pieces = _SLOT.split(text)
        self.text, self.source = text, source
        literals, names = pieces[0::2], pieces[1::2]
        if any("{" in piece or "}" in piece for piece in literals):
            raise UserError(
                f"prompt {source}: a brace stands alone: write each slot as a lower-case word in braces, such as "
                f"{{slot}}"
            )
        self.slots = frozenset(names)
        self._form = _SLOT.sub(r"%(\1)s", text.replace("%", "%%"))
        self.digest = digest(text).hex()

    @classmethod
    def load(cls, path: Path) -> Template:
        try:
            return cls(path.read_text(encoding="utf-8").strip("\n"), path.name)
        except OSError as error:
            raise UserError(f"cannot read the prompt {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UserError(f"cannot read the prompt {path}: it is not UTF-8") from error

    def fill(self, /, **slots: object) -> str:
        problems = []
        if missing := slots.keys() - self.slots:
            problems.append(f"lacks {_slot_list(missing)}: put it back")
        if unknown := self.slots - slots.keys():
            problems.append(f"has {_slot_list(unknown)}, which nothing fills: take it out")
        if problems:
            raise UserError(f"the prompt {self.source} {', and '.join(problems)}")
        return self._form % slots


def _slot_list(names: Iterable[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


@read_once(lambda folder, name: folder / f"{name}.txt")
def prompt(folder: Path, name: str) -> Template:
    """Return the template `<folder>/<name>.txt`, read once."""
    return Template.load(folder / f"{name}.txt")


def digests(folder: Path) -> dict[str, str]:
    """Return name and digest of every prompt in a folder, sorted by name."""
    return {path.stem: prompt(folder, path.stem).digest for path in sorted(folder.glob("*.txt"))}
