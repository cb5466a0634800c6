"""Every command that asks a model, small, against the ways in which chat models say an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.commands_read import COMMANDS, Materials, share_read
from parley.llm.manners import CLOSED

MANNERS = tuple(CLOSED)
SLOW = frozenset({
    "run echo_chamber", "run public_opinion", "run emotion_spread", "run fake_news", "run consensus", "run representatives",
    "run basic_income", "run hurricane", "run platform", "run network", "guidance", "flips", "audit", "refutation", "structured",
    "validate", "stereotypes", "predict", "evolve", "run news_evolution", "run recollection", "run persuasion", "correct",
    "intervene", "archetypes", "arguments", "honesty",
})  # fmt: skip
"""Commands of more than a second of processor, or whose questions another quick one asks as well."""
NAMES = [pytest.param(name, marks=pytest.mark.thorough) if name in SLOW else name for name in COMMANDS]


@pytest.fixture(scope="module")
def materials(tmp_path_factory: pytest.TempPathFactory) -> Materials:
    return Materials(tmp_path_factory.mktemp("commands"))


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than asking, and is tested elsewhere."""

    def touch(self: object, path: Any, **options: Any) -> None:
        if isinstance(path, str | Path):
            Path(path).touch()

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", touch)


@pytest.mark.parametrize("name", NAMES)
def test_a_command_reads_every_answer_in_a_manner_of_chat_models(name: str, materials: Materials) -> None:
    """One manner each, in turn. Before, "I would say B." lost all answers of herding, conjoint, distributions and elicit."""
    manner = MANNERS[list(COMMANDS).index(name) % len(MANNERS)]
    found = share_read(name, f"oracle,manner={manner}", materials, f"{name} {manner}")
    lost = set(found.missing) - {"no_known_sentence"}  # an oracle that judges knows the sentences of one topic only
    assert (found.code, lost, found.tries[1]) == (0, set(), 0), f"{manner}: {found.said}"
    assert found.asked > 0 or name.startswith(("personas", "case")), "these write a file"


@pytest.mark.thorough
@pytest.mark.parametrize("name", COMMANDS)
def test_a_speaker_that_sees_messages_alone_is_read(name: str, materials: Materials) -> None:
    """It knows no purpose, no facts and no list of answers: the prompt has to say what is wanted, or the command why it stops."""
    found = share_read(name, "chatter", materials, f"{name} chatter")
    if found.code:
        assert found.said.startswith("run.py: "), found.said
    else:
        assert found.share >= 0.9, found
