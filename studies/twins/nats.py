"""How likely a local model finds what a person really wrote, as that person's twin and as a stranger's."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from parley.agents.datafiles import save_text
from parley.llm.errors import UserError
from parley.training.base_model import DTYPES, BaseModel, base_model
from parley.training.likelihood import Text, likelihoods

from .asking import Told, compose_message
from .history import Point
from .people_file import MESSAGE
from .study import COLUMNS, NATS, NO_STRANGER, STRANGER, TWIN, TwinStudy, _mean, _row, told

if TYPE_CHECKING:
    from parley.llm.backends.hf.loading import Loaded

BATCH = 4


class Scorer(NamedTuple):
    """A local model that scores texts: the base model, and the folder of an adapter (None: none)."""

    base: BaseModel
    adapter: Path | None = None

    def load(self) -> Loaded:
        """Load the model for scoring."""
        from parley.llm.backends.hf.loading import load_model

        base = self.base
        return load_model(base.name, base.dtype, base.load, base.device, [str(self.adapter)] if self.adapter else [])


class Scored(NamedTuple):
    """The log-probability per token (nats) of the message of a point, after the history of the point `whose`."""

    key: str
    whose: str
    nats: float
    tokens: int


def scorer_of(spec: str) -> Scorer | None:
    """Return the scorer of a model whose weights are on this machine (hf, pocket); None for any other."""
    from parley.llm.backends import check_spec

    return Scorer(base_model(spec)) if check_spec(spec)[1] in DTYPES else None


def measure_nats(study: TwinStudy, words: int, scorer: Scorer, path: Path) -> pd.DataFrame:
    """Return the log-probability per token of each message (study.COLUMNS), from the file at `path` if it is there.

    words: as twins are asked for. Errors: UserError if the file is of other messages.
    """
    chosen = study.of_kind(MESSAGE)
    if not path.exists():
        scored = _scored(study, words, scorer, chosen)
        text = json.dumps([list(row) for row in scored], ensure_ascii=True, indent=0)
        save_text(path.with_suffix(".part"), text).replace(path)
    scores = [Scored(*row) for row in json.loads(path.read_text(encoding="utf-8"))]
    if {score.key for score in scores} != {point.key for point in chosen}:
        raise UserError(f"{path} has the scores of other messages: repeat the command as it was, or give another --out")
    by_key = {(score.key, score.whose): score.nats for score in scores}
    rows = []
    for point in chosen:
        others = study.by_stranger[point.key]
        values = {
            TWIN: by_key.get((point.key, point.key), math.nan),
            STRANGER: _mean(by_key.get((point.key, other.key), math.nan) for other in others),
        }
        rows.append(_row(study, point, NATS, values, "" if others else NO_STRANGER))
    return pd.DataFrame(rows, columns=COLUMNS)


def _scored(study: TwinStudy, words: int, scorer: Scorer, chosen: Sequence[Point]) -> list[Scored]:
    """Return the score of each message with its person's history, and with each stranger's."""
    pairs = [(point, whose) for point in chosen for whose in (point, *study.by_stranger[point.key])]
    texts = [message_text(study, told(point, whose), point, words) for point, whose in pairs]
    loaded = scorer.load()
    values = likelihoods(texts, loaded.model, loaded.tokenizer, BATCH, ended=True)
    return [
        Scored(point.key, whose.key, value.logp / value.tokens, value.tokens)
        for (point, whose), value in zip(pairs, values, strict=True)
    ]


def message_text(study: TwinStudy, known: Told, point: Point, words: int) -> Text:
    """Return a message as a reply of the twin that is told this."""
    request = compose_message(known, point.event.topic, words, study.language, study.seed)
    return Text(request.messages, point.event.text)
