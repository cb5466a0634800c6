"""Finds studies. A study is a folder that declares itself by a value `STUDY`; the rest of Parley knows none by name.

Parley's own are the folders of parley/studies. Others come from an installed package (entry point in the group
`parley.studies`), or from a folder of the user's, named on the command line (`run.py ./mine`) or in the environment variable
PARLEY_STUDIES, which processes of a sweep inherit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError
from parley.llm.purposes import PURPOSES
from parley.llm.registry import Registry
from parley.llm.spec import load_file
from parley.llm.trust import trust

REGISTRY = Registry("study", "parley.studies", "parley.studies", ("STUDY",), whole=True)
VARIABLE = "PARLEY_STUDIES"
"""The environment variable with folders of the user's studies, joined as in PATH."""
PUBLISHED = "Run published studies"


@dataclass(frozen=True)
class Command:
    """A command of a study. The parameters are as those of Study."""

    name: str
    about: str
    group: str = PUBLISHED
    run: str = "command:run"
    parser: str = "command:parser"


@dataclass(frozen=True)
class Study:
    """What a study declares. Nothing else joins it to Parley.

    Parameters
    ----------
    name : str
        Its command: `run.py NAME`.
    about : str
        What the command does, in a line of `run.py --help`.
    group : str
        The heading in `run.py --help` under which that line is.
    run, parser : str
        The function of the command, which takes the words after its name and returns an exit code, and the function that
        returns its parser. Each is written `module:function`; the module is one of the study's folder.
    purposes : mapping
        By purpose of a request that the study sends: the function by which the oracle answers it.
    law : str
        The planted law of the oracle, a class or a function whose arguments are options of `--llm oracle`; "": none. The
        answering functions read it with `speaker.laws.of(NAME)`.
    sway : str
        A function `(reading, attitude, direction, law) -> attitude`: how its law, once planted, changes the attitude (0-10)
        by which the oracle rates. direction: 1 where agreement is the high end of the axis, else -1; "": none.
    bias : str
        The bias that its command finds, a class for `run.py organisms`; "": none.
    also : tuple of Command
        Further commands of the study.

    Examples
    --------
    >>> Study("greetings", "let people greet each other").run
    'command:run'
    """

    name: str
    about: str
    group: str = PUBLISHED
    run: str = "command:run"
    parser: str = "command:parser"
    purposes: Mapping[str, str] = field(default_factory=dict)
    law: str = ""
    sway: str = ""
    bias: str = ""
    also: tuple[Command, ...] = ()
    package: str = ""
    """The import name of its folder, which the finder fills in."""

    @property
    def commands(self) -> tuple[Command, ...]:
        """All commands of the study."""
        return (Command(self.name, self.about, self.group, self.run, self.parser), *self.also)

    def part(self, reference: str) -> Any:
        """Import a part of the study, written `module:name`. Errors: UserError where it is missing."""
        module, _, name = reference.partition(":")
        try:
            loaded = import_module(f"{self.package}.{module}")
        except SyntaxError as error:
            raise UserError(f"{error.filename}, line {error.lineno}: {error.msg}") from error
        except ModuleNotFoundError as error:
            if not str(error.name).startswith(self.package):
                raise UserError(f"the study {self.name} needs a package that is missing: {error.name}") from error
            loaded = None
        if not hasattr(loaded, name):
            raise UserError(f"the study {self.name} has no {reference} (docs/own_study.md)")
        return getattr(loaded, name)


def studies() -> Mapping[str, Study]:
    """Return all studies by name. Errors: UserError for a folder in PARLEY_STUDIES that holds none, and for a name twice."""
    return _found(os.environ.get(VARIABLE, ""))


@cache
def _found(folders: str) -> Mapping[str, Study]:
    names = REGISTRY.names() if find_spec(REGISTRY.package) else []  # Parley runs with that folder deleted
    own = [_declared(REGISTRY.find(name)) for name in names]
    own += [_of_folder(Path(folder)) for folder in folders.split(os.pathsep) if folder]
    known: dict[str, Study] = {}
    for study in own:
        if study.name in known:
            raise UserError(f"two studies are called {study.name}: rename one (docs/own_study.md)")
        known[study.name] = study
    return known


def study_commands() -> Mapping[str, tuple[Study, Command]]:
    """Return all commands of studies by name. Errors: as studies, and UserError for a command that two studies have."""
    known: dict[str, tuple[Study, Command]] = {}
    for study in studies().values():
        for command in study.commands:
            if command.name in known:
                raise UserError(f"two studies have the command {command.name}: rename one (docs/own_study.md)")
            known[command.name] = (study, command)
    return known


def study_of_folder(folder: Path) -> Study:
    """Return the study in a folder that the user named, and let processes that this one starts find it. Errors: UserError."""
    study = _of_folder(folder)
    known = os.environ.get(VARIABLE, "").split(os.pathsep)
    if str(folder.resolve()) not in known:
        os.environ[VARIABLE] = os.pathsep.join(filter(None, [*known, str(folder.resolve())]))
    return studies()[study.name]


def _of_folder(folder: Path) -> Study:
    file = folder.expanduser() / "__init__.py"
    if not file.is_file():
        raise UserError(f"{folder} holds no study: python run.py new study {folder} begins one (docs/own_study.md)")
    trust(*(str(part) for part in file.parent.rglob("*.py")))  # the user named the folder
    return _declared(load_file(str(file)))


def _declared(module: Any) -> Study:
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        raise UserError(f"{module.__file__} declares no study: set STUDY = Study(...) in it (docs/own_study.md)")
    return replace(study, package=module.__name__)


@cache
def _purposes(folders: str) -> Mapping[str, tuple[Study, str]]:
    known: dict[str, tuple[Study, str]] = {}
    for study in _found(folders).values():
        for purpose, answer in study.purposes.items():
            if purpose in known or purpose in PURPOSES:
                raise UserError(
                    f"the study {study.name} has the purpose {purpose}, which is taken: give it another name"
                )
            known[purpose] = (study, answer)
    return known


def answer_of(purpose: str) -> Callable[..., Any] | None:
    """Return the function by which the oracle answers a purpose of a study; None if no study has it."""
    found = _purposes(os.environ.get(VARIABLE, "")).get(purpose)
    return found[0].part(found[1]) if found else None
