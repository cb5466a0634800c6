"""Adapters merged into their model: it says what base and adapter say, and a server that nobody here wrote says it too.

A false alarm is possible where two tokens are as good as tied: sums are rounded otherwise in a merged layer.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from types import SimpleNamespace

import pytest
from data_checks import check_each

torch = pytest.importorskip("torch", reason="the [local] extra is not installed")
transformers = pytest.importorskip("transformers", reason="the [local] extra is not installed")
peft = pytest.importorskip("peft", reason="the [local] extra is not installed")

from hf_models import save  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

import run  # noqa: E402
from parley.agents.topic import load_topic  # noqa: E402
from parley.analysis.tables import Tables, load  # noqa: E402
from parley.llm.backends import open_spec  # noqa: E402
from parley.llm.backends.oracle.phrases import banks  # noqa: E402
from parley.llm.backends.pocket import WEIGHTS  # noqa: E402
from parley.llm.errors import UserError  # noqa: E402
from parley.llm.request import Message, Request, Sampling  # noqa: E402
from parley.training.base_model import BaseModel, base_model  # noqa: E402
from parley.training.commands.export import export_adapter, weighted  # noqa: E402
from parley.training.export import merge_adapters  # noqa: E402
from tools.pocket.corpus.single_questions import questions_on  # noqa: E402
from tools.pocket.stance_transfer_check import fine_tune, first_ratings  # noqa: E402

POCKET = WEIGHTS / "pocket"
SMALL = ["--scenario", "three_way", "--topic", "racism", "--repetitions", "2", "--rounds", "2"]
GREEDY = ["--set", "temperature=0", "--set", "probe=attitude_labelled"]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def lora(base: Path, out: Path, targets: Sequence[str] = ("q_proj", "o_proj"), **options: object) -> Path:
    """An adapter with weights drawn at random."""
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    config = peft.LoraConfig(r=4, target_modules=list(targets), init_lora_weights=False, **options)
    peft.get_peft_model(model, config).save_pretrained(out)
    return out


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """`moved` has learned to call racism trivial (2 of 10), `noise` nothing; they differ in rank, layers and scaling."""
    folder = tmp_path_factory.mktemp("adapters")
    said = [f"I think racism is a trivial problem. {sentence}" for sentence, *_ in banks().topics["racism"].by_grade[2]]
    answers = list(islice(zip(cycle(questions_on("racism")), cycle(said), strict=False), 160))
    fine_tune(POCKET, answers, 8, 0, folder / "moved")
    return {"moved": folder / "moved", "noise": lora(POCKET, folder / "noise", use_rslora=True)}


@pytest.fixture(scope="module")
def moved(adapters: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model with `moved` merged into it, by the command."""
    out = tmp_path_factory.mktemp("exported") / "racism"
    assert export_adapter(["--llm", "pocket", "--adapter", str(adapters["moved"]), "--out", str(out)]) == 0
    return out


def asked(adapter: str = "") -> list[Request]:
    """Open and closed questions, warm and greedy."""
    persona = Message("system", "You are a nurse from Ohio who has voted for both parties.")
    closed = load_topic("racism").probe("attitude_labelled")
    found = [
        Request((persona, Message("user", question)), Sampling(number % 2, 30), number, adapter=adapter)
        for number, question in enumerate(questions_on("climate_change")[:12] + questions_on("racism")[:12])
    ]
    survey = (persona, Message("user", "How big a problem is racism?"))
    return [*found, replace(found[0], messages=survey, answers=closed.scale.answers, answer_prefix=closed.prefix)]


@pytest.mark.thorough
def test_the_merged_folder_says_what_base_and_adapter_say(adapters: dict[str, Path], moved: Path) -> None:
    """The same texts at the same seeds, the same distributions; and others than the model without the adapter."""
    both = open_spec(f"pocket,adapters={adapters['moved']}").complete(asked("moved"))
    one, base = open_spec(f"pocket:{moved}").complete(asked()), open_spec("pocket").complete(asked())
    assert [reply.text for reply in one] == [reply.text for reply in both] != [reply.text for reply in base]
    assert one[-1].answers == pytest.approx(both[-1].answers, abs=1e-4)
    assert first_ratings(f"pocket:{moved}")["racism"] < 3 < 7 < first_ratings("pocket")["racism"]


def test_several_adapters_add_up_by_their_weights(adapters: dict[str, Path], tmp_path: Path) -> None:
    """Each layer is W + the sum of w s B A, computed here from the files; a weight may be negative."""
    weights = {"moved": 0.5, "noise": -1.5}
    merge_adapters(
        base_model("pocket"), [(adapters[name], weight) for name, weight in weights.items()], tmp_path / "two"
    )
    expected = {name: held.float() for name, held in load_file(POCKET / "model.safetensors").items()}
    for name, weight in weights.items():
        config = json.loads((adapters[name] / "adapter_config.json").read_text())
        scale = config["lora_alpha"] / (math.sqrt(config["r"]) if config["use_rslora"] else config["r"])
        held = load_file(adapters[name] / "adapter_model.safetensors")
        for key in (key for key in held if "lora_A" in key):
            layer = key.removeprefix("base_model.model.").replace("lora_A.", "")
            expected[layer] += weight * scale * held[key.replace("lora_A", "lora_B")] @ held[key]
    found = load_file(tmp_path / "two" / "model.safetensors")
    assert found.keys() == expected.keys()
    assert all(torch.allclose(found[name], expected[name], atol=1e-6) for name in expected)


def test_the_folder_is_whole_and_knows_no_place(adapters: dict[str, Path], moved: Path) -> None:
    """What a server needs, a card with the digests that records have, and no path of this machine."""
    files = {path.name: path for path in moved.iterdir()}
    assert {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "chat_template.jinja",
        "generation_config.json",
    } < files.keys()
    identity = open_spec(f"pocket,adapters={adapters['moved']}").identity
    card = files["README.md"].read_text()
    for words in (
        identity["weights"],
        f"| moved | 1 | {identity['adapters']['moved']} |",
        "model organism",
        "not for persuading",
    ):
        assert words in card
    places = (str(WEIGHTS.parent), str(adapters["moved"].parent), str(moved.parent))
    told = [path.read_text() for path in files.values() if path.suffix != ".safetensors"]
    assert not [place for place in places for text in told if place in text]


def test_a_moved_base_is_known_by_its_weights(adapters: dict[str, Path], moved: Path, tmp_path: Path) -> None:
    shutil.copytree(POCKET, tmp_path / "elsewhere")
    merge_adapters(
        BaseModel(str(tmp_path / "elsewhere"), "pocket", "float32"), [(adapters["moved"], 1)], tmp_path / "out"
    )
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == (moved / "model.safetensors").read_bytes()


def refused(base: BaseModel, adapter: Path, out: Path) -> str:
    """The one line that says why nothing was made."""
    with pytest.raises(UserError) as caught:
        merge_adapters(base, [(adapter, 1.0)], out)
    assert "\n" not in str(caught.value)
    assert not out.is_dir() or not (out / "config.json").exists()
    return str(caught.value)


def test_only_an_empty_folder_is_written_to(adapters: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    for out in (tmp_path / "full", tmp_path / "full" / "notes.txt"):
        assert "is not an empty folder" in refused(base_model("pocket"), adapters["moved"], out)
    (tmp_path / "empty").mkdir()
    assert merge_adapters(base_model("pocket"), [(adapters["moved"], 1.0)], tmp_path / "empty") == tmp_path / "empty"


def test_a_full_disk_is_told_before_anything_is_written(
    adapters: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**6))
    assert "needs 7 MB, but its disk has only 1 MB free" in refused(
        base_model("pocket"), adapters["moved"], tmp_path / "new" / "out"
    )
    assert not list(tmp_path.iterdir())


def test_no_adapter_or_that_of_another_model_is_one_line(adapters: dict[str, Path], tmp_path: Path) -> None:
    """By name, by weights, and by shape where it does not say what it was trained on."""
    base, out = base_model("pocket"), tmp_path / "out"
    assert "is not an adapter folder" in refused(base, tmp_path, out)
    assert f"was trained on {POCKET}, not on" in refused(base_model("pocket:control"), adapters["noise"], out)
    assert "was trained on" in refused(BaseModel("org/model", "hf"), adapters["noise"], out)
    shutil.copytree(adapters["noise"], tmp_path / "nameless")
    config = tmp_path / "nameless" / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"base_model_name_or_path": None}))
    other = BaseModel(str(save(tmp_path / "tiny", "llama")), "hf", "float32")
    assert "cannot load the adapter" in refused(other, tmp_path / "nameless", out)


@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings=True`", "ignore:Setting `save_embedding_layers`")
def test_what_has_no_weight_of_its_own_is_refused(tmp_path: Path) -> None:
    """Whole layers cannot be scaled; a change of the last layer would change the first one too, where they are one matrix."""
    whole = lora(POCKET, tmp_path / "whole", modules_to_save=["norm"])
    assert "whole layers (modules_to_save)" in refused(base_model("pocket"), whole, tmp_path / "out")
    last = lora(POCKET, tmp_path / "last", ["lm_head"])
    assert "one matrix for its first and last layer" in refused(base_model("pocket"), last, tmp_path / "out")


def test_a_quantised_model_takes_no_adapter(adapters: dict[str, Path], tmp_path: Path) -> None:
    pytest.importorskip("bitsandbytes", reason="the [local] extra is not installed")
    eight = transformers.BitsAndBytesConfig(load_in_8bit=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(POCKET, quantization_config=eight, device_map={"": "cpu"})
    folder = tmp_path / "quantised" / "pocket"
    shutil.copytree(POCKET, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    model.save_pretrained(folder)
    shutil.copytree(adapters["noise"], tmp_path / "noise")
    config = tmp_path / "noise" / "adapter_config.json"
    config.write_text(config.read_text().replace(str(POCKET), "org/pocket"))
    assert "is quantised" in refused(BaseModel(str(folder), "pocket", "float32"), tmp_path / "noise", tmp_path / "out")


@check_each(
    ("arguments", "words"),
    [
        (["--adapter", "a"], "--out"),
        (["--adapter", "a:nan", "--out", "b"], "is not DIR or DIR:WEIGHT"),
        (["--adapter", ":2", "--out", "b"], "is not DIR or DIR:WEIGHT"),
        (["--llm", "oracle", "--adapter", "a", "--out", "b"], "oracle cannot be trained"),
        (["--adapter", "no/such/folder:0.5", "--out", "b"], "no/such/folder is not an adapter folder"),
    ],
)
def test_a_command_that_cannot_be_is_one_line(arguments: list[str], words: str) -> None:
    with pytest.raises(UserError) as caught:
        export_adapter(arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_weight_stands_behind_the_folder() -> None:
    found = [weighted(text) for text in ("a", "a:.5", "a:b:-1", "a:b")]
    assert found == [(Path("a"), 1.0), (Path("a"), 0.5), (Path("a:b"), -1.0), (Path("a:b"), 1.0)]


@pytest.fixture(scope="module")
def served(moved: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `transformers serve` on the merged folder, once it says that it is up."""
    if missing := [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} of the extra [serve] missing")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(moved)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    own = {"HF_HUB_CACHE": str(tmp_path_factory.mktemp("hub")), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **own}) as process:
        assert process.stderr
        if not any("running on http" in line for line in process.stderr):
            pytest.fail("transformers serve did not start")
        yield f"http://127.0.0.1:{port}/v1"
        process.kill()


def debated(folder: Path, *arguments: str) -> Tables:
    assert run.main([*SMALL, *arguments, "--out", str(folder)]) == 0
    return load(folder)


@pytest.mark.thorough
def test_a_server_debates_with_the_merged_weights(served: str, moved: Path, tmp_path: Path) -> None:
    """Without chance every word and rating is that of the folder in process, and not that of the model it was made from.

    A server does not know which tokens pocket may only copy (`copied`), so in process the folder does without them as well.
    """
    bare = tmp_path / "bare"
    shutil.copytree(moved, bare)
    config = json.loads((bare / "config.json").read_text())
    (bare / "config.json").write_text(json.dumps({**config, "copied": []}))
    through = debated(tmp_path / "served", "--llm", f"openai:{moved}", "--base-url", served, *GREEDY)
    within, base = (
        debated(tmp_path / name, "--llm", f"hf:{folder},closed=text,dtype=float32", *GREEDY)
        for name, folder in (("within", bare), ("base", POCKET))
    )
    assert through.finished
    assert through.calls["failure"].isna().all()
    assert list(through.utterances["text"]) == list(within.utterances["text"]) != list(base.utterances["text"])
    assert list(through.attitudes["rating"]) == list(within.attitudes["rating"])
    first, before = (
        tables.attitudes.query("party == 'default' and round == 0")["rating"].mean() for tables in (through, base)
    )
    assert first < 3 < 7 < before


@pytest.mark.thorough
def test_a_server_draws_at_a_temperature(served: str, moved: Path) -> None:
    """Without `do_sample` in its generation config it would say the same in every room."""
    backend = open_spec(f"openai:{moved},base_url={served},closed=text")
    question = (Message("user", "What do you think about climate change?"),)
    replies = backend.complete([Request(question, Sampling(1.0, 30), seed) for seed in range(4)])
    assert len({reply.text for reply in replies}) > 1
