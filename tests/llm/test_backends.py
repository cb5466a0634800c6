"""Opening a backend by its spec, and the two backends that need no model: fake and recorded."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from data_checks import check_each

from parley.llm import backends
from parley.llm.backends import backend_names, identity_spec, max_splits, open_spec, split_limits, split_spec
from parley.llm.backends.fake import Fake
from parley.llm.errors import MissingRecording, UserError, unknown_name
from parley.llm.journal import Journal
from parley.llm.request import Reply, identity_text

from .conftest import Counted, echo, question, questions


@check_each(
    ("spec", "parts"),
    [
        ("oracle", ("oracle", "", {})),
        ("oracle,kappa=0", ("oracle", "", {"kappa": "0"})),
        (" oracle , kappa = 0 ,mu=1", ("oracle", "", {"kappa": "0", "mu": "1"})),
        ("replay:runs/a", ("replay", "runs/a", {})),
        ("x:org/model:tag,url=http://h:80/v1?a=b", ("x", "org/model:tag", {"url": "http://h:80/v1?a=b"})),
        ("x,empty=", ("x", "", {"empty": ""})),
        ("", ("", "", {})),
    ],
)
def test_spec(spec: str, parts: tuple[str, str, dict[str, str]]) -> None:
    assert split_spec(spec) == parts


@check_each(
    ("spec", "message"),
    [
        ("orcale", "unknown model 'orcale': did you mean oracle"),
        ("repl:runs/a", "unknown model 'repl': did you mean replay?"),
        ("../fake", "unknown model '../fake': did you mean fake?"),
        ("/models/m.Q4.gguf", "unknown model '/models/m.Q4.gguf': for a model in a file, write gguf:/models/m.Q4.gguf"),
        ("gpt-4o", "unknown model 'gpt-4o': for a model on a server, write openai:gpt-4o"),
        ("llama3:8b", "unknown model 'llama3': for a model on a server, write openai:llama3:8b"),
        ("mistralai/Mistral-7B-v0.1", "unknown model 'mistralai/Mistral-7B-v0.1': write hf:mistralai/"),
        ("zzzz", f"unknown model 'zzzz': known: {', '.join(backend_names())}"),
        ("oracle,kapa=0", "unknown option of oracle 'kapa': did you mean kappa"),
        ("oracle,model=x", "unknown option of oracle 'model': "),
        ("fake,x=1", "unknown option of fake 'x': known: none"),
        ("oracle,kappa", "oracle,kappa: 'kappa' has no value: write it as KEY=VALUE"),
        ("oracle,kappa=high", "option kappa of oracle is 'high', but must be a number"),
        ("oracle,kappa=", "option kappa of oracle is '', but must be a number"),
        ("oracle,kappa=1,kappa=2", "oracle,kappa=1,kappa=2: kappa is given twice"),
        ("oracle:kappa=0", "oracle:kappa=0 names a model, but there is only one oracle: write --llm"),
        ("oracle,kappa=nan", "option kappa of oracle is 'nan', but must be a finite number"),
        ("oracle,kappa=-inf", "option kappa of oracle is '-inf', but must be a finite number"),
        ("replay", "--llm replay needs the folder of a run"),
        ("replay:no/such/run", "no/such/run does not exist: give the folder of a run"),
    ],
)
def test_spec_errors_are_one_line(spec: str, message: str) -> None:
    """What was wrong, and the nearest right names."""
    with pytest.raises(UserError) as caught:
        open_spec(spec)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@check_each(
    ("name", "known", "hint"),
    [
        ("thre_way", ["two_way", "three_way"], "did you mean three_way, two_way?"),
        ("echo", ["echo_chamber", "two_way"], "did you mean echo_chamber?"),
        ("x", ["b", "a"], "known: a, b"),
        ("x\ny", [], "known: none"),
    ],
)
def test_unknown_names_the_nearest(name: str, known: list[str], hint: str) -> None:
    assert str(unknown_name("thing", name, iter(known))) == f"unknown thing {name!r}: {hint}"


def test_every_module_of_the_folder_is_a_backend() -> None:
    here = Path(backends.__file__).parent
    found = {path.stem for path in here.glob("*.py")} | {path.parent.name for path in here.glob("*/__init__.py")}
    assert set(backend_names()) == found - {"__init__"}
    assert backend_names() == sorted(backend_names())


def test_options_have_the_types_of_annotations_or_of_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(
        "def open_backend(model, size=1, heat=0.5, url='', limit: float | None = None, sure: bool = False):\n"
        "    return model, size, heat, url, limit, sure\n"
    )
    monkeypatch.setattr(backends, "__path__", [*backends.__path__, str(tmp_path)])
    opened: object = open_spec("typed:m,size=3,heat=1,url=a=b,limit=2,sure=true")
    assert opened == ("m", 3, 1.0, "a=b", 2.0, True)
    with pytest.raises(UserError, match=r"option size of typed is '3\.5', but must be a whole number"):
        open_spec("typed,size=3.5")


def test_fake_on_the_command_line_makes_no_opinion_up() -> None:
    """A closed question stays unanswered: a run on the fake shows missing ratings, never neutral ones."""
    speech, survey = open_spec("fake").complete([question(), question(answers=("0", "1"))])
    assert speech.text
    assert (survey.text, survey.failure and survey.failure.name) == (None, "unscripted")


@pytest.mark.parametrize("source", [["a", Reply("b")], {"Question 0?": "a", "Question 1?": Reply("b")}])
def test_a_fake_says_when_it_has_no_answer(source: object) -> None:
    replies = Fake(source).complete(questions(3))  # type: ignore[arg-type]
    assert [reply.text for reply in replies] == ["a", "b", None]
    assert replies[2].failure is not None
    assert replies[2].failure.name == "unscripted"


def test_a_fake_counts_words() -> None:
    assert Fake(["three words here"]).complete(questions(1))[0].usage == (0, 3)
    assert identity_text(Fake([])) != identity_text(Fake([], "other"))


def test_recorded_answers_as_the_model_did(open_journal: Callable[..., Journal], tmp_path: Path) -> None:
    """Same identity, same keys, same replies, failures and the newest of several outcomes included."""
    late = {1: Reply("late", answers={"0": 1.0}), 2: Reply.failed("refused")}
    open_journal(Counted(lambda request: echo(request) if request.seed == 0 else Reply.failed("timeout"))).complete(
        questions(3)
    )
    journal = open_journal(Counted(lambda request: late[request.seed]), retry_failures=True)
    first = journal.complete(questions(3))
    for place in (tmp_path, tmp_path / "journal.sqlite"):
        recorded = open_spec(f"replay:{place}")
        assert recorded.complete(questions(3)[::-1]) == first[::-1]
        assert identity_text(recorded) == identity_text(journal)
    assert first[1:] == list(late.values())


def test_recorded_never_guesses(replay_spec: str) -> None:
    """A call that the recording lacks stops the replay; one line says what may have changed."""
    with pytest.raises(
        MissingRecording, match="lacks a survey call, because it was made with another scenario"
    ) as caught:
        open_spec(replay_spec).complete([question("Never asked", purpose="survey")])
    assert "\n" not in str(caught.value)


def test_recorded_needs_replies(tmp_path: Path) -> None:
    """A folder without a journal, and an empty file, are no recordings."""
    with pytest.raises(UserError, match="does not exist: give the folder of a run"):
        open_spec(f"replay:{tmp_path}")
    (tmp_path / "journal.sqlite").touch()
    with pytest.raises(UserError, match="cannot use the journal"):
        open_spec(f"replay:{tmp_path}")


def test_a_replay_writes_nothing_into_what_it_reads(tmp_path: Path) -> None:
    """Another program's database is refused and left as it was, to the byte; so is the folder around it."""
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(UserError, match="cannot use the journal"):
        open_spec(f"replay:{path}")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@check_each(
    ("spec", "parts", "expected"),
    [
        ("oracle,kappa=0", 4, "oracle,kappa=0"),
        ("openai:m", 4, "openai:m,in_flight=8,rpm=0.0,tpm=0.0"),
        ("openai:m,rpm=60,base_url=http://h/v1", 4, "openai:m,base_url=http://h/v1,in_flight=8,rpm=15.0,tpm=0.0"),
        ("openai:m,in_flight=10,tpm=900", 3, "openai:m,in_flight=3,rpm=0.0,tpm=300.0"),
    ],
)
def test_limits_are_divided_among_workers(spec: str, parts: int, expected: str) -> None:
    """All parts together never exceed what was given, and it stays the same model."""
    assert split_limits(spec, parts) == expected
    assert identity_spec(split_limits(spec, parts)) == identity_spec(spec)
    assert max_splits(spec) in (None, 32, 10)


def test_every_shared_limit_is_an_option_that_changes_no_reply() -> None:
    for name in backend_names():
        module = importlib.import_module(f"parley.llm.backends.{name}")
        assert set(getattr(module, "SHARED", ())) <= set(getattr(module, "MANNER", ()))
