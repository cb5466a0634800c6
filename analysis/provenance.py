"""What was asked for: the title of the experiment that was really run, and the command line that gives it back.

Words for what came from outside: interventions in summary and transcript. Their texts are shown as plain text.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parley.analysis.formatting import DASH, count_phrase, escape_markdown, join_phrases, markdown_table
from parley.analysis.tables import Tables
from parley.environments.base import Group
from parley.llm.errors import UserError
from parley.model.events import Header
from parley.model.interventions import intervention_spec, parse_interventions
from parley.model.scenario import read_preset
from parley.model.scenario_blocks import EnvironmentSpec
from parley.model.titles import reseated, seated_title

SAME = {"repetitions", "seed", "llm", "topics"}
"""Settings that leave a preset's design as it is."""
LISTED = ("llms", "interventions")
"""Settings with options of their own: what is in them may hold commas, which `--set` would take for the end of one."""
FIGURES = re.compile(r",? *\(?\bFigs?\b.*", re.DOTALL)


def experiment_title(header: Header) -> str:
    """The preset's title and source; where its design was changed, by what, and then without the claim to a paper's figures.

    On topics that the preset does not have no figure is claimed either.
    """
    scenario, preset = header.scenario, _preset(header)
    paper = FIGURES.sub("", scenario["source"])
    changed = {key: field_value(scenario, key) for key in header.given if key not in SAME}
    if preset:
        changed = {key: told for key, told in changed.items() if told != field_value(preset, key)}
    told = ", ".join(f"{key}={told}" for key, told in changed.items())
    if changed and (groups := _reseated(scenario)):
        names = {party: told["name"] for party, told in header.parties.items() if told["name"]}
        return f"{seated_title(groups, names, scenario['frame'])} (after {paper}, changed); changed: {told}"
    if changed:
        named = scenario["title"][:1].lower() + scenario["title"][1:]
        return f"Based on {named} (after {paper}, changed); changed: {told}"
    own = preset["topics"] if preset else [] if "topics" in header.given else scenario["topics"]
    if set(scenario["topics"]) <= set(own):
        return f"{scenario['title']} ({scenario['source']})"
    return f"{scenario['title']} (after {paper}, on other topics)"


def _reseated(scenario: Mapping[str, Any]) -> Sequence[Group]:
    """The groups of a scenario where others sit in them than in its preset's; none where that is not known."""
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in scenario["options"].items()}
    spec, name = EnvironmentSpec(scenario["environment"], options), str(scenario["name"])
    try:
        if read_preset(name).environment_spec == spec:
            return ()
        groups = spec.groups
    except (UserError, TypeError, ValueError):  # an environment of another version, or one that is not here
        return ()
    return groups if reseated(name, groups) else ()


def rerun_command(header: Header) -> str | None:
    """The command line of this very scenario, or None when this version's presets do not give it."""
    scenario = header.scenario
    settings = {key: field_value(scenario, key) for key in header.given if key not in LISTED}
    own = {key: scenario.get(key, []) for key in LISTED}
    try:
        again = read_preset(str(scenario["name"]), settings | own).to_dict()
    except UserError:
        return None
    parts = ["python run.py --scenario", shlex.quote(scenario["name"])]
    parts += [f"--set {shlex.quote(f'{key}={told}')}" for key, told in settings.items()]
    parts += [f"--llm {shlex.quote(spec)}" for spec in own["llms"]]
    if "interventions" in header.given:
        parts += [f"--intervene {shlex.quote(text)}" for text in as_option(scenario)] or ["--intervene ''"]
    line = " ".join(parts)
    return line if again == scenario and line.isprintable() else None


def field_value(scenario: Mapping[str, Any], key: str) -> str:
    """A field of the scenario, or of its environment, as it is written on a command line."""
    if key == "interventions":
        return "; ".join(as_option(scenario))
    found = scenario.get(key, scenario["options"].get(key))
    return ",".join(found) if isinstance(found, list) else str(found).lower() if isinstance(found, bool) else str(found)


def as_option(scenario: Mapping[str, Any]) -> list[str]:
    """Its interventions as they are written on a command line. Errors: UserError for one that this version does not know."""
    return [intervention_spec(one) for one in parse_interventions(scenario.get("interventions", []))]


def _preset(header: Header) -> dict[str, Any] | None:
    """The preset that the experiment started from; None when this version has none of its name."""
    try:
        return read_preset(str(header.scenario["name"])).to_dict()
    except UserError:
        return None


MOST = 6
"""Agents up to which each is named."""


def intervention_table(tables: Tables) -> Iterator[str]:
    """What happened from outside, one line for what was done in the same words; nothing where nothing was."""
    if tables.interventions.empty:
        return
    yield "## Interventions\n"
    yield "Each intervention came before the round shown. Its messages are not replies and are not counted as replies.\n"
    rows = []
    acts = tables.interventions.assign(agents=tables.interventions["agents"].map(json.loads).map(len))
    for (round_, what, by, text, reason), same in acts.groupby(
        ["round", "what", "by", "text", "reason"], dropna=False, sort=False
    ):
        whom = f"{count_phrase(int(same['agents'].sum()), 'agent')} in {count_phrase(same['room'].nunique(), 'room')}"
        said = text if isinstance(text, str) else f"nothing ({reason})" if isinstance(reason, str) else ""
        rows.append([str(round_), what, by or DASH, whom, said])
    yield markdown_table(["before round", "what", "by", "to", "text"], rows) + "\n"


def intervention_sentence(row: dict[str, Any], seated: Sequence[dict[str, Any]]) -> str:
    """What was done to whom from outside, as plain text in Markdown; between two asterisks too."""
    return escape_markdown(intervention_event(row, seated)).strip()


def intervention_event(row: dict[str, Any], seated: Sequence[dict[str, Any]]) -> str:
    """The same as text."""
    agents = json.loads(row["agents"])
    names = [str(one["name"]) for one in seated if one["agent"] in agents]
    whom = join_phrases(names) if len(names) <= MOST else f"{len(names)} of {len(seated)}"
    whom = "everybody" if len(names) == len(seated) else whom
    who = f"{row['by']}, to {whom}" if row["by"] else f"{row['what']}, {whom}"
    words = row["text"] if isinstance(row["text"], str) else f"{DASH} ({row['reason']})" if row["reason"] else ""
    return f"Intervention: {who}{f': {words}' if words else ''}"
