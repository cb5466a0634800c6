"""The header of a record, and the label of a run folder, which keeps two experiments out of one folder."""

from __future__ import annotations

import io
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from functools import reduce
from importlib import metadata
from operator import or_
from pathlib import Path
from types import MappingProxyType
from typing import Any

from parley.agents.evidence import texts_of
from parley.agents.language import REPRESENTATIVE, Language, language_of_study
from parley.agents.mediators import MEDIATORS, open_mediator
from parley.agents.persona import load_personas, persona_file
from parley.agents.question import QUESTIONNAIRE, set_path
from parley.agents.reasoning import ABILITIES, NONE
from parley.agents.society import FILE as SOCIETY
from parley.agents.society import PARTIES
from parley.agents.steering import STRUCK, word_list
from parley.agents.topic import topic_file
from parley.environments import ENVIRONMENTS
from parley.llm.backends import BACKENDS, full_spec, identity_spec
from parley.llm.errors import UserError
from parley.llm.registry import Registry, options_of, parse_spec
from parley.llm.request import Backend
from parley.llm.seeding import digest
from parley.llm.studies import Study, study_of
from parley.model.custom import AGENT_CLASS, check_objects, header_names, keep_graph
from parley.model.events import SCHEMA, Header
from parley.model.files import UNWRITTEN, file_errors, write_whole
from parley.model.interventions import INTERVENTIONS
from parley.model.kept_files import keep_files
from parley.model.model_shares import STAND_IN, called_models
from parley.model.people import people_of
from parley.model.scenario import Scenario
from parley.model.surrogate_seats import surrogate_manifest
from parley.model.titles import header_parties

PACKAGES = ("parley-debates", "mesa", "networkx", "numpy")
LABEL, LOCK = "experiment.json", ".lock"
_WORDS = ("name", "title", "source")
"""Fields that describe a scenario and change nothing in a run."""

QUALIFIED = ("qualify", "qualification.json")
"""What a run folder may hold before its label: the answers and the result of a check of the model (analysis/qualify)."""


def make_header(
    scenario: Scenario,
    given: tuple[str, ...],
    backend: Backend,
    classes: Sequence[str] = (),
    branch: Mapping[str, Any] = MappingProxyType({}),
) -> Header:
    """Return everything needed to repeat the run. classes: the agent classes of the user, by name (model/custom.py).

    branch: of a branch, the fields of model.branching.Branch.
    """
    return Header(
        SCHEMA,
        scenario.to_dict() | {"llms": _seated_models(scenario)} | header_names(scenario, classes),
        tuple(sorted(given)),
        dict(backend.identity),
        provenance_prompts(scenario),
        _data_digest(scenario),
        code_revision(),
        package_versions(),
        surrogate_manifest(scenario),
        header_parties(scenario),
        dict(branch),
    )


def _seated_models(scenario: Scenario) -> list[str]:
    """Return the models of parties and seats, with the name of its party for `first` and `second`."""
    entries = [entry.partition("=") for entry in scenario.models.llms]
    return [f"{scenario.society.seat(who)}={spec}" for who, _, spec in entries]


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that matter."""
    versions = {name: metadata.version(name) for name in PACKAGES if list(metadata.distributions(name=name))}
    return {**versions, "python": platform.python_version()}


def check_folder(folder: Path, scenario: Scenario, classes: Sequence[str] = ()) -> None:
    """Check, without changing anything, that the folder is empty or belongs to this experiment. Errors: UserError."""
    with file_errors(f"cannot use the folder {folder}"):
        try:
            names = {path.name for path in folder.iterdir()}
        except FileNotFoundError:
            names = set()
    if LABEL not in names:
        if names - {LOCK, f"{LABEL}{UNWRITTEN}", *QUALIFIED}:  # of a run that was killed before its label was written
            raise UserError(f"{folder} is not empty and is not a run folder: give another --out")
        return
    theirs, mine = _read(folder / LABEL), _contents(scenario, classes)
    check_objects(folder, theirs["scenario"], mine["scenario"])
    changed = [key for key, value in mine["scenario"].items() if theirs["scenario"].get(key) != value]
    if changed:
        was, now = theirs["scenario"].get(changed[0]), mine["scenario"][changed[0]]
        what = f"another scenario, seed or setting ({changed[0]} is {was!r} there, {now!r} here)"
        raise UserError(f"{folder} already has a run with {what}: give another --out")
    if any(mine["prompts"].get(name) != text for name, text in theirs["prompts"].items()):
        raise UserError(f"{folder} already has a run with other prompts: give another --out")
    if theirs["data"] != mine["data"]:
        raise UserError(f"{folder} already has a run with other personas, topics or code: give another --out")


def check_manifest(folder: Path, scenario: Scenario, backend: Backend, classes: Sequence[str] = ()) -> None:
    """Label a new folder, and keep a graph object, the user's people and topics in it.

    Errors: UserError if an old folder belongs to another model.
    """
    label, model = folder / LABEL, json.loads(json.dumps(dict(backend.identity)))
    if not label.exists():
        write_whole(label, json.dumps({**_contents(scenario, classes), "model": model}, indent=1))
    elif _read(label)["model"] != model:
        raise UserError(
            f"{folder} already has a run with another model, or another version of the model: give another --out"
        )
    keep_graph(folder, scenario)
    keep_files(folder, scenario.to_dict())


def relabel_folder(folder: Path, scenario: Scenario, classes: Sequence[str] = ()) -> None:
    """Label the folder as that of another scenario on the same model."""
    label = folder / LABEL
    write_whole(label, json.dumps({**_contents(scenario, classes), "model": _read(label)["model"]}, indent=1))


def scenario_fields(scenario: Scenario) -> dict[str, Any]:
    """Return the fields that make this scenario this experiment. How a model is reached (address, limits) is left out."""
    fields = {key: value for key, value in scenario.to_dict().items() if key not in _WORDS}
    fields["llm"] = identity_spec(scenario.models.llm)
    fields["llms"] = {party: identity_spec(spec) for party, spec in scenario.llm_by_party.items()} | {
        who: f"{STAND_IN}{Path(file).name}" for who, file in scenario.surrogate_by_party.items()
    }
    fields["interventions"] = [
        intervention | {"llm": identity_spec(intervention["llm"])} if "llm" in intervention else intervention
        for intervention in fields["interventions"]
    ]
    return fields


def _contents(scenario: Scenario, classes: Sequence[str]) -> dict[str, Any]:
    class_fields = {AGENT_CLASS: list(classes)} if classes else {}
    return {
        "scenario": scenario_fields(scenario) | class_fields,
        "prompts": provenance_prompts(scenario),
        "data": _data_digest(scenario),
    }


def provenance_prompts(scenario: Scenario) -> dict[str, str]:
    """Name and digest of every prompt; with representatives, also of their prompts; and of those of the scenario's studies."""
    language = scenario.society.language.worded(scenario.subject.wording)
    folders = [study.folder for study in _studies(scenario) if (study.folder / "data").is_dir()]

    def digests(spoken: Language) -> dict[str, str]:
        of_studies = [language_of_study(spoken, folder).prompt_digests() for folder in folders]
        return reduce(or_, [spoken.prompt_digests(), *of_studies])

    theirs = language.prompt_digests(REPRESENTATIVE) if scenario.people.represented != "none" else {}
    theirs |= language.prompt_digests(REPRESENTATIVE) if scenario.mediated and people_of(scenario.llm_by_party) else {}
    for other in _other_languages(scenario):
        prompt_digests = digests(other.worded(scenario.subject.wording))
        theirs |= {f"{other.code}/{name}": mark for name, mark in prompt_digests.items()}
    return digests(language) | theirs


def _studies(scenario: Scenario) -> list[Study]:
    """Return the studies whose environment or interventions the scenario has."""
    studies = [study_of(type(component)) for component in (scenario.environment, *scenario.interventions)]
    return list({study.name: study for study in studies if study}.values())


def _other_languages(scenario: Scenario) -> list[Language]:
    """Return the languages of people of the scenario that are not that of their society, by code."""
    people = [person for seat in scenario.seats for person in load_personas(seat, scenario.persona_folder)]
    codes = {person.language for person in people} - {"", scenario.society.language.code}
    return [scenario.society.spoken(code) for code in sorted(codes)]


def _data_digest(scenario: Scenario) -> str:
    """Digest of the files that the scenario uses: topics or questions, personas, scales, a graph, surrogates, other code."""
    if scenario.subject.questions:
        questions = set_path(scenario.subject.questions, scenario.subject.society)
        mediator = open_mediator(scenario.speech.mediator)
        topics = [questions, scenario.society.folder / QUESTIONNAIRE, *mediator.files()]
    else:
        topics = [topic_file(topic) for topic in scenario.subject.topic]
    personas = [persona_file(party, scenario.persona_folder) for party in scenario.parties]
    graphs = [Path(path) for path in getattr(scenario.environment, "files", ())]
    surrogates = [Path(file) for file in scenario.surrogate_by_party.values()]
    society = scenario.society
    society_files = [society.folder / SOCIETY, society.language.folder / "scales.toml"]
    for other in _other_languages(scenario):
        words = society.translated(other.code) / "topics"
        society_files += [
            other.folder / "scales.toml",
            *[words / topic_file(topic).name for topic in scenario.subject.topic],
        ]
    if scenario.speech.steering == STRUCK:
        society_files.append(word_list(society.language))
    looks = [society.folder / PARTIES / f"{party}.toml" for party in scenario.parties if party in society.parties]
    folders = filter(None, (getattr(intervention, "evidence", "") for intervention in scenario.interventions))
    evidence = [path for folder in folders for path in texts_of(folder)]
    files = [
        *society_files,
        *sorted(topics),
        *dict.fromkeys([*personas, *looks]),
        *graphs,
        *surrogates,
        *own_files(scenario),
        *evidence,
    ]
    return digest([(path.name, _text(path)) for path in files]).hex()


def _text(path: Path) -> str:
    """The content of a file as text: UTF-8, or hexadecimal for a graph in another format."""
    content = path.read_bytes()
    try:
        return io.TextIOWrapper(io.BytesIO(content), "utf-8").read()
    except UnicodeDecodeError:
        return content.hex()


def own_files(scenario: Scenario) -> list[Path]:
    """Return the files of everything that the scenario names and that is no part of Parley."""
    named: list[tuple[Registry, str]] = [
        (ENVIRONMENTS, scenario.environment_spec.name),
        (MEDIATORS, scenario.speech.mediator),
    ]
    named += [(BACKENDS, full_spec(spec)) for spec in called_models(scenario)]
    named += [(ABILITIES, scenario.speech.think)] if scenario.speech.think != NONE else []
    named += [
        (INTERVENTIONS, intervention.kind)
        for intervention in scenario.interventions
        if intervention.kind in INTERVENTIONS
    ]
    for name, option in options_of(type(scenario.environment)).items():
        spec, notes = scenario.environment_spec.options.get(name), getattr(option.hint, "__metadata__", ())
        named += [(note, spec) for note in notes if isinstance(note, Registry) and isinstance(spec, str)]
    files = {registry.file(parse_spec(spec).name) for registry, spec in named}
    for study in _studies(scenario):
        if not study.package.startswith("parley."):  # its rounds and seats are in other files than the environment
            files |= set(study.folder.rglob("*.py"))
    return sorted(file for file in files if file)


def _read(label: Path) -> dict[str, Any]:
    try:
        contents = json.loads(label.read_text(encoding="utf-8"))
        parts = {key: contents[key] for key in ("scenario", "prompts", "data", "model")}
        if not all(isinstance(parts[key], dict) for key in ("scenario", "prompts", "model")):
            raise ValueError("it is not the label of a run")
        return parts
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot read {label}: {error}") from error


def code_revision() -> str:
    """Return the commit of this checkout, with a + if files have changed since; `release` outside a checkout."""
    checkout = Path(__file__).resolve().parent.parent
    if not (checkout / ".git").exists():
        return "release"
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty=+"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return result.stdout.strip() or "unknown"
