"""Representatives in one folder: episodes, split, data and models. Every step continues from what the folder already has.

    plan.json                        the settings of the split
    data/SIDE.jsonl, data/card.md    the episodes of train, validation and test
    models/BASE/NAME/                a trained model or adapter, its card, its losses

A case of representation becomes an example: the prompt of a representative, and the critique that the participant wrote. The
same command on the same folder continues. A split is checked again when it is read, in case its files were edited.

The study (Jarrett et al.) fine-tunes all weights with AdamW, batches of 128, a constant rate and early stopping. These choices
are ours: the rate (the text omits its value), LoRA as an alternative, and how early stopping measures. Batches have 32 examples
by default, because data made here are smaller than the study's 5,484 critiques.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from parley.agents.language import GIVEN
from parley.agents.language import REPRESENTATIVE as REPRESENTATIVES
from parley.agents.representative import Representative, knowledge_line, parse_knowledge
from parley.analysis.deliberation.episode import Episode, read_episodes, to_line, write_episodes
from parley.analysis.formatting import escape_markdown, markdown_table
from parley.analysis.journaled_calls import check_manifest
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.model_catalogue import cached_files
from parley.llm.seeding import digest, stream
from parley.studies.representatives import representation
from parley.studies.representatives.population import answers
from parley.studies.representatives.representation import RepresentationCase, Split
from parley.training.base_model import BaseModel, base_model
from parley.training.likelihood import Text, lengths
from parley.training.tuning.dataset import Example, chat, digest_of
from parley.training.tuning.model_card import REPRESENTATIVE, read_values, write_card
from parley.training.tuning.pipeline import require_packages, training_folders
from parley.training.tuning.recipe import RATES, SFT, EarlyStopping, Recipe

FULL_RATES = {"hf": 1e-5, "pocket": 1e-3}
"""Default learning rates when all weights are trained."""
NOTHING = "base"
SHOWN = 3
"""Cases of each side that the card shows."""


@dataclass(frozen=True)
class Lesson(Recipe):
    """The settings of a representative's training. `r` 0 trains all weights.

    `knows`: letters of what it knows besides question, opinion and draft. `every`, `patience`, `micro`: see `EarlyStopping`.
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
        """`OC-full`, `base-r16`: the model's folder, and the name of an adapter in requests."""
        return f"{self.knows or NOTHING}-{f'r{self.r}' if self.r else 'full'}"

    def filled(self, kind: str) -> Lesson:
        """Return the lesson with its defaults for a backend in place of 0."""
        rate = self.rate or (RATES[kind][SFT] if self.r else FULL_RATES[kind])
        return replace(self, alpha=self.alpha or 2 * self.r, rate=rate)


class TrainedRepresentative(NamedTuple):
    """A representative's model. `spec` opens it; `adapter` is the name of its adapter in requests ("": no adapter).

    A scorer loads `base` with `folder`, which has an adapter or all weights (None: the base alone).
    """

    spec: str
    adapter: str
    base: BaseModel
    folder: Path | None


class DatasetBuilder:
    """Episodes in their folder. Errors: UserError when the folder belongs to another plan, or a package is missing."""

    def __init__(self, episodes: Sequence[Episode], seed: int, folder: Path, bar: Bar, wording: str = GIVEN):
        """wording: of the prompts, of which a plan has the digests where it is not as given."""
        require_packages("training")
        self.folder, self.seed, self.bar, self.wording = folder, seed, bar, wording
        folder.mkdir(parents=True, exist_ok=True)
        plan = {"episodes": digest(*map(to_line, episodes)).hex(), "seed": seed, "shares": dict(representation.SHARES)}
        if wording != GIVEN:
            worded = {episode.question.worded(wording).place.language for episode in episodes}
            plan["prompts"] = [language.prompt_digests(REPRESENTATIVES) for language in sorted(worded)]
        check_manifest(folder / "plan.json", plan, "split of episodes")
        self.sides = self._sides(episodes)

    def model(self, llm: str, lesson: Lesson) -> TrainedRepresentative:
        """Return the trained model, from its folder if it is there. Errors: UserError when that one has other settings."""
        base = base_model(llm)
        lesson = lesson.filled(base.kind)
        out = self.folder / "models" / base.path_name / lesson.name
        if out.exists():
            check_recipe(out, asdict(lesson), base)
        else:
            self._train(base, lesson, out)
        if lesson.r:
            return TrainedRepresentative(f"{llm},adapters={out}", out.resolve().name.replace(".", "_"), base, out)
        _, *options = llm.split(",")
        return TrainedRepresentative(",".join([f"{base.kind}:{out}", *options]), "", base, out)

    def tested(self, limit: int | None = None) -> tuple[RepresentationCase, ...]:
        """Return the first `limit` cases of the test side. Errors: UserError when there are none."""
        if cases := written(self.sides["test"]).cases[:limit]:
            return cases
        raise UserError(
            "--limit 0 leaves no critique to measure: raise --limit"
            if limit == 0
            else "the test episodes have no critique to measure: give more episodes"
        )

    def _sides(self, episodes: Sequence[Episode]) -> Split:
        paths = {name: self.folder / "data" / f"{name}.jsonl" for name in representation.SHARES}
        if not all(path.exists() for path in paths.values()):
            sides = representation.split_cases(episodes, self.seed)
            for name, path in paths.items():
                write_episodes(sides[name], path)
            sources = ", ".join(sorted({episode.source for episode in episodes}))
            note = f"{len(episodes)} episodes of {sources}, seed {self.seed}."
            (self.folder / "data" / "card.md").write_text(data_card(sides, note), encoding="utf-8")
        sides = {name: read_episodes(path) for name, path in paths.items()}
        representation.check_split(sides)
        return {name: tuple(_worded(episode, self.wording) for episode in side) for name, side in sides.items()}

    def _train(self, base: BaseModel, lesson: Lesson, out: Path) -> None:
        from parley.training.tuning.trainers import train, versions

        examples, validation = (self._examples(base, lesson, side) for side in ("train", "validation"))
        data = {"examples": len(examples), "validation": len(validation), "digest": digest_of(examples)}
        settings = json.dumps(asdict(lesson)), json.dumps(base.card_identity)
        key = digest(*settings, digest_of(examples), digest_of(validation)).hex()[:12]
        stopping = EarlyStopping(lesson.every, lesson.patience, lesson.micro)
        with (
            training_folders(out, key) as (model_folder, work),
            self.bar(f"{base.path_name} {lesson.name}", 0, "step") as progress,
        ):
            result = train(lesson, base, examples, validation, model_folder, work, None, progress, stopping)
            write_card(model_folder, lesson, base.card_identity, data, versions(), result, REPRESENTATIVE)

    def _examples(self, base: BaseModel, lesson: Lesson, side: str) -> list[Example]:
        """Return the examples of a side. Errors: UserError when there are none, or one is too long and would be cut."""
        from transformers import AutoTokenizer

        from parley.llm.backends.hf.loading import load_errors

        cases = written(self.sides[side]).cases
        if not cases:
            raise UserError(f"the {side} episodes have no critique to learn from: give more episodes")
        with load_errors(base.name):
            tokenizer = AutoTokenizer.from_pretrained(base.name, **cached_files(base.name))
        longest = max(lengths([text(case, lesson.knows) for case in cases], tokenizer))
        if longest > lesson.length:
            raise UserError(
                f"a prompt with its critique has {longest} tokens, which is too long: set --length {longest} or "
                "more, or fewer letters in --knows"
            )
        return case_examples(cases, lesson.knows, lesson.seed)


def _worded(episode: Episode, wording: str) -> Episode:
    return replace(episode, question=episode.question.worded(wording))


def check_recipe(out: Path, recipe: Mapping[str, Any], base: BaseModel, what: str = "model") -> None:
    """Errors: UserError when the model there was trained with other settings, or from another base."""
    card = read_values(out)
    other = [name for name, value in recipe.items() if card["recipe"].get(name) != value]
    other += [f"{name} of the base" for name, value in base.card_identity.items() if card["base"].get(name) != value]
    if other:
        raise UserError(f"{out} already has a {what} trained with another {', '.join(other)}: give another --out")


def text(case: RepresentationCase, knows: str, about: RepresentationCase | None = None) -> Text:
    """Return the chat and the critique to write. `about`: the case that the prompt describes, when it is a stranger's."""
    assert case.critique is not None
    return Text(Representative((about or case).brief, knows).messages(), knowledge_line(case.critique))


def case_examples(cases: Sequence[RepresentationCase], knows: str, seed: int) -> list[Example]:
    """Return {"prompt": [user message], "completion": [assistant message]} per case, in an order drawn with the seed."""
    examples: list[Example] = []
    for messages, reply in [text(case, knows) for case in cases]:
        prompt = [{"role": message.role, "content": message.content} for message in messages]
        examples.append({"prompt": prompt, "completion": chat("assistant", reply)})
    stream(seed, "representatives", "order").shuffle(examples)
    return examples


def written(episodes: Sequence[Episode]) -> representation.Cases:
    """Return the cases whose critique has words, and why others were left out."""
    everything = representation.representation_cases(episodes)
    cases = tuple(case for case in everything.cases if knowledge_line(case.critique or ""))
    empty = len(everything.cases) - len(cases)
    return representation.Cases(cases, everything.left_out | ({"empty critique": empty} if empty else {}))


def data_card(sides: Split, note: str) -> str:
    """Return the card of the data as Markdown: counts by side, what is known of participants, examples as plain text."""
    return "\n\n".join(_card_parts(sides, note)) + "\n"


def _card_parts(sides: Split, note: str) -> Iterator[str]:
    cases = {name: written(episodes) for name, episodes in sides.items()}
    left_out = sum((Counter(side.left_out) for side in cases.values()), Counter[str]())
    yield "# Data of representatives"
    yield escape_markdown(note)
    yield f"No participant, session or question is in two parts of the split. {representation.describe_split(sides)}."
    yield f"Answered in the questionnaire: {answers([episode for side in sides.values() for episode in side])}."
    header = ["side", "sessions", "episodes", "questions", "participants", "critiques", "words, mean"]
    yield markdown_table(header, [_count_row(name, side, cases[name].cases) for name, side in sides.items()])
    yield f"Participants left out: {', '.join(f'{escape_markdown(why)} {n}' for why, n in left_out.items()) or 'none'}."
    yield "## Examples"
    yield from (_example_text(case) for side in cases.values() for case in side.cases[:SHOWN])


def _count_row(name: str, episodes: Sequence[Episode], cases: Sequence[RepresentationCase]) -> list[str]:
    words = [len(knowledge_line(case.critique or "").split()) for case in cases]
    sessions, questions = {episode.session for episode in episodes}, {episode.question.id for episode in episodes}
    counts = [len(sessions), len(episodes), len(questions), len({case.participant for case in cases}), len(cases)]
    return [name, *map(str, counts), f"{sum(words) / len(words):.1f}" if words else "0"]


def _example_text(case: RepresentationCase) -> str:
    prompt = "".join(f"\n{message.content}" for message in Representative(case.brief, "DOCP").messages())
    lines = [f"> {escape_markdown(line)}  " for line in prompt.strip().split("\n")]
    critique = escape_markdown(knowledge_line(case.critique or ""))
    return "\n".join([f"**{escape_markdown(case.key)}**", "", *lines, "", f"**wrote:** {critique}"])
