"""What a qualification puts first in reports, and what it withholds.

A run says it itself (`qualification.json` in its folder). A run that was started elsewhere, as on the page or by the Python API,
takes the result that is kept for its model; without one, its reports say that nothing is known, and how to find out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from parley.analysis.disclaimers import model_label
from parley.analysis.formatting import escape_markdown
from parley.analysis.qualify.before_run import ASKED
from parley.analysis.qualify.kept import FILE, Qualification, kept_qualification, read_qualification
from parley.analysis.qualify.questions import NUMBERS, WAYS
from parley.analysis.qualify.verdict import best_way, ends_sentence, headline, lines_sentence
from parley.llm.backends import identity_spec, needs_qualification, split_spec
from parley.llm.errors import UserError
from parley.model.events import Header
from parley.model.scenario import scenario_from_dict

WITHHELD = (
    "Movements of ratings are left out of this page, because the ratings of this model may change although no opinion "
    "changes; the tables have all numbers."
)

ADDRESS = " --base-url ADDRESS"
"""In a command for a model on a server of one's own."""

NO_ANSWER = (
    "Parley withholds this answer, because it was not shown that the ratings of this model depend on who it plays."
)
"""In place of each answer of a bias card."""


def qualification_of(header: Header, folder: Path | None = None) -> Qualification | None:
    """Return what is known of the model of a run, as the run asks it; None where nothing is known, and for our own speakers.

    folder: of the run. A kept result is written into it, so that it says the same on another machine.
    """
    scenario = header.scenario
    try:
        qualification = read_qualification(folder / FILE) if folder else None
    except UserError:
        return None
    if qualification is None and header.model and needs_qualification(str(scenario["llm"])):
        qualification = kept_qualification(header.model, str(scenario.get("society", "")))
        if qualification and folder and folder.is_dir():
            _keep(qualification, folder / FILE)
    return qualification.asked_in(str(scenario.get(ASKED, NUMBERS))) if qualification else None


def _keep(qualification: Qualification, path: Path) -> None:
    """Write a result into the folder of a run, if it can be written."""
    try:
        qualification.write(path)
    except OSError:  # a folder that is only read
        return


def unchecked(*specs: str) -> str:
    """Return that it is not known of these models whether they play people, and the command that finds out."""
    commands = " and ".join(map(_command, specs))
    where = " with the ADDRESS of the run's server" if ADDRESS in commands else ""
    return (
        "**This model was not checked**, so it is unknown whether it can play people, and a change of its ratings may not be a "
        f"change of opinion. The check takes a few minutes: {commands}{where}."
    )


def _command(spec: str) -> str:
    """Return the command that checks a model, with an address to fill in where it would else ask the OpenAI API."""
    address = ADDRESS if "base_url" in split_spec(spec).options else ""
    return f"`python run.py qualify --llm {escape_markdown(identity_spec(spec))}{address}`"


def first_sentences(header: Header, folder: Path) -> list[str]:
    """Return the first line: the verdict on the model, or that it was not checked; nothing for our own speakers."""
    if header.is_log:
        return []
    qualification = qualification_of(header, folder)
    others = [spec.partition("=")[2] for spec in header.scenario.get("llms", ())]
    specs = [] if qualification else [str(header.scenario["llm"])]
    unknown = [spec for spec in dict.fromkeys([*specs, *others]) if needs_qualification(spec)]
    lines = [unchecked(*unknown)] if unknown else []
    if qualification:
        verdicts = list(qualification.verdicts)
        about = (ends_sentence(verdicts), lines_sentence(qualification.lines), "" if qualification.plays else WITHHELD)
        lines = [headline("this model", verdicts), *about, *lines]
        lines.insert(1, _better_way(header, folder, qualification))
    return [line for line in lines if line]


def page_notes(headers: Sequence[Header], folder: Path) -> list[str]:
    """Return the same for a page on several runs; of several models, what is known of each, by its name."""
    models = {json.dumps(header.model, sort_keys=True): header for header in headers if not header.is_log}
    if len(models) == 1:
        (header,) = models.values()
        return [line for line in first_sentences(header, folder) if line != WITHHELD]
    lines = []
    for header in models.values():
        if qualification := qualification_of(header):
            lines.append(headline(escape_markdown(model_label(header)), list(qualification.verdicts)))
        elif needs_qualification(spec := str(header.scenario["llm"])):
            lines.append(unchecked(spec))
    return lines


def _better_way(header: Header, folder: Path, qualification: Qualification) -> str:
    """Return that the ratings follow who is played if the question is asked in another way; "" where that is not so.

    A question that has no such form, as those of deliberations have no phrases, gets no advice.
    """
    whole = read_qualification(folder / FILE)
    if qualification.plays or whole is None or not whole.plays or str(header.scenario.get(ASKED, NUMBERS)) not in WAYS:
        return ""
    way = best_way(list(whole.verdicts)).way
    try:
        settings = {
            **header.scenario,
            "llm": "oracle",
            "llms": (),
        }  # who answers does not matter here, and may be code of the user
        scenario_from_dict(settings, folder).with_settings({ASKED: way})
    except UserError:
        return ""
    return f"If Parley asks this model in {way}, the ratings depend on who it plays: `--set asked={way}`."


def withholds(header: Header, folder: Path) -> bool:
    """Return whether findings about opinions are withheld, because the model's ratings do not depend on who it plays."""
    qualification = qualification_of(header, folder)
    return qualification is not None and not qualification.plays
