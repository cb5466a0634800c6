"""A wording by its path: a pack, the folder that `run.py new wording` cuts out of the text of a paper.

    SOURCE.toml          language, title and sha256 of the text, date, and where each piece stood (no path, no host)
    prompts/*.txt        prompts by Parley's names and with Parley's {slots}; all others stay as they are
    topics/NAME.toml     case, question and claim of a topic in the paper's words; also topics of their own (--topic FILE)
    personas/PARTY.toml  a set of personas (--set personas=./published/personas)
    judge.toml           the rubric of the judge (analysis/judging.py)
    validation.toml      questions by which personas are checked

A pack is data: nothing but these files, no links, known prompts with known slots, sizes that a prompt can have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.agents.datafiles import read_toml
from parley.llm.errors import UserError
from parley.llm.file_cache import read_once
from parley.llm.prompts import Template
from parley.llm.seeding import digest
from parley.llm.trust import check_data

if TYPE_CHECKING:
    from parley.agents.language import Language

SOURCE, JUDGE, VALIDATION = "SOURCE.toml", "judge.toml", "validation.toml"
PROMPTS, TOPICS, PERSONAS = "prompts", "topics", "personas"
SLOTS = Path(__file__).with_name("slots.toml")
LARGEST, MOST = 64_000, 300
"""Bytes of the largest file of a pack, and its most files."""
PERSON = ("name", "backstory", "gender", "age")
"""What a pack says of a person: no model and no language."""
_KNOWN_FILE = re.compile(
    rf"{SOURCE}|{JUDGE}|{VALIDATION}|{PROMPTS}/(?:[a-z_]+/)?[a-z_]+\.txt|(?:{TOPICS}|{PERSONAS})/[a-z_]+\.toml"
)
_SLUG = re.compile(r"[a-z_]+")
_SLOT = re.compile(r"\{([a-z_]+)\}")
NEW = "run.py new wording ./published --from paper.txt writes one"


def is_pack(wording: str) -> bool:
    """Return whether a wording is a path.

    >>> is_pack("./published"), is_pack("second")
    (True, False)
    """
    return "/" in wording


def pack_folder(wording: str) -> Path:
    """Return the folder of a pack."""
    check_data(wording)
    return Path(wording).expanduser()


def prompt_file(wording: str, name: str) -> Path:
    """Return where a pack has a prompt, if it has it."""
    return pack_folder(wording) / PROMPTS / f"{name}.txt"


def topic_in(folder: Path, slug: str) -> Path | None:
    """Return the file in which a wording's folder words a topic by its name; None for one that it does not word."""
    file = folder / TOPICS / f"{slug}.toml"
    return file if _SLUG.fullmatch(slug) and file.is_file() else None


def judge_in(folder: Path) -> Path | None:
    """Return the rubric of a wording's judge; None without one."""
    file = folder / JUDGE
    return file if file.is_file() else None


def people_in_pack(wording: str) -> Path | None:
    """Return the folder of a pack's personas; None without any."""
    folder = pack_folder(wording) / PERSONAS
    return folder if is_pack(wording) and folder.is_dir() else None


def prompt_names(folder: Path) -> set[str]:
    """Return the names of the prompts in a folder, such as `opening` and `representative/ask`."""
    return {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.txt")}


@read_once(lambda wording: pack_folder(wording))
def pack_digest(wording: str) -> str:
    """Return the digest of all that a pack says; where and when it was cut does not change it."""
    folder = pack_folder(wording)
    named = ((path.relative_to(folder).as_posix(), path) for path in _files(folder))
    return digest([(name, path.read_text(encoding="utf-8")) for name, path in named if name != SOURCE]).hex()


def check_pack(wording: str, given: Language) -> None:
    """Errors: UserError with the first fault of a pack."""
    if not is_pack_folder(pack_folder(wording)):  # before its files are listed: it may be any folder
        raise UserError(f"{wording} is not a wording, because it has no file {SOURCE} ({NEW})")
    if faults := _all_faults(wording, given):
        raise UserError(faults[0])


@read_once(lambda wording, given: pack_folder(wording))
def _all_faults(wording: str, given: Language) -> list[str]:
    return list(pack_faults(pack_folder(wording), given))


def is_pack_folder(folder: Path) -> bool:
    """Return whether a folder is a pack, with faults or without."""
    return (folder / SOURCE).is_file()


def pack_faults(folder: Path, given: Language) -> Iterator[str]:
    """Yield what is wrong with a pack, a line each; given: the language whose prompts it words."""
    if unfit := list(_unfit_files(folder)):
        yield from unfit  # they are not opened
        return
    spoken = read_toml(folder / SOURCE).get("language")
    if spoken != given.code:
        yield f"{folder}/{SOURCE}: the wording is in the language {spoken}, and the society of the run speaks {given.code}"
    for path in sorted((folder / PROMPTS).rglob("*.txt")):
        name = path.relative_to(folder / PROMPTS).with_suffix("").as_posix()
        yield from prompt_faults(f"{folder}/{PROMPTS}/{name}.txt", name, path.read_text(encoding="utf-8"), given)
    for path in sorted((folder / PERSONAS).glob("*.toml")):
        yield from _person_faults(path)
    for path in sorted((folder / TOPICS).glob("*.toml")):
        if "society" in read_toml(path):
            yield f"{path}: a topic of a wording names no society: take the line out"
    if (folder / JUDGE).is_file():
        yield from _judge_faults(folder / JUDGE)


def prompt_faults(where: str, name: str, text: str, given: Language) -> Iterator[str]:
    """Yield a prompt that Parley does not have, and slots that it lacks, has twice or does not know."""
    table = read_toml(SLOTS)
    rule: Mapping[str, Any] = table.get(name, {})
    is_prompt = (given.folder / PROMPTS / f"{name}.txt").is_file()
    if not is_prompt and "only" not in rule:
        yield f"{where}: Parley has no prompt called {name}"
        return
    try:
        slots = Template(text, name).slots
    except UserError as error:
        yield f"{where}: {error}"
        return
    ours = set(rule["only"]) if not is_prompt else Template.load(given.folder / PROMPTS / f"{name}.txt").slots
    yield from _slot_faults(where, text, slots, ours, rule)


def _slot_faults(where: str, text: str, slots: frozenset[str], ours: Any, rule: Mapping[str, Any]) -> Iterator[str]:
    if lacking := sorted(ours - slots - set(rule.get("may_lack", ()))):
        yield f"{where} lacks the slot {{{lacking[0]}}}"
    if unknown := sorted(slots - ours - set(rule.get("more", ()))):
        yield f"{where} has the slot {{{unknown[0]}}}, which nothing fills"
    found = _SLOT.findall(text)
    if doubled := sorted(slot for slot in slots if found.count(slot) > 1 and slot not in rule.get("twice", ())):
        yield f"{where} has the slot {{{doubled[0]}}} {found.count(doubled[0])} times"


def _unfit_files(folder: Path) -> Iterator[str]:
    """Yield what a pack may not hold."""
    paths = list(_entries(folder))
    if len(paths) > MOST:
        yield f"{folder} has more than {MOST} files, and no wording has so many"
        return
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield f"{folder}/{name} is a link: a wording holds its own files only"
        elif path.is_file() and not _KNOWN_FILE.fullmatch(name):
            yield f"{folder}/{name} is no part of a wording: take it out"
        elif path.is_file() and path.stat().st_size > LARGEST:
            yield f"{folder}/{name} is larger than {LARGEST:,} bytes, and no prompt is"


def _entries(folder: Path) -> Iterator[Path]:
    """Yield files, folders and links in a folder; a link is not followed."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _entries(path)


def _files(folder: Path) -> list[Path]:
    return [path for path in _entries(folder) if path.is_file() and not path.is_symlink()]


def _person_faults(path: Path) -> Iterator[str]:
    people = read_toml(path).get("persona", [])
    if not isinstance(people, list) or not all(isinstance(person, dict) for person in people) or not people:
        yield f"{path} needs a [[persona]] table for each persona"
    elif more := sorted({key for person in people for key in person} - {*PERSON}):
        yield f"{path}: a person of a wording has {', '.join(PERSON)}, not {more[0]}"


def _judge_faults(path: Path) -> Iterator[str]:
    """Yield slots that the rubric of a judge lacks, or has twice."""
    values = read_toml(path)
    needed = {"case": ("statement", "claim"), "example": ("statement", "answer")}
    for key, slots in needed.items():
        text = values.get(key, "")
        if not isinstance(text, str) or (key == "case" and not text):
            yield f"{path} needs a text {key}"
            continue
        for slot in slots if text else ():
            if (times := _SLOT.findall(text).count(slot)) != 1:
                yield f"{path}: {key} has the slot {{{slot}}} {times} times, and needs it once"
