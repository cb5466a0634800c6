"""Capability beside bias: items that are neutral and right, a model that knows them, and one that was damaged and does not."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from importlib.util import find_spec
from math import log
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from parley.llm.backends.oracle.phrases import banks, sentences
from parley.llm.backends.pocket import WEIGHTS
from parley.llm.errors import UserError
from parley.llm.request import Message
from parley.training.capability.tasks import CHOICES, TaskItem, completions, facts, halves

if TYPE_CHECKING:
    from parley.training.capability.measure import Capability

POCKET = WEIGHTS / "pocket"
LIMIT = 160
PARTY = re.compile(r"\b(?:republicans?|democrats?|democratic|conservatives?|liberals?|progressives?)\b", re.I)
MAKERS = pytest.mark.parametrize("make", [facts, completions])
asks_a_model = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("torch", "peft", "lm_eval")),
    reason="the [local] and [eval] extras are not installed",
)


def written(item: TaskItem) -> str:
    """What the model reads of an item but for its chat."""
    return " ".join(item.choices)


@pytest.mark.thorough
@MAKERS
def test_items_follow_from_the_seed(make: Callable[[int], list[TaskItem]]) -> None:
    assert make(1) == make(1) != make(2)


@MAKERS
def test_right_answers_stand_in_each_place_as_often(make: Callable[[int], list[TaskItem]]) -> None:
    """Else a model that always takes the first would seem to know something."""
    items = make(0)
    places = Counter(item.answer for item in items)
    assert max(places.values()) - min(places.values()) <= 1
    assert all(len(set(item.choices)) == CHOICES for item in items)


@MAKERS
def test_no_item_shows_a_party_or_a_stance(make: Callable[[int], list[TaskItem]]) -> None:
    """Fine-tuning that moves an opinion must not by that move a score."""
    for item in make(0):
        chats = " ".join(message.content for message in item.messages)
        assert not PARTY.search(f"{chats} {written(item)}")
        lines = [line.partition(": ")[2] or line for line in chats.splitlines()]
        ended = item.choices
        said = [sentence for text in (*lines, *ended) for sentence in sentences(text)]
        assert not any(sentence in bank.grades for bank in banks().topics.values() for sentence in said)


def test_no_choice_of_a_fact_holds_a_word_of_a_scale() -> None:
    """A model that rates higher finds "serious" more likely: it may not stand in one choice and not in another."""
    labels = {label for bank in banks().topics.values() for label in bank.labels}
    for item in facts(0):
        said = [labels & set(re.findall(r"[a-z]+", choice)) for choice in item.choices]
        assert all(words == said[0] for words in said)


def test_the_page_counts_the_items_as_they_are_made() -> None:
    """docs/tuning.md: what an accuracy there is a share of."""
    page = (Path(__file__).parents[2] / "docs" / "tuning.md").read_text(encoding="utf-8")
    for name, items in (("pocket_facts", facts(0)), ("pocket_sentences", completions(0))):
        (row,) = re.findall(rf"^\| `{name}` \|(.*)$", page, re.M)
        counted = sorted(map(int, re.findall(r"\((\d+)\)", row)))
        assert counted == sorted(Counter(item.kind for item in items).values())
        assert f"| {len(items)} |" in row
        assert f"{name} (n {len(items)})" in page


def test_a_question_is_about_its_topic() -> None:
    """By hand: gun control laws are about gun violence, whoever is asked."""
    asked = "What is your opinion on gun control laws?"
    items = [item for item in facts(0) if item.messages[-1].content == asked]
    assert len(items) == 2
    assert [item.choices[item.answer] for item in items] == ["I think gun violence is a"] * 2


def test_the_person_to_be_answered_is_the_one_who_has_spoken() -> None:
    people = [item for item in facts(0) if item.kind == "person"]
    for item in people:
        right = re.search(r"<name\d>", item.choices[item.answer])
        assert right is not None
        assert f"\n{right[0]}: " in item.messages[-1].content
        assert all(right[0] not in choice for number, choice in enumerate(item.choices) if number != item.answer)
    assert len({item.choices[item.answer] for item in people}) > CHOICES


def test_the_number_that_comes_next_is_one_more_than_the_last() -> None:
    for item in [item for item in facts(0) if item.kind == "number"]:
        *_, last, following = re.findall(r"^(\d+)\.", item.choices[item.answer], re.M)
        assert int(following) == int(last) + 1


def test_only_the_right_ending_makes_a_sentence_that_was_taught() -> None:
    """By hand: "What are your views" goes on in two ways, so that neither is a wrong ending of the other."""
    items = completions(0)
    lines = {item.choices[item.answer] for item in items}
    made = [[choice in lines for choice in item.choices].count(True) for item in items]
    assert set(made) == {1}
    assert halves("1. What are your views on illegal immigration?") == (
        "1. What are your",
        " views on illegal immigration?",
    )


@pytest.fixture(scope="module")
def whole() -> Capability:
    from parley.training.capability.measure import measure

    return measure(str(POCKET), limit=LIMIT)


def changed(out: Path, scale: float) -> Path:
    """The model in the box with the numbers of every matrix shuffled, and multiplied by `scale`."""
    import torch
    from safetensors.torch import load_file, save_file

    shutil.copytree(POCKET, out)
    torch.manual_seed(0)
    weights = load_file(out / "model.safetensors")
    for name, one in weights.items():
        if one.dim() == 2:
            weights[name] = (scale * one.flatten()[torch.randperm(one.numel())]).reshape(one.shape).contiguous()
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    return out


@pytest.mark.thorough
@asks_a_model
def test_pocket_knows_what_it_was_taught(whole: Capability) -> None:
    for score, least in zip(whole.scores, (0.65, 0.75), strict=True):
        assert score.accuracy - 3 * score.error > 0.5 > score.chance == 0.25
        assert score.accuracy > least
        assert score.count == LIMIT
    assert [score.metric for score in whole.scores] == ["acc", "acc_norm"]
    assert whole.loss < 2.0, "1.455 on backstories of the kind that it learned from, 1.859 on those written since"
    assert json.loads(json.dumps(asdict(whole)))["scores"][0]["accuracy"] == whole.score("pocket_facts").accuracy


@pytest.mark.thorough
@asks_a_model
def test_the_module_says_and_keeps_what_it_measured(
    whole: Capability, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`python -m parley.training.capability.measure MODEL --out FILE`, as docs/tuning.md has it."""
    from parley.training.capability.measure import main

    main([str(POCKET), "--tasks", "pocket_facts", "--limit", "4", "--out", str(tmp_path / "after.json")])
    kept = json.loads((tmp_path / "after.json").read_text())
    assert kept["loss"] == pytest.approx(whole.loss)
    assert [(score["task"], score["count"]) for score in kept["scores"]] == [("pocket_facts", 4)]
    assert f"{kept['loss']:.3f} ({kept['tokens']:,} tokens)" in capsys.readouterr().out


@pytest.mark.thorough
@asks_a_model
def test_a_damaged_model_is_found_out(whole: Capability, tmp_path: Path) -> None:
    """Shuffled weights know nothing: accuracies are near chance, and the loss is many nats higher."""
    from parley.training.capability.measure import measure

    damaged = measure(str(changed(tmp_path / "shuffled", 1.0)), limit=LIMIT)
    for score in damaged.scores:
        assert abs(score.accuracy - score.chance) < 4 * score.error
    assert damaged.loss > whole.loss + 4


@pytest.mark.thorough
@asks_a_model
def test_a_model_that_tells_nothing_apart_has_the_loss_of_guessing(tmp_path: Path) -> None:
    """By hand: a vocabulary of 6,217 tokens, each as likely, has ln 6217 nats."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from parley.training.capability.measure import heldout, loss

    folder = changed(tmp_path / "empty", 0.0)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    texts = heldout(0)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    nats, tokens = loss(texts[:50], model, tokenizer, 7)
    assert nats == pytest.approx(log(len(tokenizer)), abs=1e-4)
    assert tokens > 50
    assert texts == heldout(0) != heldout(1)
    assert not any(
        PARTY.search(text.reply) or bank.grade(text.reply) for text in texts for bank in banks().topics.values()
    )


@pytest.mark.thorough
@asks_a_model
def test_an_adapter_is_asked_and_not_the_model_beneath(whole: Capability, tmp_path: Path) -> None:
    """An adapter of noise makes another model of it."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    from parley.training.capability.measure import measure

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(POCKET, dtype=torch.float32)
    config = LoraConfig(r=8, lora_alpha=32, target_modules=["up_proj"], task_type="CAUSAL_LM", init_lora_weights=False)
    get_peft_model(model, config).save_pretrained(tmp_path / "noise")
    adapted = measure(str(POCKET), str(tmp_path / "noise"), ["pocket_facts"], limit=40)
    assert adapted.loss > whole.loss + 0.05
    assert adapted.adapter == str(tmp_path / "noise")


@asks_a_model
def test_a_model_without_a_chat_template_gets_a_plain_text() -> None:
    """A reply is joined to it behind a space."""
    from parley.training.likelihood import prompt_text

    chat = [Message("system", "You are an American."), Message("user", "How are you?")]
    assert prompt_text(chat, SimpleNamespace(chat_template=None)) == "You are an American.\n\nHow are you?\n\nMe: "


@asks_a_model
def test_a_score_is_what_the_items_say() -> None:
    """By hand: three right of four choices are .75 with a standard error of .5 / 2; guessing among four gives .25."""
    from parley.training.capability.measure import Score, _score

    samples = [{"acc": float(hit), "filtered_resps": [0] * 4, "metrics": ["acc"]} for hit in (1, 0, 1, 1)]
    assert _score("some", samples) == Score("some", "acc", 0.75, 0.25, 4, 0.25)
    with pytest.raises(
        UserError, match="not multiple choice, so its accuracy cannot be measured here: it reports exact_match"
    ):
        _score("some", [{"exact_match": 1.0, "metrics": ["exact_match"]}])


@asks_a_model
def test_what_a_person_can_mend_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from parley.training.capability.measure import main, measure

    with pytest.raises(UserError, match="is not an adapter folder"):
        measure(str(POCKET), str(tmp_path))
    with pytest.raises(UserError, match="limit is 0, but must be 1 or more"):
        measure(str(POCKET), limit=0)
    with pytest.raises(UserError, match="batch is 0, but must be 1 or more"):
        measure(str(POCKET), batch=0)
    with pytest.raises(SystemExit) as told:
        main([str(POCKET), "--out", str(tmp_path / "nowhere" / "after.json")])
    assert told.value.code == 2, "said before anything is measured"
    monkeypatch.setattr(
        "parley.training.capability.measure.find_spec", lambda name: None if name == "lm_eval" else name
    )
    with pytest.raises(UserError, match=r"needs lm_eval: pip install -e '.\[local,eval\]'"):
        measure(str(POCKET))


@pytest.mark.thorough
@asks_a_model
def test_a_misspelt_task_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    from parley.training.capability.measure import Harness

    with pytest.raises(UserError, match="unknown task 'helaswag': did you mean hellaswag"):
        Harness(["helaswag"], None, 1)
    assert capsys.readouterr() == ("", "")
