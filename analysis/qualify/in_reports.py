"""Whether a run's model plays people stands first in what is written about the run; where it does not, findings are withheld."""

from __future__ import annotations

from pathlib import Path

from parley.analysis.qualify.before_run import needs_qualification
from parley.analysis.qualify.kept import FILE, Qualification, read_qualification
from parley.analysis.qualify.verdict import ends_sentence, headline
from parley.llm.errors import UserError
from parley.model.events import Header

UNCHECKED = (
    "Whether this model can play people was not checked, so what moved may be anything: `run.py qualify --llm MODEL` "
    "checks it in a minute."
)
WITHHELD = "What moved is left out here, because such ratings may move without a change of opinion. The tables have all numbers."

NO_ANSWER = "This is withheld, because it was not shown that the ratings of this model depend on who it plays."
"""In place of each answer of a bias card."""


def qualification_of(folder: Path) -> Qualification | None:
    """Return the qualification in a run folder; None without one, and for a damaged file."""
    try:
        return read_qualification(folder / FILE)
    except UserError:
        return None


def first_sentences(header: Header, folder: Path) -> list[str]:
    """Return what stands first: the verdict on the model, or that it was not checked; nothing for our own speakers."""
    if result := qualification_of(folder):
        verdicts = list(result.verdicts)
        lines = [headline("this model", verdicts), ends_sentence(verdicts), "" if result.plays else WITHHELD]
        return [line for line in lines if line]
    return [UNCHECKED] if needs_qualification(str(header.scenario["llm"])) and not header.is_log else []


def withholds(folder: Path) -> bool:
    """Return whether findings about opinions are withheld, because the model's ratings do not depend on who it plays."""
    result = qualification_of(folder)
    return result is not None and not result.plays
