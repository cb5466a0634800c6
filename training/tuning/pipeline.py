"""Fine-tuning in one folder: questions, answers, data set, adapter. Every step continues from what the folder already has.

    plan.json          the settings of the data      data/questions.json, data/PARTY.jsonl, data/card.md
    *.sqlite           every reply                   adapters/NAME/   the adapter, its card, its losses

The same command on the same folder continues. Another recipe on the same plan uses the same data.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parley.agents.persona import load_personas, persona_set
from parley.agents.persona import parties as persona_parties
from parley.agents.society import DEFAULT, US, VOTERS, Society, load_society
from parley.agents.topic import load_topic, society_topics
from parley.analysis.journaled_calls import check_manifest
from parley.llm.backends import identity_spec, in_society, open_spec, split_spec, with_defaults
from parley.llm.backends.hf.checkpoint import adapter_config, adapter_weights, check_base
from parley.llm.budget import UNLIMITED, Limits, SharedBudget
from parley.llm.driver import Bar
from parley.llm.errors import UserError, unknown_name
from parley.llm.journal import Journal
from parley.llm.request import Backend, Sampling
from parley.llm.retry import Retry
from parley.llm.seeding import digest
from parley.model.scenario_blocks import Speech
from parley.model.validation import check_topics
from parley.training.base_model import BaseModel, base_model
from parley.training.tuning import dataset
from parley.training.tuning.dataset import Example, Questions
from parley.training.tuning.interviews import (
    AnswerForm,
    PersonaAnswer,
    draw_personas,
    interview,
    read_answers,
    too_few_answers,
    usable_phrase,
    write_answers,
)
from parley.training.tuning.model_card import VALUES, read_values, write_card
from parley.training.tuning.recipe import DPO, SFT, Recipe

NEEDED = ("torch", "transformers", "peft", "trl", "datasets")
DRAWN = ("words", "max_tokens", "temperature", "top_p", "min_p", "top_k")
"""The fields of a debate that also say how the answers of an interview are asked for and drawn."""
CACHE_MB = 512
"""Memory for prompts in a local model: the twenty answers to a question share their prompt, and no chat is continued."""
FEWEST_EXAMPLES = 2
START = "goes on from weights"
"""The row of the card with the digest of the adapter that a training began with."""


@dataclass(frozen=True)
class TuningPlan:
    """The settings of the training data.

    `writer` is the model that writes the questions; empty means the model itself (for pocket: the known-truth speaker).
    `people` is the set of personas that answer: a name, or the path of a folder. `society` has the parties, topics and questions.
    The fields of DRAWN mean what they do in a debate.
    """

    llm: str = "pocket"
    writer: str = ""
    questions: int = 100
    answers: int = 20
    personas: int = 1
    seed: int = 0
    people: str = VOTERS
    society: str = US
    words: int = Speech.words
    max_tokens: int = Speech.max_tokens
    temperature: float = Speech.temperature
    top_p: float = Speech.top_p
    min_p: float = Speech.min_p
    top_k: int = Speech.top_k

    def __post_init__(self) -> None:
        Speech(**{name: getattr(self, name) for name in DRAWN})  # checks the values
        for name in ("questions", "answers", "personas"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name} is {getattr(self, name)}, but must be at least 1")
        for party in dict.fromkeys([*self.home.debaters, *self.parties]):
            load_personas(party, self.persona_folder)
        if self.home.name != US:
            check_topics(self.llm, map(load_topic, society_topics(self.home)))

    @property
    def home(self) -> Society:
        """The society itself."""
        return load_society(self.society)

    @property
    def persona_folder(self) -> Path:
        """The folder of the personas that answer. Errors: UserError if there is none."""
        return persona_set(self.home.qualified(self.people))

    @property
    def parties(self) -> list[str]:
        """The parties whose answers can be learned: those of the society that have personas, without the neutral one."""
        with_personas = persona_parties(self.persona_folder)
        return [party for party in self.home.parties if party != DEFAULT and party in with_personas]

    def compared(self, party: str) -> list[str]:
        """Return the parties that answer when a party's answers are learned: that party and the other one (`Society.other`).

        Errors: UserError if the answers of the party cannot be learned.
        """
        if party not in self.parties:
            raise unknown_name("value of --party", party, self.parties)
        return [party_name for party_name in self.parties if party_name in (party, self.home.other(party))]

    @property
    def written_by(self) -> str:
        return self.writer or (
            in_society("oracle", self.home.name) if split_spec(self.llm)[0] == "pocket" else self.llm
        )

    @property
    def form(self) -> AnswerForm:
        """How answers are asked for. pocket knows the bare questions alone, and answers in two sentences."""
        words = 0 if split_spec(self.llm)[0] == "pocket" else self.words
        return AnswerForm(words, Sampling(self.temperature, self.max_tokens, self.top_p, (), self.min_p, self.top_k))

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies this plan on any machine."""
        values = asdict(self) | {"llm": identity_spec(self.llm), "writer": identity_spec(self.written_by)}
        usual = {"people": VOTERS, "society": US}  # folders made before there was a choice stay valid
        values["society"] = self.home.name
        return {name: value for name, value in values.items() if usual.get(name) != value}


class Pipeline:
    """One plan in its folder. Errors: UserError when the folder belongs to another plan, or a package is missing."""

    def __init__(
        self, plan: TuningPlan, folder: Path, bar: Bar, spending: SharedBudget = UNLIMITED,
        say: Callable[[str], object] = lambda text: None,
    ):  # fmt: skip
        require_packages("fine-tuning")
        self.plan, self.folder, self.bar, self.spending, self.say = plan, folder, bar, spending, say
        self.base = base_model(plan.llm)
        self.personas = {
            party: draw_personas(party, plan.personas, plan.seed, plan.persona_folder) for party in plan.parties
        }
        _claim_folder(folder, plan)

    def adapter(self, recipe: Recipe, start: Path | None = None) -> Path:
        """Return the folder of the trained adapter. DPO begins with `start`, else with the folder's SFT adapter of its rank."""
        recipe = recipe.filled(self.base.kind)
        out = self.folder / "adapters" / recipe.name
        sft = out.parent / replace(recipe, method=SFT, shuffle=0).name
        if recipe.method == DPO and start is None and sft.exists():
            start = sft
        if start is not None:
            check_start(start, recipe, self.base)
        if not out.exists():
            from parley.training.tuning.trainers import check_trainable

            check_trainable(self.base)
        answers = self.answers(recipe.party)
        if out.exists():
            _check_adapter(out, recipe, start)
            return out
        if recipe.method == DPO and start is None:
            start = self.adapter(replace(recipe, method=SFT, rate=0.0, beta=Recipe.beta, shuffle=0))
        self._train(recipe, answers, out, start)
        return out

    def answers(self, party: str) -> dict[str, list[PersonaAnswer]]:
        """Return the answers of a party and of the one that it is compared with, from the folder or from the model."""
        compared, data = self.plan.compared(party), self.folder / "data"
        if not all(path.exists() for path in (*map(self._path, compared), data / "card.md")):
            data.mkdir(exist_ok=True)
            self._write_answers(compared)
        return {party_name: read_answers(self._path(party_name)) for party_name in compared}

    def _path(self, party: str) -> Path:
        return self.folder / "data" / f"{party}.jsonl"

    @cached_property
    def questions(self) -> Questions:
        """The questions, from the folder or from the model that writes them."""
        path, writer = self.folder / "questions.json", self.plan.written_by
        if not path.exists():
            journal = self._journal("questions", open_spec(writer), writer)
            with closing(journal), self.bar("questions", 0) as progress:
                questions = dataset.write_questions(
                    self.plan.questions, self.plan.seed, journal, self.plan.home, progress
                )
            _write(path, json.dumps(questions._asdict(), indent=1))
        values = json.loads(path.read_text(encoding="utf-8"))
        return Questions(tuple(values["questions"]), values["dropped"])

    def _write_answers(self, parties: Sequence[str]) -> None:
        """Write the answers of some parties, and the card of the answers of all parties that the folder has."""
        plan = self.plan
        backend = open_spec(with_defaults(plan.llm, keep=CACHE_MB))
        with closing(self._journal("answers", backend, plan.llm)) as journal:
            answers = {party: self._interview(party, journal) for party in parties}
        for party in parties:
            write_answers(answers[party], self._path(party))
        there = [party for party in plan.parties if self._path(party).exists()]
        identity = {name: value for name, value in backend.identity.items() if name != "versions"}
        _write(self.folder / "data" / "model.json", json.dumps(identity))
        self._write_card("card.md", {party: read_answers(self._path(party)) for party in there})

    def _write_card(self, name: str, answers: Mapping[str, Sequence[PersonaAnswer]]) -> None:
        """Write the card of answers by party."""
        plan, questions = self.plan, self.questions
        notes = [f"{len(questions.questions)} questions by {plan.written_by}, answered by {plan.llm}, {self._drawn}."]
        notes += [f"{plan.home.label(party)}: {self._names(party)}" for party in answers]
        labelled = {plan.home.label(party): some for party, some in answers.items()}
        _write(self.folder / "data" / name, dataset.data_card(labelled, questions.dropped, "  \n".join(notes)))

    @property
    def _drawn(self) -> str:
        """How the answers were asked for and drawn, in words."""
        words, drawn = self.plan.form
        length = f"in at most {words} words" if words else "of any length"
        cuts = "".join(f", {name} {getattr(drawn, name):g}" for name in ("top_p", "min_p", "top_k"))
        return f"{length}, {drawn.max_tokens} tokens, temperature {drawn.temperature:g}{cuts}"

    def _journal(self, name: str, backend: Backend, spec: str) -> Journal:
        limits = Limits(Retry(backend), self.spending.of(spec), self.spending.ledger)
        return Journal(self.folder / f"{name}.sqlite", limits)

    def _interview(self, party: str, backend: Backend) -> list[PersonaAnswer]:
        """Return the answers of a party. Errors: UserError when almost none of the first ones can be used."""
        plan, questions, label = self.plan, self.questions.questions, self.plan.home.label(party)
        everyone = [person for people in self.personas.values() for person in people]
        keep_going = self.spending.of(plan.llm).keep_going
        with self.bar(f"{label} answers", len(questions) * plan.answers) as progress:
            answers = interview(
                self.personas[party], questions, plan.answers, plan.form, plan.seed, backend, plan.home, everyone,
                keep_going, progress,
            )  # fmt: skip
        if len(answers) < len(questions) * plan.answers:
            self._write_card("stopped.md", {party: answers})
            raise too_few_answers(label, answers)
        self.say(f"answers  {label}: {usable_phrase(answers)}")
        return answers

    def _names(self, party: str) -> str:
        return ", ".join(person.name for person in self.personas[party])

    def _train(
        self, recipe: Recipe, answers: Mapping[str, Sequence[PersonaAnswer]], out: Path, start: Path | None
    ) -> None:
        from parley.training.tuning.trainers import train, versions

        identity = json.loads((self.folder / "data" / "model.json").read_text(encoding="utf-8"))
        base = replace(self.base, weights=identity["weights"])
        examples = self._examples(recipe, answers)
        held_out = dataset.held_out_questions(self.questions.questions, recipe.held_out)
        training, unseen = dataset.split_examples(examples, held_out)
        if len(training) < FEWEST_EXAMPLES:
            raise too_few_answers(self.plan.home.label(recipe.party), answers[recipe.party])
        with (
            training_folders(out, training_key(recipe, examples, start)) as (model_folder, work),
            self.bar(recipe.name, recipe.steps(len(training)), "step") as progress,
        ):
            result = train(recipe, base, training, unseen, model_folder, work, start, progress)
            data = {
                "examples": len(training),
                "held_out": len(unseen),
                "answers": usable_phrase(answers[recipe.party]),
                "asked": self._drawn,
                "digest": dataset.digest_of(examples),
                "questions by": self.plan.written_by,
                "personas": self._names(recipe.party),
                "modules": ", ".join(sorted(adapter_config(model_folder)["target_modules"])),
                **({"goes on from": start.name, START: adapter_weights(start)} if start else {}),
            }
            write_card(model_folder, recipe, {**identity, **result.identity}, data, versions(), result)

    def _examples(self, recipe: Recipe, answers: Mapping[str, Sequence[PersonaAnswer]]) -> list[Example]:
        """Return the examples of a recipe, checked."""
        other, everyone = (
            self.plan.home.other(recipe.party),
            [person for people in self.personas.values() for person in people],
        )
        party_answers, number = answers[recipe.party], recipe.shuffle
        if recipe.method == SFT:
            learned = (
                dataset.shuffle_parties(party_answers, answers[other], recipe.seed, number) if number else party_answers
            )
            examples = dataset.sft_examples(learned, recipe.seed)
        else:
            examples = dataset.dpo_examples(party_answers, answers[other], recipe.seed)
            examples = dataset.turn_pairs(examples, recipe.seed, number) if number else examples
        dataset.check_examples(examples, everyone, self.plan.home)
        return examples


def require_packages(what: str) -> None:
    """Errors: UserError when a package for training is missing."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise UserError(
            f"{what} needs packages that are not installed ({', '.join(missing)}): pip "
            "install -e '.[local]' (docs/tutorial.md)"
        )


def trainable_model(spec: str, what: str) -> BaseModel:
    """Return the model to be trained. what: `training a writer`. Errors: UserError where it cannot be, before a call."""
    base = base_model(spec)
    require_packages(what)
    from parley.training.tuning.trainers import check_trainable

    check_trainable(base)
    return base


@contextmanager
def training_folders(out: Path, key: str) -> Iterator[tuple[Path, Path]]:
    """Yield a folder for a new model and one for its checkpoints; at the end move the model to `out` and remove the rest.

    The checkpoints' folder is named by `key`, so that another training does not continue from them.
    """
    model_folder, work = out.parent / f".{out.name}.part", out.parent / f".{out.name}.{key}"
    work.mkdir(parents=True, exist_ok=True)
    yield model_folder, work
    model_folder.replace(out)
    for left in out.parent.glob(f".{out.name}.*"):
        shutil.rmtree(left)


def training_key(recipe: Recipe, examples: Sequence[Example], start: Path | None) -> str:
    """Return a digest of everything that a training depends on."""
    begun = adapter_weights(start) if start else ""
    return digest(json.dumps(asdict(recipe)), dataset.digest_of(examples), begun).hex()[:12]


def check_start(start: Path, recipe: Recipe, base: BaseModel) -> None:
    """Errors: UserError when a training with this recipe cannot begin with the adapter `start`."""
    if recipe.method == SFT:
        raise UserError(
            "--start only works with --method dpo, because sft begins with a new adapter: leave out --start"
        )
    config = adapter_config(start)
    adapter_weights(start)
    check_base(start, base.identity)
    lora = tuple(config.get(name) for name in ("r", "lora_alpha", "lora_dropout"))
    if lora != (recipe.r, recipe.alpha, recipe.dropout):
        options = "--r {} --alpha {} --dropout {}".format(*lora)
        raise UserError(f"{start} was made with {options}, which dpo cannot change: give the same values")
    # the questions follow from the seed, and the held-out ones are chosen from them
    before = read_values(start)["recipe"] if (start / VALUES).is_file() else {}
    other = [name for name in ("held_out", "seed") if before.get(name, getattr(recipe, name)) != getattr(recipe, name)]
    if recipe.held_out and other:
        raise UserError(
            f"{start} was trained with another {' and '.join(other)} and may have learned the held-out questions: give the "
            "same values, or another --out"
        )


def read_plan(folder: Path) -> dict[str, Any]:
    """Return the plan of a folder. Errors: UserError when it has none."""
    try:
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        return {**plan, "llm": str(plan["llm"]), "seed": int(plan["seed"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{folder} was not written by run.py train: its plan.json is missing or cannot be read"
        ) from error


def _claim_folder(folder: Path, plan: TuningPlan) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_manifest(folder / "plan.json", plan.to_dict(), "plan of training data")
    except OSError as error:
        raise UserError(f"cannot use the folder {folder}: {error.strerror}") from error


def _check_adapter(out: Path, recipe: Recipe, start: Path | None) -> None:
    """Errors: UserError when the adapter there was trained with another recipe, or began with another adapter."""
    values = read_values(out)
    wanted = {name: value for name, value in asdict(recipe).items() if recipe.method == DPO or name != "beta"}
    other = [name for name, value in wanted.items() if values["recipe"].get(name) != value]
    if start and values["data"].get(START) != adapter_weights(start):
        other += ["start"]
    if other:
        raise UserError(f"{out} already has a model trained with another {', '.join(other)}: give another --out")


def _write(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
