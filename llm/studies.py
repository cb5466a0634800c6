"""Finds studies. A study is a folder that declares itself by a value `STUDY`; the rest of Parley knows none by name.

Parley's own are the folders of parley/studies. Others come from an installed package (entry point in the group
`parley.studies`), or from a folder of the user's, named on the command line (`run.py study ./mine`) or in the environment
variable PARLEY_STUDIES, which processes of a sweep inherit.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from parley.llm.errors import UserError
from parley.llm.purposes import PURPOSES
from parley.llm.spec import load_file, load_point, points_of
from parley.llm.trust import trust

PACKAGE = GROUP = "parley.studies"
"""The package of Parley's own studies, and the group of entry points of others."""
VARIABLE = "PARLEY_STUDIES"
"""The environment variable with folders of the user's studies, joined as in PATH."""
PEOPLE = "Does a model answer as people do?"
PERSUASION = "Which messages persuade?"
DEBATE = "How do agents argue?"
GROUPS_OF_PEOPLE = "What do people do in groups?"
MOVED = "What moves opinions, and by which law?"
TRUE = "Is what I measured true?"
READ = "What is in these texts and tables?"
WRITE = "Write personas and questions with a model"
OWN = "Studies of your own"
QUESTIONS = (PEOPLE, PERSUASION, DEBATE, GROUPS_OF_PEOPLE, MOVED, TRUE, READ, WRITE, OWN)
"""The headings of `run.py study`, in their order."""


@dataclass(frozen=True)
class Command:
    """A command of a study. The parameters are as those of Study."""

    name: str
    about: str
    group: str = OWN
    run: str = "command:run"
    parser: str = "command:parser"


@dataclass(frozen=True)
class ResultFolder:
    """A kind of folder that a command writes, so that the page can list and open it as a whole.

    noun: what it holds, such as "claim". marks: files of which no other kind of folder has one. page: what a reader opens, HTML
    or Markdown. sentence: the Markdown file that begins with what came out; "": the page.
    """

    noun: str
    marks: tuple[str, ...]
    page: str
    sentence: str = ""


@dataclass(frozen=True)
class Study:
    """What a study declares. Nothing else joins it to Parley.

    Parameters
    ----------
    name : str
        Its command: `run.py study NAME`.
    about : str
        What the command does, in a line of `run.py study`.
    group : str
        The question under which `run.py study` lists that line, such as PERSUASION.
    run, parser : str
        The function of the command, which takes the words after its name and returns an exit code, and the function that
        returns its parser. Each is written `module:function`; the module is one of the study's folder.
    purposes : mapping
        By purpose of a request that the study sends: the function by which the oracle answers it. `speech FORM` stands for
        texts of a form of the study's own.
    law : str
        The planted law of the oracle, a class or a function whose arguments are options of `--llm oracle`; "": none. The
        answering functions read it with `speaker.laws.of(NAME)`.
    sway : str
        A function `(reading, attitude, direction, law) -> attitude`: how its law, once planted, changes the attitude (0-10)
        by which the oracle rates. direction: 1 where agreement is the high end of the axis, else -1; "": none.
    shift : str
        A function `(form, law) -> points`: by how much its law, once planted, moves the attitude (0-10) of an oracle who hears
        a line of this form from an intervention of the study; "": such lines move nothing.
    ending : str
        A function `(reading, law) -> sentence`: with what its law, once planted, ends what the oracle says; "": nothing.
    bias : str
        The bias that its command finds, a class for `run.py study organisms`; "": none.
    interventions : mapping
        Its interventions by name, each a class (docs/extending.md).
    environments : mapping
        Its environments by name, each a class (docs/extending.md). One can play its own rounds, in seats of its own.
    scenarios : mapping
        Its scenarios by name, each with a plain title. The file of a scenario is scenarios/NAME.toml.
    events : str
        The module with the events of its records; "": none.
    tables : mapping
        Its tables of a run by name, each a RunTable (analysis/run_tables.py).
    metrics : mapping
        Its metrics by name, each a module as those in analysis/metrics.
    views : tuple of str
        Its views of a run in the page, each a module as those in analysis/views.
    rubrics : mapping
        Its rubrics for `run.py study judge --rubric NAME` by name, each a RubricReading (analysis/rubric_readings.py).
    run_report : str
        The RunReport of runs in its environments (analysis/own_reports.py); "": that of debates.
    sealed : str
        A StudyFolder (analysis/bundles/studies.py): folders of many runs that `export bundle` seals with their report; "": none.
    folders : tuple of ResultFolder
        Folders that its commands write and the page of runs cannot know by their report alone.
    also : tuple of Command
        Further commands of the study.

    Examples
    --------
    >>> Study("greetings", "let people greet each other").run
    'command:run'
    """

    name: str
    about: str
    group: str = OWN
    run: str = "command:run"
    parser: str = "command:parser"
    purposes: Mapping[str, str] = field(default_factory=dict)
    law: str = ""
    sway: str = ""
    shift: str = ""
    ending: str = ""
    bias: str = ""
    interventions: Mapping[str, str] = field(default_factory=dict)
    environments: Mapping[str, str] = field(default_factory=dict)
    scenarios: Mapping[str, str] = field(default_factory=dict)
    events: str = ""
    tables: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    views: tuple[str, ...] = ()
    rubrics: Mapping[str, str] = field(default_factory=dict)
    run_report: str = ""
    sealed: str = ""
    folders: tuple[ResultFolder, ...] = ()
    also: tuple[Command, ...] = ()
    package: str = ""
    """The import name of its folder, which the finder fills in."""

    @property
    def commands(self) -> tuple[Command, ...]:
        """All commands of the study."""
        return (Command(self.name, self.about, self.group, self.run, self.parser), *self.also)

    @property
    def folder(self) -> Path:
        """Its folder."""
        return Path(str(import_module(self.package).__file__)).parent

    def part(self, reference: str) -> Any:
        """Import a part of the study, written `module:name`, or a module of it. Errors: UserError where it is missing."""
        module, _, name = reference.partition(":")
        try:
            loaded = import_module(f"{self.package}.{module}")
        except SyntaxError as error:
            raise UserError(f"{error.filename}, line {error.lineno}: {error.msg}") from error
        except ModuleNotFoundError as error:
            if not str(error.name).startswith(self.package):
                raise UserError(f"the study {self.name} needs a package that is missing: {error.name}") from error
            loaded = None
        if loaded is not None and not name:
            return loaded
        if not hasattr(loaded, name):
            raise UserError(f"the study {self.name} declares {reference}, but does not define it (docs/extending.md)")
        return getattr(loaded, name)


def studies() -> Mapping[str, Study]:
    """Return all studies by name. Errors: UserError for a folder in PARLEY_STUDIES that holds none, and for a name twice."""
    return _found(os.environ.get(VARIABLE, ""))


@cache
def _found(folders: str) -> Mapping[str, Study]:
    declared_studies = [_declared(module) for module in _shipped()]
    declared_studies += [_of_folder(Path(folder)) for folder in folders.split(os.pathsep) if folder]
    studies_by_name: dict[str, Study] = {}
    for study in declared_studies:
        if study.name in studies_by_name:
            raise UserError(f"two studies are called {study.name}: rename one (docs/extending.md)")
        studies_by_name[study.name] = study
    return studies_by_name


def _shipped() -> list[ModuleType]:
    """Return the modules of Parley's own studies, and those of installed packages, by name."""
    folders = import_module(PACKAGE).__path__ if find_spec(PACKAGE) else []  # Parley runs with that folder deleted
    modules = {name: import_module(f"{PACKAGE}.{name}") for _, name, _ in pkgutil.iter_modules(folders)}
    installed = {name: load_point(point) for name, point in points_of(GROUP).items() if name not in modules}
    return [module for _, module in sorted({**modules, **installed}.items())]


class Declared(NamedTuple):
    """A part that a study declares by a name."""

    study: Study
    reference: str

    def load(self) -> Any:
        """Import the part. Errors: UserError where it is missing."""
        return self.study.part(self.reference)


def declared_parts(field_: str) -> Mapping[str, Declared]:
    """Return by name what studies declare in a field, such as `metrics`. Errors: UserError for a name that two studies have."""
    return _parts(field_, os.environ.get(VARIABLE, ""))


@cache
def _parts(field_: str, folders: str) -> Mapping[str, Declared]:
    parts_by_name: dict[str, Declared] = {}
    for study in _found(folders).values():
        for name, reference in (getattr(study, field_) if field_ else {}).items():
            if name in parts_by_name or (field_ == "purposes" and name in PURPOSES):
                what = f"{field_.removesuffix('s')} {name}"
                raise UserError(
                    f"the study {study.name} declares the {what}, but this name is already used: choose another name"
                )
            parts_by_name[name] = Declared(study, reference)
    return parts_by_name


def loaded(field_: str) -> list[Any]:
    """Return what studies declare in a field with one or several parts, such as `views`. Errors: UserError."""
    declared = [(study, getattr(study, field_)) for study in studies().values()]
    given = [
        (study, (references,) if isinstance(references, str) else references)
        for study, references in declared
        if references
    ]
    return [study.part(reference) for study, references in given for reference in references]


def study_of(kind: type) -> Study | None:
    """Return the study whose folder holds a class, or one that it is made from; None for classes of no study."""
    modules = [f"{base.__module__}." for base in kind.__mro__]
    all_studies = studies().values()
    return next((study for study in all_studies if any(name.startswith(f"{study.package}.") for name in modules)), None)


def study_commands() -> Mapping[str, tuple[Study, Command]]:
    """Return all commands of studies by name. Errors: as studies, and UserError for a command that two studies have."""
    commands_by_name: dict[str, tuple[Study, Command]] = {}
    for study in studies().values():
        for command in study.commands:
            if command.name in commands_by_name:
                raise UserError(f"two studies have the command {command.name}: rename one (docs/extending.md)")
            commands_by_name[command.name] = (study, command)
    return commands_by_name


def study_of_folder(folder: Path) -> Study:
    """Return the study in a folder that the user named, and let processes that this one starts find it. Errors: UserError."""
    study = _of_folder(folder)
    folders = os.environ.get(VARIABLE, "").split(os.pathsep)
    if str(folder.resolve()) not in folders:
        os.environ[VARIABLE] = os.pathsep.join(filter(None, [*folders, str(folder.resolve())]))
    return studies()[study.name]


def _of_folder(folder: Path) -> Study:
    file = folder.expanduser() / "__init__.py"
    if not file.is_file():
        raise UserError(f"{folder} has no study: begin one with python run.py new study {folder} (docs/extending.md)")
    trust(*(str(module_file) for module_file in file.parent.rglob("*.py")))  # the user named the folder
    return _declared(load_file(str(file)))


def _declared(module: Any) -> Study:
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        raise UserError(f"{module.__file__} declares no study: set STUDY = Study(...) in it (docs/extending.md)")
    return replace(study, package=module.__name__)


def answer_of(purpose: str) -> Callable[..., Any] | None:
    """Return the function by which the oracle answers a purpose of a study; None if no study has it."""
    declared = declared_parts("purposes").get(purpose)
    return declared.load() if declared else None
