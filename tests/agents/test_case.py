"""Writing the case of a structured debate: what is asked, what is accepted, what becomes of the topic file."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each

import run
from parley.agents.case_generator import ATTEMPTS, write_topic
from parley.agents.topic import TOPICS, load_topic
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request

PRO, CON = ["It protects children."], ["It is a matter between a woman and her doctor.", "ACLU lawyers would sue."]
LONG = " ".join(["word"] * 40)


def test_arguments_and_refinements_are_asked_for_in_one_chat(tmp_path: Path) -> None:
    """Each change is asked of the version before it, which stands in the chat."""
    asked: list[Request] = []

    def writing(request: Request) -> str:
        asked.append(request)
        return f"{LONG} {len(asked)}"

    path = write_topic(
        load_topic("abortion"), PRO, CON, ["shorter", "in a village"], tmp_path / "a.toml", Fake(writing), 0
    )
    assert [len(request.messages) for request in asked] == [1, 3, 5]
    assert "Arguments for:\n- It protects children.\nArguments against:\n- It is" in asked[0].messages[0].content
    assert "in a village" in asked[2].messages[-1].content
    assert asked[2].messages[-2].content == f"{LONG} 2"
    assert load_topic(str(path)).case == f"{LONG} 3"


def test_all_else_of_the_topic_is_kept(tmp_path: Path) -> None:
    """And it is known whose case it is: judge and model in the box know that topic, not this file's name."""
    path = write_topic(load_topic("abortion"), PRO, CON, [], tmp_path / "a.toml", Fake(lambda _: LONG), 0)
    old, new = (text.read_text().split("\n") for text in (TOPICS / "abortion.toml", path))
    kept = [line for line in new if not line.startswith(("case", "base"))]
    assert kept == [line for line in old if not line.startswith("case")]
    assert sum(line.startswith("case") for line in new) == 1
    assert load_topic(str(path)).root == "abortion"


def test_the_known_truth_speaker_writes_one_that_it_can_debate(tmp_path: Path) -> None:
    """Both sides are in it, each argument a sentence of its own, so that no capital is out of place; the topic is still known."""
    out = tmp_path / "hospital.toml"
    command = ["study", "case", "--topic", "abortion", "--for", PRO[0], "--against", CON[0], "--against", CON[1]]
    command += ["--for", "a woman decides", "--for", "Texas has shown it!"]
    assert run.main([*command, "--out", str(out)]) == 0
    told = load_topic(str(out)).case
    assert "Some say: It protects children. A woman decides. Texas has shown it! Others answer: It is a matter" in told
    assert "between a woman and her doctor. ACLU lawyers would sue. The vote is tonight." in told


@pytest.mark.parametrize(
    ("reply", "told"),
    [("Too short.", "has 2 words, not 20 to 150"), (Reply.failed("timeout"), r"failed \(timeout\)")],
)
def test_what_cannot_be_used_is_asked_again_and_then_told(tmp_path: Path, reply: str | Reply, told: str) -> None:
    replies = [reply] * ATTEMPTS
    with pytest.raises(UserError, match=told):
        write_topic(load_topic("abortion"), PRO, CON, [], tmp_path / "a.toml", Fake(replies), 0)
    assert not list(tmp_path.iterdir())
    write_topic(load_topic("abortion"), PRO, CON, [], tmp_path / "a.toml", Fake([*replies[1:], LONG]), 0)


@check_each(
    ("given", "told"),
    [
        (["--for", "x"], "one argument for and one against"),
        (["--for", " ", "--against", ""], "one argument for and one against"),
        (["--for", "x", "--against", "y", "--refine", "z"], r"failed (unknown_ask)"),
    ],
)
def test_what_a_user_can_get_wrong_is_one_line(
    tmp_path: Path, given: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refinements are free text, which the known-truth speaker does not read."""
    assert run.main(["study", "case", "--topic", "racism", "--out", str(tmp_path / "x.toml"), *given]) == 2
    assert told in capsys.readouterr().err
    (tmp_path / "x.toml").write_text("")
    assert (
        run.main(
            ["study", "case", "--topic", "racism", "--out", str(tmp_path / "x.toml"), "--for", "x", "--against", "y"]
        )
        == 2
    )
    assert "exists already" in capsys.readouterr().err
