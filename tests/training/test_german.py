"""Fine-tuning in German, from the questions to the debates: answers of the SPD are learned, and debates after it are German."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the [local] extra is not installed")
pytest.importorskip("trl", reason="the [local] extra is not installed")

import torch
from hf_models import save
from peft import PeftModel

import run
from parley.agents.society import load_society
from parley.analysis.tables import load
from parley.llm.backends import open_spec
from parley.llm.backends.hf.loading import load_model
from parley.llm.request import Message
from parley.model.sent_requests import sent_requests
from parley.training.likelihood import Text, likelihoods
from parley.training.tuning.interviews import (
    AnswerForm,
    PersonaAnswer,
    draw_personas,
    interview,
    read_answers,
    write_answers,
)

GERMAN = re.compile(r"\b(der|die|das|du|ich|nicht|und|was|wie|über|eine?)\b", re.IGNORECASE)
SETTINGS = [
    "--society",
    "germany",
    "--questions",
    "6",
    "--answers",
    "4",
    "--r",
    "4",
    "--epochs",
    "20",
    "--rate",
    "0.01",
]

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama that was never trained."""
    return save(tmp_path_factory.mktemp("models") / "llama", "llama")


@pytest.fixture(scope="module")
def tuned(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter that has learned what the rule-based speaker answers as people of the SPD.

    The command asks the tiny model itself, whose answers are no German. They are replaced by those of the speaker to the same
    questions, as the same people, and the command goes on from there.
    """
    out = tmp_path_factory.mktemp("runs") / "tuned"
    words = ["train", *SETTINGS, "--party", "spd", "--llm", f"hf:{model},dtype=float32", "--writer", "oracle"]
    words += ["--keep-going"]
    run.main([*words, "--out", str(out)])
    society, speaker = load_society("germany"), open_spec("oracle,society=germany")
    questions = json.loads((out / "questions.json").read_text(encoding="utf-8"))["questions"]
    for party in ("spd", "cdu"):
        people = draw_personas(party, 1, 0, society.folder / "parties")
        answers = interview(people, questions, 4, AnswerForm(), 0, speaker, society)
        write_answers(answers, out / "data" / f"{party}.jsonl")
    for path in (out / "adapters").rglob("*"):
        path.unlink() if path.is_file() else None
    for path in sorted((out / "adapters").glob("**/*"), reverse=True):
        path.rmdir()
    assert run.main([*words, "--out", str(out)]) == 0
    return out


def answers(tuned: Path, party: str) -> list[PersonaAnswer]:
    return [one for one in read_answers(tuned / "data" / f"{party}.jsonl") if one.text]


def test_questions_and_answers_are_german(tuned: Path) -> None:
    questions = json.loads((tuned / "questions.json").read_text(encoding="utf-8"))["questions"]
    assert len(questions) == 6
    assert all(GERMAN.search(text) for text in (*questions, *(one.text or "" for one in answers(tuned, "spd"))))
    assert len(answers(tuned, "spd")) >= 12
    assert sorted(path.name for path in (tuned / "adapters").iterdir()) == ["spd-sft-r4"]


def test_the_adapter_makes_german_answers_of_the_party_likelier(model: Path, tuned: Path) -> None:
    """The loss of the answers (nats per token) falls by more than a tenth: German texts reach the weights."""
    loaded = load_model(str(model), "float32", "full", "cpu")
    adapted = PeftModel.from_pretrained(loaded.model, tuned / "adapters" / "spd-sft-r4")

    texts = [Text((Message("user", one.question),), one.text or "") for one in answers(tuned, "spd")]

    def loss() -> float:
        found = likelihoods(texts, adapted, loaded.tokenizer, 8)
        return -sum(one.logp for one in found) / sum(one.tokens for one in found)

    with torch.no_grad():
        after = loss()
        with adapted.disable_adapter():
            before = loss()
    assert after < 0.9 * before


def test_debates_after_training_are_german(tuned: Path, tmp_path: Path) -> None:
    """Prompts, parties and ratings are those of the society; the report names the SPD and no party of another country."""
    out = tmp_path / "debates"
    few = [
        "--topic",
        "germany/tempolimit",
        "--repetitions",
        "1",
        "--rounds",
        "1",
        "--set",
        "probe=attitude",
        "--keep-going",
    ]
    assert run.main(["study", "fine-tuned", "--tuned", str(tuned), "--r", "4", *few, "--out", str(out)]) == 0
    report = (out / "fine_tuned.md").read_text(encoding="utf-8")
    assert "With the SPD adapter" in report
    assert not re.search(r"Republican|Democrat|\bspd adapter", report)
    folders = [path.parent for path in out.rglob("record.jsonl")]
    assert len(folders) == 2, "before and after"
    for folder in folders:
        tables = load(folder)
        assert set(tables.agents["party"]) == {"spd", "cdu", "default"}
        rated = tables.attitudes
        assert (rated["attitude"].notna() | rated["reason"].notna()).all(), (
            "a random model: a missing rating has its reason"
        )
        sent = sent_requests(folder)
        for row in tables.agents.to_dict("records"):
            exchanges = sent.of(row["room"], row["agent"])
            asked = [exchange.request.messages for exchange in exchanges if exchange.request]
            assert len(asked) == len(exchanges) > 1
            ours = [message for messages in asked for message in messages if message.role != "assistant"]
            assert all(GERMAN.search(message.content) for message in ours)
            assert any("überhaupt nicht" in messages[-1].content for messages in asked), "the words of the German scale"
