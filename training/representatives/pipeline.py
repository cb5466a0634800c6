"""What is trained and how: the study fine-tunes all weights with AdamW, batches of 128, a constant rate, and stops early.

Not from the study, and so ours: the rate (its value is missing in the text), LoRA as another way, how often is looked and
how long it is waited. Batches are of 32 unless told otherwise: data made here are smaller than the study's 5,484 critiques.

Cases of representation as training data: the prompt of a representative, and the critique that the participant wrote.

Episodes, split, data and models in one folder, where every step finds what the ones before it have left.

    plan.json                        what was asked for
    data/SIDE.jsonl, data/card.md    the episodes of train, validation and test
    models/BASE/NAME/                a trained model or adapter, its card, its losses

The same command on the same folder goes on; a split that was changed by hand is checked again when it is read.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from parley.agents.representative import Representative, knowledge_line, parse_knowledge
from parley.analysis.deliberation.episode import Episode, read_episodes, to_line, write_episodes
from parley.analysis.deliberation.population import answers
from parley.analysis.deliberation.representation import (
    SHARES,
    Cases,
    RepresentationCase,
    Split,
    check_split,
    describe_split,
    representation_cases,
    split_cases,
)
from parley.analysis.formatting import escape_markdown, markdown_table
from parley.analysis.journaled_calls import check_manifest
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.model_hubs import cached_files
from parley.llm.seeding import digest, stream
from parley.training.base_model import BaseModel, base_model
from parley.training.likelihood import Text
from parley.training.tuning.dataset import Example, digest_of
from parley.training.tuning.recipe import RATES, SFT, Recipe

WHOLE = {"hf": 1e-5, "pocket": 1e-3}
"""Learning rates of all weights where none is given."""
NOTHING = "base"


@dataclass(frozen=True)
class Lesson(Recipe):
    """`knows`: the letters of what a representative is told besides question, opinion and draft. `r` 0: all weights.

    Every `every` steps the loss on the validation side is looked at; after `patience` looks without a better one it ends, and
    the best checkpoint is kept.
    """

    party: str = "representative"
    r: int = 0
    epochs: float = 20.0
    length: int = 2048
    knows: str = "OC"
    every: int = 20
    patience: int = 3
    micro: int = 8
    LEAST: ClassVar[Mapping[str, float]] = {**Recipe.LEAST, "r": 0, "every": 1, "patience": 1, "micro": 1}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "knows", parse_knowledge(self.knows))

    @property
    def name(self) -> str:
        """`OC-full`, `base-r16`: the folder of the model, and of an adapter what requests call it."""
        return f"{self.knows or NOTHING}-{f'r{self.r}' if self.r else 'full'}"

    def filled(self, kind: str) -> Lesson:
        """With the values that stand for 0."""
        rate = self.rate or (RATES[kind][SFT] if self.r else WHOLE[kind])
        return replace(self, alpha=self.alpha or 2 * self.r, rate=rate)


SHOWN = 3


def text(case: RepresentationCase, knows: str, asked: RepresentationCase | None = None) -> Text:
    """The chat and the critique as it is to be written; `asked`: whom the prompt is about, if somebody else (a stranger)."""
    assert case.critique is not None
    return Text(Representative((asked or case).brief, knows).messages(), knowledge_line(case.critique))


def examples(found: Sequence[RepresentationCase], knows: str, seed: int) -> list[Example]:
    """{"prompt": [user message], "completion": [assistant message]}, in an order drawn with the seed."""
    made = [_example(text(case, knows)) for case in found]
    stream(seed, "representatives", "order").shuffle(made)
    return made


def written(episodes: Sequence[Episode]) -> Cases:
    """The cases that can be learned from: those with a critique of some words."""
    found = representation_cases(episodes)
    empty = sum(not knowledge_line(case.critique or "") for case in found.cases)
    kept = tuple(case for case in found.cases if knowledge_line(case.critique or ""))
    return Cases(kept, found.left_out | ({"empty critique": empty} if empty else {}))


def card(sides: Split, notes: Sequence[str]) -> str:
    """What the data hold, for a person: counts by side, what is known of participants, examples as plain text."""
    return "\n\n".join(_parts(sides, notes)) + "\n"


def _parts(sides: Split, notes: Sequence[str]) -> Iterator[str]:
    yield "# Data of representatives"
    yield "  \n".join(map(escape_markdown, notes))
    yield f"No participant, session or question is on two sides. {describe_split(sides)}."
    yield f"Answered in the questionnaire: {answers([one for kept in sides.values() for one in kept])}."
    header = ["side", "sessions", "episodes", "questions", "participants", "critiques", "words, mean"]
    yield markdown_table(header, [_row(name, kept) for name, kept in sides.items()])
    left = Counter[str]()
    for kept in sides.values():
        left.update(written(kept).left_out)
    yield (
        "Voices left out: "
        + (", ".join(f"{escape_markdown(why)} {count}" for why, count in left.items()) or "none")
        + "."
    )
    yield "## Examples"
    yield from (_shown(case) for kept in sides.values() for case in written(kept).cases[:SHOWN])


def _row(name: str, kept: Sequence[Episode]) -> list[str]:
    found = written(kept).cases
    words = [len(knowledge_line(case.critique or "").split()) for case in found]
    people = {case.participant for case in found}
    counts = [len({one.session for one in kept}), len(kept), len({one.question.id for one in kept}), len(people)]
    return [name, *map(str, counts), str(len(found)), f"{sum(words) / len(words):.1f}" if words else "0"]


def _shown(case: RepresentationCase) -> str:
    told = "".join(f"\n{message.content}" for message in Representative(case.brief, "DOCP").messages())
    lines = [f"> {escape_markdown(part)}  " for part in told.strip().split("\n")]
    return "\n".join(
        [
            f"**{escape_markdown(case.key)}**",
            "",
            *lines,
            "",
            f"**wrote:** {escape_markdown(knowledge_line(case.critique or ''))}",
        ]
    )


def _example(one: Text) -> Example:
    prompt = [{"role": message.role, "content": message.content} for message in one.messages]
    return {"prompt": prompt, "completion": [{"role": "assistant", "content": one.reply}]}


NEEDED = ("torch", "transformers", "peft", "trl", "datasets")


class TrainedRepresentative(NamedTuple):
    """A representative's model: `spec` opens it, `adapter` is what a request calls its adapter ("": the model as it is).

    `base`, with `folder` of an adapter or of all weights, is what a scorer loads.
    """

    spec: str
    adapter: str
    base: BaseModel
    folder: Path | None


class DatasetBuilder:
    """Episodes in their folder. Errors: UserError when the folder holds another plan's, or a package is missing."""

    def __init__(self, episodes: Sequence[Episode], seed: int, folder: Path, bar: Bar):
        if missing := [name for name in NEEDED if find_spec(name) is None]:
            raise UserError(f"training needs the [local] extra ({', '.join(missing)} missing): see docs/install.md")
        self.folder, self.seed, self.bar = folder, seed, bar
        folder.mkdir(parents=True, exist_ok=True)
        plan = {"episodes": digest(*map(to_line, episodes)).hex(), "seed": seed, "shares": dict(SHARES)}
        check_manifest(folder / "plan.json", plan, "split of episodes")
        self.sides = self._sides(episodes)

    def model(self, llm: str, lesson: Lesson) -> TrainedRepresentative:
        """The trained model, from its folder where it is there. Errors: UserError where that one was trained otherwise."""
        base = base_model(llm)
        lesson = lesson.filled(base.kind)
        out = self.folder / "models" / name_model(base) / lesson.name
        if out.exists():
            _same(out, lesson, base)
        else:
            self._train(base, lesson, out)
        return find_model(llm, base, lesson, out)

    def tested(self, limit: int | None = None) -> tuple[RepresentationCase, ...]:
        """The cases of the test side, `limit` at most. Errors: UserError when that is none: nothing need be trained for it."""
        if found := written(self.sides["test"]).cases[:limit]:
            return found
        raise UserError(
            "--limit 0 leaves no critique to look at" if limit == 0 else "the side test has no critique to look at"
        )

    def _sides(self, episodes: Sequence[Episode]) -> Split:
        paths = {name: self.folder / "data" / f"{name}.jsonl" for name in SHARES}
        if not all(path.exists() for path in paths.values()):
            sides = split_cases(episodes, self.seed)
            for name, path in paths.items():
                write_episodes(sides[name], path)
            notes = [
                f"{len(episodes)} episodes of {', '.join(sorted({one.source for one in episodes}))}, seed {self.seed}."
            ]
            (self.folder / "data" / "card.md").write_text(card(sides, notes), encoding="utf-8")
        read = {name: read_episodes(path) for name, path in paths.items()}
        check_split(read)
        return read

    def _train(self, base: BaseModel, lesson: Lesson, out: Path) -> None:
        from parley.training.tuning.model_card import REPRESENTATIVE, write_card
        from parley.training.tuning.trainers import Watch, train, versions

        kept = {name: self._fitting(base, lesson, name) for name in ("train", "validation")}
        key = digest(json.dumps(asdict(lesson)), *map(digest_of, kept.values())).hex()[:12]
        part, work = out.parent / f".{out.name}.part", out.parent / f".{out.name}.{key}"
        work.mkdir(parents=True, exist_ok=True)
        watch = Watch(lesson.every, lesson.patience, lesson.micro)
        with self.bar(f"{name_model(base)} {lesson.name}", 0) as progress:
            trained = train(lesson, base, kept["train"], kept["validation"], part, work, None, progress, watch)
        data = {
            "examples": len(kept["train"]),
            "validation": len(kept["validation"]),
            "digest": digest_of(kept["train"]),
        }
        write_card(part, lesson, builder_identity(base), data, versions(), trained, REPRESENTATIVE)
        part.replace(out)
        for left in out.parent.glob(f".{out.name}.*"):
            shutil.rmtree(left)

    def _fitting(self, base: BaseModel, lesson: Lesson, side: str) -> list[Any]:
        """The examples of a side. Errors: UserError when there are none, or one is too long (cut, it has no end)."""
        from transformers import AutoTokenizer

        from parley.llm.backends.hf.loading import load_errors
        from parley.training.likelihood import lengths
        from parley.training.representatives.pipeline import text

        found = written(self.sides[side]).cases
        if not found:
            raise UserError(f"the side {side} has no critique to learn from")
        with load_errors(base.name):
            tokenizer = AutoTokenizer.from_pretrained(base.name, **cached_files(base.name))
        longest = max(lengths([text(case, lesson.knows) for case in found], tokenizer))
        if longest > lesson.length:
            raise UserError(
                f"a prompt with its critique has {longest} tokens: --length {longest} or more, or less to know"
            )
        return examples(found, lesson.knows, lesson.seed)


def builder_identity(base: BaseModel) -> dict[str, Any]:
    """What the card says of the base: of a folder its last part, and its weights by their digest."""
    kind = {"kind": "model organism with a planted, known bias"} if base.kind == "pocket" else {}
    return {**base.identity, "backend": base.kind, "dtype": base.dtype, "load": base.load, **kind}


def name_model(base: BaseModel) -> str:
    """A base as a part of a path: `pocket-pocket`, `hf-Mistral-7B-v0_1`; of a folder its last part."""
    return f"{base.kind}-{re.sub(r'[^A-Za-z0-9-]+', '_', Path(base.name).name)}"


def find_model(llm: str, base: BaseModel, lesson: Lesson, out: Path) -> TrainedRepresentative:
    """A trained model as it is asked and scored."""
    if lesson.r:
        return TrainedRepresentative(f"{llm},adapters={out}", out.resolve().name.replace(".", "_"), base, out)
    options = "".join(f",{option}" for option in llm.split(",")[1:])
    return TrainedRepresentative(f"{base.kind}:{out}{options}", "", base, out)


def _same(out: Path, lesson: Lesson, base: BaseModel) -> None:
    """Errors: UserError when the model there was trained in another way, or from another one of this name."""
    from parley.training.tuning.model_card import read_values

    card = read_values(out)
    other = [name for name, value in asdict(lesson).items() if card["recipe"].get(name) != value]
    other += [
        f"{name} of the base" for name, value in builder_identity(base).items() if card["base"].get(name) != value
    ]
    if other:
        raise UserError(f"{out} was trained with another {', '.join(other)}: give another --out")
