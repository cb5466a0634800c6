"""The compiled engine of the pocket model: the same to the last bit in any batch, and what the library would say."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_checks import check_each

from parley.llm.backends import open_spec
from parley.llm.backends.hf.token_race import race_keys, waiting_times
from parley.llm.backends.pocket import WEIGHTS
from parley.llm.backends.pocket import backend as compilation
from parley.llm.backends.pocket import backend as engine
from parley.llm.backends.pocket.decode import draw
from parley.llm.backends.pocket.kernels import read_tokens
from parley.llm.backends.pocket.layout import BLOCK, WIDTH
from parley.llm.backends.pocket.prefix_pool import PrefixPool
from parley.llm.backends.pocket.prompt_ids import ChatTokenizer, mask_names, name_tokens
from parley.llm.backends.pocket.reader import Reader, Row
from parley.llm.backends.pocket.replies import common_tail
from parley.llm.backends.pocket.weights import load_tensors, merge_adapter
from parley.llm.errors import UserError
from parley.llm.request import Backend, Message, Reply, Request, Sampling, Wrapper
from parley.model.debate import DebateModel
from parley.model.scenario import load_preset

FOLDER, ROOT = WEIGHTS / "pocket", Path(__file__).parents[2]
WAYS = [  # options, requests at a time
    ("keep=0,batch=1,workers=1", 1),
    ("workers=1", 1),
    ("keep=0,workers=3", 7),
    ("keep=1,workers=3", 16),
    ("batch=5,workers=2", 64),
]


class Listening(Wrapper):
    """Remembers what was asked."""

    def __init__(self, inner: Backend):
        super().__init__(inner)
        self.asked: list[Request] = []

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked += requests
        return self.inner.complete(requests)


def debated(rooms: int, rounds: int, **settings: Any) -> list[Request]:
    """What a debate asks; the oracle speaks in it."""
    backend, changes = (
        Listening(open_spec("oracle")),
        {"topic": "climate_change", "repetitions": rooms, "rounds": rounds},
    )
    DebateModel(load_preset("three_way").with_settings(changes | settings), backend=backend).run()
    return backend.asked


@pytest.fixture(scope="module")
def asked() -> list[Request]:
    """Speech and surveys of a debate, one with 101 answers, one with a beginning, some with other settings."""
    some = debated(2, 2, max_tokens=30)
    question = some[-1]
    wide = tuple(map(str, range(101)))
    others = [
        replace(question, answers=wide),
        replace(question, answers=("a big problem", "a small problem"), answer_prefix="I think it is "),
        replace(question, answers=("yes", "no"), messages=(Message("user", "Is it cold?"),)),
        replace(question, answers=(), sampling=Sampling(0.7, 30, 0.8)),
        replace(question, answers=(), sampling=Sampling(1.0, 30, 1.0, (" the", "."))),
        replace(question, answers=(), sampling=Sampling(0.0, 30)),
    ]
    return some + others


def settled(folder: Path, **generation: Any) -> Path:
    """A copy of the model whose generation_config has more settings."""
    shutil.copytree(FOLDER, folder)
    path = folder / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | generation))
    return folder


@pytest.mark.thorough
def test_a_reply_depends_on_its_request_alone(asked: list[Request]) -> None:
    """Other batches, workers, orders and memories: the same words and probabilities, bit for bit."""
    first = open_spec("pocket,workers=1").complete(asked)
    expected = dict(zip(map(id, asked), first, strict=True))
    assert {reply.way for reply in first} >= {"", "exact"}
    for options, size in WAYS:
        backend, mixed = open_spec(f"pocket,{options}"), random.Random(0).sample(asked, len(asked))
        for start in range(0, len(mixed), size):
            part = mixed[start : start + size]
            assert backend.complete(part) == [expected[id(request)] for request in part], options


@check_each("cuts", [(1,), (16, 17), (3, 64, 70), tuple(range(5, 200, 7))])
def test_pieces_of_a_prompt_give_the_same_logits(cuts: tuple[int, ...]) -> None:
    """Read at once, and in pieces into other blocks in another order, beside another row."""
    reader = open_spec("pocket,workers=1").inner.reader  # type: ignore[attr-defined]
    weights, pool = reader.models[0], reader.pool
    ids = np.random.default_rng(0).integers(weights.embedding.shape[0], size=200).astype(np.int32)

    def read(table: np.ndarray, start: int, end: int, rows: int) -> np.ndarray:
        numbers = np.repeat(np.arange(rows, dtype=np.int32), end - start)
        positions = np.tile(np.arange(start, end, dtype=np.int32), rows)
        logits, lines = np.empty((rows * (end - start), reader.width), np.float32), np.arange(rows * (end - start))
        tokens = np.tile(ids[start:end], rows)
        read_tokens(weights, pool.blocks, table, tokens, numbers, positions, lines.astype(np.int32), logits)
        return logits[: end - start]

    blocks = np.arange(2 * -(-200 // BLOCK), dtype=np.int32)
    whole = read(blocks.reshape(2, -1), 0, 200, 1)
    table = np.random.default_rng(1).permutation(blocks).reshape(2, -1)
    pieces = [read(table, start, end, 2) for start, end in zip((0, *cuts), (*cuts, 200), strict=True)]
    assert np.array_equal(whole, np.concatenate(pieces))


def test_what_rows_have_in_common_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty rows of one beginning in one call; three questions on one chat; a next turn."""
    backend, counts = open_spec("pocket,workers=2"), []
    read = Reader._read_part

    def counted(self: Reader, rows: Sequence[Row], *given: Any) -> None:
        counts.append(sum(row.count - row.read for row in rows))
        read(self, rows, *given)

    monkeypatch.setattr(Reader, "_read_part", counted)
    long = Message("system", "You are an American who likes the sea. " * 90)

    def tokens(requests: list[Request]) -> int:
        counts.clear()
        return backend.complete(requests)[-1].usage.prompt_tokens

    prompt = tokens([Request((long, Message("user", "Why?")), Sampling(max_tokens=2), seed) for seed in range(40)])
    assert prompt > 300
    assert sum(counts) < prompt + 40 * 2 * BLOCK
    chat = (long, Message("user", "Where? " * 40))
    prompt = tokens(
        [Request((*chat[:1], Message("user", chat[1].content + end)), Sampling(max_tokens=2), 0) for end in "abc"]
    )
    assert sum(counts) < prompt - 300 + 3 * 2 * BLOCK


@pytest.mark.thorough
def test_replies_and_answers_are_those_of_the_library() -> None:
    """The same random numbers go through torch: at least 99% of replies have the same words."""
    pytest.importorskip("torch", reason="the [local] extra is not installed")
    pytest.importorskip("transformers", reason="the [local] extra is not installed")
    requests = debated(22, 2, max_tokens=60)
    probes = [replace(one, answers=tuple(map(str, range(101)))) for one in requests if one.answers][:3]
    pairs = list(
        zip(*(open_spec(spec).complete(requests + probes) for spec in ("pocket", "pocket,engine=torch")), strict=True)
    )
    spoken = [(one, other) for one, other in pairs if one.answers is None]
    assert len(spoken) >= 130
    assert sum(one.text == other.text for one, other in spoken) >= 0.99 * len(spoken)
    for one, other in pairs:
        assert (one.way, one.failure) == (other.way, other.failure)
        assert one.usage.prompt_tokens == other.usage.prompt_tokens
        if one.answers is not None and other.answers is not None:
            assert one.answers == pytest.approx(other.answers, abs=1e-3)
            assert one.covered == pytest.approx(other.covered, abs=1e-3)


def test_logits_are_those_of_the_library(asked: list[Request]) -> None:
    """On prompts of a debate: keys and values of 16 bits change probabilities by less than one in ten thousand."""
    torch = pytest.importorskip("torch", reason="the [local] extra is not installed")
    transformers = pytest.importorskip("transformers", reason="the [local] extra is not installed")
    model = transformers.AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32).eval()
    reader, tokenizer = open_spec("pocket,workers=1").inner.reader, ChatTokenizer(FOLDER)  # type: ignore[attr-defined]
    for request in asked[:20:4]:
        names = name_tokens(request.messages, request.names)
        row = Row(0, request, tokenizer.chat(mask_names(request.messages, names)))
        assert reader.seat([row], lambda _: 0) == 1
        logits = np.empty((row.count - row.read, reader.width), np.float32)
        lines, start = [list(range(len(logits)))], row.read
        reader.read_into([row], lines, logits)
        reader.leave(row)
        with torch.inference_mode():
            expected = model(torch.tensor(row.tokens[None].astype(np.int64))).logits[0].numpy()[start:]
        ours, theirs = (shares(each.astype(np.float64)) for each in (logits[:, : expected.shape[1]], expected))
        assert np.abs(logits[:, : expected.shape[1]] - expected).max() < 0.02
        assert (np.abs(ours - theirs).sum(1) / 2).mean() < 1e-4


def shares(logits: np.ndarray) -> np.ndarray:
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    probabilities: np.ndarray = exponentials / exponentials.sum(-1, keepdims=True)
    return probabilities


def test_chats_have_the_ids_of_the_template() -> None:
    transformers = pytest.importorskip("transformers", reason="the [local] extra is not installed")
    chats = [
        [
            Message("system", " You are Ann.\n\nBe kind. "),
            Message("user", "Why? \n<name1>: Hm."),
            Message("assistant", "So."),
        ]
    ]
    chats += [[Message("user", "")], [*chats[0], Message("user", "  And now?")]]
    theirs = transformers.AutoTokenizer.from_pretrained(FOLDER)
    for chat in chats:
        messages = [message._asdict() for message in chat]
        expected = theirs.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)["input_ids"]
        assert np.frombuffer(ChatTokenizer(FOLDER).chat(chat), np.int32).tolist() == expected


@check_each(
    ("temperature", "top_p", "min_p", "allowed"),
    [(1.0, 1.0, 0.0, 40), (0.7, 1.0, 0.0, 40), (1.0, 0.6, 0.0, 9), (1.0, 1.0, 0.3, 13), (2.0, 0.9, 0.5, 14)],
)
def test_tokens_are_drawn_with_their_probabilities(
    temperature: float, top_p: float, min_p: float, allowed: int
) -> None:
    """A chi-square of 20,000 draws, and no token that the settings exclude."""
    logits = np.pad(-np.arange(40, dtype=np.float32) / 10, (0, 8))
    expected = shares(logits[:40].astype(np.float64) / temperature)
    before = np.cumsum(expected) - expected
    expected = np.where((before < top_p) & (expected >= min_p * expected[0] * (1 - 1e-6)), expected, 0.0)
    expected /= expected.sum()
    assert (expected > 0).sum() == allowed
    chances, numbers, count = np.empty(48, np.float32), np.empty(16, np.float32), 20_000
    drawn = [
        draw(logits, 40, np.float32(temperature), top_p, min_p, key, chances, numbers) for key in race_keys(1, count)
    ]
    found = np.bincount(drawn, minlength=40)
    assert not found[expected == 0].any()
    some = expected > 0
    statistic = ((found[some] - count * expected[some]) ** 2 / (count * expected[some])).sum()
    assert statistic < allowed + 4 * (2 * allowed) ** 0.5


def test_the_race_is_that_of_the_library() -> None:
    """The compiled race has the winner that all waiting times show."""
    logits = np.random.default_rng(0).normal(size=3060).astype(np.float32) * 3
    padded, chances = np.pad(logits, (0, -3060 % WIDTH)), np.exp(logits.astype(np.float64) - logits.max())
    keys = race_keys(5, 300)
    expected = (waiting_times(keys, 3060) / chances).argmin(1)
    space = np.empty(len(padded), np.float32), np.empty(16, np.float32)
    drawn = [draw(padded, 3060, np.float32(1), 1.0, 0.0, key, *space) for key in keys]
    assert (np.array(drawn) == expected).mean() > 0.99


@pytest.mark.thorough
def test_the_model_says_what_may_be_said(tmp_path: Path) -> None:
    """Suppressed tokens are never said; with min_p of 1 only the most probable token is left, in both engines."""
    asked = [
        Request((Message("user", "What do you think about racism?"),), Sampling(max_tokens=30), seed)
        for seed in range(20)
    ]
    plain = open_spec("pocket").complete(asked)
    tokenizer = ChatTokenizer(FOLDER)
    barred = tokenizer.encode(plain[0].text or "")[0]
    specs = [
        f"pocket:{settled(tmp_path / 'never', suppress_tokens=[barred])}",
        f"pocket:{settled(tmp_path / 'top', min_p=1.0)}",
    ]
    never, top = (open_spec(spec).complete(asked) for spec in specs)
    assert not any((reply.text or "").startswith(tokenizer.decode([barred])) for reply in never)
    greedy = open_spec("pocket").complete([replace(asked[0], sampling=Sampling(0.0, 30))])[0]
    assert {reply.text for reply in top} == {greedy.text}
    if torch_is_there():
        assert [open_spec(f"{spec},engine=torch").complete(asked) for spec in specs] == [never, top]


def torch_is_there() -> bool:
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError:
        return False
    return True


def write_adapter(folder: Path, seed: int, **settings: Any) -> Path:
    """An adapter with random weights on all parts of the second layer."""
    from safetensors.numpy import save_file

    rng, tensors = np.random.default_rng(seed), load_tensors(FOLDER)
    parts, names = {}, ("self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj")
    for name in names:
        high, low = tensors[f"model.layers.1.{name}.weight"].shape
        module = f"base_model.model.model.layers.1.{name}"
        parts[f"{module}.lora_A.weight"] = rng.normal(size=(4, low)).astype(np.float32) / 20
        parts[f"{module}.lora_B.weight"] = rng.normal(size=(high, 4)).astype(np.float32) / 10
    folder.mkdir(parents=True)
    save_file(parts, folder / "adapter_model.safetensors")
    modules = rf".*layers\.1\.({'|'.join(name.replace('.', '[.]') for name in names)})"
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 4, "lora_alpha": 8, "target_modules": modules}
    (folder / "adapter_config.json").write_text(json.dumps(config | settings))
    return folder


@pytest.mark.thorough
def test_adapters_answer_as_with_peft(tmp_path: Path, asked: list[Request]) -> None:
    """Two adapters and none, in one call: each answers its own requests, with the numbers of the library."""
    specs = "+".join([str(write_adapter(tmp_path / "a", 0)), str(write_adapter(tmp_path / "b", 1, use_rslora=True))])
    mixed = [replace(one, adapter=("", "a", "b")[number % 3]) for number, one in enumerate(asked)]
    backend = open_spec(f"pocket,adapters={specs}")
    replies = backend.complete(mixed)
    assert replies == [reply for one in mixed for reply in backend.complete([one])]
    assert set(backend.identity["adapters"]) == {"a", "b"}
    plain = open_spec("pocket").complete(asked)
    same = [one == other for one, other in zip(replies, plain, strict=True)]
    assert all(same[::3])
    assert not all(same[1::3])
    assert not all(same[2::3])
    pytest.importorskip("peft", reason="the [local] extra is not installed")
    for one, other in zip(replies, open_spec(f"pocket,engine=torch,adapters={specs}").complete(mixed), strict=True):
        if one.answers is not None:
            assert one.answers == pytest.approx(other.answers, abs=1e-3)


def test_a_merged_adapter_is_added_to_the_weights(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    folder, tensors, name = (
        write_adapter(tmp_path / "a", 0, use_rslora=True),
        load_tensors(FOLDER),
        "layers.1.mlp.down_proj",
    )
    low, high = (
        load_file(folder / "adapter_model.safetensors")[f"base_model.model.model.{name}.lora_{x}.weight"] for x in "AB"
    )
    merged = merge_adapter(tensors, folder)
    assert np.allclose(merged[f"model.{name}.weight"] - tensors[f"model.{name}.weight"], 4 * high @ low, atol=1e-6)
    assert merged["model.norm.weight"] is tensors["model.norm.weight"]


def test_memory_for_what_was_read_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool of 4 MiB serves prompts of many times its size, and no block is lost."""
    monkeypatch.setattr(engine, "LEAST", 4 << 20)
    backend = open_spec("pocket,keep=4,workers=2")
    pool = backend.inner.reader.pool  # type: ignore[attr-defined]
    for start in range(6):
        message = Message("user", " ".join(str(start * number % 89) for number in range(700)))
        replies = backend.complete(
            [Request((message, Message("user", str(n))), Sampling(max_tokens=9), n) for n in range(30)]
        )
        assert all(reply.text is not None for reply in replies)
        assert pool.used == 0
    assert sum(part.nbytes for part in pool.blocks) <= 4 << 20
    assert pool.touched == pool.count
    pool.clear()
    assert sorted(pool.take(pool.count)) == list(range(pool.count))


def test_a_block_stays_while_a_row_uses_it() -> None:
    """Blocks are found again, dropped from the end, and never while in use."""
    pool, ids = PrefixPool(4, 1, 1), [np.full(BLOCK, number, np.int32).tobytes() for number in range(3)]
    first, second = pool.take(2)
    assert pool.add(-1, first, ids[0])
    assert pool.add(first, second, ids[1])
    assert not pool.add(-1, 3, ids[0])
    pool.leave([first, second])
    assert pool.find(-1, ids[0] + ids[2]) == [first]
    assert pool.find(-2, ids[0]) == []
    assert pool.available == 3
    assert second in pool.take(3)
    pool.leave([first])
    assert pool.find(-1, ids[0] + ids[1]) == [first]


def test_questions_are_not_kept_but_chats_are(asked: list[Request]) -> None:
    """Two chats and the same question: what was read of the chats serves the next call, the question's blocks are free."""
    tokenizer, chats = ChatTokenizer(FOLDER), [[Message("user", said * 40)] for said in ("So it is. ", "Not at all. ")]
    question = Message("user", "Please give your answer as a number between one and ten. " * 6)
    rows = [Row(0, asked[0], tokenizer.chat([*chat, question])) for chat in chats]
    tail = len(tokenizer.chat([question])) // 4
    assert abs(common_tail(rows) - tail) < 5
    backend = open_spec("pocket,workers=1")
    requests = [Request((*chat, question), Sampling(0.0, 4), 0, ("1", "2")) for chat in chats]
    backend.complete(requests)
    pool = backend.inner.reader.pool  # type: ignore[attr-defined]
    kept = pool.find(-1, rows[0].ids)
    assert len(tokenizer.chat(chats[0])) // 4 // BLOCK - 1 <= len(kept) < rows[0].count // BLOCK - 2


def test_an_interrupted_call_leaves_nothing_half_read(asked: list[Request], monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are entered before they are read: after an interruption none of them may be found."""
    backend = open_spec("pocket,workers=2")
    expected = backend.complete(asked[:4])
    backend.inner.reader.pool.reset()  # type: ignore[attr-defined]
    with monkeypatch.context() as patched:
        patched.setattr(Reader, "read", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            backend.complete(asked[:4])
    assert backend.complete(asked[:4]) == expected


def test_requests_that_cannot_be_answered_are_failures() -> None:
    long = Request((Message("user", "why " * 3000),), Sampling(), 0)
    strange = Request((Message("user", "Why?"),), Sampling(), 0, adapter="none")
    fine = replace(strange, adapter="")
    names = [reply.failure and reply.failure.name for reply in open_spec("pocket").complete([long, strange, fine])]
    assert names == ["context_overflow", "unknown_adapter", None]


@check_each(
    ("change", "words"),
    [
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "its tokenizer.json cannot be read"),
        (lambda folder: (folder / "model.safetensors").unlink(), "because it has no file model.safetensors"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "cannot load the model"),
        (lambda folder: edit(folder, hidden_act="gelu"), "is not a plain Llama"),
        (lambda folder: edit(folder, num_hidden_layers=9), "because its weights lack"),
    ],
)
def test_a_folder_that_cannot_be_loaded_is_one_line(
    tmp_path_factory: pytest.TempPathFactory, change: Callable[[Path], object], words: str
) -> None:
    folder = tmp_path_factory.mktemp("broken") / "model"
    shutil.copytree(FOLDER, folder)
    change(folder)
    with pytest.raises(UserError, match=words) as caught:
        open_spec(f"pocket:{folder}")
    assert "\n" not in str(caught.value)


def edit(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_adapters_that_cannot_be_merged_are_one_line(tmp_path: Path) -> None:
    cases = {
        str(tmp_path / "nowhere"): "is not an adapter folder",
        str(write_adapter(tmp_path / "dora", 0, use_dora=True)): "uses DoRA or biases",
        "+".join(
            [str(write_adapter(tmp_path / "a" / "x", 0)), str(write_adapter(tmp_path / "b" / "x", 1))]
        ): "two adapters",
    }
    for adapters, words in cases.items():
        with pytest.raises(UserError, match=words):
            open_spec(f"pocket,adapters={adapters}")


@pytest.mark.thorough
def test_nothing_large_is_imported() -> None:
    """The engine runs where torch, transformers and jinja2 are missing; importing parley loads no compiler."""
    program = """
import sys
sys.modules.update(dict.fromkeys(("torch", "transformers", "jinja2", "peft")))
import run, parley
import parley.llm.backends.pocket
assert "numba" not in sys.modules and "tokenizers" not in sys.modules
from parley.llm.backends import open_spec
from parley.llm.request import Message, Request, Sampling
asked = [Request((Message("user", "Why?"),), Sampling(), 0, answers) for answers in ((), ("yes", "no"))]
assert all(reply.text for reply in open_spec("pocket").complete(asked))
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=300)


def test_compiled_code_goes_where_it_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the package; where that is read-only, in the user's cache; a folder of the user comes first."""
    assert compilation._folder("") == Path(compilation.__file__).parent / "__pycache__"
    assert compilation._folder(str(tmp_path / "own")) == tmp_path / "own"
    (tmp_path / "file").touch()
    monkeypatch.setattr(compilation, "HERE", tmp_path / "file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compilation._folder("") == tmp_path / "parley"


@pytest.mark.thorough
def test_compiling_is_announced_once(tmp_path: Path) -> None:
    """The first run on a machine says that it compiles, on stderr and in one line; the second one says nothing."""
    program = "import run; from parley.llm.backends import open_spec; open_spec('pocket')"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
        )
        for _ in range(2)
    ]
    assert [one.stderr.count("compiling the engine of pocket") for one in said] == [1, 0]
    assert [one.stderr.count("\n") for one in said] == [1, 0]
    assert [one.stdout for one in said] == ["", ""]
