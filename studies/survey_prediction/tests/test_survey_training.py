"""Training on the answers of a survey: what is trained on, what the null has, and one real step on pocket."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

import run
from parley.analysis.journaled_calls import CallDesk
from parley.llm.errors import UserError
from parley.studies.survey_prediction.asking import Interviewer
from parley.studies.survey_prediction.prediction import PredictionStudy
from parley.studies.survey_prediction.survey import invent_survey
from parley.studies.survey_prediction.training import TRAINED, SurveyTraining
from parley.training.tuning.recipe import Recipe


def training(folder: Path, llm: str = "oracle", people: int = 12) -> SurveyTraining:
    study = PredictionStudy(invent_survey("planted", people), llm, samples=1)
    return SurveyTraining(study, Recipe("survey", r=4, batch=4), folder)


def test_examples_hold_training_answers_only(tmp_path: Path) -> None:
    """Each training answer once, as it was given; no unasked question, no hidden answer, and the answer is not in its prompt."""
    own = training(tmp_path)
    survey, split = own.study.survey, own.study.split
    examples = own.examples(survey)
    assert len(examples) == split.training.sum()
    unasked = {survey.items[item].text for item in np.flatnonzero(split.unasked)}
    agreed = 0
    for example in examples:
        known, asked = (message["content"] for message in example["prompt"])
        assert not any(text in known + asked for text in unasked)
        question = next(item.text for item in survey.items if item.text in asked)
        assert question not in known
        agreed += example["completion"][0]["content"] == "agree"
    assert agreed == survey.values[split.training].sum()
    for person in np.flatnonzero(~split.new):
        shown = own.study.asked(int(person), int(np.flatnonzero(split.unasked)[0]))[0].describe(survey.language)
        assert not any(survey.items[item].text in shown for item in np.flatnonzero(split.hidden[person]))


def test_shuffled_training_keeps_questions_and_loses_people(tmp_path: Path) -> None:
    """Each question keeps its share in the training; hidden answers and new people are as before; shuffles differ."""
    own = training(tmp_path, people=40)
    survey, split, dealt = own.study.survey, own.study.split, own.shuffled(1)
    for item in range(len(survey.items)):
        rows = split.training[:, item]
        assert dealt.values[rows, item].sum() == survey.values[rows, item].sum()
    assert np.array_equal(dealt.values[~split.training], survey.values[~split.training])
    assert not np.array_equal(dealt.values, survey.values)
    assert not np.array_equal(dealt.values, own.shuffled(2).values)
    assert np.array_equal(dealt.values, own.shuffled(1).values)


def test_a_model_that_cannot_be_trained_leaves_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run.main(["study", "predict", "planted", "--llm", "oracle", "--train", "--out", str(out)]) == 2
    assert "oracle cannot be trained" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.thorough
def test_one_real_step_of_training(tmp_path: Path) -> None:
    """One step makes an adapter of pocket, which answers and is not made again; other examples are refused."""
    pytest.importorskip("torch")
    own = training(tmp_path, "pocket")
    desk = CallDesk(
        tmp_path, lambda title, total, unit="call": contextlib.nullcontext(lambda count: None), keep_going=True
    )
    base, survey = own.base(), own.study.survey
    examples = own.examples(survey)[:4]
    path = own.adapter(TRAINED, examples, base, desk)
    assert (path / "adapter_model.safetensors").is_file()
    assert own.adapter(TRAINED, examples, base, desk) == path
    with pytest.raises(UserError, match="trained with another set of examples"):
        own.adapter(TRAINED, examples[:3], base, desk)
    spec = f"pocket,adapters={path}"
    asking = Interviewer("pocket", survey.language, desk, samples=1, adapter=path.name, spec=spec)
    asked = own.study.asked(*own.study.questions()[0])
    assert len(asking.predict([asked], "predictions")) == 1
