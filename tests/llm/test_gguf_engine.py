"""llama.cpp in this process: on a tiny random model, and on SmolLM2 where its weights are (`sh do.sh test-real`)."""

from __future__ import annotations

import gc
import json
import math
import threading
import urllib.error
import urllib.request
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("xllamacpp")
from data_checks import check_each
from safetensors.numpy import save_file
from tiny_gguf import HEADS, INNER, WIDTH, write_tiny_gguf

from parley.llm.backends import open_spec
from parley.llm.backends.gguf.adapters import in_order
from parley.llm.backends.gguf.answering import read_table, table_call
from parley.llm.backends.gguf.backend import Gguf
from parley.llm.errors import UserError
from parley.llm.model_catalogue import find_weights
from parley.llm.request import Message, Request, Sampling
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder

WEIGHTS = find_weights("smollm2")
real = [pytest.mark.real, pytest.mark.skipif(not WEIGHTS, reason="run.py models get smollm2 fetches the weights")]
SCALE = tuple(str(point) for point in range(11))
PHRASES = ("not a problem at all", "a small problem", "a big problem", "a very big problem")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"gguf:{write_tiny_gguf(tmp_path_factory.mktemp('tiny') / 'tiny.gguf')},threads=1"


def opened(spec: str) -> Gguf:
    backend = open_spec(spec)
    assert isinstance(backend, Gguf)
    return backend


def asked(view: str = "a very big problem", **changes: object) -> Request:
    persona = Message("system", f"You are Ann, a nurse. In your view, climate change is {view}.")
    question = Message("user", "Privately: how big a problem is climate change?")
    return Request((persona, question), Sampling(0.7, 30, 0.9), 1, **changes)  # type: ignore[arg-type]


def table(backend: Gguf, request: Request, begun: str) -> dict[str, float]:
    """Return the next tokens behind the beginning of a reply, asked past the backend."""
    found = read_table(backend.engine.chat(table_call(request, begun, True)))
    assert isinstance(found, tuple)
    return found[0]


def test_ten_has_the_probability_of_its_tokens(tiny: str) -> None:
    """The tokenizer has no token for 10."""
    backend = opened(tiny)
    request = asked(answers=SCALE, answer_prefix="My rating:")
    (reply,) = backend.complete([request])
    assert reply.answers is not None
    assert reply.covered is not None
    first, second = (table(backend, request, begun) for begun in ("My rating:", "My rating:1"))
    ten = first["1"] * second["0"]
    assert reply.answers["10"] * reply.covered == pytest.approx(
        ten, rel=0.05
    )  # the last digits depend on what was read before


def write_adapter(folder: Path, scale: float) -> dict[str, np.ndarray]:
    """Write a LoRA adapter of rank 2 as PEFT does, and return what it adds to the weights, by their names in llama.cpp."""
    draw = np.random.default_rng(3)
    shapes = {"self_attn.q_proj": (WIDTH, WIDTH), "mlp.down_proj": (WIDTH, INNER)}
    lows = {part: draw.standard_normal((2, width)).astype(np.float32) for part, (_, width) in shapes.items()}
    highs = {part: draw.standard_normal((height, 2)).astype(np.float32) for part, (height, _) in shapes.items()}
    folder.mkdir()
    halves = {
        f"base_model.model.model.layers.1.{part}.lora_{half}.weight": weights[part]
        for half, weights in (("A", lows), ("B", highs))
        for part in shapes
    }
    save_file(halves, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 2 * scale, "target_modules": ["q_proj", "down_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return {
        "blk.1.attn_q.weight": scale * in_order(highs["self_attn.q_proj"], HEADS) @ lows["self_attn.q_proj"],
        "blk.1.ffn_down.weight": scale * highs["mlp.down_proj"] @ lows["mlp.down_proj"],
    }


def test_an_adapter_answers_where_it_is_named_and_as_if_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of the model whose weights hold the adapter's product, and that of the model alone where no adapter is named."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    added = write_adapter(tmp_path / "partisan", 0.1)
    write_adapter(tmp_path / "other", 0.5)
    alone = write_tiny_gguf(tmp_path / "alone.gguf")
    merged = write_tiny_gguf(tmp_path / "merged.gguf", added=added)
    backend = opened(f"gguf:{alone},threads=1,adapters={tmp_path / 'other'}+{tmp_path / 'partisan'}")
    request = asked(answers=SCALE, answer_prefix="My rating:")

    def shares(backend: Gguf, adapter: str = "") -> list[float]:
        return list(backend.complete([replace(request, adapter=adapter)])[0].answers.values())

    without, partisan, other = (shares(backend, adapter) for adapter in ("", "partisan", "other"))
    assert partisan == pytest.approx(shares(opened(f"gguf:{merged},threads=1")), abs=1e-3)
    assert without == pytest.approx(shares(opened(f"gguf:{alone},threads=1")), abs=1e-3)
    assert max(abs(x - y) for x, y in zip(without, partisan, strict=True)) > 0.01
    assert max(abs(x - y) for x, y in zip(other, partisan, strict=True)) > 0.01
    assert set(backend.identity["adapters"]) == {"other", "partisan"}
    failure = backend.complete([replace(request, adapter="third")])[0].failure
    assert failure
    assert failure.name == "unknown_adapter"


@check_each(
    ("change", "words"),
    [
        ("cut", "cannot load the adapter"),
        ("wide", "does not fit alone: it was trained on a model of another size"),
        ("deep", "or an adapter was trained on a model of another size"),
    ],
)
def test_an_adapter_that_does_not_fit_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, words: str
) -> None:
    """A cut file, and adapters of wider models: in the queries, and where llama.cpp alone can see it."""
    folder, alone = tmp_path / "partisan", write_tiny_gguf(tmp_path / "alone.gguf")
    write_adapter(folder, 0.1)
    file = folder / "adapter_model.safetensors"
    if change == "cut":
        file.write_bytes(file.read_bytes()[:100])
    else:
        part, rows = ("self_attn.q_proj", 36) if change == "wide" else ("mlp.down_proj", 2 * WIDTH)
        halves = {"A": np.ones((2, WIDTH), np.float32), "B": np.ones((rows, 2), np.float32)}
        save_file({f"base_model.model.model.layers.1.{part}.lora_{half}.weight": v for half, v in halves.items()}, file)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(UserError, match=words):
        opened(f"gguf:{alone},threads=1,adapters={folder}")


def test_the_port_is_closed_to_others(tiny: str) -> None:
    """llama.cpp opens a port; without the key, which nothing writes down, it answers nothing."""
    backend = opened(tiny)
    address = backend.engine._server.listening_address  # type: ignore[attr-defined]
    assert address.startswith("http://127.0.0.1:")
    with pytest.raises(urllib.error.HTTPError) as refusal:
        urllib.request.urlopen(f"{address}/v1/models", timeout=10)
    refusal.value.close()
    assert refusal.value.code == 401


def test_a_model_that_is_no_longer_used_is_freed(tiny: str) -> None:
    """Protects memory: `qualify` and a run open the same model one after the other."""
    others = set(threading.enumerate())
    backend = opened(tiny)
    backend.complete([asked()])
    engine = weakref.ref(backend.engine)
    backend.close()
    del backend
    for thread in set(threading.enumerate()) - others:
        thread.join(5)
    gc.collect()
    assert engine() is None


def test_a_prompt_longer_than_the_context_is_a_named_failure(tiny: str) -> None:
    (reply,) = opened(tiny).complete([asked("word " * 600)])
    assert reply.failure is not None
    assert reply.failure.name == "context_overflow"


def test_a_base_model_is_asked_in_one_plain_text(tmp_path: Path) -> None:
    backend = opened(f"gguf:{write_tiny_gguf(tmp_path / 'base.gguf', template=None)},threads=1")
    assert not backend.is_chat
    reply, rating = backend.complete([asked(begin="Ann:"), asked(answers=("1", "10"))])
    assert reply.text or reply.failure
    assert rating.answers is not None
    assert math.isclose(sum(rating.answers.values()), 1)


def test_a_table_has_no_bias_and_is_there_where_the_next_letter_is_split(tiny: str) -> None:
    """llama.cpp writes a full stop behind a table, else it would give none before a half letter (Chinese, emoji)."""
    backend = opened(tiny)
    for begun in ("", "é", "我", "x"):
        shares = table(backend, asked(), begun)
        assert 0.9 < sum(shares.values()) <= 1.0001
        assert shares["."] < 0.9


@pytest.mark.parametrize("spec", ["tiny", pytest.param("smollm2", marks=real)])
def test_the_same_order_of_requests_gives_the_same_replies(tiny: str, spec: str) -> None:
    """Same seed, same record: with one slot, what was read before is the same each time."""
    spec = tiny if spec == "tiny" else f"gguf:{WEIGHTS},threads=1"
    requests = [
        replace(asked(view), seed=seed, answers=answers)
        for seed, view in enumerate(PHRASES)
        for answers in ((), SCALE, ())
    ]
    assert opened(spec).complete(requests) == opened(spec).complete(requests)


@pytest.mark.parametrize("spec", ["tiny", pytest.param("smollm2", marks=real)])
def test_with_nothing_kept_a_reply_depends_on_its_request_alone(tiny: str, spec: str) -> None:
    backend = opened(f"{tiny if spec == 'tiny' else f'gguf:{WEIGHTS},threads=1'},keep=0")
    requests = [asked(view, answers=SCALE) for view in PHRASES] + [asked(view) for view in PHRASES]
    replies = backend.complete(requests)
    assert backend.complete(requests[::-1])[::-1] == replies


@pytest.mark.parametrize("view", [pytest.param(view, marks=real) for view in (PHRASES[0], PHRASES[-1])])
def test_a_begun_sentence_carries_the_position(view: str) -> None:
    """An end of the scale is likelier with its persona than with any other; asked for numbers, this model ignores personas."""
    backend = opened(f"gguf:{WEIGHTS},threads=1")
    shares = {}
    for other in PHRASES:
        (reply,) = backend.complete([asked(other, answers=PHRASES, answer_prefix="I think climate change is ")])
        assert reply.answers is not None
        shares[other] = reply.answers[view]
    assert max(shares, key=lambda other: shares[other]) == view


@pytest.mark.parametrize("scenario", [pytest.param("two_way", marks=real)])
def test_a_debate_on_a_real_model_has_every_rating(scenario: str) -> None:
    """A distribution behind every rating, whatever it covers."""
    recorder = MemoryRecorder()
    llm = f"gguf:{WEIGHTS},threads=1"
    model = DebateModel(scenario, topic="climate_change", repetitions=1, rounds=1, llm=llm, recorder=recorder)
    model.run_model()
    ratings = [event for event in recorder.events if type(event).__name__ == "Rated"]
    assert ratings
    assert all(event.rating is not None and event.covered is not None for event in ratings)
