"""What data may not do: name code, servers or keys, or, in a record that is only read, other files (docs/files.md).

A user types words: a command line, a call in Python, a field of the page. Everything else is data: the header of a record,
a preset, a society, a personas' file, a claim, an address of the page. One gate decides for all of them.

Data are checked where they are read (`refuse_named`). In a command and in the page, whatever the words of the user did not
name is refused once more where a file is imported (`check_file`) and where a server is called (`key_for`), so a reader that
forgets to check its data opens nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from parley.llm.errors import UserError

FLAG, OPENAI = "--trust", "api.openai.com"
CALLING = ("openai", "hf", "litellm")
"""Backends of Parley that call servers."""
PROSE = ("title", "source", "backstory", "text")
"""Fields that hold sentences for readers, and are never opened."""
_ROOT = Path(__file__).absolute().parents[1]
SHIPPED = tuple(_ROOT / name for name in ("agents", "analysis", "environments", "llm", "model", "studies", "training"))
"""Folders of Parley, and not of one who works in its checkout."""
SOCIETY = "society.toml"
"""What the folder of a society holds."""
ENDINGS = (".toml", ".json", ".jsonl", ".csv", ".tsv", ".txt", ".py", ".gz", ".bz2", ".xz", ".zip", ".sqlite", ".gguf")
"""Endings of names of files."""
_ADDRESS = re.compile(r"\w+://[^\s,;|)'\"]*")
_BETWEEN = re.compile(r"[\s,;|=:()'\"]+")
_ENDS = re.compile(r"\.py(?=$|[\s:,;|)'\"])")
_STARTS = re.compile(r"[\s:,;|=('\"]")
_HOST = re.compile(r"(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d+)?")


class Contact(NamedTuple):
    """A server as `host:port`, and the name of the environment variable whose value it gets ("": none)."""

    host: str
    key: str = ""

    @property
    def words(self) -> str:
        """What `--trust` takes: `lab.example`, or `LAB_KEY@lab.example`."""
        return f"{self.key}@{self.host}" if self.key else self.host


@dataclass
class Gate:
    """What the words of the user name. A closed gate lets nothing else through; an open one, as in Python, all but data.

    named: files of code that records name, and no words of the user.
    recorded: files of data and folders that records name; a closed gate opens those alone that are in `known` too.
    known: files and folders that the user's words name, or that were opened before a record named them.
    copies: of files that records name, their copies in the folders of the runs (model/kept_files.py).
    """

    closed: bool = False
    files: set[Path] = field(default_factory=set)
    named: set[Path] = field(default_factory=set)
    contacts: set[Contact] = field(default_factory=set)
    recorded: set[Path] = field(default_factory=set)
    known: set[Path] = field(default_factory=lambda: {folder.resolve() for folder in SHIPPED})
    copies: dict[Path, Path] = field(default_factory=dict)


class Untrusted(UserError):
    """Data name something that no words of the user name. what: that, in words. way: what `--trust` takes for it."""

    def __init__(self, message: str, what: str, way: str):
        super().__init__(message)
        self.what, self.way = what, way


_gate = Gate()


def host_of(url: str) -> str:
    """Return the host of an address and its port, unless that is the port of https. Errors: UserError.

    >>> host_of("https://api.openai.com/v1?api-key=secret"), host_of("http://127.0.0.1:8000/v1"), host_of("http://lab.org")
    ('api.openai.com', '127.0.0.1:8000', 'lab.org:80')
    """
    try:
        parts = urlsplit(url)
        name, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    except ValueError as error:
        raise UserError(f"this is not the address of a server: {error}") from error
    name = _printable(f"[{name}]" if ":" in name else name)
    return name if port == 443 else f"{name}:{port}"


def gate() -> Gate:
    """Return the gate of this process, for a worker."""
    return _gate


def use_gate(other: Gate) -> None:
    """Use the gate of another process: in a worker, which reads no command line."""
    global _gate
    _gate = other


@contextmanager
def typed(arguments: Sequence[str]) -> Iterator[None]:
    """Close the gate for one command, but for what its words name. Errors: UserError for a wrong value of --trust."""
    before = _gate
    use_gate(Gate(True, *(copy(getattr(before, part.name)) for part in fields(Gate)[1:])))
    try:
        trust(*_trusted(arguments))
        base = next((host for word, host in _pairs(arguments) if word == "--base-url"), "")
        add_words(arguments, base)
        yield
    finally:
        use_gate(before)


def trust(*names: str) -> None:
    """Let data name these files of code, servers and keys, as `--trust` does on a command line.

    Parameters
    ----------
    *names : str
        `./coin.py` (this file alone), `lab.example:8000` (a server, which gets no key), or `LAB_KEY@lab.example` (a server,
        and the environment variable whose value it gets).

    Returns
    -------
    None
        What is trusted holds until the process ends.

    Raises
    ------
    UserError
        There is no such file, or the text is none of these.

    Examples
    --------
    >>> trust("127.0.0.1:11434", "LAB_KEY@lab.example")
    """
    for name in names:
        if _exists(name) and not name.endswith(".py"):
            continue  # data: `add_words` has it
        if name.endswith(".py"):
            path = Path(name).expanduser().resolve()
            if not path.is_file():
                raise UserError(f"{FLAG} {name}: there is no file {path}")
            _gate.files.add(path)
            continue
        key, at, host = name.rpartition("@")
        if not _HOST.fullmatch(host) or (at and not key.isidentifier()):
            raise UserError(
                f"{FLAG} {_printable(name)} does not name a Python file (./coin.py), a server (lab.example:8000) "
                "or the name of a key with a server (LAB_KEY@lab.example)"
            )
        _gate.contacts.add(Contact(host.lower().removesuffix(":443"), key))


def add_words(words: Iterable[str], base_url: str = "") -> None:
    """Note files and servers that these words of the user name. base_url: of models that name none of their own."""
    for word in words:
        _gate.files |= set(_code_files(word))
        _gate.known |= set(_data_files(word))
        for spec in _specs(word):
            for each in [spec] if "=" in spec else spec.split(","):  # `--vary llm=openai:a,openai:b`
                _gate.contacts |= set(_contacts(each, base_url))


def refuse_named(values: Any, source: object, opened: Sequence[str] = (), servers: bool = True) -> None:
    """Refuse data that name code, a server or a key which no words of the user name.

    values: texts, in lists and tables. source: the file that holds them, for the message. opened: specs of the user's, whose
    servers and files the data may use too. servers: False where no model is opened. Errors: UserError, one line.
    """
    files = _gate.files.union(*map(_code_files, opened))
    contacts = _gate.contacts.union(*(_contacts(spec) for word in opened for spec in _specs(word)))
    for text in _texts(values):
        if code := _unknown_code(text, files):
            raise _refused(source, f"the code {_printable(text)}", str(code))
        for contact in (contact for spec in _specs(text) for contact in _contacts(spec)) if servers else ():
            if _key_for(contact, contacts) is None:
                way = _way(contact)
                key = f" and the key {contact.key}" if contact.key and way != contact.host else ""
                raise _refused(source, f"the server {contact.host}{key}", way)


def note_named(values: Any) -> None:
    """Note the code and the files that a record names: reading a record imports none of it, in Python neither, and in a command
    it opens none of them.
    """
    _gate.named |= {path for text in _texts(values) for path in _code_files(text)}
    _gate.recorded |= data_files(values)


def data_files(values: Any) -> set[Path]:
    """Return the files and folders that data may name."""
    return {path for text in _texts(values) for path in _data_files(text)}


def run_again(values: Any) -> None:
    """Let a run be continued or branched with the files that its record names, as the user asked for."""
    _gate.known |= data_files(values)


def check_data(path: Path | str) -> None:
    """Errors: UserError for a file that a record names and no words of the user, where the gate is closed."""
    if not _gate.closed:
        return
    whole = Path(path).expanduser().resolve()
    if not any(whole.is_relative_to(folder) for folder in _gate.known):
        if any(whole.is_relative_to(folder) for folder in _gate.recorded):
            raise UserError(
                f"the record names the file {_printable(str(path))}, but Parley opens no file outside the folder "
                f"of a run: if you trust this file, add {FLAG} {shlex.quote(_printable(str(path)))} (docs/files.md)"
            )
        _gate.known.add(whole)


def note_copies(copies: Mapping[Path, Path]) -> None:
    """Note the copies that the folder of a run has of files which its record names."""
    _gate.copies |= {path.expanduser().resolve(): place for path, place in copies.items()}


def own_or_copy(path: Path) -> Path:
    """Return a file or folder of the user's; where only a record names it, or it is gone, its copy in the folder of that run."""
    whole = path.expanduser().resolve()
    if whole not in _gate.copies:
        return path
    allowed = not _gate.closed or any(whole.is_relative_to(folder) for folder in _gate.known)
    return path if allowed and whole.exists() else _gate.copies[whole]


def check_file(path: Path) -> None:
    """Errors: UserError for a file of code that no words of the user name, but a record, or where the gate is closed."""
    if path not in _gate.files and (_gate.closed or path in _gate.named):
        raise _refused("a file that was read", f"the code {path}", str(path))
    _gate.files.add(path)  # what was imported once may be named by the record of the run


def key_for(contact: Contact) -> str:
    """Return the name of the variable whose value a server gets: a server that is trusted alone gets none.

    Errors: UserError for a server, or a key for it, that no words of the user name, where the gate is closed.
    """
    key = _key_for(contact, _gate.contacts)
    if key is None and _gate.closed:
        raise _refused("a file that was read", f"the server {contact.host} with the key {contact.key}", _way(contact))
    return contact.key if key is None else key


def _way(contact: Contact) -> str:
    """Return what to trust. A server that names no key has that of the OpenAI API, which other servers need not get."""
    from parley.llm.backends.openai import KEY

    return contact.host if contact.key == KEY and contact.host != OPENAI else contact.words


def _key_for(contact: Contact, known_contacts: Iterable[Contact]) -> str | None:
    """Return the key that a known server gets; None for an unknown server, and for a key that is not known with it."""
    from parley.llm.backends.openai import KEY

    if contact in known_contacts:
        return contact.key
    return "" if contact.key == KEY and Contact(contact.host) in known_contacts else None


def _refused(source: object, what: str, way: str) -> Untrusted:
    cure = f"add {FLAG} {shlex.quote(way)}" if _gate.closed else f"call parley.trust({way!r}) first"
    message = (
        f"{_printable(str(source))} names {what}, but Parley runs no code, and uses no server or key, that only a "
        f"data file names: if you trust it, {cure}"
    )
    return Untrusted(f"{message} (docs/files.md)", what, way)


def _texts(values: Any) -> Iterator[str]:
    """Yield every text in lists and tables, keys too, but no prose."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping):
        for name, value in values.items():
            yield str(name)
            yield from () if name in PROSE else _texts(value)
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _texts(value)


def _code_files(text: str) -> Iterator[Path]:
    """Yield every path of a Python file that a text may name, as it may begin behind each sign that separates words."""
    for end in _ENDS.finditer(text):
        starts = [0, *(start.end() for start in _STARTS.finditer(text, 0, end.start()))]
        for start in starts:
            with suppress(OSError, ValueError, RuntimeError):  # no path at all, such as one with a NUL
                yield Path(text[start : end.end()].strip()).expanduser().resolve()


def _data_files(text: str) -> Iterator[Path]:
    """Yield what a text may name on this machine, and the society in whose folder a name such as `./lands/x/topic` lies."""
    for path in paths_in(text):
        with suppress(OSError, ValueError, RuntimeError):
            yield path.expanduser().resolve()
            if (path.expanduser().parent / SOCIETY).is_file():
                yield path.expanduser().resolve().parent


def paths_in(text: str, bare: bool = True) -> Iterator[Path]:
    """Yield what a text may name on this machine: whatever is written as a path, ends like a file, or is there.

    bare: whether a text of one word may name what is there.

    >>> [str(path) for path in paths_in("replay:/tmp/a,b=./c.toml")], list(paths_in("hf:org/model,top_p=.5"))
    (['/tmp/a', 'c.toml'], [])
    """
    parts = _BETWEEN.split(_ADDRESS.sub(" ", text))
    for word in filter(None, parts):
        written = word.startswith(("/", "~", "./", "../")) or "\\" in word or "/.." in word
        if written or word.lower().endswith(ENDINGS) or ((bare or len(parts) > 1) and _exists(word)):
            yield Path(word)
    if len(parts) > 1 and _exists(text):
        yield Path(text)


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def _unknown_code(text: str, known_files: set[Path]) -> Path | None:
    """Return a file of code that a text names and `known_files` does not hold; None if there is none."""
    named = list(_code_files(text))
    real = [path for path in named if path.is_file()]
    return next(
        (path for path in real if path not in known_files),
        None if real or known_files & {*named} else next(iter(named), None),
    )


def _specs(text: str) -> Iterator[str]:
    """Yield what may be the spec of a model in a text: all of it, what follows `=`, and each word of an intervention."""
    words = [text, *text.split(";")]
    with suppress(ValueError):  # an open quote
        words += shlex.split(text)
    for word in dict.fromkeys(words):
        yield word
        yield from [word[place + 1 :] for place, sign in enumerate(word) if sign == "="]


def _contacts(spec: str, base_url: str = "") -> Iterator[Contact]:
    if ":" not in spec and spec.split(",")[0].strip() not in CALLING:
        return  # most words name no server, and the backends take a quarter of a second to import
    from parley.llm.backends import contacts_of

    with suppress(UserError):  # no spec
        yield from contacts_of(spec, base_url)


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield options with their values, written as `--name value` or `--name=value`."""
    for place, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        yield (name, value) if equals else (word, arguments[place + 1] if place + 1 < len(arguments) else "")


def _trusted(arguments: Sequence[str]) -> list[str]:
    return [value for name, value in _pairs(arguments) if name == FLAG]


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)
