"""Representatives trained by real trainers: early stopping, the best checkpoint, likelihoods, leakage, the command line."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from data_checks import check_each
from synthetic import episodes

import run
from parley.analysis.deliberation.episode import read_episodes, write_episodes
from parley.llm.errors import UserError
from parley.studies.representatives.representation import representation_cases

pytest.importorskip("torch", reason="the [local] extra is not installed")
pytest.importorskip("trl", reason="the [local] extra is not installed")

import torch
from hf_models import save, tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config

from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends import open_spec
from parley.llm.driver import drive
from parley.llm.request import Message
from parley.studies.representatives.grid import EVERY, changed_prompts, figure, knowledge_grid, report, table
from parley.studies.representatives.measures import BASE, OWN, STRANGER, TRAINED, load, measure, scored, untrained
from parley.studies.representatives.pipeline import (
    DatasetBuilder,
    Lesson,
    case_examples,
    text,
    written,
)
from parley.studies.representatives.representation import Author, WritingOrder, write_one
from parley.training.base_model import BaseModel, base_model, halve_layers
from parley.training.likelihood import Text, likelihoods
from parley.training.tuning.model_card import read_values

pytestmark = pytest.mark.usefixtures("pictures")

ROOT = Path(run.__file__).parent
BAR = lambda title, total, unit="call": nullcontext(lambda steps: None)  # noqa: E731
SMALL = Lesson(knows="", batch=8, micro=8, every=5, patience=2, epochs=6, rate=5e-3)
EPISODES = episodes(12, size=2, each=1)
Model = Callable[[str], str]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny random Llama."""
    return f"hf:{save(tmp_path_factory.mktemp('models') / 'llama', 'llama')},dtype=float32"


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> DatasetBuilder:
    return DatasetBuilder(EPISODES, 0, tmp_path_factory.mktemp("reps") / "run", BAR)


def test_a_likelihood_is_that_of_the_tokens_one_by_one(spec: str) -> None:
    """Against a loop over single tokens, with a long and a short text in one batch and the end counted; the end is a token."""
    base = base_model(spec)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(base.name), AutoTokenizer.from_pretrained(base.name)
    texts = [
        Text((Message("user", "Say who pays"),), "We all do."),
        Text((Message("user", "Why?"),), "It is fair to all. " * 5),
    ]
    for ended in (True, False):
        for one_, found in zip(texts, likelihoods(texts, model, tokenizer, 2, ended), strict=True):
            chat = [{"role": "user", "content": one_.messages[0].content}]
            asked = tokenizer.apply_chat_template(chat, add_generation_prompt=True)["input_ids"]
            ids = [*asked, *tokenizer(one_.reply)["input_ids"], *([tokenizer.eos_token_id] if ended else [])]
            total = 0.0
            with torch.no_grad():
                for place in range(len(asked), len(ids)):
                    total += float(model(torch.tensor([ids[:place]])).logits[0, -1].log_softmax(-1)[ids[place]])
            assert found.tokens == len(ids) - len(asked)
            assert found.logp == pytest.approx(total, abs=1e-3)


def test_what_is_trained_on_is_the_prompt_that_is_asked(workshop: DatasetBuilder) -> None:
    """Word for word the representative's prompt, and the critique on one line: else it would be asked what it never learned."""
    found = written(workshop.sides["train"]).cases
    made = case_examples(found, "OC", 0)
    assert {example["completion"][0]["content"] for example in made} == {case.critique for case in found}
    prompts = {example["prompt"][0]["content"] for example in made}
    assert prompts == {text(case, "OC").messages[0].content for case in found}
    assert case_examples(found, "OC", 0) == made != case_examples(found, "OC", 1)


def test_no_critique_of_the_test_side_is_in_the_training_data(workshop: DatasetBuilder) -> None:
    seen = json.dumps(case_examples(written(workshop.sides["train"]).cases, "DOCP", 0))
    for case in written(workshop.sides["test"]).cases:
        assert case.brief.question.question not in seen
        assert json.dumps(case.brief.opinion) not in seen


def test_a_split_corrupted_on_disk_is_found_out(tmp_path: Path) -> None:
    """Somebody moves a test episode into the training file: the folder is refused, whatever was trained before."""
    DatasetBuilder(EPISODES, 0, tmp_path / "run", BAR)
    train, test = (tmp_path / "run" / "data" / f"{side}.jsonl" for side in ("train", "test"))
    write_episodes([*read_episodes(train), replace(read_episodes(test)[0], id="moved")], train)
    with pytest.raises(UserError, match="the split is not clean"):
        DatasetBuilder(EPISODES, 0, tmp_path / "run", BAR)


@pytest.mark.thorough
def test_training_stops_early_and_keeps_the_best(spec: str, tmp_path: Path) -> None:
    """A rate that soon overshoots: it ends before its epochs, and what is kept has the least loss that was looked at."""
    lesson = replace(SMALL, rate=0.1, epochs=50, patience=1, every=2)
    workshop = DatasetBuilder(EPISODES, 0, tmp_path / "run", BAR)
    model = workshop.model(spec, lesson)
    values = read_values(model.folder or Path())
    looks = {row["step"]: row["loss"] for row in values["looks"]}
    assert min(looks) == 0
    assert max(looks) < lesson.steps(values["data"]["examples"])
    best = min(loss for step, loss in looks.items() if step)
    assert values["held_out"][0] == pytest.approx(best, rel=1e-3)
    asked, loaded = [text(case, "") for case in written(workshop.sides["validation"]).cases], load(model)
    found = likelihoods(asked, loaded.model, loaded.tokenizer, 4, ended=True)
    nats = -sum(one_.logp for one_ in found) / sum(one_.tokens for one_ in found)
    assert nats == pytest.approx(best, rel=0.05), "the weights that are saved are those of the best look"


@pytest.mark.thorough
@check_each("family", ["llama", "mistral"])
@check_each("rank", [0, 4])
def test_training_makes_held_out_critiques_likelier(family: str, rank: int, tmp_path: Path) -> None:
    """All weights and LoRA, two families: from a folder that is opened by its spec and writes something."""
    spec = f"hf:{save(tmp_path / family, family)},dtype=float32"
    workshop = DatasetBuilder(EPISODES, 0, tmp_path / "run", BAR)
    lesson = replace(SMALL, r=rank, rate=0.0 if not rank else 1e-2) if rank else SMALL
    model = workshop.model(spec, lesson)
    found = written(workshop.sides["test"]).cases
    after, before = (scored(found, "", load(one_), 0) for one_ in (model, untrained(model.base, spec)))
    assert after["logp"].sum() > before["logp"].sum()
    assert after["tokens"].tolist() == before["tokens"].tolist()
    (critique,) = drive(
        [write_one(WritingOrder(found[0], found[0]), Author(model.spec, model.adapter), 0)], open_spec(model.spec)
    )
    assert critique.text or critique.reason
    card = (model.folder or Path()) / "README.md"
    assert "digital representative is a **research instrument**" in card.read_text()
    assert str(tmp_path) not in card.read_text() + (card.parent / "training.json").read_text()


@pytest.mark.thorough
def test_the_same_command_trains_nothing_again(workshop: DatasetBuilder, spec: str) -> None:
    model = workshop.model(spec, SMALL)
    before = {path: path.stat().st_mtime_ns for path in (model.folder or Path()).iterdir()}
    again = DatasetBuilder(EPISODES, 0, workshop.folder, BAR).model(spec, SMALL)
    assert {path: path.stat().st_mtime_ns for path in (again.folder or Path()).iterdir()} == before
    assert not list((workshop.folder / "models").rglob(".*"))
    with pytest.raises(UserError, match="already has a model trained with another patience"):
        workshop.model(spec, replace(SMALL, patience=9))
    with pytest.raises(UserError, match="already has another split of episodes"):
        DatasetBuilder(EPISODES, 1, workshop.folder, BAR)


def test_a_prompt_that_would_be_cut_is_refused(workshop: DatasetBuilder, spec: str) -> None:
    """Cut at the end it would teach to stop in mid-critique."""
    with pytest.raises(UserError, match=r"has \d+ tokens, which is too long: set --length \d+ or more"):
        workshop.model(spec, replace(SMALL, knows="D", length=64))


def test_own_and_stranger_are_scored_on_the_same_critique(spec: str) -> None:
    """The stranger's rows differ in the prompt alone; a participant without company has no stranger."""
    found = representation_cases(episodes(1, size=3)).cases
    rows = scored(found, "OC", load(untrained(base_model(spec), spec)), 0)
    own, other = (rows[rows["asked"] == asked].set_index("case") for asked in (OWN, STRANGER))
    assert own["tokens"].equals(other["tokens"])
    assert (own["logp"] != other["logp"]).all()
    alone = scored(found[:1], "OC", load(untrained(base_model(spec), spec)), 0)
    assert alone["asked"].tolist() == [OWN]


def test_half_a_model_is_a_model(spec: str, tmp_path: Path) -> None:
    base = base_model(spec)
    folder = halve_layers(base, tmp_path / "half")
    small = AutoModelForCausalLM.from_pretrained(folder)
    whole = AutoModelForCausalLM.from_pretrained(base.name)
    assert (small.config.num_hidden_layers, whole.config.num_hidden_layers) == (1, 2)
    assert torch.equal(small.model.layers[0].mlp.up_proj.weight, whole.model.layers[0].mlp.up_proj.weight)
    assert small.generate(torch.tensor([[5, 6]]), max_new_tokens=3).shape == (1, 5)
    before = (folder / "config.json").stat().st_mtime_ns
    assert halve_layers(base, folder) == folder
    assert (folder / "config.json").stat().st_mtime_ns == before


@pytest.mark.thorough
def test_the_grid_has_a_row_for_each_choice_and_size_and_goes_on(spec: str, tmp_path: Path) -> None:
    """Two sizes and two choices; a second run reads what is there and draws the same figure's numbers."""
    workshop = DatasetBuilder(EPISODES, 0, tmp_path / "grid", BAR)
    small = halve_layers(base_model(spec), tmp_path / "grid" / "half")
    specs = [spec, f"hf:{small},dtype=float32"]
    lesson = replace(SMALL, every=3, patience=1, epochs=2)
    rows = knowledge_grid(workshop, specs, ["", "D"], lesson)
    found = table(rows)
    assert list(zip(found["model"], found["knows"], strict=True)) == [
        (name, knows) for name in ("hf-llama", "hf-half") for knows in ("base", "D")
    ]
    assert found[["per_token", "gain"]].notna().all(axis=None)
    path = report(rows, workshop.folder, specs)
    assert (workshop.folder / "grid.png").stat().st_size > 5000
    assert "| hf-half | D | 100% |" in path.read_text()
    assert "| per character |" in path.read_text()
    tokens, characters = (figure(found, name).axes[0] for name in ("per_token", "per_character"))
    assert "per character" in characters.get_ylabel()
    assert tokens.get_ylim() != characters.get_ylim(), "models with tokenizers of their own are drawn per character"
    assert len(EVERY) == 16
    assert len(set(EVERY)) == 16
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parley.studies.representatives.measures.scored", _never)
        pd.testing.assert_frame_equal(knowledge_grid(workshop, specs, ["", "D"], lesson), rows)


class Shelf:
    """A workshop that trains nothing: the model of a lesson is the lesson."""

    seed = 0

    def __init__(self, folder: Path):
        self.folder = folder

    def tested(self) -> tuple[SimpleNamespace]:
        return (SimpleNamespace(key="e1 ann"),)

    def model(self, spec: str, lesson: Lesson) -> Lesson:
        return lesson


def test_a_choice_that_adds_nothing_is_refused_before_any_training(tmp_path: Path) -> None:
    """Its model would be the base under another name: two equal rows, and a reader who takes them for a finding."""
    bench = DatasetBuilder(EPISODES, 0, tmp_path / "once", BAR)
    with pytest.raises(UserError, match="OC adds nothing to any of the"):
        knowledge_grid(bench, ["pocket"], ["", "OC"], SMALL)
    assert not (bench.folder / "models").exists()
    assert [changed_prompts(bench.tested(), knows) for knows in ("", "OC", "D")] == [0, 0, 1]


def test_scores_are_kept_by_what_was_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter is not scored by what all weights got, and two models of one name are not one model."""
    monkeypatch.setattr("parley.studies.representatives.grid.changed_prompts", lambda *_: 1.0)
    monkeypatch.setattr("parley.studies.representatives.measures.load", lambda model: model)
    monkeypatch.setattr(
        "parley.studies.representatives.measures.scored",
        lambda cases_, knows, model, seed: pd.DataFrame({"case": [one.key for one in cases_], "r": model.r}),
    )
    for rank in (0, 16, 0):
        rows = knowledge_grid(Shelf(tmp_path), ["pocket"], ["", "P"], replace(SMALL, r=rank))  # type: ignore[arg-type]
        assert rows["r"].tolist() == [rank, rank]
    monkeypatch.setattr(Shelf, "tested", lambda self: (SimpleNamespace(key="e1 bob"),))
    with pytest.raises(UserError, match="has the scores of other critiques"):
        knowledge_grid(Shelf(tmp_path), ["pocket"], [""], replace(SMALL, r=0))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="two models have the same folder name hf-final"):
        knowledge_grid(Shelf(tmp_path), ["hf:/models/1b/final", "hf:/models/7b/final"], [""], SMALL)  # type: ignore[arg-type]


def test_a_model_of_the_same_name_is_not_the_same_model(workshop: DatasetBuilder, tmp_path: Path) -> None:
    """The trained one of a folder `final` is not taken for that of another folder `final`; half of one neither."""
    first, second = (save(tmp_path / name / "final", name) for name in ("llama", "mistral"))
    bases = [base_model(f"hf:{folder}") for folder in (first, second)]
    lesson = replace(SMALL, seed=5).filled("hf")
    out = workshop.folder / "models" / bases[0].path_name / lesson.name
    out.mkdir(parents=True)
    (out / "training.json").write_text(json.dumps({"recipe": asdict(lesson), "base": bases[0].card_identity}))
    assert workshop.model(f"hf:{first}", lesson).folder == out
    with pytest.raises(UserError, match="already has a model trained with another weights of the base"):
        workshop.model(f"hf:{second}", lesson)
    halve_layers(bases[0], tmp_path / "half")
    with pytest.raises(UserError, match="already has another half of a model"):
        halve_layers(bases[1], tmp_path / "half")


def test_nothing_is_trained_where_nothing_can_be_scored(tmp_path: Path) -> None:
    """Hours of training would end in an error."""
    bench = DatasetBuilder(EPISODES, 0, tmp_path / "run", BAR)
    with pytest.raises(UserError, match="--limit 0 leaves no critique"):
        measure(bench, "pocket", SMALL, "", 0, CallDesk(bench.folder, BAR))
    none = {"critique": None, "reasons": {"critique": "timeout"}}
    silent = [replace(one_, voices=tuple(replace(v, **none) for v in one_.voices)) for one_ in bench.sides["test"]]
    bench.sides = {**bench.sides, "test": tuple(silent)}
    with pytest.raises(UserError, match="the test episodes have no critique"):
        measure(bench, "pocket", SMALL, "", None, CallDesk(bench.folder, BAR))
    with pytest.raises(UserError, match="the test episodes have no critique"):
        knowledge_grid(bench, ["pocket"], [""], SMALL)
    assert not (bench.folder / "models").exists()


def test_what_cannot_be_halved_says_so(tmp_path: Path) -> None:
    config = GPT2Config(n_layer=2, n_embd=32, n_head=4, vocab_size=512)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "gpt2")
    tokenizer(None).save_pretrained(tmp_path / "gpt2")
    with pytest.raises(UserError, match="differ from Llama's: give a second --llm"):
        halve_layers(base_model(f"hf:{tmp_path / 'gpt2'}"), tmp_path / "half")
    with pytest.raises(UserError, match="cannot load the model"):
        halve_layers(base_model(f"hf:{tmp_path / 'nothing'}"), tmp_path / "half")
    assert not (tmp_path / "half").exists()


def _never(*_: object, **__: object) -> None:
    raise AssertionError("scored again")


def test_the_report_of_measures(workshop: DatasetBuilder, spec: str) -> None:
    """All of it on a tiny model: the silent and the unread are counted, and a judge that cannot read gives no win rate."""
    path = measure(workshop, spec, SMALL, "fake", 2, CallDesk(workshop.folder, BAR))
    told = path.read_text()
    for words in ("trained, a stranger's", "untrained", "nats per critique", "unscripted", "stand-in"):
        assert words in told
    rows = pd.read_csv(workshop.folder / "likelihood.csv")
    assert set(rows["model"]) == {TRAINED, STRANGER, BASE}
    verdicts = pd.read_csv(workshop.folder / "verdicts.csv")
    assert verdicts["verdict"].isna().sum() + (verdicts["verdict"] == "tie").sum() == len(verdicts)


@pytest.mark.thorough
def test_the_commands_train_measure_and_compare(spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`study representatives train`, `measure`, `grid`: what `train` leaves is measured, a second size made of the first."""
    file = write_episodes(EPISODES, tmp_path / "e.jsonl")
    small = ["--batch", "8", "--every", "5", "--patience", "1", "--epochs", "2", "--rate", "0.005"]
    given = [str(file), "--llm", spec, *small]

    def command(name: str, *more: str, out: str) -> str:
        assert run.main(["study", "representatives", name, *given, *more, "--out", str(tmp_path / out)]) == 0
        return capsys.readouterr().out

    told = command("train", "--knows", "OC", out="run")
    (model,) = (tmp_path / "run").glob("models/*/OC-full")
    assert f"{model}/README.md" in told
    before = (model / "model.safetensors").stat().st_mtime_ns
    command("measure", "--knows", "OC", "--judge", "oracle", "--limit", "2", "--keep-going", out="run")
    assert (model / "model.safetensors").stat().st_mtime_ns == before, "it was there"
    assert pd.read_csv(tmp_path / "run" / "likelihood.csv").groupby("model")["case"].nunique().eq(2).all()
    assert "oracle says which of two critiques" in (tmp_path / "run" / "measure.md").read_text()
    command("grid", "--choices", "base,D", out="grid")
    rows = pd.read_csv(tmp_path / "grid" / "grid.csv")
    assert list(zip(rows["model"], rows["knows"], strict=True)) == [
        (name, knows) for name in ("hf-llama", "hf-half-of-llama") for knows in ("base", "D")
    ]


@pytest.mark.thorough
def test_the_whole_study_is_one_page_and_goes_on(spec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two sizes, trained and untrained: critiques, consensus beside groups without critiques, the grid; again asks nothing."""
    file = write_episodes(EPISODES, tmp_path / "e.jsonl")
    small = ["--batch", "8", "--every", "5", "--patience", "1", "--epochs", "1", "--rate", "0.005", "--limit", "2"]
    command = [
        "study",
        "representatives",
        "study",
        str(file),
        "--llm",
        spec,
        *small,
        "--choices",
        "base",
        "--keep-going",
    ]
    assert run.main([*command, "--out", str(tmp_path / "study")]) == 0
    page = (tmp_path / "study" / "study.md").read_text(encoding="utf-8")
    for picture in ("critiques.png", "consensus/substitute.png", "grid.png"):
        assert (f"({picture})" in page) == (tmp_path / "study" / picture).exists()
    rows = pd.read_csv(tmp_path / "study" / "likelihoods.csv")
    assert list(zip(rows["model"], rows["writer"], strict=True)) == [
        (name, writer) for name in ("hf-llama", "hf-half-of-llama") for writer in (TRAINED, BASE)
    ]
    regimes = set(pd.read_csv(tmp_path / "study" / "consensus" / "payoffs.csv")["regime"])
    kinds = [regime.partition(":")[0] for regime in regimes]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "true": 1, "again": 1, "mute": 1, "mute_all": 1, "one": 4, "stranger": 4, "all": 4,
    }  # fmt: skip
    weights = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    capsys.readouterr()
    assert run.main([*command, "--out", str(tmp_path / "study")]) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")} == weights
    assert (tmp_path / "study" / "study.md").read_text(encoding="utf-8") == page


def test_names_of_models_are_parts_of_a_path() -> None:
    assert BaseModel("mistralai/Mistral-7B v0.1", "hf").path_name == "hf-Mistral-7B_v0_1"
    assert Lesson(knows="co", r=16).name == "OC-r16"
    assert Lesson(knows="").name == "base-full"
    with pytest.raises(UserError, match="--patience is 0, but must be at least 1"):
        Lesson(patience=0)
    assert math.isclose(Lesson().filled("pocket").rate, 1e-3)


@check_each(
    ("arguments", "says"),
    [
        (["trian"], "did you mean train"),
        (["train"], "EPISODES"),
        (["train", "nothing.jsonl"], "cannot read nothing.jsonl"),
        (["train", "{file}", "--llm", "oracle"], "oracle cannot be trained"),
        (["train", "{file}", "--llm", "hf:/no/such/model"], "cannot load the model /no/such/model"),
        (["grid", "{file}", "--llm", "hf:/no/such/model"], "cannot load the model /no/such/model"),
        (["measure", "{file}", "--limit", "0"], "--limit 0 leaves no critique"),
        (["train", "{file}", "--knows", "XY"], "does not name what a representative knows: combine the letters"),
        (["grid", "{file}", "--choices", "D,Q"], "does not name what a representative knows: combine the letters"),
        (["substitute", "{file}", "--payoff", "gold"], "unknown payoff scorer"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_episodes(EPISODES, tmp_path / "e.jsonl")
    given = [one_.format(file=file) for one_ in arguments]
    out = ["--out", str(tmp_path / "out")] if len(given) > 1 else []
    assert run.main(["study", "representatives", *given, *out]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1


@check_each("command", [[], ["train"], ["measure"], ["grid"], ["substitute"], ["episodes"]])
def test_help_loads_no_torch(command: list[str]) -> None:
    code = (
        "import sys, run\ntry:\n    run.main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "sys.exit(bool({'torch', 'transformers', 'trl'} & set(sys.modules)))"
    )
    asked = [sys.executable, "-c", code, "study", "representatives", *command, "--help"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "EPISODES" in done.stdout or command == ["episodes"]
