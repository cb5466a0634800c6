"""A payoff model: a language model with a value head, asked through the journal.

`run.py study representatives payoff` trains one and writes its folder. It answers through the journal, as any model does, but it
cannot speak, so `--llm` does not list it. payoff.json of the folder says what it is:

    base           spec of the model that was trained: backend, name or folder, dtype, load, device
    adapter        whether the folder has a LoRA adapter (else all weights)
    centre, scale  the reply is centre + scale * the head's value
    blind          whether the question leaves out the opinion
    form           "rating" (the reply is a rating, 1 to 7) or "pairs" (differences of replies are log odds)
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from parley.llm.backends.hf.checkpoint import fingerprint
from parley.llm.errors import UserError
from parley.llm.request import Message, Reply, Request, Sampling, Usage

FILE = "payoff.json"
RATING, PAIRS = "rating", "pairs"
FORMS = (RATING, PAIRS)
BATCH = 16


class Head(NamedTuple):
    """payoff.json: see the module. base: model, dtype, load, device."""

    base: Mapping[str, str]
    adapter: bool
    centre: float
    scale: float
    blind: bool
    form: str


def read_head(folder: Path) -> Head:
    """Return payoff.json of a folder. Errors: UserError when it is missing or not that of a payoff model."""
    try:
        values = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return Head(**values)
    except (OSError, ValueError, TypeError) as error:
        raise UserError(
            f"{folder} has no payoff model ({FILE} is missing or cannot be read): train one with "
            "python run.py study representatives payoff EPISODES --out FOLDER"
        ) from error


def write_head(folder: Path, head: Head) -> None:
    """Write payoff.json."""
    (folder / FILE).write_text(json.dumps(head._asdict(), indent=1) + "\n", encoding="utf-8")


class RewardModel:
    """The payoff model of a folder. Its weights are loaded when it is first asked. Errors: UserError from `read_head`."""

    in_flight = 0

    def __init__(self, folder: Path):
        self.folder, self.head = folder, read_head(folder)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "reward", "model": self.folder.resolve().name, "weights": fingerprint(self.folder)}

    def seedless(self, request: Request) -> bool:
        return True

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        model, tokenizer = self._loaded
        ids = encode_questions([request.messages for request in requests], tokenizer)
        most = int(getattr(model.config.get_text_config(), "max_position_embeddings", 0) or 1 << 30)
        fitting = [row for row in ids if len(row) <= most]
        values = iter(head_values(fitting, model, tokenizer.pad_token_id) if fitting else ())
        return [self._reply(len(row), next(values)) if len(row) <= most else _too_long(len(row), most) for row in ids]

    def _reply(self, tokens: int, value: float) -> Reply:
        return Reply(f"{self.head.centre + self.head.scale * value:.6f}", usage=Usage(tokens, 0))

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        base = self.head.base
        name = base["model"] if self.head.adapter else str(self.folder)
        return load_scorer(
            name, base["dtype"], base["load"], base["device"], self.folder if self.head.adapter else None
        )


def _too_long(tokens: int, most: int) -> Reply:
    return Reply.failed("context_overflow", f"the text has {tokens} tokens, and the model takes {most}")


def load_scorer(name: str, dtype: str, load: str, device: str, adapter: Path | None = None) -> tuple[Any, Any]:
    """Return a model with a value head of one number, and its tokenizer. A model that has no head gets a random one.

    Errors: UserError, in one line.
    """
    import transformers

    from parley.llm.backends.hf.loading import find_device, load_errors, load_options
    from parley.llm.model_catalogue import cached_files

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # else a warning that the head is new
    place, files = find_device(device), cached_files(name)
    with load_errors(name):
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False, **files)
        options = load_options(dtype, load, place)
        model: Any = transformers.AutoModelForSequenceClassification.from_pretrained(
            name, num_labels=1, **options, **files
        )
        model = model if load != "full" else model.to(place)
        if adapter is not None:
            from peft import PeftModel

            warnings.filterwarnings(
                "ignore", ".*_checkpointing` is deprecated.*", FutureWarning
            )  # PEFT uses the old name
            model = PeftModel.from_pretrained(model, str(adapter))
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    tokenizer.padding_side = "right"
    model.config.get_text_config().pad_token_id = tokenizer.pad_token_id  # it finds the last token by it
    return model.eval(), tokenizer


def encode_questions(questions: Sequence[Sequence[Message]], tokenizer: Any) -> list[list[int]]:
    """Return token ids of chats, up to where a reply would begin: the head reads the last one."""
    from parley.llm.backends.hf.answer_tokens import encode

    return encode([Request(tuple(messages), Sampling(), 0) for messages in questions], tokenizer, "auto")


def head_values(rows: Sequence[Sequence[int]], model: Any, pad: int) -> list[float]:
    """Return the head's value at the end of each row of token ids, in their order."""
    import torch

    values: dict[int, float] = {}
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        width = max(len(rows[place]) for place in places)
        ids = torch.tensor([[*rows[place], *[pad] * (width - len(rows[place]))] for place in places])
        mask = torch.tensor([[1] * len(rows[place]) + [0] * (width - len(rows[place])) for place in places])
        with torch.no_grad():
            logits = model(input_ids=ids.to(model.device), attention_mask=mask.to(model.device)).logits
        values |= zip(places, map(float, logits.float().view(-1).cpu()), strict=True)
    return [values[place] for place in range(len(rows))]
