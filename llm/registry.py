"""Finds parts by name: backends, environments, graphs, mediators, interventions, metrics, sections of the card.

A spec is `NAME[:MODEL][,option=value...]`. The name is one of these:

    oracle           a built-in part: a module in a folder, or a class in a module
    mine             a part that a study declares (llm/studies.py)
    coin             an entry point of an installed package, in the group of its kind (`parley.backends`)
    ./coin.py:Coin   a class or function in a file; `./coin.py` is enough if the file has only one that fits

A list of names imports no part of a folder; `find` imports the part that it returns. A value with commas needs quotes
or brackets, and a value in brackets may be a spec with options of its own: `second,of=(habermas,candidates=4)`.
pydantic converts each option to the type of its annotation. All errors are UserErrors of one line.

This module knows no text and no model, so environments may import it (setup.cfg).
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, get_type_hints

from parley.llm.errors import UserError, unknown_name
from parley.llm.spec import (
    load_file,
    load_point,
    name_of,
    parse_spec,
    points_of,
    remember,
    split_path,
    stamp_of,
    write_spec,
)
from parley.llm.studies import declared_parts
from parley.llm.typed import as_fields, as_hint


class Option(NamedTuple):
    """An option of a class or function: the type of its values, and whether it has no default."""

    hint: Any
    needed: bool


class Checked(NamedTuple):
    """A checked spec: the class or function that it names, its name, and its options with their types."""

    target: Callable[..., Any]
    name: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Registry:
    """All parts of one kind, by name.

    what     what a part is called in errors: `mediator`
    package  where the built-in parts are: a folder with a module for each, or one module with a class for each
    group    the entry points of other packages
    needs    what a part must have: methods of a class, names in a module
    shared   modules of the folder that are no parts (modules that begin with an underscore never are)
    opener   the function of a module that makes a part, if the part is no class
    colon    the option that follows the colon of a spec
    whole    a part is a module, not a class in it
    frozen   a part has to be a frozen dataclass, whose fields are its options
    studies  the field of `Study` in which studies declare parts of this kind
    """

    what: str
    package: str
    group: str
    needs: tuple[str, ...]
    shared: tuple[str, ...] = ("base",)
    opener: str = ""
    colon: str = ""
    whole: bool = False
    frozen: bool = False
    studies: str = ""

    def builtin(self) -> list[str]:
        """Return the names of the built-in parts, sorted."""
        home = import_module(self.package)
        if not hasattr(home, "__path__"):
            return sorted(self._classes(home))
        names = {module.name for module in pkgutil.iter_modules(home.__path__)}
        return sorted(name for name in names.difference(self.shared) if not name.startswith("_"))

    def names(self) -> list[str]:
        """Return the names of all built-in parts, of those of studies and of entry points, sorted."""
        return sorted({*self.builtin(), *declared_parts(self.studies), *points_of(self.group)})

    def __contains__(self, name: str) -> bool:
        return split_path(name) is not None or name in self.names()

    def find(self, name: str) -> Any:
        """Return the class, function or module of a name. Errors: UserError if the name is unknown or the part does not fit."""
        declared = declared_parts(self.studies).get(name)
        if name in self.builtin():
            if declared:
                raise UserError(
                    f"the study {declared.study.name} declares the {self.what} {name}, but this name is already "
                    f"used: rename the {self.what}"
                )
            home = import_module(self.package)
            if hasattr(home, "__path__"):
                return self._fitting(import_module(f"{self.package}.{name}"), name)
            return self._classes(home)[name]
        if path := split_path(name):
            if name.strip() != path.spec:
                raise UserError(f"{self.what} {name}: this setting allows only a file and a class, as in {path.spec}")
            part: Any = load_file(path.file)
            if path.name and not hasattr(part, path.name):
                raise unknown_name(f"{self.what} in {path.file}", path.name, self._candidates(part))
            part = getattr(part, path.name) if path.name else part
        elif declared:
            part = declared.load()
        elif entry_point := points_of(self.group).get(name):
            part = load_point(entry_point)
        else:
            raise unknown_name(self.what, name, self.names())
        part = self._fitting(part, name)
        remember(part, name)
        return part

    def check(self, spec: str) -> Checked:
        """Return the part that a spec names with its typed options, without making it. Errors: UserError."""
        name, after, given = parse_spec(spec)
        target = self.find(name)
        declared_options = dict(options_of(target))
        has_colon = declared_options.pop(self.colon, None) is not None
        if after and not has_colon:
            raise UserError(
                f"{self.what} {name}:{after}: {name} cannot have a {self.colon or 'name after the colon'}: write {name}"
            )
        for key in given:
            if key not in declared_options:
                raise unknown_name(f"option of {name}", key, declared_options)
        if missing := [key for key, option in declared_options.items() if option.needed and key not in given]:
            raise UserError(f"{name} needs {', '.join(missing)}: write {name},{missing[0]}=VALUE")
        options = {
            key: as_hint(f"option {key} of {name}", value, declared_options[key].hint) for key, value in given.items()
        }
        return Checked(target, name, ({self.colon: after} if has_colon else {}) | options)

    def open(self, spec: Any) -> Any:
        """Make the part that a spec names; return anything but a text as it is. Errors: UserError."""
        if not isinstance(spec, str):
            return spec
        target, name, options = self.check(spec)
        try:
            return target(**options)
        except ValueError as error:
            raise UserError(f"{self.what} {name}: {error}") from error

    def get(self, spec: Any) -> Any:
        """Do as `open`, but return the same object every time: for parts that are frozen and read no file when made."""
        return _open_once(self, spec, stamp_of(spec)) if isinstance(spec, str) else spec

    def file(self, name: str) -> Path | None:
        """Return the file of a part of the user's, whose digest the header of a run holds; None for a built-in part."""
        if name in self.builtin():
            return None
        part = self.find(name)
        module = part.__name__ if isinstance(part, ModuleType) else part.__module__
        source = None if module.startswith("parley.") else inspect.getsourcefile(part)
        return Path(source) if source else None

    def modules(self, names: Iterable[str]) -> dict[str, Any]:
        """Return parts by name; the name of a file is its own, without folder and ending. Errors: UserError on a double name."""
        parts: dict[str, Any] = {}
        for name in names:
            path = split_path(name)
            label = Path(path.file).stem if path else name
            if path and (label in parts or label in self.names()):
                raise UserError(f"{self.what} {name}: the name {label} is already used: rename the file")
            parts[label] = self.find(name)
        return parts

    def _fitting(self, part: Any, name: str) -> Any:
        """Return a part, or the one class or function of a module that is a part. Errors: UserError if it does not fit."""
        if isinstance(part, ModuleType) and not self.whole:
            if not (candidates := self._candidates(part)):
                needs = ", ".join(self.needs)
                raise UserError(f"{self.what} {name}: the file has no class with {needs} (docs/extending.md)")
            if len(candidates) > 1:
                raise UserError(
                    f"{self.what} {name}: the file has several suitable classes: name one, as in {name}:{next(iter(candidates))}"
                )
            (part,) = candidates.values()
        lacking = [need for need in self.needs if not hasattr(part, need)]
        if lacking and not (self.opener and inspect.isfunction(part)):
            raise UserError(
                f"{self.what} {name} cannot be used, because it does not define "
                f"{', '.join(lacking)} (docs/extending.md)"
            )
        dataclass_params = getattr(part, "__dataclass_params__", None)
        if self.frozen and not (dataclass_params and dataclass_params.frozen):
            raise UserError(
                f"{self.what} {name} must be a frozen dataclass: put @dataclass(frozen=True) "
                "before the class (docs/extending.md)"
            )
        if not self.whole and (not callable(part) or inspect.isabstract(part)):
            abstract = ", ".join(sorted(getattr(part, "__abstractmethods__", ())))
            raise UserError(
                f"{self.what} {name} cannot be used, because it does not define "
                f"{abstract or 'a class'} (docs/extending.md)"
            )
        return part

    def _candidates(self, module: ModuleType) -> dict[str, Any]:
        """Return what a module defines that is a part, by its name in the module."""
        if self.opener and hasattr(module, self.opener):
            return {self.opener: getattr(module, self.opener)}
        return {
            name: part
            for name, part in vars(module).items()
            if inspect.isclass(part)
            and part.__module__ == module.__name__
            and not name.startswith("_")
            and not inspect.isabstract(part)
            and all(hasattr(part, need) for need in self.needs)
        }

    def _classes(self, module: ModuleType) -> dict[str, Any]:
        """Return the parts of a module of parts, by the names that a spec gives them."""
        return {name_of(part): part for part in self._candidates(module).values()}


def options_of(target: Any) -> Mapping[str, Option]:
    """Return the options of a dataclass (its fields except those with repr=False), of another class or of a function."""
    if is_dataclass(target):
        hints = get_type_hints(target, include_extras=True)
        return {
            field.name: Option(hints[field.name], field.default is MISSING and field.default_factory is MISSING)
            for field in fields(target)
            if field.init and field.repr
        }
    hints = get_type_hints(target.__init__ if inspect.isclass(target) else target, include_extras=True)
    return {
        name: Option(hints.get(name, _type_of_default(parameter)), parameter.default is parameter.empty)
        for name, parameter in inspect.signature(target).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def _type_of_default(parameter: inspect.Parameter) -> Any:
    default = parameter.default
    return Any if default is None or default is parameter.empty else type(default)


@lru_cache(maxsize=512)
def _open_once(registry: Registry, spec: str, stamp: int) -> Any:
    """Open a spec. stamp: the time of its file, which is read again after a change."""
    return registry.open(spec)


__all__ = [
    "Checked",
    "Option",
    "Registry",
    "UserError",
    "as_fields",
    "name_of",
    "options_of",
    "parse_spec",
    "unknown_name",
    "write_spec",
]
