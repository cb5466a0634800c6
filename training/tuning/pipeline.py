"""Questions, answers, data set, adapter: all of it in one folder, where every step finds what the ones before it have left.

    plan.json          what was asked for            data/questions.json, data/PARTY.jsonl, data/card.md
    *.sqlite           every reply                   adapters/NAME/   the adapter, its card, its losses

The same command on the same folder goes on; another recipe on the same plan uses the same data.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parley.agents.persona import VOTERS, Persona, load_personas, persona_set
from parley.llm.backends import identity_spec, open_spec, split_spec, with_defaults
from parley.llm.backends.hf.checkpoint import adapter_config, adapter_weights
from parley.llm.budget import UNLIMITED, Limits, SharedBudget
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.journal import Journal
from parley.llm.request import Backend
from parley.llm.retry import Retry
from parley.llm.seeding import digest
from parley.training.base_model import BaseModel, base_model
from parley.training.tuning.dataset import (
    Example,
    PersonaAnswer,
    Questions,
    card,
    check,
    digest_of,
    examples,
    held_out,
    interview,
    pairs,
    people,
    read_answers,
    split,
    write_answers,
    write_questions,
)
from parley.training.tuning.recipe import DPO, PARTIES, SFT, Recipe
from parley.training.tuning.trainers import START, check_start

NEEDED = ("torch", "transformers", "peft", "trl", "datasets")
KEPT = 512
"""MB of what was read that a local model keeps: twenty answers begin alike, and none is gone on with."""


@dataclass(frozen=True)
class TuningPlan:
    """What the data are made from. `writer` is the model that writes the questions; empty: the model itself (of the model in
    the box: the known-truth speaker). `people` is the set of personas that answer: a name, or the path of a folder.
    """

    llm: str = "pocket"
    writer: str = ""
    questions: int = 100
    answers: int = 20
    personas: int = 1
    tokens: int = 120
    seed: int = 0
    people: str = VOTERS.name

    def __post_init__(self) -> None:
        for name in ("questions", "answers", "personas", "tokens"):
            if getattr(self, name) < 1:
                raise UserError(f"--{name} must be at least 1, not {getattr(self, name)}")
        for party in PARTIES:
            load_personas(party, persona_set(self.people))

    @property
    def written_by(self) -> str:
        return self.writer or ("oracle" if split_spec(self.llm)[0] == "pocket" else self.llm)

    def to_dict(self) -> dict[str, Any]:
        """What makes it this plan, on whatever machine."""
        told = asdict(self) | {"llm": identity_spec(self.llm), "writer": identity_spec(self.written_by)}
        if self.people == VOTERS.name:  # folders that were made before there was a choice go on
            del told["people"]
        return told


class Pipeline:
    """One plan in its folder. Errors: UserError when the folder holds another plan's, or a package is missing."""

    def __init__(self, plan: TuningPlan, folder: Path, bar: Bar, spending: SharedBudget = UNLIMITED):
        if missing := [name for name in NEEDED if find_spec(name) is None]:
            raise UserError(f"fine-tuning needs the [local] extra ({', '.join(missing)} missing): see docs/install.md")
        self.plan, self.folder, self.bar, self.spending = plan, folder, bar, spending
        self.base = base_model(plan.llm)
        self.identity: dict[str, Any] = {}
        _claim(folder, plan)

    def data(self) -> dict[str, list[PersonaAnswer]]:
        """The answers of both parties, written or read."""
        paths = {party: self.folder / "data" / f"{party}.jsonl" for party in PARTIES}
        if not all(path.exists() for path in (*paths.values(), self.folder / "data" / "card.md")):
            self._make(paths)
        self.identity = json.loads((self.folder / "data" / "model.json").read_text(encoding="utf-8"))
        return {party: read_answers(path) for party, path in paths.items()}

    def adapter(self, recipe: Recipe, start: Path | None = None) -> Path:
        """The folder of the trained adapter. DPO goes on from `start`, else from the folder's SFT adapter of the same rank."""
        recipe = recipe.filled(self.base.kind)
        out = self.folder / "adapters" / recipe.name
        start = self._start(recipe, start)
        if not out.exists():
            _trainable(self.base)
        answers = self.data()
        if out.exists():
            _same(out, recipe, start)
            return out
        if recipe.method == DPO and start is None:
            start = self.adapter(replace(recipe, method=SFT, rate=0.0, beta=Recipe.beta))
        self._train(recipe, answers, out, start)
        return out

    def _start(self, recipe: Recipe, start: Path | None) -> Path | None:
        """What is gone on from: what was named, else the folder's SFT adapter if it is there, checked. Errors: UserError."""
        there = self.folder / "adapters" / replace(recipe, method=SFT).name
        if recipe.method == DPO and start is None and there.exists():
            start = there
        if start is not None:
            check_start(start, recipe, self.base)
        return start

    def _make(self, paths: dict[str, Path]) -> None:
        asked = self._questions()
        (self.folder / "data").mkdir(exist_ok=True)
        backend = open_spec(with_defaults(self.plan.llm, keep=KEPT))
        with closing(self._journal("answers", backend, self.plan.llm)) as journal:
            answers = {party: self._interview(party, asked, journal) for party in PARTIES}
        for party, path in paths.items():
            write_answers(answers[party], path)
        identity = {name: value for name, value in backend.identity.items() if name != "versions"}
        _write(self.folder / "data" / "model.json", json.dumps(identity))
        notes = [f"{len(asked.questions)} questions by {self.plan.written_by}, answered by {self.plan.llm}."]
        notes += [f"{party}: {', '.join(one.name for one in self._people(party))}" for party in PARTIES]
        _write(self.folder / "data" / "card.md", card("Training data", answers, asked.dropped, ["  \n".join(notes)]))

    def _questions(self) -> Questions:
        path = self.folder / "questions.json"
        if not path.exists():
            journal = self._journal("questions", open_spec(self.plan.written_by), self.plan.written_by)
            with closing(journal), self.bar("questions", 0) as progress:
                found = write_questions(self.plan.questions, self.plan.seed, journal, progress)
            _write(path, json.dumps(asdict(found), indent=1))
        read = json.loads(path.read_text(encoding="utf-8"))
        return Questions(tuple(read["questions"]), read["dropped"])

    def _journal(self, name: str, backend: Backend, spec: str) -> Journal:
        limits = Limits(Retry(backend), self.spending.of(spec), self.spending.ledger)
        return Journal(self.folder / f"{name}.sqlite", limits)

    def _interview(self, party: str, asked: Questions, backend: Backend) -> list[PersonaAnswer]:
        plan, who = self.plan, self._people(party)
        with self.bar(f"{party} answers", len(asked.questions) * plan.answers) as progress:
            unsaid = [person for other in PARTIES for person in self._people(other)]
            return interview(who, asked.questions, plan.answers, plan.tokens, plan.seed, backend, unsaid, progress)

    def _people(self, party: str) -> tuple[Persona, ...]:
        return people(party, self.plan.personas, self.plan.seed, self.plan.people)

    def _train(self, recipe: Recipe, answers: dict[str, list[PersonaAnswer]], out: Path, start: Path | None) -> None:
        from parley.training.tuning.model_card import write_card
        from parley.training.tuning.trainers import train, versions

        found = self._examples(recipe, answers)
        kept, held = split(found, held_out(self._questions().questions, recipe.held_out))
        part, work = out.parent / f".{out.name}.part", out.parent / f".{out.name}.{_key(recipe, found, start)}"
        work.mkdir(parents=True, exist_ok=True)
        base = replace(self.base, weights=self.identity["weights"])
        with self.bar(recipe.name, recipe.steps(len(kept))) as progress:
            trained = train(recipe, base, kept, held, part, work, start, progress)
        data = {
            "examples": len(kept),
            "held_out": len(held),
            "digest": digest_of(found),
            "questions by": self.plan.written_by,
        }
        data |= {"personas": ", ".join(one.name for one in self._people(recipe.party))}
        data |= {"modules": ", ".join(sorted(adapter_config(part)["target_modules"]))}
        data |= {"goes on from": start.name, START: adapter_weights(start)} if start else {}
        write_card(part, recipe, {**self.identity, **trained.identity}, data, versions(), trained)
        part.replace(out)
        for left in out.parent.glob(f".{out.name}.*"):
            shutil.rmtree(left)

    def _examples(self, recipe: Recipe, answers: dict[str, list[PersonaAnswer]]) -> list[Example]:
        """Of the recipe's kind, checked. Errors: UserError on a party without answers."""
        if recipe.party not in answers:
            raise UserError(f"--party must be one of {', '.join(PARTIES)}, not {recipe.party!r}")
        other = next(party for party in PARTIES if party != recipe.party)
        own = answers[recipe.party]
        found = examples(own, recipe.seed) if recipe.method == SFT else pairs(own, answers[other], recipe.seed)
        check(found, [person for party in PARTIES for person in self._people(party)])
        return found


def _trainable(base: BaseModel) -> None:
    from parley.training.tuning.trainers import trainable

    trainable(base)


def _key(recipe: Recipe, found: Sequence[Example], start: Path | None) -> str:
    """Names a training by all that it depends on: no other one goes on from its checkpoints."""
    begun = adapter_weights(start) if start else ""
    return digest(json.dumps(asdict(recipe)), digest_of(found), begun).hex()[:12]


def read_plan(folder: Path) -> dict[str, Any]:
    """What a folder was made from. Errors: UserError when it is none."""
    try:
        found = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        return {**found, "llm": str(found["llm"]), "seed": int(found["seed"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder} is no folder of run.py train (no plan.json that can be read)") from error


def _claim(folder: Path, plan: TuningPlan) -> None:
    path, wanted = folder / "plan.json", json.dumps(plan.to_dict(), indent=1)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.read_text(encoding="utf-8") != wanted:
            raise UserError(f"{folder} was made with other settings (plan.json): give another --out")
        if not path.exists():
            _write(path, wanted)
    except OSError as error:
        raise UserError(f"cannot use the folder {folder}: {error.strerror}") from error


def _same(out: Path, recipe: Recipe, start: Path | None) -> None:
    """Errors: UserError when the adapter there was trained in another way, or goes on from another one."""
    from parley.training.tuning.model_card import read_values

    values = read_values(out)
    asked = {name: value for name, value in asdict(recipe).items() if recipe.method == DPO or name != "beta"}
    other = [name for name, value in asked.items() if values["recipe"].get(name) != value]
    if start and values["data"].get(START) != adapter_weights(start):
        other += ["start"]
    if other:
        raise UserError(f"{out} was trained with another {', '.join(other)}: give another --out")


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
