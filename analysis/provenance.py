"""What was run: the title of an experiment, the command that repeats it, and its interventions in words.

Texts of a model or a user are shown as plain text.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.formatting import DASH, REFERENCE, count_phrase, escape_markdown, markdown_table, numbered
from parley.analysis.tables import Tables
from parley.environments.base import Group
from parley.llm.errors import UserError
from parley.llm.trust import data_files
from parley.model.events import Header
from parley.model.interventions import intervention_spec, parse_interventions
from parley.model.scenario import read_preset
from parley.model.scenario_blocks import EnvironmentSpec
from parley.model.titles import join_phrases, reseated, seated_title, size_phrase

SAME = {"repetitions", "seed", "llm", "topic"}
"""Settings that do not change a preset's design."""
LISTED = ("llms", "interventions")
"""Settings with options of their own. Their values may contain commas, which separate values in `--set`."""
FIGURES = re.compile(r",? *\(?\bFigs?\b.*", re.DOTALL)
MOST = 6
"""Up to this number of agents each is named."""


def size_of(agents: pd.DataFrame) -> str:
    """Return how many rooms and agents a run has, in words, the reference apart. agents: a row per seat."""
    alone = agents["group"] == REFERENCE
    return size_phrase(agents.loc[~alone, "room"].nunique(), int((~alone).sum()), agents.loc[alone, "room"].nunique())


def experiment_title(header: Header) -> str:
    """Return the preset's title and source; for a changed design what was changed, without the paper's figures.

    With topics that the preset does not have, the title names no figure of the paper either.
    """
    scenario, preset = header.scenario, _preset(header)
    paper = FIGURES.sub("", scenario["source"])
    changed = {key: field_value(scenario, key) for key in header.given if key not in SAME}
    if preset:
        changed = {key: value for key, value in changed.items() if value != field_value(preset, key)}
    if changed:
        groups = _new_groups(scenario)
        title = seated_title(groups, header.names, scenario["frame"]) if groups else scenario["title"]
        settings = ", ".join(f"{key}={value}" for key, value in changed.items())
        return f"{title} (after {paper}, with other settings: {settings})"
    paper_topics = preset["topic"] if preset else [] if "topic" in header.given else scenario["topic"]
    if set(scenario["topic"]) <= set(paper_topics):
        return f"{scenario['title']} ({scenario['source']})"
    return f"{scenario['title']} (after {paper}, on other topics)"


def run_title(header: Header) -> str:
    """Return the title of what was run: who debates, without source and settings."""
    scenario = header.scenario
    groups = () if header.is_log else _new_groups(scenario)
    return seated_title(groups, header.names, scenario["frame"]) if groups else str(scenario["title"])


def _new_groups(scenario: Mapping[str, Any]) -> Sequence[Group]:
    """Return the groups of a scenario if their seats differ from its preset's; none if only a file outside the run says it."""
    if any(path.suffix for path in data_files(scenario["options"])):
        return ()
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in scenario["options"].items()}
    spec = EnvironmentSpec(scenario["environment"], options, str(scenario["society"]))
    name = str(scenario["name"])
    try:
        same = read_preset(name).environment_spec == spec
        return () if same or not reseated(name, spec.groups) else spec.groups
    except (UserError, TypeError, ValueError):  # an environment of another version, or one that is not here
        return ()


def rerun_command(header: Header) -> str | None:
    """Return the command line of this scenario; None for a log, or when this version's presets give another scenario."""
    if header.is_log:
        return None
    scenario = header.scenario
    settings = {key: field_value(scenario, key) for key in header.given if key not in LISTED}
    listed = {key: scenario.get(key, []) for key in LISTED}
    try:
        repeated = read_preset(str(scenario["name"]), settings | listed).to_dict()
    except UserError:
        return None
    options = [("--set", f"{key}={value}") for key, value in settings.items()]
    options += [("--llm", spec) for spec in listed["llms"]]
    if "interventions" in header.given:
        options += [("--intervene", text) for text in _intervention_specs(scenario) or [""]]
    parts = [f"{name} {shlex.quote(value)}" for name, value in [("--scenario", scenario["name"]), *options]]
    line = " ".join(["python run.py", *parts])
    return line if repeated == scenario and line.isprintable() else None


def field_value(scenario: Mapping[str, Any], key: str) -> str:
    """Return a field of the scenario or of its environment as it is written on a command line."""
    if key == "interventions":
        return "; ".join(_intervention_specs(scenario))
    value = scenario.get(key, scenario["options"].get(key))
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _intervention_specs(scenario: Mapping[str, Any]) -> list[str]:
    """Return the interventions as written on a command line. Errors: UserError for one that this version does not know."""
    return [intervention_spec(intervention) for intervention in parse_interventions(scenario.get("interventions", []))]


def _preset(header: Header) -> dict[str, Any] | None:
    """Return the preset of this name, or None when this version has none."""
    try:
        return read_preset(str(header.scenario["name"])).to_dict()
    except UserError:
        return None


def intervention_table(tables: Tables) -> Iterator[str]:
    """Yield the interventions as a section, one row for all with the same round, kind and text; nothing without any."""
    if tables.interventions.empty:
        return
    yield "## Interventions\n"
    yield ("Each intervention came before the round shown. Messages of an intervention do not count as replies.\n")
    rows, keys = [], ["round", "what", "by", "text", "reason"]
    acts = tables.interventions.assign(agents=tables.interventions["agents"].map(json.loads).map(len))
    for (round_, what, by, text, reason), same in acts.groupby(keys, dropna=False, sort=False):
        agents = f"{count_phrase(int(same['agents'].sum()), 'agent')} in {count_phrase(same['room'].nunique(), 'room')}"
        message_text = text if isinstance(text, str) else f"nothing ({reason})" if isinstance(reason, str) else ""
        rows.append([str(round_), what, by or DASH, agents, message_text])
    yield markdown_table(["before round", "what", "by", "to", "text"], rows) + "\n"


def intervention_sentence(row: dict[str, Any], seated: Sequence[dict[str, Any]]) -> str:
    """Return an intervention as plain text in Markdown, also between two asterisks."""
    return escape_markdown(intervention_event(row, seated)).strip()


def intervention_event(row: dict[str, Any], seated: Sequence[dict[str, Any]]) -> str:
    """Return an intervention as text: by whom, to whom, and its words."""
    agents = json.loads(row["agents"])
    names = [str(seat["name"]) for seat in seated if seat["agent"] in agents]
    whom = join_phrases(names) if len(names) <= MOST else f"{len(names)} of {len(seated)}"
    whom = "all agents" if len(names) == len(seated) else whom
    who = f"{row['by']}, to {whom}" if row["by"] else f"{row['what']}, {whom}"
    words = row["text"] if isinstance(row["text"], str) else f"{DASH} ({row['reason']})" if row["reason"] else ""
    return f"Intervention: {who}{f': {words}' if words else ''}"


WORDS = ("name", "title", "source")
"""Words about a scenario, which change nothing in it."""


def differences(first: Header, other: Header) -> list[tuple[str, str, str]]:
    """Return the settings that differ between two runs: (setting, in the first, in the other)."""
    mine, theirs = dict(_settings(first)), dict(_settings(other))
    pairs = [(name, mine.get(name, DASH), theirs.get(name, DASH)) for name in dict.fromkeys([*mine, *theirs])]
    return [pair for pair in pairs if pair[1] != pair[2]]


def _settings(header: Header) -> Iterator[tuple[str, str]]:
    yield "model", disclaimers.model_label(header)
    loaded = [f"loaded: {name}" for name in header.model.get("adapters", {})]
    yield "fine-tuned adapters", ", ".join([*header.scenario.get("adapters", []), *loaded]) or "none"
    for key, value in {**header.scenario, **header.scenario.get("options", {})}.items():
        if key not in (*WORDS, "options", "llm", "adapters"):
            yield key, _text(value)
    yield "prompts", ", ".join(f"{name} {digest[:8]}" for name, digest in header.prompts.items())
    yield "data", header.data[:12]
    yield "revision", header.revision
    yield "versions", ", ".join(f"{name} {version}" for name, version in header.versions.items())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_text(setting)}" for key, setting in value.items() if setting not in ("", [], None))
    return str(value).lower() if isinstance(value, bool) else str(value)


RECORDED = ("prompts", "data", "revision", "versions")
"""What a header says besides settings."""
NAMED = {"rounds": "{} rounds", "repetitions": "{} rooms", "seed": "seed {}"}
LONGEST = 32
"""Letters of a name of a run."""


def names_of_runs(folders: Sequence[Path], headers: Sequence[Header]) -> list[str]:
    """Return a name for each run: what it was set to in the one setting that differs (`oracle with kappa=0`, `3 rounds`), if
    that is short; otherwise the name of its folder, with a number where several have the same.
    """
    first, *others = headers
    setting = {name for other in others for name, *_ in differences(first, other)} - set(RECORDED)
    if len(setting) == 1:
        (key,) = setting
        names = [_name_by(key, header) for header in headers]
        if len(set(names)) == len(names) and max(map(len, names)) <= LONGEST:
            return names
    paths = [folder.resolve() for folder in folders]
    return numbered([path.parent.name if path.is_file() else path.name for path in paths])


def short_spec(spec: str) -> str:
    """Return a model as it is called in a sentence.

    >>> short_spec("oracle,kappa=0,mu=0.1")
    'oracle with kappa=0 and mu=0.1'
    """
    name, *options = spec.split(",")
    return f"{name} with {join_phrases(options)}" if options else name


def _name_by(key: str, header: Header) -> str:
    """Return the name of a run by one of its settings."""
    if key == "model":
        return short_spec(str(header.scenario["llm"]))
    value = dict(_settings(header)).get(key, DASH)
    return NAMED[key].format(value) if key in NAMED else f"{key}={value}"


def settings_table(names: Sequence[str], headers: Sequence[Header]) -> pd.DataFrame:
    """Return the settings that differ between runs: one row per setting, one column per run."""
    first, *others = names
    settings: dict[str, dict[str, str]] = {name: {} for name in names}
    for name, header in zip(others, headers[1:], strict=True):
        for setting, mine, other in differences(headers[0], header):
            settings[first][setting], settings[name][setting] = mine, other
    frame = pd.DataFrame(settings)
    for name in others:  # a setting that differs only in another run is the same as in the first
        frame[name] = frame[name].fillna(frame[first])
    return frame
