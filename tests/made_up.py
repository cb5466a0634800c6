"""A society that nobody knows: the society us with other words, and with a third party that stands between the two."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

from parley.agents.society import SOCIETIES, US

WORDS = {
    "republican": "heron",
    "democratic party": "otter party",
    "democratic": "otterish",
    "democrat": "otter",
    "united states": "Ruritania",
    "us politics": "Ruritanian politics",
}
"""What stands in the place of a word, with or without its capital."""
THIRD, SIDE = "badger", 0.4
"""The third party, and where it stands: nearer to the first (1) than to the second (-1)."""
_KNOWN = re.compile("|".join(WORDS), re.I)


def made_up_society(folder: Path) -> str:
    """Write the society into an empty or new folder; return its name, which is the path. It gives no questions on politics."""
    shutil.copytree(SOCIETIES / US, folder, ignore=shutil.ignore_patterns("questions_of_politics.toml"))
    for path in sorted(folder.rglob("*.toml")):
        values = _renamed(tomllib.loads(path.read_text(encoding="utf-8")))
        path.write_text("".join(f"{json.dumps(key)} = {_toml(one)}\n" for key, one in values.items()), encoding="utf-8")
        if path.stem in WORDS:
            path = path.rename(path.with_stem(WORDS[path.stem]))
        if path.stem == WORDS["republican"]:
            third = path.read_text(encoding="utf-8").replace("Heron", THIRD.title()).replace("heron", THIRD)
            if path.parent.name == "parties":
                third = re.sub(r'(?m)^"side" = .*\n', f'"side" = {SIDE}\n', third)
                third = re.sub(r'(?m)^"words" = .*\n', f'"words" = ["{THIRD}", "{THIRD}s"]\n', third)
            path.with_stem(THIRD).write_text(third, encoding="utf-8")
    return str(folder)


def _renamed(value: Any) -> Any:
    """Return a value with other words; a table with an entry for the first party has the same for the third."""
    if isinstance(value, str):
        return _KNOWN.sub(_word, value)
    if isinstance(value, list):
        return [_renamed(one) for one in value]
    if not isinstance(value, dict):
        return value
    renamed = {_renamed(key): _renamed(one) for key, one in value.items()}
    first = WORDS["republican"]
    return renamed | ({THIRD: _third(renamed[first])} if first in renamed else {})


def _third(value: Any) -> Any:
    """Return what belongs to the first party as that of the third."""
    text = json.dumps(value).replace("Heron", THIRD.title()).replace("heron", THIRD)
    return json.loads(text)


def _word(found: re.Match[str]) -> str:
    word = WORDS[found[0].lower()]
    return word[0].upper() + word[1:] if found[0][0].isupper() else word


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + "}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value, ensure_ascii=False)
