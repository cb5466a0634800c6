"""One request, one reply: to the last bit, whatever was read, kept or batched before it. Every local backend."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the [local] extra is not installed")
pytest.importorskip("transformers", reason="the [local] extra is not installed")

from parley.llm.backends import open_spec  # noqa: E402
from parley.llm.backends.hf import prefill, same_sums  # noqa: E402
from parley.llm.backends.hf.backend import Hf  # noqa: E402
from parley.llm.backends.hf.prefill import ColumnBatch  # noqa: E402
from parley.llm.request import Backend, Message, Reply, Request, Sampling, Wrapper  # noqa: E402
from parley.model.debate import DebateModel  # noqa: E402
from parley.model.scenario import load_preset  # noqa: E402

WAYS = [  # options, requests at a time
    (",keep=0,batch=1,workers=1", 1),
    ("", 1),
    (",keep=0", 7),
    (",keep=1,workers=3", 16),
    (",batch=4000,workers=1", 64),
]
SMALL_BATCHES = {"pocket": {"batch=4000": "batch=3"}, "pocket:control": {"batch=4000": "batch=3"}, "hf": {}}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


class Listening(Wrapper):
    """Remembers what was asked and replied."""

    def __init__(self, inner: Backend):
        super().__init__(inner)
        self.asked: list[Request] = []
        self.replies: list[Reply] = []

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        replies = self.inner.complete(requests)
        self.asked += requests
        self.replies += replies
        return replies


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["pocket", "pocket:control", "hf"])
def test_a_reply_depends_on_its_request_alone(name: str, hf_spec: str) -> None:
    """The requests of a debate, in other orders, batches and pieces: the same words and the same probabilities, bit for bit."""
    spec = hf_spec if name == "hf" else name
    changes = {"topic": "climate_change", "repetitions": 2, "rounds": 2, "max_tokens": 30}
    first = Listening(open_spec(spec))
    DebateModel(load_preset("three_way").with_settings(changes), backend=first).run()
    assert any(reply.answers for reply in first.replies)
    asked, expected = first.asked, dict(zip(map(id, first.asked), first.replies, strict=True))
    drawn = random.Random(0)
    for options, size in WAYS:
        for few, other in SMALL_BATCHES[name].items():
            options = options.replace(few, other)
        backend, mixed = open_spec(spec + options), drawn.sample(asked, len(asked) if size > 1 else 12)
        replies = [
            reply for start in range(0, len(mixed), size) for reply in backend.complete(mixed[start : start + size])
        ]
        assert replies == [expected[id(request)] for request in mixed], options


def test_who_draws_beside_it_changes_no_draw(hf_spec: str) -> None:
    """A row that draws from all tokens beside one that draws from the likeliest, or takes the likeliest."""
    asked = [
        Request((Message("user", "Why?"),), Sampling(max_tokens=20, top_p=p, temperature=t), 3)
        for p, t in ((1.0, 1.0), (0.5, 1.0), (1.0, 0.0), (1.0, 0.3))
    ]
    together = open_spec(hf_spec).complete(asked)
    assert together == [open_spec(hf_spec).complete([request])[0] for request in asked]


def test_replies_that_begin_otherwise_share_a_batch(hf_spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Speech is begun with the speaker's own label: each room of a debate was read alone, twice as slow."""
    read: list[int] = []
    forward = ColumnBatch.forward

    def count(self: ColumnBatch, *given: object) -> torch.Tensor:
        read.append(len(self.rows))
        return forward(self, *given)  # type: ignore[arg-type]

    backend = open_spec(hf_spec)
    assert backend.says
    monkeypatch.setattr(ColumnBatch, "forward", count)
    names = ("Ann", "Bob", "Cleo")
    backend.complete(
        [Request((Message("user", "Why?"),), Sampling(max_tokens=8), 1, begin=f"{name}:") for name in names]
    )
    assert read[0] == 3


def test_a_machine_on_which_sums_depend_on_the_batch_is_found_out(
    hf_spec: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Then each request is read alone, nothing is kept: slow, the same reply all the same, and the `model` line says so."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = [Request((Message("user", f"Why {n}?"),), Sampling(max_tokens=8), n) for n in range(3)]
    plainly = open_spec(hf_spec).complete(asked)
    forward = ColumnBatch.forward

    def unsteady(self: ColumnBatch, *given: object) -> torch.Tensor:
        return forward(self, *given) * (1 + 1e-7 * (len(self.rows) - 1))  # type: ignore[arg-type]

    monkeypatch.setattr(ColumnBatch, "forward", unsteady)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    backend = open_spec(hf_spec)
    assert isinstance(backend, Hf)
    assert not prefill.is_batch_invariant(backend.loaded)
    assert backend.complete(asked) == plainly
    assert (backend.most, backend.prefixes) == (1, None)
    assert "one by one" in backend.says
    assert "one by one" not in open_spec(f"{hf_spec},same=no").says


@pytest.mark.parametrize(("border", "step"), [(3, 4), (6, 8), (15, 16), (31, 32), (63, 0)])
def test_the_number_of_rows_is_found_on_the_machine(
    hf_spec: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, border: int, step: int
) -> None:
    """Where products of up to 15 rows are added up in another order, rows come in multiples of 16: batches and cache stay.

    On one machine that was the border for every shape of a real model, and all requests were read alone.
    """
    product = torch.nn.Linear.forward

    def linear(self: torch.nn.Linear, rows: torch.Tensor) -> torch.Tensor:
        result = product(self, rows)
        return result * (1 + 1e-6) if rows.numel() <= border * rows.shape[-1] else result

    monkeypatch.setattr(torch.nn.Linear, "forward", linear)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = [Request((Message("user", f"Why {n}?"),), Sampling(max_tokens=8), n) for n in range(5)]
    backend, again = open_spec(hf_spec), open_spec(hf_spec)
    together = backend.complete(asked)
    assert [backend.complete([request])[0] for request in asked] == together
    assert (backend.prefixes is None) == (step == 0)
    (path,) = tmp_path.rglob("*.json")
    assert json.loads(path.read_text())["products"] == step
    monkeypatch.setattr(same_sums, "_product_step", None)  # what was found is kept: nothing is tried again
    assert again.complete(asked) == together


@pytest.mark.parametrize(("options", "alone"), [("", False), (",same=yes", True)])
def test_numbers_of_few_digits_are_read_alone_only_where_that_is_wanted(
    hf_spec: str, options: str, alone: bool
) -> None:
    """In bfloat16 sums depend on the batch: `same=yes` reads each request alone, and then its reply is its own."""
    backend = open_spec(f"{hf_spec},dtype=bfloat16{options}")
    assert isinstance(backend, Hf)
    asked = [Request((Message("user", f"Why {n}?"),), Sampling(0.0, 8), n, ("0", "1", "10")) for n in range(4)]
    together = backend.complete(asked)
    assert (backend.most == 1) == alone
    if alone:
        other = open_spec(f"{hf_spec},dtype=bfloat16{options}")
        assert [other.complete([replace(request)])[0] for request in asked[::-1]] == together[::-1]
