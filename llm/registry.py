"""Names and what they stand for: one registry for backends, environments, graphs, mediators, interventions, metrics, ...

A spec is `NAME[:MODEL][,option=value...]`. Its name is one of three:

    oracle           a module in the folder of its kind
    coin             an entry point of an installed distribution, in the group of its kind (`parley.backends`)
    ./coin.py:Coin   a class or function in a file; `./coin.py` will do where the file has one that fits

Finding names imports nothing; what is asked for by name is imported. A value with commas stands in quotes or in brackets, and in
brackets may be a spec itself: `second,of=(habermas,candidates=4)`. Options have the types of the annotations of the dataclass,
class or function; pydantic checks them. All errors are UserErrors of one line.

This module knows no text and no model, so that environments may import it (setup.cfg).
"""

from __future__ import annotations

import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, get_type_hints

from parley.llm.errors import UserError, unknown_name
from parley.llm.spec import Spec, load_file, name_of, parse_spec, remember, split_path, stamp_of
from parley.llm.typed import as_hint


class Option(NamedTuple):
    """An option of a class or function: the type of its values, and whether it must be given."""

    hint: Any
    needed: bool


class Checked(NamedTuple):
    """A spec that was found and checked: what it names, under which name, and its options with their types."""

    target: Callable[..., Any]
    name: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Registry:
    """Everything of one kind that has a name.

    what     what one is called in errors: `mediator`
    package  the folder whose modules are the built-in ones
    group    the entry points of other distributions
    needs    what one must have: methods of a class, names in a module
    shared   modules of the folder that are none (those with an underscore are none either)
    opener   the function of a module that makes one, where it is no class
    colon    the option that stands after the colon of a spec
    whole    one is a module, not a class in it
    frozen   one has to be a dataclass, whose fields are its options
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

    def builtin(self) -> list[str]:
        """The modules of the folder, sorted."""
        folder: Any = import_module(self.package).__path__
        found = [module.name for module in pkgutil.iter_modules(folder)]
        return sorted(name for name in found if name not in self.shared and not name.startswith("_"))

    def names(self) -> list[str]:
        """Every name, of the folder and of entry points, sorted."""
        return sorted({*self.builtin(), *_points(self.group, tuple(sys.path))})

    def __contains__(self, name: str) -> bool:
        return split_path(name) is not None or name in self.names()

    def find(self, name: str) -> Any:
        """The class, function or module called `name`. Errors: UserError on an unknown name, and on what is no such thing."""
        if name in self.builtin():
            return self._fitting(import_module(f"{self.package}.{name}"), name)
        if path := split_path(name):
            module = load_file(path.file)
            found = getattr(module, path.name, None) if path.name else module
            if found is None:
                raise unknown_name(f"{self.what} in {path.file}", path.name, self._candidates(module))
        elif point := _points(self.group, tuple(sys.path)).get(name):
            found = _loaded(point)
        else:
            raise unknown_name(self.what, name, self.names())
        found = self._fitting(found, name)
        remember(found, name)
        return found

    def check(self, spec: str) -> Checked:
        """What a spec names, with its options; nothing is made. Errors: UserError."""
        name, after, given = parse_spec(spec)
        return self._checked(self.find(name), Spec(name, after, given))

    def open(self, spec: Any) -> Any:
        """What a spec names, made with its options; what is no text is the thing itself. Errors: UserError."""
        if not isinstance(spec, str):
            return spec
        target, name, options = self.check(spec)
        try:
            return target(**options)
        except ValueError as error:
            raise UserError(f"{self.what} {name}: {error}") from error

    def get(self, spec: Any) -> Any:
        """The same as `open`, one object for all who ask: for what is frozen and reads no file when it is made."""
        return _opened(self, spec, stamp_of(spec)) if isinstance(spec, str) else spec

    def file(self, name: str) -> Path | None:
        """The file of what is not in the folder: its digest stands in the header of a run. None for what is in it."""
        if name in self.builtin():
            return None
        source = inspect.getsourcefile(self.find(name))
        return Path(source) if source else None

    def modules(self, names: Iterable[str]) -> dict[str, Any]:
        """What is called so, by name; a file by its own, without folder and ending. Errors: UserError where two have one name."""
        found: dict[str, Any] = {}
        for name in names:
            path = split_path(name)
            label = Path(path.file).stem if path else name
            if path and (label in found or label in self.names()):
                raise UserError(f"{self.what} {name}: there is one called {label}, give the file another name")
            found[label] = self.find(name)
        return found

    def _checked(self, target: Any, spec: Spec) -> Checked:
        name, after, given = spec
        known = dict(options_of(target))
        more = {self.colon: after} if known.pop(self.colon, None) else {}
        if after and not more:
            raise UserError(f"{self.what} {name}:{after}: {name} takes no {self.colon or 'name after the colon'}")
        for key in given:
            if key not in known:
                raise unknown_name(f"option of {name}", key, known)
        if missing := [key for key, option in known.items() if option.needed and key not in given]:
            raise UserError(f"{name} needs {', '.join(missing)}: write {name},{missing[0]}=...")
        options = {key: as_hint(f"option {key} of {name}", value, known[key].hint) for key, value in given.items()}
        return Checked(target, name, more | options)

    def _fitting(self, found: Any, name: str) -> Any:
        """What was found; of a module the one class or function in it. Errors: UserError on what does not fit."""
        if isinstance(found, ModuleType) and not self.whole:
            several = self._candidates(found)
            if len(several) != 1:
                told = f"holds several: name one, {name}:{several[0]}" if several else f"holds no {self._kind()}"
                raise UserError(f"{self.what} {name}: it {told}")
            found = getattr(found, several[0])
        lacking = [need for need in self.needs if not hasattr(found, need)]
        if lacking and not (self.opener and inspect.isfunction(found)):
            raise UserError(f"{self.what} {name} lacks {', '.join(lacking)} (docs/extending.md)")
        if self.frozen and not is_dataclass(found):
            raise UserError(f"{self.what} {name} is no frozen dataclass (docs/extending.md)")
        if not self.whole and (not callable(found) or inspect.isabstract(found)):
            abstract = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
            raise UserError(f"{self.what} {name} lacks {abstract or 'a class'} (docs/extending.md)")
        return found

    def _candidates(self, module: ModuleType) -> list[str]:
        """The names of what a module defines that fits."""
        if self.opener and hasattr(module, self.opener):
            return [self.opener]
        return [
            name
            for name, one in vars(module).items()
            if inspect.isclass(one)
            and one.__module__ == module.__name__
            and not name.startswith("_")
            and not inspect.isabstract(one)
            and all(hasattr(one, need) for need in self.needs)
        ]

    def _kind(self) -> str:
        return f"class with {', '.join(self.needs)} (docs/extending.md)"


def options_of(target: Any) -> Mapping[str, Option]:
    """The options of a dataclass (its fields but for those with repr=False), of a class or of a function."""
    return _options(target)


@lru_cache(maxsize=512)
def _options(target: Any) -> Mapping[str, Option]:
    if is_dataclass(target):
        hints = get_type_hints(target, include_extras=True)
        return {
            one.name: Option(hints[one.name], one.default is MISSING and one.default_factory is MISSING)
            for one in fields(target)
            if one.init and one.repr
        }
    hints = get_type_hints(target.__init__ if inspect.isclass(target) else target, include_extras=True)
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        name: Option(hints.get(name, _guessed(one.default)), one.default is one.empty)
        for name, one in inspect.signature(target).parameters.items()
        if one.kind in plain
    }


def _guessed(default: Any) -> Any:
    """The type of an option without an annotation: that of its default."""
    return Any if default is None or default is inspect.Parameter.empty else type(default)


@lru_cache(maxsize=64)
def _points(group: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name. path: where they were looked for (sys.path)."""
    return {point.name: point for point in entry_points(group=group)}


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise UserError(f"cannot load {point.name} ({point.value}) of {point.group}: {error}") from error


@lru_cache(maxsize=512)
def _opened(registry: Registry, spec: str, stamp: int) -> Any:
    """stamp: of the file of a spec with a path, which is read again when it was changed."""
    return registry.open(spec)


__all__ = ["Checked", "Option", "Registry", "UserError", "name_of", "options_of", "parse_spec"]
