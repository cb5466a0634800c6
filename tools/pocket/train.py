"""Trains the pocket model: python -m tools.pocket.train --corpus DIR/corpus.jsonl --out DIR [--steps N] [--start DIR]

A Llama from scratch. Muon for the matrices, AdamW for the rest, bfloat16 where that is fast, one thread on a CPU, a GPU when
there is one. The learning rate warms up, stays, and falls over the last 60%. The state is written every few minutes; the
same command goes on from it and takes the same steps as an undisturbed training. `--start` is a model to begin with in place of
nothing: its tokenizer is kept, and of the first phases it goes through those in which facts are looked up.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from parley.llm.backends.oracle.phrases import Banks, banks
from parley.llm.backends.pocket.prompt_ids import SLOTS
from tools.pocket import attention, muon
from tools.pocket import rows as packing
from tools.pocket.corpus.documents import read
from tools.pocket.corpus.people import TAUGHT
from tools.pocket.probes import Marks, Probes
from tools.pocket.rows import ANSWER, CAPACITIES, FACT, HEARD_STANCE, OWN, STANCE, Encoder, Row, pack, visible
from tools.pocket.tokenizer import SPACE, train_tokenizer, unspoken_tokens

CONTEXT = CAPACITIES[-1]
TOKENS = 2304
"""Tokens of a batch, about."""
SAVE_EVERY = 300.0
"""Seconds."""
LOG_EVERY = 50
FIRST = ({0: 1.0e6}, {0: 0.4e6, 1: 2.5e6}, {2: 1.3e6}, {0: 0.3e6, 1: 0.4e6, 2: 0.4e6, 3: 1.2e6})
LOOK_UPS = FIRST[2:]
"""What the first epoch begins with, phase by phase: tokens by order of rows (tools/pocket/rows.py). A model to begin with
has gone through the others, and goes through the last two."""
MIN_P = 0.05
"""Of the probability of the likeliest token: a less likely one is never said. It is a part of the model's definition."""
FOR_TOKENIZER = 9000
"""Documents that the tokenizer is trained on."""


@dataclass(frozen=True)
class Recipe:
    """What is trained and how."""

    hidden: int = 128
    layers: int = 5
    heads: int = 4
    key_heads: int = 2
    feed_forward: int = 384
    muon: float = 0.01
    adam: float = 0.006
    warm_up: float = 0.02
    decay: float = 0.6
    steps: int = 8_000
    seed: int = 0
    start: str = ""


def build(recipe: Recipe, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """The model before training."""
    torch.manual_seed(recipe.seed)
    if recipe.start:
        model = LlamaForCausalLM.from_pretrained(recipe.start, dtype=torch.float32, attn_implementation=attention.NAME)
        model.config.update(file_facts(tokenizer))
        return model
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden,
        intermediate_size=recipe.feed_forward,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.key_heads,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        attn_implementation=attention.NAME,
        **file_facts(tokenizer),
    )
    return LlamaForCausalLM(config)


def declining_sentences(banks: Banks) -> list[str]:
    """Return every sentence of a reply that answers nothing, {name} standing for a speaker."""
    bank = banks.data("self")
    silent = [line for kind in ("changed", "said", "agree", "own") for line in bank[kind]["silent"]]
    unsaid = [line for lines in bank["unsaid"].values() for line in lines]
    return sorted({*silent, *unsaid, *bank["unknown"]["answers"]})


def file_facts(tokenizer: PreTrainedTokenizerFast) -> dict[str, list]:
    """Return what a model's files say: its topics, the sentences with which it declines, and tokens that it may only copy.

    The forms of one name stand together.
    """
    forms = [tokenizer.convert_tokens_to_ids([SPACE + slot, slot]) for slot in SLOTS]
    return {"topics": list(TAUGHT), "declines": declining_sentences(banks()), "copied": forms}


def optimisers(model: LlamaForCausalLM, probes: Probes, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the layers' matrices, AdamW for embeddings and norms."""
    matrices = [
        parameter for name, parameter in model.named_parameters() if parameter.ndim == 2 and "embed" not in name
    ]
    rest = [parameter for name, parameter in model.named_parameters() if parameter.ndim != 2 or "embed" in name]
    rest += list(probes.parameters())
    return [
        torch.optim.Muon(matrices, lr=recipe.muon, weight_decay=0.01, momentum=0.95, adjust_lr_fn="original"),
        torch.optim.AdamW(rest, lr=recipe.adam, betas=(0.9, 0.98), weight_decay=0.0),
    ]


KINDS = {"answers": ANSWER, "facts": FACT, "own_labels": STANCE, "heard_labels": HEARD_STANCE, "words": OWN}
"""What the log tells the mean cross-entropy of, by loss weight."""


def precision(device: torch.device) -> torch.dtype:
    """bfloat16 where it is fast: of processors those with AMX (others take 1.7 times as long, 12 without AVX-512)."""
    told = Path("/proc/cpuinfo")
    fast = device.type != "cpu" or (told.is_file() and "amx_bf16" in told.read_text())
    return torch.bfloat16 if fast else torch.float32


def losses_of(
    model: LlamaForCausalLM, probes: Probes, rows: list[Row], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, dict[str, Marks]]:
    """Cross-entropy of every learned token of a batch of rows of one length, the weight of each, and what the probes lose."""

    def stacked(name: str) -> np.ndarray:
        return np.stack([getattr(row, name) for row in rows])

    seen = visible(stacked("document"), stacked("segment"), stacked("branch"), stacked("position"))
    ids, position = stacked("ids").astype(np.int64), stacked("position").astype(np.int64)
    mask = torch.where(torch.from_numpy(seen)[:, None].to(device), 0.0, -1e4).to(precision(device))
    output = model.model(
        input_ids=torch.from_numpy(ids).to(device),
        attention_mask=mask,
        position_ids=torch.from_numpy(position).to(device),
        output_hidden_states=True,
        use_cache=False,
    )
    states = output.last_hidden_state
    weight = stacked("weight").astype(np.float32)
    rows_, places = np.nonzero(weight)
    logits = model.lm_head(states[torch.from_numpy(rows_).to(device), torch.from_numpy(places - 1).to(device)]).float()
    first = torch.from_numpy(ids[rows_, places]).to(device)
    second = torch.from_numpy(stacked("other").astype(np.int64)[rows_, places]).to(device)
    share = torch.from_numpy(stacked("share").astype(np.float32)[rows_, places]).to(device)
    counts = torch.from_numpy(weight[rows_, places]).to(device)
    likely = torch.stack([first, second], 1)
    log = logits.gather(1, likely) - logits.logsumexp(1, keepdim=True)
    losses = -log[:, 0] * (1 - share) - log[:, 1] * share
    return losses, counts, probes(output.hidden_states, rows)


def epoch(
    rows: list[Row], seed: int, number: int, phases: Sequence[Mapping[int, float]] = FIRST
) -> Iterator[list[Row]]:
    """The batches of an epoch. The first one begins with surveys of one person, then come those who listen and are interviewed.

    Reading a stance out of a persona is learned late and all at once; among long debates the model had not got it after
    4 million tokens, with nothing but surveys it has it after one. So it is with a fact of the persona: with nothing but short
    chats about one persona it has it after 1.2 million tokens; with a quarter of other chats it had not after 1.9 (tools/log).
    """
    rng = random.Random(f"{seed} {number}")
    left = rng.sample(rows, len(rows))
    for phase in phases if number == 0 else ():
        first = [
            row
            for order, tokens in phase.items()
            for row in _up_to([row for row in left if row.order == order], tokens)
        ]
        chosen = set(map(id, first))
        left = [row for row in left if id(row) not in chosen]
        yield from batches(first, rng)
    yield from batches(left, rng)


def _up_to(rows: list[Row], tokens: float) -> Iterator[Row]:
    """The first rows, up to some number of tokens in all."""
    for row in rows:
        tokens -= len(row.ids)
        if tokens < 0:
            return
        yield row


def batches(rows: list[Row], rng: random.Random) -> Iterator[list[Row]]:
    """Batches of rows of one length, about TOKENS tokens each, in random order."""
    by_size: dict[int, list[Row]] = defaultdict(list)
    for row in rng.sample(rows, len(rows)):
        by_size[len(row.ids)].append(row)
    made = [
        same[start : start + max(1, TOKENS // size)]
        for size, same in by_size.items()
        for start in range(0, len(same), max(1, TOKENS // size))
    ]
    yield from rng.sample(made, len(made))


def rate(done: float, recipe: Recipe) -> float:
    """Share of the full learning rate after a share of the training."""
    return min(1.0, done / recipe.warm_up, max(0.02, (1 - done) / recipe.decay))


class Training:
    """A training on its way; `spent` are seconds."""

    def __init__(self, recipe: Recipe, corpus: Path, out: Path):
        self.recipe, self.out = recipe, out
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        if precision(self.device) == torch.float32:
            muon.use_float32()
        self.tokenizer = _tokenizer(corpus, out, recipe.start)
        self.rows = _kept_rows(corpus, out, self.tokenizer)
        self.model = build(recipe, self.tokenizer).to(self.device)
        self.probes = Probes(self.model.config.hidden_size, self.model.config.num_hidden_layers).to(self.device)
        self.optimisers = optimisers(self.model, self.probes, recipe)
        self.step, self.spent, self.tokens, self.epoch, self.batch = 0, 0.0, 0, 0, 0
        self.noted: dict[str, list[float]] = defaultdict(list)
        self._resume()

    def run(self) -> None:
        """Train to the last step and save the model."""
        with closing(self.steps()) as steps:
            for loss in steps:
                if self.step % LOG_EVERY == 0:
                    self._log(loss)
        self.model.generation_config.update(
            do_sample=True, min_p=MIN_P, suppress_tokens=unspoken_tokens(self.tokenizer), max_length=None
        )
        self.model.half().save_pretrained(self.out / "model")
        self.tokenizer.save_pretrained(self.out / "model")

    def steps(self) -> Generator[float, None, None]:
        """Train step by step; the loss of each. The state is saved now and then, and when the iterator is closed."""
        saved = self.spent
        try:
            while self.step < self.recipe.steps:
                batches_ = epoch(self.rows, self.recipe.seed, self.epoch, LOOK_UPS if self.recipe.start else FIRST)
                for batch in islice(batches_, self.batch, None):
                    yield self._step(batch)
                    if self.spent - saved > SAVE_EVERY:
                        self._save()
                        saved = self.spent
                    if self.step >= self.recipe.steps:
                        break
                else:
                    self.epoch, self.batch = self.epoch + 1, 0
        finally:
            self._save()

    def _step(self, batch: list[Row]) -> float:
        started = time.perf_counter()
        share = rate(self.step / self.recipe.steps, self.recipe)
        for optimiser, full in zip(self.optimisers, (self.recipe.muon, self.recipe.adam), strict=True):
            for group in optimiser.param_groups:
                group["lr"] = max(full * share, full * 1e-3)
        kind = precision(self.device)
        with torch.autocast(self.device.type, dtype=kind, enabled=kind != torch.float32):
            losses, counts, marks = losses_of(self.model, self.probes, batch, self.device)
            read = sum((mark.losses.sum() * mark.weight for mark in marks.values()), losses.new_zeros(()))
            loss = ((losses * counts).sum() + read) / counts.sum()
        loss.backward()
        self._note(losses.detach(), counts, marks)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.step, self.batch = self.step + 1, self.batch + 1
        self.tokens += sum(int((row.document > 0).sum()) for row in batch)
        self.spent += time.perf_counter() - started
        return float(loss.detach())

    def _note(self, losses: torch.Tensor, counts: torch.Tensor, marks: dict[str, Marks]) -> None:
        for kind, mark in marks.items():
            self.noted[kind] += mark.losses.detach().tolist()
        for kind, weight in KINDS.items():
            self.noted[kind] += losses[counts == weight].tolist()

    def _log(self, loss: float) -> None:
        means = {kind: round(fmean(noted), 4) for kind, noted in self.noted.items() if noted}
        self.noted.clear()
        line = {
            "step": self.step,
            "minutes": round(self.spent / 60, 2),
            "tokens": self.tokens,
            "epoch": self.epoch,
            "loss": round(loss, 4),
            **means,
        }
        with (self.out / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _save(self) -> None:
        state = {
            "recipe": asdict(self.recipe),
            "model": self.model.state_dict(),
            "probes": self.probes.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "done": (self.step, self.spent, self.tokens, self.epoch, self.batch),
        }
        partial = self.out / "state.partial.pt"
        torch.save(state, partial)
        partial.replace(self.out / "state.pt")

    def _resume(self) -> None:
        path = self.out / "state.pt"
        if not path.exists():
            return
        state: dict[str, Any] = torch.load(path, map_location=self.device, weights_only=True)
        if state["recipe"] != asdict(self.recipe):
            raise SystemExit(f"{self.out} holds a training of another recipe ({state['recipe']}): give another --out")
        self.model.load_state_dict(state["model"])
        self.probes.load_state_dict(state["probes"])
        for optimiser, kept in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(kept)
        self.step, self.spent, self.tokens, self.epoch, self.batch = state["done"]


def _tokenizer(corpus: Path, out: Path, start: str) -> PreTrainedTokenizerFast:
    folder = Path(start) if start else out / "tokenizer"
    if folder.exists():
        return PreTrainedTokenizerFast.from_pretrained(folder)
    documents = [document for number, document in enumerate(read(corpus)) if number % 4 == 0][:FOR_TOKENIZER]
    tokenizer = train_tokenizer(documents)
    tokenizer.save_pretrained(folder)
    return tokenizer


def _kept_rows(corpus: Path, out: Path, tokenizer: PreTrainedTokenizerFast) -> list[Row]:
    """Return the rows of a corpus; they are kept, because it takes minutes to make them. Another corpus has rows of its own."""
    digest = blake2b(corpus.read_bytes() + Path(packing.__file__).read_bytes(), digest_size=8).hexdigest()
    file = out / f"rows-{digest}.npz"
    names = [field.name for field in fields(Row) if field.name != "order"]
    if not file.exists():
        out.mkdir(parents=True, exist_ok=True)
        partial, rows = out / "rows.partial.npz", _rows(corpus, tokenizer)
        columns: dict[str, Any] = {name: np.concatenate([getattr(row, name) for row in rows]) for name in names}
        np.savez(partial, **columns, lengths=[len(row.ids) for row in rows], orders=[row.order for row in rows])
        partial.replace(file)
    with np.load(file, allow_pickle=False) as kept:
        ends = np.cumsum(kept["lengths"])[:-1]  # rows are of several lengths
        parts = zip(*(np.split(kept[name], ends) for name in names), map(int, kept["orders"]), strict=True)
        return [Row(*values) for values in parts]


def _rows(corpus: Path, tokenizer: PreTrainedTokenizerFast) -> list[Row]:
    encoder = Encoder(tokenizer)
    encoded = [encoder.encode(document) for document in read(corpus)]
    fitting = [document for document in encoded if len(document.ids) <= CAPACITIES[-1]]
    if len(fitting) < len(encoded):
        print(f"{len(encoded) - len(fitting)} of {len(encoded)} documents are longer than a row and left out")
    return list(pack(fitting, tokenizer.pad_token_id))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=Recipe.steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", default="", help="folder of a model to begin with")
    parser.add_argument("--threads", type=int, default=1)
    for name in ("hidden", "layers", "heads", "key_heads", "feed_forward"):
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=getattr(Recipe, name))
    given = parser.parse_args(arguments)
    if given.start and not (Path(given.start) / "config.json").is_file():
        raise SystemExit(f"--start {given.start} holds no model (no config.json)")
    torch.set_num_threads(given.threads)
    given.out.mkdir(parents=True, exist_ok=True)
    shape = {name: getattr(given, name) for name in ("hidden", "layers", "heads", "key_heads", "feed_forward")}
    Training(Recipe(steps=given.steps, seed=given.seed, start=given.start, **shape), given.corpus, given.out).run()


if __name__ == "__main__":
    main()
