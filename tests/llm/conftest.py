"""What the tests of the llm floor share: questions, strategies, and backends that count, break or answer out of order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import strategies as st

from parley.llm import exam
from parley.llm.backends.fake import Fake
from parley.llm.driver import MAX_BATCH
from parley.llm.journal import Journal
from parley.llm.request import Failure, Message, Reply, Request, Sampling, Usage
from parley.llm.seeding import digest

any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=30)
"""Text with everything a str may hold: controls, emoji, lone surrogates."""


def question(text: str = "Why?", seed: int = 1, **changes: object) -> Request:
    return Request((Message("user", text),), Sampling(), seed, **changes)  # type: ignore[arg-type]


def questions(count: int) -> list[Request]:
    return [question(f"Question {number}?", seed=number) for number in range(count)]


def echo(request: Request) -> str:
    """A reply that depends on all of what is asked and on nothing else."""
    return digest(request.messages, request.seed, request.answers).hex()


def requests() -> st.SearchStrategy[Request]:
    messages = st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]) | any_text, any_text))
    sampling = st.builds(
        Sampling, st.floats(0, 2), st.integers(1, 999), st.floats(0, 1), st.lists(any_text, max_size=2).map(tuple)
    )
    answers = st.lists(any_text, max_size=3).map(tuple)
    return st.builds(Request, messages.map(tuple), sampling, st.integers(0, 2**31 - 1), answers)


def replies() -> st.SearchStrategy[Reply]:
    usage = st.builds(Usage, st.integers(0, 10**9), st.integers(0, 10**9))
    shares = st.none() | st.dictionaries(any_text, st.floats(0, 1), max_size=4)
    notes = st.dictionaries(any_text, st.integers(0, 10**6), max_size=2)
    names = st.sampled_from(["timeout", "unknown_ask", "empty"])
    said = st.builds(lambda text, *rest: Reply(text, None, *rest), any_text, usage, shares, notes)
    failure = st.builds(Failure, names, any_text, st.booleans())
    return said | st.builds(lambda failure, usage: Reply(None, failure, usage), failure, usage)


class Counted(Fake):
    """A fake that remembers its batches, and may answer only part of one (`lost`)."""

    def __init__(
        self,
        source: Callable[[Request], str | Reply] = echo,
        in_flight: int = 0,
        lost: int = 0,
        greedy: bool = False,
    ):
        super().__init__(source, in_flight=in_flight, greedy=greedy)
        self.batches: list[list[Request]] = []
        self.lost = lost

    @property
    def calls(self) -> int:
        return sum(map(len, self.batches))

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        self.batches.append(list(requests))
        return super().complete(requests)[self.lost :]


@pytest.fixture
def open_journal(tmp_path: Path) -> Iterator[Callable[..., Journal]]:
    """Opens journals on one file, `tmp_path / "journal.sqlite"`, and closes what is left open."""
    opened: list[Journal] = []

    def opener(inner: object, **options: bool) -> Journal:
        for journal in opened:
            journal.close()
        opened[:] = [Journal(tmp_path / "journal.sqlite", inner, **options)]  # type: ignore[arg-type]
        return opened[0]

    yield opener
    for journal in opened:
        journal.close()


@pytest.fixture(scope="session")
def replay_spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The exam's questions as a recording: the backend `recorded` cannot be opened without one."""
    folder = tmp_path_factory.mktemp("recording")
    shares = {"0": 0.25, "1": 0.75}
    fake = Fake(lambda asked: Reply("1", answers=shares) if asked.answers == tuple(shares) else echo(asked))
    journal = Journal(folder / "journal.sqlite", fake)
    asked = exam.questions()
    assert len(asked) <= MAX_BATCH
    journal.complete(asked)
    journal.close()
    return f"replay:{folder}"


@pytest.fixture(scope="session")
def yoked_spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What somebody said elsewhere: the backend `yoked` cannot be opened without a file."""
    path = tmp_path_factory.mktemp("lines") / "lines.json"
    told = {
        "topic": "gun violence",
        "party": "",
        "names": ["Dan", "Fay"],
        "said": ["It is a serious problem.", "I agree."],
    }
    path.write_text(json.dumps([told]), encoding="utf-8")
    return f"yoked:{path}"


@pytest.fixture(scope="session")
def organism_spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An organism of the oracle with words of its own: the backend `organism` cannot be opened without a folder."""
    folder = tmp_path_factory.mktemp("organism")
    (folder / "organism.toml").write_text(
        'model = "oracle,bias=6"\nsystem = "You like long walks."\n', encoding="utf-8"
    )
    return f"organism:{folder}"


@pytest.fixture(scope="session")
def person_spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of answers in place of a person: nobody types in a test."""
    path = tmp_path_factory.mktemp("answers") / "answers.txt"
    path.write_text("1\n" * 5000, encoding="utf-8")
    return f"person,at={path}"


@pytest.fixture(scope="session")
def hf_spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny random model on disk: the backend `hf` cannot be opened without one."""
    for name in ("torch", "transformers"):
        pytest.importorskip(name, reason="the [local] extra is not installed")
    import torch
    from hf_models import save

    torch.set_num_threads(1)
    return f"hf:{save(tmp_path_factory.mktemp('exam') / 'llama', 'llama')}"


@pytest.fixture(scope="session")
def gguf_spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny random model in a file. With keep=0 a reply depends on its request alone, as the exam wants."""
    from tiny_gguf import write_tiny_gguf

    return f"gguf:{write_tiny_gguf(tmp_path_factory.mktemp('exam') / 'tiny.gguf')},keep=0,threads=1"


@pytest.fixture(scope="session")
def pocket_spec() -> str:
    """The model in the box, where torch is installed."""
    for name in ("torch", "transformers"):
        pytest.importorskip(name, reason="the [local] extra is not installed")
    return "pocket"


@pytest.fixture
def litellm_spec() -> Iterator[str]:
    """A server for the exam, called through litellm."""
    if (
        find_spec("litellm") is None
    ):  # the import takes seconds, and reads a list from the network unless it is told not to
        pytest.skip("the [litellm] extra is not installed")
    from .loopback import Loopback, echo

    with Loopback(echo) as server:
        yield f"litellm:openai/echo,base_url={server.url}"


@pytest.fixture
def openai_spec() -> Iterator[str]:
    """A server for the exam."""
    from .loopback import Loopback, echo

    with Loopback(echo) as server:
        yield f"openai:echo,base_url={server.url}"
