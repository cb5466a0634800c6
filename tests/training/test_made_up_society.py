"""Fine-tuning in a society that nobody knows: its parties, its questions, its words; the third party as well as the debaters."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from data_checks import check_each
from made_up import made_up_society

import run
from parley.agents.persona import load_personas
from parley.agents.society import DEFAULT, US, Society, load_society
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.backends.pocket import WEIGHTS
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model.scenario import load_preset
from parley.training.commands.tuning import arms, society_of_folders
from parley.training.estimate import of_training
from parley.training.sweep_lora import cells, report, sweep
from parley.training.tuning import dataset
from parley.training.tuning.interviews import PersonaAnswer, word_runs
from parley.training.tuning.pipeline import TuningPlan
from parley.training.tuning.recipe import DPO, Recipe, seated_parties


@pytest.fixture(scope="module")
def land(tmp_path_factory: pytest.TempPathFactory) -> Society:
    return load_society(made_up_society(tmp_path_factory.mktemp("lands") / "land"))


def test_the_other_party_of_a_third_one_is_the_debater_farther_away(land: Society) -> None:
    """The badgers stand at 0.4: the otters (-1) are farther than the herons (1)."""
    assert [land.other(party) for party in ("heron", "otter", "badger")] == ["otter", "heron", "otter"]
    assert land.other(DEFAULT) == "heron", "the neutral party stands nowhere: the first"
    assert [load_society().other(party) for party in load_society().debaters] == [*reversed(load_society().debaters)]


def test_without_questions_of_its_own_the_writer_writes_all(land: Society) -> None:
    """It is shown questions of the topics and told whose politics they are about; none of them is trained on."""
    asked: list[Request] = []

    def ten(request: Request) -> str:
        asked.append(request)
        return f"1. What do you think about matter number {'x' * len(asked)} of our town?"

    with pytest.raises(UserError, match=r"only \d+ of 70 questions are usable after 60 replies"):
        dataset.write_questions(70, 0, Fake(ten), land)
    told = [request.messages[0].content for request in asked]
    assert all("regarding Ruritanian politics. Example question: " in one for one in told)
    shown = {one.partition("Example question: ")[2].partition("?")[0] for one in told}
    assert len(shown) == 7, "one of each topic"
    written = dataset.write_questions(40, 0, open_spec(f"oracle,society={land.name}"), land)
    assert len(set(written.questions)) == 40
    assert not set(written.questions) & {*dataset.survey_questions(land), *dataset.given_questions(load_society())}
    assert not dataset.given_questions(land)


def test_questions_of_its_own_come_first(tmp_path: Path) -> None:
    folder = Path(made_up_society(tmp_path / "land"))
    own = ["Who should mend the bridge across the river?", "What should the market of our town sell?"]
    (folder / dataset.GIVEN).write_text(f"questions = {json.dumps(own)}", encoding="utf-8")
    asked: list[str] = []

    def one(request: Request) -> str:
        asked.append(request.messages[0].content)
        return "1. When should the mills of the valley stand still?"

    written = dataset.write_questions(3, 0, Fake(one), load_society(str(folder)))
    assert list(written.questions[:2]) == own
    assert [text.partition("Example question: ")[2].partition("?")[0] + "?" for text in asked] == own * 5


@check_each(
    ("question", "reason"),
    [
        ("How do you feel about the Badger plan for schools?", "takes a side"),
        ("How do you feel about the GOP plan for schools?", "takes a side"),
        ("Should Otters and Badgers work together more often?", ""),
        ("How do you feel about the Republicans in Congress?", ""),
    ],
)
def test_a_question_that_names_one_of_its_parties_takes_a_side(question: str, reason: str, tmp_path: Path) -> None:
    """By the words that the society gives; those of another society are no party here."""
    society = load_society(made_up_society(tmp_path / "land"))
    assert dataset.question_problem(question, [], society) == reason


def test_its_survey_questions_are_kept_out_of_training(land: Society) -> None:
    question = dataset.survey_questions(land)[0]
    assert dataset.question_problem(question, [], land) == "a survey's own question"
    examples = dataset.sft_examples([PersonaAnswer("Why?", 0, f"You know: {question}")], 0)
    with pytest.raises(RuntimeError, match="survey's own question"):
        dataset.check_examples(examples, [], land)


def test_words_with_any_letters_are_words() -> None:
    """An umlaut parted a word in two, so that five words made a quote of eight."""
    assert not word_runs("Über die Straße gehört größere Führung")
    assert len(word_runs("Über die Straße gehört größere Führung als für Äcker")) == 2
    assert dataset.parse_questions("1. „Was ist gerecht?“") == ["Was ist gerecht?"]


def test_the_plan_knows_its_parties_and_says_its_society(land: Society) -> None:
    plan = TuningPlan("hf:org/model", society=land.name)
    assert plan.parties == ["heron", "otter", "badger"]
    assert (plan.compared("heron"), plan.compared("badger")) == (["heron", "otter"], ["otter", "badger"])
    assert plan.to_dict()["society"] == land.name
    assert "society" not in TuningPlan("hf:org/model").to_dict(), "folders of earlier versions go on"
    assert of_training(plan, Recipe("badger", DPO)).calls == {"answers": 4000}
    for party in ("republican", DEFAULT):
        with pytest.raises(UserError, match=f"unknown value of --party '{party}'"):
            plan.compared(party)
    with pytest.raises(UserError, match="pocket cannot write about the topic"):
        TuningPlan(society=land.name)
    assert TuningPlan("hf:m", society=land.name, writer="").written_by == "hf:m"


def trained(folder: Path, society: str, *parties: str) -> Path:
    """What `run.py train` leaves, as far as it is looked at."""
    for party in parties:
        adapter = folder / "adapters" / f"{party}-sft-r16"
        adapter.mkdir(parents=True)
        (adapter / "adapter_config.json").write_text("{}")
    named = {} if society == US else {"society": society}
    (folder / "plan.json").write_text(json.dumps({"llm": "hf:m", "seed": 0, **named}))
    return folder


def test_every_party_with_an_adapter_has_its_debates(land: Society, tmp_path: Path) -> None:
    """Those of the third party are of the two debaters, who speak through its adapter; per seat go the adapters of the seated."""
    base = load_preset("fine_tuned", {"society": land.name})
    seated = seated_parties(base)
    assert seated == ["heron", "otter", "default"]
    folder = trained(tmp_path / "tuned", land.name, "badger", "otter", "heron")
    found = {arm.name: arm for arm in arms([folder], "sft", 16, None, seated)}
    assert list(found) == ["before", "after-heron-0", "after-otter-0", "after-badger-0", "per_seat-0"]
    assert found["after-badger-0"].adapters == tuple(f"{party}:badger-sft-r16" for party in seated)
    assert found["per_seat-0"].adapters == ("heron:heron-sft-r16", "otter:otter-sft-r16")
    assert "badger" not in found["per_seat-0"].spec
    for arm in found.values():
        base.with_settings({"llm": "oracle", "adapters": arm.adapters})
    few = trained(tmp_path / "few", land.name, "badger", "otter")
    assert [arm.name for arm in arms([few], "sft", 16, None, seated)] == ["before", "after-otter-0", "after-badger-0"]


def test_debates_are_held_in_the_society_of_the_training(land: Society, tmp_path: Path) -> None:
    own, ours = trained(tmp_path / "own", land.name, "heron"), trained(tmp_path / "us", US, "democrat")
    assert society_of_folders([own], None) == land.name
    assert society_of_folders([own], f"{land.name}/") == f"{land.name}/"
    assert society_of_folders([ours], None) is None
    for folders, named in (([own], "us"), ([ours], land.name), ([own, ours], None)):
        with pytest.raises(UserError, match="has adapters of the society"):
            society_of_folders(folders, named)


def test_the_table_has_the_names_and_the_sides_of_the_society(land: Society, tmp_path: Path) -> None:
    """The badgers are on the side of the herons, who are nearer to them."""
    base = load_preset("fine_tuned", {"society": land.name, "topic": f"{land.name}/racism", "llm": "oracle"})
    pipelines = [SimpleNamespace(base=SimpleNamespace(name="oracle"), adapter=lambda recipe: Path(recipe.name))]
    study = sweep(base, "oracle", "badger", cells((2,), 2, 1)[1:2], cast(Any, pipelines), cast(Any, None))
    with pytest.raises(UserError, match="adapters"):  # the oracle has none
        next(study)
    rows = [("as it is", "", 0, 0, f"{land.name}/racism", 8.0)]
    found = pd.DataFrame(rows, columns=["model", "method", "r", "seed", "what", "value"])
    told = report(found, tmp_path, base, "hf:m", "badger").read_text()
    assert "answers of Badgers" in told
    assert "Racism ↓" in told
    assert "Mistral 7B, Republican," in told, "whose table the paper's is does not change"


@pytest.mark.thorough
def test_the_whole_way_for_the_third_party(land: Society, tmp_path: Path) -> None:
    """`run.py train --society LAND --party badger`: its own answers are preferred to those of the party farther away."""
    pytest.importorskip("torch", reason="the [local] extra is not installed")
    pytest.importorskip("trl", reason="the [local] extra is not installed")
    model, out = f"hf:{WEIGHTS / 'pocket'}", tmp_path / "tuned"
    common = ["--society", land.name, "--llm", model, "--writer", "oracle", "--questions", "6", "--answers", "4"]
    assert run.main(["train", *common, "--party", "badger", "--method", "dpo", "--r", "2", "--out", str(out)]) == 0
    assert sorted(path.stem for path in (out / "data").glob("*.jsonl")) == ["badger", "otter"]
    card = (out / "data" / "card.md").read_text()
    assert f"by oracle,society={land.name}" in card
    folder = land.folder / "parties"
    assert any(f"Badger: {one.name}" in card for one in load_personas("badger", folder))
    assert (out / "adapters" / "badger-dpo-r2" / "README.md").is_file()
    assert run.main(["train", *common, "--party", "heron", "--r", "2", "--out", str(out)]) == 0
    assert sorted(path.stem for path in (out / "data").glob("*.jsonl")) == ["badger", "heron", "otter"]
    assert all(f"| {party} | 24 |" in (out / "data" / "card.md").read_text() for party in ("Heron", "Otter", "Badger"))
    debates = ["--topic", f"{land.name}/racism", "--repetitions", "1", "--rounds", "1", "--keep-going"]
    assert (
        run.main(["study", "fine-tuned", "--tuned", str(out), "--r", "2", *debates, "--out", str(tmp_path / "held")])
        == 0
    )
    told = (tmp_path / "held" / "fine_tuned.md").read_text()
    assert "With the Badger adapter" in told
    assert "With the Heron adapter" in told
    assert "Republican" not in told
