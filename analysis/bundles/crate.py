"""The metadata of a bundle: an RO-Crate 1.1 with the profile Process Run Crate 0.5, and what can be wrong with one.

Source: https://w3id.org/ro/crate/1.1 and https://w3id.org/ro/wfrun/process/0.5. Each run is a `CreateAction`: Parley made its
files from its settings. The term `sha256` is of the vocabulary of that profile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from parley.analysis.bundles.studies import designs

METADATA = "ro-crate-metadata.json"
CRATE, PROCESS = "https://w3id.org/ro/crate/1.1", "https://w3id.org/ro/wfrun/process/0.5"
CONTEXT = [f"{CRATE}/context", "https://w3id.org/ro/terms/workflow-run/context"]
NOT_STATED = "not stated"
SOFTWARE = "#parley"
FORMATS = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".sqlite": "application/vnd.sqlite3",
    ".html": "text/html",
    ".graphml": "application/graphml+xml",
}
"""Media types by the end of a file's name; text/plain for all others."""


@dataclass(frozen=True)
class CrateFile:
    """A file of a bundle: its name in the zip, its size in bytes and its SHA-256 in hex."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class CrateRun:
    """A run in a bundle. command: what repeats it ("": nothing does); started, ended: in ISO 8601."""

    folder: str
    title: str
    command: str
    started: str
    ended: str
    finished: bool


def describe_crate(
    files: Sequence[CrateFile], runs: Sequence[CrateRun], versions: Mapping[str, str], author: str, licence: str
) -> dict[str, Any]:
    """Return ro-crate-metadata.json as plain values. licence: an SPDX name, an address or ""."""
    names = [run.title for run in runs]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "conformsTo": {"@id": PROCESS},
        "name": "; ".join(names),
        "description": (
            f"{len(runs)} run(s) of debates between LLM agents, with prompts, raw replies, records, tables and figures. "
            "Simulated agents are no people. `parley verify FILE.zip` checks every file and derives tables and figures again."
        ),
        "datePublished": max(run.ended for run in runs)[:10],
        "license": _licence(licence),
        "hasPart": [{"@id": quote(file.name)} for file in files],
        "mentions": [{"@id": _action(run)} for run in runs],
        **({"author": {"@id": "#author"}} if author else {}),
    }
    people = [{"@id": "#author", "@type": "Person", "name": author}] if author else []
    graph = [
        {"@id": METADATA, "@type": "CreativeWork", "conformsTo": {"@id": CRATE}, "about": {"@id": "./"}},
        root,
        {"@id": PROCESS, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        *people,
        *_licences(licence),
        _software(versions),
        *[_run(run, files, author) for run in runs],
        *[_file(file) for file in files],
    ]
    return {"@context": CONTEXT, "@graph": graph}


def _licence_id(licence: str) -> str:
    return licence if "://" in licence else f"https://spdx.org/licenses/{quote(licence)}"


def _licence(licence: str) -> Any:
    return {"@id": _licence_id(licence)} if licence else NOT_STATED


def _licences(licence: str) -> Iterator[dict[str, Any]]:
    if licence:
        yield {"@id": _licence_id(licence), "@type": "CreativeWork", "name": licence, "url": _licence_id(licence)}


def _software(versions: Mapping[str, str]) -> dict[str, Any]:
    return {
        "@id": SOFTWARE,
        "@type": "SoftwareApplication",
        "name": "Parley",
        "version": versions.get("parley-debates", "unknown"),
        "softwareRequirements": [f"{name} {version}" for name, version in versions.items()],
    }


def _action(run: CrateRun) -> str:
    return f"#run-{quote(run.folder)}"


def _run(run: CrateRun, files: Sequence[CrateFile], author: str) -> dict[str, Any]:
    run_files = [file.name for file in files if file.name.startswith(f"{run.folder}/")]
    settings = [name for name in run_files if name == f"{run.folder}/experiment.json"]
    return {
        "@id": _action(run),
        "@type": "CreateAction",
        "name": run.title,
        "description": run.command or "No command repeats this run; its record has every setting.",
        "instrument": {"@id": SOFTWARE},
        **({"agent": {"@id": "#author"}} if author else {}),
        **({"object": {"@id": quote(settings[0])}} if settings else {}),
        "result": [{"@id": quote(name)} for name in run_files if name not in settings],
        "startTime": run.started,
        "endTime": run.ended,
        "actionStatus": f"http://schema.org/{'Completed' if run.finished else 'Failed'}ActionStatus",
        **({} if run.finished else {"error": "The run was stopped before its last round."}),
    }


def _file(file: CrateFile) -> dict[str, Any]:
    return {
        "@id": quote(file.name),
        "@type": "File",
        "name": file.name,
        "contentSize": str(file.size),
        "encodingFormat": FORMATS.get(f".{file.name.rpartition('.')[2]}", "text/plain"),
        "sha256": file.sha256,
    }


def listed_files(crate: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of every file of a crate by its name in the zip."""
    graph = [entity for entity in crate["@graph"] if entity.get("@type") == "File"]
    return {unquote(entity["@id"]): str(entity.get("sha256", "")) for entity in graph}


def run_folders(crate: Mapping[str, Any]) -> list[str]:
    """Return the folders of the runs of a crate."""
    ids = [str(action["@id"]) for action in crate["@graph"] if action.get("@type") == "CreateAction"]
    return [unquote(action_id.removeprefix("#run-")) for action_id in ids]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def crate_fault(crate: Any) -> str:
    """Return what is missing for an RO-Crate with a Process Run Crate, as a phrase; "" if nothing is."""
    try:
        return _graph_fault(crate.get("@graph") if isinstance(crate, dict) else None) or _run_fault(crate)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        return f"an entity has a value of the wrong kind: {error}"


def _graph_fault(graph: Any) -> str:
    if not isinstance(graph, list) or not all(
        isinstance(entity, dict) and isinstance(entity.get("@id"), str) for entity in graph
    ):
        return "@graph is no list of entities"
    by_id = {entity["@id"]: entity for entity in graph}
    if len(by_id) < len(graph):
        return "two entities have the same @id"
    if by_id.get(METADATA, {}).get("about") != {"@id": "./"} or "./" not in by_id:
        return "there is no root data set"
    needed = ("name", "description", "datePublished", "license", "hasPart", "conformsTo")
    if lacking := [name for name in needed if not by_id["./"].get(name)]:
        return f"the root data set lacks {lacking[0]}"
    parts = {file["@id"] for file in by_id["./"]["hasPart"]}
    if parts != {entity["@id"] for entity in graph if entity.get("@type") == "File"}:
        return "hasPart does not list the files"
    for action in (entity for entity in graph if entity.get("@type") == "CreateAction"):
        used = [
            reference
            for name in ("instrument", "object", "result", "agent")
            for reference in _listed(action.get(name, []))
        ]
        if lost := [reference["@id"] for reference in used if reference["@id"] not in by_id]:
            return f"{action['@id']} names {lost[0]}, which is not there"
    return ""


def _run_fault(crate: Mapping[str, Any]) -> str:
    """Return what is wrong with the runs of a crate: each file must be in the folder of a run, so that none stays unchecked."""
    if not (folders := run_folders(crate)):
        return "it names no run"
    if wrong := [name for name in folders if name in ("", ".", "..") or set(name) & set("/\\\0")]:
        return f"{wrong[0]!r} is no name of a folder"
    files = listed_files(crate)
    begins = [tuple([f"{name}/{file}" for file in ("record.", *designs())]) for name in folders]
    if lost := [
        name for name, starts in zip(folders, begins, strict=True) if not any(file.startswith(starts) for file in files)
    ]:
        return f"the run {lost[0]!r} has no record"
    if alone := [file for file in files if file.partition("/")[0] not in folders]:
        return f"{alone[0]!r} is in the folder of no run"
    (software,) = [entity for entity in crate["@graph"] if entity["@id"] == SOFTWARE]
    versions = software["softwareRequirements"]
    if not isinstance(versions, list) or not all(isinstance(version, str) for version in versions):
        return "the versions of packages are no list of texts"
    return ""
