"""Checks whether fine-tuning moves survey and speech of the pocket model together.

    python -m tools.pocket.stance_transfer_check MODEL_FOLDER [--answers 600] [--rank 16]

The model is asked interview questions with the shipped personas of a party, and a LoRA adapter is trained on its own answers
with the persona left out. Then the Default is asked before any debate. If survey and speech were two circuits, training on speech
would leave the ratings where they are. With a party's answers they should go to its side on every topic (for the first debater up
on illegal immigration and abortion, down on the others). With the Default's own answers, the placebo, they should stay. The grade
of what the Default says in interviews is shown beside.

Layers and epochs were chosen after four settings had been seen on the shipped model (seed 0), the others
beforehand; seeds 1 and 2 were asked after that (tools/log).

The effect is close to built in (a survey is answered in a sentence that is also said in interviews): it makes the model a
fixture for studies that move a bias, and is no evidence about large models.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections import defaultdict
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from parley.agents.persona import load_personas
from parley.agents.society import DEFAULT
from parley.agents.topic import load_topic, topic_names
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.phrases import banks
from parley.llm.request import Message, Request, Sampling
from parley.llm.seeding import derive
from parley.model.debate import DebateModel
from parley.model.scenario import load_preset
from tools.pocket.corpus.people import PARTIES
from tools.pocket.corpus.single_questions import questions_on

RATE, EPOCHS, BATCH = 1.5e-3, 2, 8
PROJECTIONS = ["gate_proj", "up_proj", "down_proj"]
"""The feed-forward layers: an adapter on attention learns to tell an interview from a debate (tools/log)."""
LEAST = 0.2
"""Points by which a rating must move to count: many times what the placebo moves."""


def first_ratings(spec: str, probe: str = "attitude_labelled", adapter: str = "") -> dict[str, float]:
    """The Default's expected rating before a debate, by topic (news left out), from the answer distribution."""
    backend = open_spec(spec)
    rating_by_topic = {}
    for slug in topic_names():
        survey_probe = load_topic(slug).probe(probe)
        scenario = load_preset("three_way").with_settings(
            {"topic": slug, "repetitions": 1, "rounds": 0, "probe": probe}
        )
        model = DebateModel(scenario, backend=backend)
        requests = [
            member.compose_survey(survey_probe, derive(0, room.id))
            for room in model.rooms
            for member in room.members.values()
            if member.persona.party == DEFAULT
        ]
        for request in requests:
            request.adapter = adapter
        rating_by_topic[slug] = statistics.fmean(
            survey_probe.attitude(survey_probe.scale.expected(reply.answers))
            for reply in backend.complete(requests)
            if reply.answers
        )
    return rating_by_topic


def balanced(slugs: Sequence[str]) -> list[str]:
    """The topics, of each scale's labels as many on which one party rates high as the other (some stand there more than once).

    On three topics out of the four with the same labels the same party rates low: asked alike, they teach little but "low".
    """
    scales: dict[tuple[str, ...], dict[str | None, list[str]]] = defaultdict(lambda: defaultdict(list))
    for slug in slugs:
        bank = banks().topics[slug]
        scales[bank.labels][load_topic(slug).high_party].append(slug)
    topics = []
    for sides in scales.values():
        most = max(map(len, sides.values()))
        topics += [slug for side in sides.values() for slug in islice(cycle(side), most)]
    return topics


def own_answers(spec: str, party: str, count: int, seed: int, adapter: str = "") -> list[tuple[str, str]]:
    """Questions and the model's own answers with a party's personas, on the topics of `balanced` in turn."""
    rng = random.Random(seed)
    backend = open_spec(spec)
    subjects = balanced(topic_names())
    by_topic = {slug: questions_on(slug) for slug in subjects}
    people = load_personas(party)
    requests = []
    for number in range(count):
        question = rng.choice(by_topic[subjects[number % len(subjects)]])
        messages = (Message("system", rng.choice(people).backstory), Message("user", question))
        requests.append(Request(messages, Sampling(), derive(seed, "answer", number), (), "interview", adapter=adapter))
    replies = backend.complete(requests)
    return [
        (request.messages[1].content, reply.text)
        for request, reply in zip(requests, replies, strict=True)
        if reply.text
    ]


def spoken_grades(spec: str, adapter: str, count: int = 200) -> dict[str, float]:
    """Mean grade of what the Default answers in interviews, by topic (NaN: nothing that can be graded)."""
    graded: dict[str, list[float]] = {slug: [] for slug in topic_names()}
    for question, text in own_answers(spec, DEFAULT, count, 1, adapter):
        slug = banks().recognised(question) or ""
        grade = banks().topics[slug].grade(text)
        graded[slug] += [] if grade is None else [grade]
    return {slug: statistics.fmean(grades) if grades else math.nan for slug, grades in graded.items()}


def fine_tune(folder: Path, answers: list[tuple[str, str]], rank: int, seed: int, out: Path) -> None:
    """Train a LoRA adapter on answers without persona and save it."""
    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=PROJECTIONS, task_type="CAUSAL_LM")
    tuned = get_peft_model(model, config)
    rows = [_row(tokenizer, question, answer) for question, answer in answers]
    optimiser = torch.optim.AdamW([parameter for parameter in tuned.parameters() if parameter.requires_grad], lr=RATE)
    rng = random.Random(seed)
    for _ in range(EPOCHS):
        order = rng.sample(rows, len(rows))
        for start in range(0, len(order), BATCH):
            tuned(**_padded(order[start : start + BATCH], tokenizer.pad_token_id)).loss.backward()
            optimiser.step()
            optimiser.zero_grad()
    tuned.save_pretrained(out)


def _row(tokenizer: object, question: str, answer: str) -> tuple[list[int], int]:
    prompt_messages = [{"role": "user", "content": question}]
    messages = [*prompt_messages, {"role": "assistant", "content": answer}]
    prompt = tokenizer.apply_chat_template(prompt_messages, add_generation_prompt=True, return_dict=True)["input_ids"]  # type: ignore[attr-defined]
    return list(tokenizer.apply_chat_template(messages, return_dict=True)["input_ids"]), len(prompt)  # type: ignore[attr-defined]


def _padded(rows: list[tuple[list[int], int]], pad: int) -> dict[str, torch.Tensor]:
    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [pad] * (width - len(ids)) for ids, _ in rows])
    labels = torch.tensor([[-100] * start + ids[start:] + [-100] * (width - len(ids)) for ids, start in rows])
    return {"input_ids": ids, "labels": labels, "attention_mask": (ids != pad).long()}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--answers", type=int, default=600)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    spec = f"pocket:{given.folder.resolve()}"
    before = _show("before", spec, "")
    for party in PARTIES:
        with TemporaryDirectory() as folder:
            adapter = Path(folder) / "moved"
            fine_tune(
                given.folder, own_answers(spec, party, given.answers, given.seed), given.rank, given.seed, adapter
            )
            after = _show(f"{party} answers", f"{spec},adapters={adapter}", "moved")
        if party != DEFAULT:
            moved = toward(party, before, after)
            print(f"toward the {party} side: {len(moved)} of {len(after)} topics ({', '.join(moved)})")


def toward(party: str, before: dict[str, float], after: dict[str, float]) -> list[str]:
    """Topics on which a rating went to a party's side by more than LEAST."""
    signs = {slug: 1 if load_topic(slug).high_party == party else -1 for slug in after}
    return [slug for slug, sign in signs.items() if sign * (after[slug] - before[slug]) > LEAST]


def _show(title: str, spec: str, adapter: str) -> dict[str, float]:
    """Print the Default's ratings and grades; the labelled first ratings."""
    rows = {
        "labelled": first_ratings(spec, "attitude_labelled", adapter),
        "numeric": first_ratings(spec, "attitude", adapter),
        "spoken": spoken_grades(spec, adapter),
    }
    for name, row in rows.items():
        print(f"{title:20} {name:10}", *[f"{slug} {grade:.2f}" for slug, grade in row.items()])
    return rows["labelled"]


if __name__ == "__main__":
    main()
