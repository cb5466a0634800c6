"""Every prompt of the package in other words: the known-truth speaker answers by what is asked for, not by how it is put."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import parley
from parley.llm.backends.oracle.backend import HANDLERS
from parley.llm.purposes import EMBEDDING, PURPOSES
from parley.llm.studies import studies

pytestmark = pytest.mark.thorough

PACKAGE = Path(parley.__file__).parent
FOLDERS = ("agents", "analysis", "environments", "llm", "model", "studies", "training")
SYLLABLES = ("bal", "dor", "fen", "gim", "kul", "lof", "mip", "nar", "pov", "rud", "sel", "tun", "vax", "wib", "zet")
UNANSWERED = {"case_refinement", "consent", "divisive_questions", "verdict"}
"""What a rule-based speaker cannot write; only a person is asked for consent."""
_PART = re.compile(r"(\{[a-z_]+\}|[^\W\d_]+)")


def reworded(text: str, seed: str) -> str:
    """A prompt with another word in the place of each; slots, numbers, punctuation and lines stay.

    >>> bool(re.fullmatch(r"[A-Z]+[a-z]+ {topic}: [a-z]+ 3.", reworded("About {topic}: write 3.", "x")))
    True
    """
    rng = random.Random(seed)

    def other(found: re.Match[str]) -> str:
        word = found[0]
        if word.startswith("{"):
            return word
        new = "".join(rng.sample(SYLLABLES, 2))
        return new.capitalize() if word[0].isupper() else new

    return _PART.sub(other, text)


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of all kinds of runs with a copy of the package in which every prompt file is reworded."""
    folder = tmp_path_factory.mktemp("reworded")
    for name in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__", "weights")
        shutil.copytree(PACKAGE / name, folder / "parley" / name, ignore=ignored)
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(PACKAGE / name, folder / "parley" / name)
    prompts = [path for path in folder.rglob("*.txt") if path.parent.name != "licences"]
    assert len(prompts) > 50
    for path in prompts:
        old = path.read_text(encoding="utf-8")
        new = reworded(old, path.name)
        assert set(re.findall(r"[a-z]{4,}", re.sub(r"\{\w+\}", "", new))).isdisjoint(re.findall(r"[a-z]{4,}", old)), (
            path
        )
        path.write_text(new, encoding="utf-8")
    rubrics = sorted((folder / "parley" / "analysis" / "rubrics").glob("*.toml"))
    assert len(rubrics) > 5
    for path in rubrics:
        old = path.read_text(encoding="utf-8")
        new = re.sub(
            r"^((?:rules|case) = '''\n)(.*?)(?=''')",
            lambda one: one[1] + reworded(one[2], one[1]),
            old,
            flags=re.M | re.S,
        )
        assert new != old, path
        path.write_text(new, encoding="utf-8")
    command = [sys.executable, str(Path(__file__).with_name("every_purpose.py")), str(folder / "runs")]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["package"].startswith(str(folder))
    return found


def test_every_run_ends_well(heard: dict[str, Any]) -> None:
    """Exit code 0 of each kind of run, judge and writer."""
    assert {command: code for command, code in heard["commands"].items() if code} == {}


def test_every_purpose_is_answered_in_its_form(heard: dict[str, Any]) -> None:
    """No reply is missing, none is of another kind: a rating is a rating, a ranking a ranking, a note has its labels."""
    allowed = {EMBEDDING: {"fits", "no_known_sentence"}}  # a memory without an opinion has no embedding on the oracle
    wrong = {name: shapes for name, shapes in heard["replies"].items() if set(shapes) - allowed.get(name, {"fits"})}
    assert wrong == {}
    # "speech FORM" is what a study says of speeches of that form: the request itself is a speech
    of_studies = {purpose.partition(" ")[0] for study in studies().values() for purpose in study.purposes}
    assert set(heard["replies"]) == {*HANDLERS, *of_studies}


def test_nothing_is_missing_in_the_records(heard: dict[str, Any]) -> None:
    """What is read out of the replies is there as well."""
    assert heard["missing"] == {}


def test_every_purpose_is_listed() -> None:
    """A purpose that is answered and not listed is one that nobody can look up."""
    assert set(PURPOSES) == set(HANDLERS) | UNANSWERED


def test_no_other_model_reads_the_facts() -> None:
    """A language model hears what its messages say; one that read the facts would be told more plainly than another."""
    readers = [
        path.relative_to(PACKAGE).as_posix()
        for path in (PACKAGE / "llm").rglob("*.py")
        if re.search(r"\.facts\b", path.read_text(encoding="utf-8"))
    ]
    assert readers
    assert not [path for path in readers if not path.startswith("llm/backends/oracle/")]
