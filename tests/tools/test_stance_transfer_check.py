"""The model in the box has one stance for survey and speech: what is fine-tuned into the one is found in the other."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the [local] extra is not installed")
pytest.importorskip("peft", reason="the [local] extra is not installed")

from parley.agents.persona import DEFAULT  # noqa: E402
from parley.llm.backends.pocket import WEIGHTS  # noqa: E402
from tools.pocket.stance_transfer_check import fine_tune, first_ratings, own_answers, toward  # noqa: E402

ANSWERS, PLACEBO = 400, 0.1
POCKET = WEIGHTS / "pocket"


def ratings_after(party: str, out: Path) -> dict[str, float]:
    """The Default's labelled ratings before a debate once the model was fine-tuned on its own answers, persona left out."""
    torch.set_num_threads(1)
    fine_tune(POCKET, own_answers("pocket", party, ANSWERS, 0), 16, 0, out / "moved")
    return first_ratings(f"pocket,adapters={out / 'moved'}", adapter="moved")


@pytest.mark.thorough
def test_republican_answers_move_the_first_rating_on_every_topic(tmp_path: Path) -> None:
    """Else moving the bias (section 5 of the paper) would be impossible on these weights."""
    before = first_ratings("pocket")
    assert toward("republican", before, ratings_after("republican", tmp_path)) == list(before)


@pytest.mark.thorough
def test_its_own_answers_move_nothing(tmp_path: Path) -> None:
    """The placebo: it is the answers that move a rating, not the fine-tuning."""
    before, after = first_ratings("pocket"), ratings_after(DEFAULT, tmp_path)
    assert after == pytest.approx(before, abs=PLACEBO)
