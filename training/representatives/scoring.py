"""How likely a local model finds the critiques that participants wrote, as their own representative and as a stranger's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from parley.analysis.deliberation.representation import RepresentationCase, strangers
from parley.llm.backends.hf.loading import Loaded, load_model
from parley.training.base_model import BaseModel
from parley.training.likelihood import likelihoods
from parley.training.representatives.dataset import text
from parley.training.representatives.dataset_builder import TrainedRepresentative

OWN, STRANGER = "own", "stranger"
BATCH = 8


def load(model: TrainedRepresentative) -> Loaded:
    """The model to be scored."""
    base = model.base
    if model.folder is None:
        return load_model(base.name, base.dtype, base.load, base.device)
    if model.adapter:
        return load_model(base.name, base.dtype, base.load, base.device, [str(model.folder)])
    return load_model(str(model.folder), base.dtype, base.load, base.device)


def scored(
    found: Sequence[RepresentationCase], knows: str, loaded: Loaded, seed: int, batch: int = BATCH
) -> pd.DataFrame:
    """Two rows a case: `asked` own (its own prompt) and stranger (that of another participant of the same episode, drawn with
    the seed; no row where there is none). Columns: case, episode, session, participant, asked, logp (nats, the end of the
    critique included), tokens, characters.
    """
    others = strangers(found, seed)
    pairs = [
        (case, asked, told) for case in found for asked, told in ((OWN, case), (STRANGER, others.get(case.key))) if told
    ]
    texts = [text(case, knows, asked) for case, _, asked in pairs]
    values = likelihoods(texts, loaded.model, loaded.tokenizer, batch, ended=True)
    rows: list[dict[str, Any]] = [
        {"case": case.key, "episode": case.episode, "session": case.session, "participant": case.participant,
         "asked": asked, "logp": value.logp, "tokens": value.tokens, "characters": len(one.reply)}
        for (case, asked, _), one, value in zip(pairs, texts, values, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def untrained(llm_base: BaseModel, llm: str) -> TrainedRepresentative:
    """The model as it is."""
    return TrainedRepresentative(llm, "", llm_base, None)
