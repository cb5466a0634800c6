"""Questions to the known-truth speaker about itself and about what it heard: what it says is what its request says."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

import pytest
from data_checks import check_each

from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.phrases import banks, expand, sentences
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.backends.oracle.self_facts import about, first_person
from parley.llm.backends.oracle.self_questions import NAMED, ORDER, WHO, asked_of, kinds_of
from parley.llm.backends.oracle.surveys import validation_questions
from parley.llm.purposes import Facts
from parley.llm.request import DECLINED, Message, Reply, Request, Sampling
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker
from tools.pocket.corpus.self_interviews import someone

ELENA = (
    "You are Elena, you are 24 years old, and you earn your living as a plumber in a factory town in Indiana. "
    "You are single and live beside a favorite cousin, and your earliest memories are of growing up in a trailer park. "
    "You think of yourself as a liberal, and Democrats in Indiana have earned your vote again and again. "
    "At 24, you strongly oppose a ban on partial-birth abortion."
)
WYATT = (
    "You are Wyatt, 67, a retired software tester in a mill town in Maine. You are married with two children, and you grew up on "
    "a dairy farm. You have voted Republican in every election since 1991."
)
RUBEN = "You are Ruben, 56 years old, and you live in a suburb of Phoenix, where you work as a welder. You joined a club at 30."
ALEX = (
    "You are Alex, a right-leaning American who supports the Republican Party. Home is a narrow house in a Texas city, and you "
    "were raised by a nurse and a bus driver. You qualified as a paramedic and ride an ambulance, and you began to volunteer."
)
DEFAULT = "You are an American."
OPENING = (
    "This is a debate about climate change. You are Ann; the others are Bob and Cleo. Speak only for yourself, in your own "
    "voice, in at most 60 words."
)
TURN = "Complete your next reply."
KINDS = (*NAMED, *ORDER, *WHO, "stand", "unknown")
Said = Sequence[tuple[str, str]]
Asking = Callable[..., Reply]


@pytest.fixture
def interviewed() -> Asking:
    """interviewed(question, heard, own, persona, **changes): the reply in a debate on climate change, at a law without noise."""

    def make(
        question: str, heard: Said = (), own: str = "", persona: str = DEFAULT, seed: int = 0, **changes: float
    ) -> Reply:
        lines = "\n".join(f"{name}: {text}" for name, text in heard)
        first = "\n\n".join(part for part in (OPENING, lines, TURN if own else question) if part)
        said = (Message("assistant", own), Message("user", question)) if own else ()
        messages = (Message("system", persona), Message("user", first), *said)
        names, facts = frozenset({"Ann", "Bob", "Cleo"}), Facts(question=question)
        request = Request(messages, Sampling(1.0), seed, (), "interview", names=names, facts=facts)
        return open_backend("", **{"sigma": 0.0, **changes}).complete([request])[0]

    return make


def filled(forms: Sequence[str], **slots: str) -> set[str]:
    return {form.format(**slots) for form in forms}


@check_each(
    ("persona", "question", "told"),
    [
        (ELENA, "What is your name?", filled(banks().data("self")["name"]["answers"], name="Elena")),
        (ELENA, "how old are you", filled(banks().data("self")["age"]["answers"], age="24")),
        (ELENA, "What do you do for a living?", filled(banks().data("self")["job"]["answers"], job="a plumber")),
        (
            ELENA,
            "Where do you live?",
            filled(banks().data("self")["home"]["answers"], home="a factory town in Indiana"),
        ),
        (WYATT, "Are you working or retired?", filled(banks().data("self")["job"]["retired"], job="a software tester")),
        (WYATT, "What’s your age?", filled(banks().data("self")["age"]["answers"], age="67")),
        (
            WYATT,
            "Do you have kids?",
            filled(banks().data("self")["family"]["answers"], family="am married with two children"),
        ),
        (WYATT, "Where are you from?", filled(banks().data("self")["home"]["answers"], home="a mill town in Maine")),
        (RUBEN, "What work do you do?", filled(banks().data("self")["job"]["answers"], job="a welder")),
        (RUBEN, "Where do you live?", filled(banks().data("self")["home"]["answers"], home="a suburb of Phoenix")),
        (RUBEN, "What is your age?", filled(banks().data("self")["age"]["answers"], age="56")),
        (ALEX, "Where do you live?", {"Home is a narrow house in a Texas city."}),
        (ALEX, "What is your job?", {"I qualified as a paramedic and ride an ambulance."}),
        (ALEX, "Tell me about your family.", {"I was raised by a nurse and a bus driver."}),
        (ALEX, "Introduce yourself.", {"I am Alex, a right-leaning American who supports the Republican Party."}),
        (
            "You are Sam, a 35-year-old American.",
            "How old are you?",
            filled(banks().data("self")["age"]["answers"], age="35"),
        ),
        (
            "You are Ann. You are married.",
            "Are you married?",
            filled(banks().data("self")["family"]["answers"], family="am married"),
        ),
    ],
)
def test_it_says_what_its_persona_says(asked: Asking, persona: str, question: str, told: set[str]) -> None:
    """In every seed one of the forms, and over many seeds all of them."""
    assert {asked(question, persona=persona, seed=seed).text for seed in range(60)} == told


@check_each("kind", [kind for kind in WHO if kind != "self"])
def test_what_the_persona_does_not_say_it_does_not_say(asked: Asking, kind: str) -> None:
    """The Default names no party, job or family: never an invented one."""
    for seed in range(20):
        reply = asked(banks().data("self")[kind]["ask"][0], persona=DEFAULT, seed=seed)
        assert reply.text in banks().data("self")["unsaid"][kind]
        assert reply.notes == {DECLINED: 1}


def test_of_a_family_that_leaves_the_question_open_it_says_no_more_than_the_persona(asked: Asking) -> None:
    parts = sentences(asked("Do you have children?", persona=ELENA).text or "")
    assert parts[0] in banks().data("self")["unsaid"]["children"]
    assert parts[1:] == ["I am single and live beside a favorite cousin."]


def test_two_questions_in_one_are_both_answered(asked: Asking) -> None:
    name, job = sentences(asked("What is your name and job?", persona=ELENA).text or "")
    assert name in filled(banks().data("self")["name"]["answers"], name="Elena")
    assert job in filled(banks().data("self")["job"]["answers"], job="a plumber")
    nameless = sentences(asked("What is your name and job?", persona=ALEX.replace("Alex, ", "")).text or "")
    assert nameless == ["I qualified as a paramedic and ride an ambulance.", nameless[1]]
    assert nameless[1] in banks().data("self")["unsaid"]["name"]


@check_each(
    ("persona", "question", "begins"),
    [
        (ELENA, "Are you a Democrat?", "Yes, "),
        (ELENA, "Are you a Republican?", "No, "),
        (WYATT, "Are you conservative?", "Yes, "),
        (WYATT, "Are you a liberal?", "No, "),
        (ELENA, "Are you a Democrat or a Republican?", ""),
        (WYATT, "Which party do you vote for?", ""),
    ],
)
def test_its_party_is_that_of_its_persona(asked: Asking, persona: str, question: str, begins: str) -> None:
    side = "democrat" if persona == ELENA else "republican"
    affiliation = first_person(
        banks(), next(line for line in sentences(persona) if re.search("Democrats|Republican", line))
    )
    for seed in range(20):
        text = asked(question, persona=persona, seed=seed).text or ""
        assert text.startswith(begins)
        own = text.removeprefix(begins).removesuffix(affiliation).strip()
        assert own[0].upper() + own[1:] in banks().data("self")["party"][side]


def test_without_a_name_in_the_persona_the_opening_of_the_debate_tells_it(interviewed: Asking) -> None:
    assert interviewed("What is your name?").text in filled(banks().data("self")["name"]["answers"], name="Ann")
    assert (interviewed("Who are you?").text or "").endswith(" I am an American.")


def test_no_word_of_a_persona_is_left_in_the_second_person() -> None:
    """Of backstories and of the other sets of personas: who somebody is, the family, the party."""
    stage, rng = CorpusSpeaker(), random.Random(0)
    for kind in ("partisan", "enhanced", "simple") * 150:
        persona = someone(kind, rng, stage)
        told = about(read(Request((Message("system", persona.backstory),), Sampling(), 0), banks()))
        said = " ".join([told.who, told.lives, told.family, told.upbringing, told.parents, told.affiliation, told.work])
        assert not re.search(r"\b(?:you|your|yourself|are I)\b", said, re.I), said
        assert told.name == persona.name or persona.name not in persona.backstory
        assert kind != "partisan" or not told.age or (told.job and told.home), persona.backstory


@check_each("kind", KINDS)
def test_every_wording_is_known_as_its_kind(kind: str) -> None:
    """Those that the corpus asks and those that it does not; without capitals and signs, and with curly apostrophes."""
    entry = banks().data("self")[kind]
    assert len(entry["held_out"]) == 3
    assert len(entry["ask"]) >= 12
    assert not set(entry["held_out"]) & set(entry["ask"])
    for wording in [*entry["ask"], *entry["held_out"]]:
        for question in expand(wording.replace("{name}", "Maria"), banks().data("self")["unknown"]["slots"])[:20]:
            changed = question.replace("'", "’").rstrip("?.")
            for form in (question, changed, f"So, {question[0].lower()}{question[1:]}"):
                reading = read(Request((Message("user", form),), Sampling(), 0), banks())
                named = asked_of(reading)
                found = (named[0],) if named else kinds_of(banks(), form) or ("unknown",)
                assert found[0] == kind, (form, found)
                assert named is None or named[1] == "Maria"


def test_no_question_on_politics_is_taken_for_one_about_itself() -> None:
    """What is measured by questions on politics and by the questions that check personas must stay as it is."""
    for question in [*banks().data("questions")["questions"], *validation_questions(banks())]:
        assert kinds_of(banks(), question) == ()
        assert asked_of(read(Request((Message("user", question),), Sampling(), 0), banks())) is None


def test_a_question_on_a_topic_is_one_for_an_opinion_whatever_else_it_names(asked: Asking) -> None:
    for question in (
        "How does climate change affect your family life?",
        "What would change your mind about climate change?",
    ):
        text = asked(question).text or ""
        assert banks().topics["climate_change"].grade(text) is not None


def test_who_changed_its_mind_is_named_with_what_was_said(interviewed: Asking, line: Callable[..., str]) -> None:
    """Kappa 0.5, no drift: 8.4 goes to 4.2 by Bob's 0, and to 4.1 by Cleo's 4. Bob moved it most; 4.1 is a modest problem."""
    heard = [("Bob", line("climate_change", 0)), ("Cleo", line("climate_change", 4))]
    quoted = filled(banks().data("self")["changed"]["quote"], name="Bob", quote=heard[0][1])
    for question in banks().data("self")["changed"]["ask"]:
        text = interviewed(question, heard, kappa=0.5, mu=0.0).text or ""
        assert text.removesuffix(" Now I think climate change is a modest problem.") in quoted


def test_a_stance_that_moved_it_is_told_in_its_words(interviewed: Asking, line: Callable[..., str]) -> None:
    said = f"I think climate change is a trivial problem. {line('climate_change', 2)}"
    text = interviewed("Why did you change your mind?", [("Cleo", said)], kappa=0.5, mu=0.0).text or ""
    first = text.removesuffix(" Now I think climate change is a moderate problem.")  # 8.4 to 5.2
    assert first in filled(
        banks().data("self")["changed"]["clause"], name="Cleo", clause="climate change is a trivial problem"
    )


def test_a_mind_that_has_not_changed_says_so(interviewed: Asking, line: Callable[..., str]) -> None:
    """At a start of 8.4 without influence; with nothing heard; and moved by the drift alone, which nobody said anything for."""
    ask, heard = "Has anything you heard changed your view?", [("Bob", line("climate_change", 0))]
    text = interviewed(ask, heard, kappa=0.0, mu=0.0).text or ""
    assert text.removesuffix(" I think climate change is a serious problem.") in banks().data("self")["changed"]["same"]
    assert interviewed(ask).text in banks().data("self")["changed"]["silent"]
    drifted = interviewed(ask, heard, persona="You are a Republican.", kappa=0.0, mu=0.5).text or ""
    assert drifted.partition(" Now I think ")[0] in banks().data("self")["changed"]["alone"]


def test_what_a_speaker_said_is_reported(interviewed: Asking, line: Callable[..., str]) -> None:
    """The last line: its stance where it has one, else a sentence of it; a line that it cannot grade it can still repeat."""
    plain, stance = line("climate_change", 6), "I think climate change is a severe problem."
    heard = [("Bob", plain), ("Cleo", stance), ("Bob", "Let us meet on Monday. Bring cake.")]
    forms = banks().data("self")["said"]
    clause = filled(forms["clause"], name="Cleo", clause="climate change is a severe problem")
    assert interviewed("What did Cleo say?", heard).text in clause
    assert interviewed("what did cleo say about this?", heard).text in clause
    assert interviewed("What did Bob say?", heard[:2]).text in filled(forms["quote"], name="Bob", quote=plain)
    assert interviewed("What did Bob say?", heard).text in filled(
        forms["quote"], name="Bob", quote="Let us meet on Monday."
    )


def test_of_whoever_said_nothing_it_has_heard_nothing(interviewed: Asking, line: Callable[..., str]) -> None:
    for question in ("What did Maria say?", "Do you agree with Maria?", "What does Maria think?"):
        reply = interviewed(question, [("Bob", line("climate_change", 6))])
        assert reply.text in filled(banks().data("self")["said"]["silent"], name="Maria")
        assert reply.notes == {DECLINED: 1}


def test_what_a_speaker_thinks_is_the_mean_of_its_lines(interviewed: Asking, line: Callable[..., str]) -> None:
    """Grades 0 and 4: 2, a trivial problem."""
    heard = [("Bob", line("climate_change", 0)), ("Bob", line("climate_change", 4))]
    told = filled(banks().data("self")["thinks"]["clause"], name="Bob", clause="climate change is a trivial problem")
    assert interviewed("Where does Bob stand?", heard).text in told


@check_each(
    ("question", "form", "name"),
    [
        ("Who do you agree with?", ("agree", "answers"), "Cleo"),
        ("Who do you disagree with?", ("disagree", "answers"), "Bob"),
        ("Do you agree with Cleo?", ("agree_with", "yes"), "Cleo"),
        ("Is Bob right?", ("agree_with", "no"), "Bob"),
    ],
)
def test_it_agrees_with_who_is_close(
    interviewed: Asking, line: Callable[..., str], question: str, form: tuple[str, str], name: str
) -> None:
    """An attitude of 8.4, Bob at 0, Cleo at 8."""
    heard = [("Bob", line("climate_change", 0)), ("Cleo", line("climate_change", 8))]
    text = interviewed(question, heard, kappa=0.0, mu=0.0).text or ""
    kind, key = form
    assert any(text.startswith(f"{answer} ") for answer in filled(banks().data("self")[kind][key], name=name))


def test_the_closest_of_all_may_be_far_and_the_farthest_close(interviewed: Asking, line: Callable[..., str]) -> None:
    for ask, grade, key in (("agree", 0, "far"), ("disagree", 8, "near")):
        heard = [("Bob", line("climate_change", grade))]
        text = interviewed(banks().data("self")[ask]["ask"][0], heard, kappa=0.0, mu=0.0).text or ""
        assert any(text.startswith(answer) for answer in filled(banks().data("self")[ask][key], name="Bob"))
    assert interviewed("Who do you agree with?").text in banks().data("self")["agree"]["silent"]


def test_it_knows_what_it_said_and_who_said_what(interviewed: Asking, line: Callable[..., str]) -> None:
    own = "I think climate change is a minor problem."
    told = filled(banks().data("self")["own"]["clause"], clause="climate change is a minor problem")
    assert interviewed("What did you say?", own=own).text in told
    assert interviewed("What did Ann say?", own=own).text in told
    assert interviewed("What did you say?").text in banks().data("self")["own"]["silent"]
    heard = [("Bob", line("climate_change", 0)), ("Cleo", "I think climate change is a severe problem.")]
    text = interviewed("Who said what?", heard).text or ""
    assert heard[0][1] in text
    assert text.index("Bob") < text.index("Cleo said" if "Cleo said" in text else "Cleo")
    assert interviewed("Who said what?").notes == {DECLINED: 1}


def test_where_it_stands_is_a_question_on_the_topic_of_the_debate(interviewed: Asking, asked: Asking) -> None:
    """8.4 without influence; outside of a debate nobody knows what the question is about, and "cats" are another topic."""
    bank = banks().topics["climate_change"]
    grades = [bank.grade(interviewed("What do you think now?", seed=seed).text or "") for seed in range(200)]
    known = [grade for grade in grades if grade is not None]
    assert sum(known) / len(known) == pytest.approx(8.4, abs=0.15)
    assert asked("What do you think now?").notes == {DECLINED: 1}
    assert interviewed("What is your opinion on cats?").notes == {DECLINED: 1}


def test_anything_else_it_does_not_know_and_says_so(asked: Asking) -> None:
    """In more than one way, the same one at the same seed, and marked, so that nobody takes it for an opinion."""
    replies = [asked("What is the capital of France?", seed=seed) for seed in range(60)]
    assert {reply.text for reply in replies} == set(banks().data("self")["unknown"]["answers"])
    assert all(reply.notes == {DECLINED: 1} for reply in replies)
    assert asked("What is the capital of France?", seed=3) == replies[3]
