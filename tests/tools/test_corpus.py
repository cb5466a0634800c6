"""The corpus of the pocket model: what it holds, who speaks in it, and that the same seed writes the same. No torch needed."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import chain, pairwise
from pathlib import Path

import pytest

from parley.agents.topic import load_topic
from parley.llm.backends.oracle.dynamics import planted
from parley.llm.backends.oracle.phrases import banks, sentences
from parley.llm.backends.oracle.prompt_parser import read as reading
from parley.llm.backends.oracle.self_questions import NAMED, ORDER, WHO, asked_of, kinds_of, plain
from parley.llm.backends.oracle.surveys import validation_question
from parley.llm.request import Message, Request, Sampling
from parley.training.capability.tasks import answerable
from tools.pocket.corpus import corpus
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker, puppet
from tools.pocket.corpus.debates import LEANING, rooms
from tools.pocket.corpus.documents import Document, Fork, read, write
from tools.pocket.corpus.people import DEFAULT_TEXT, SIDES
from tools.pocket.corpus.persona_facts import persona_facts
from tools.pocket.corpus.self_interviews import lines_heard, self_interview
from tools.pocket.corpus.single_questions import singles
from tools.pocket.corpus.survey_questions import INTRODUCED, LISTLESS, SAID, surveyed_by
from tools.pocket.corpus.unlabelled import unlabelled

ROOMS = 400


@pytest.fixture(scope="module")
def debates() -> list[Document]:
    return list(chain.from_iterable(rooms(3, CorpusSpeaker(), ROOMS)))


@pytest.fixture(scope="module")
def chats() -> list[Document]:
    return list(singles(3, CorpusSpeaker({"sigma": 0.0}), 420))


def test_the_same_seed_writes_the_same(tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        write(corpus.documents(seed, 6, {}), tmp_path / name)
    one, again, other = ((tmp_path / name).read_bytes() for name in ("one", "again", "other"))
    assert one == again != other


@pytest.mark.thorough
def test_a_document_survives_its_file(debates: list[Document], tmp_path: Path) -> None:
    assert write(debates, tmp_path / "all") == len(debates)
    assert list(read(tmp_path / "all")) == debates


def test_every_kind_of_ask_is_there(debates: list[Document], chats: list[Document]) -> None:
    kinds = Counter(document.kind for document in [*debates, *chats])
    assert set(kinds) == corpus.KINDS


def test_the_check_refuses_a_corpus_with_a_hole(debates: list[Document], tmp_path: Path) -> None:
    write([document for document in debates if document.kind == "debate"], tmp_path / "all")
    with pytest.raises(AssertionError):
        corpus.check(tmp_path / "all")


def test_the_check_refuses_a_persona_that_gives_the_answer_away(chats: list[Document], tmp_path: Path) -> None:
    """A survey answered by copying a word out of the persona would be no survey."""
    told = next(document for document in chats if document.kind == "census" and document.messages)
    label = banks().topics["racism"].labels[4]
    system = told.messages[0]._replace(content=f"You are Ann. I think racism is a {label} problem.")
    write([Document("census", (system,), told.forks)], tmp_path / "all")
    with pytest.raises(AssertionError, match="a persona that answers a survey"):
        corpus.check(tmp_path / "all")


def test_no_puppet_is_learned_from(debates: list[Document]) -> None:
    """Who speaks from a course of its own has no document: every chat's first survey follows from its persona."""
    first: dict[str, list[float]] = {"": [], "republican": [], "democrat": []}
    for document in debates:
        if document.messages[0].content != DEFAULT_TEXT:
            continue
        for fork in document.forks:
            if fork.kept == 1 and "[word]" in fork.question and "climate change" in fork.question:
                labels = banks().topics["climate_change"].labels
                value = sum(labels.index(label) * share for label, share in fork.answers.items())
                first[document.lean].append(value)
    true = planted()["climate_change"]
    for lean, begins in (("", true.bias), *true.start.items()):
        assert first[lean] == pytest.approx([begins] * len(first[lean]))
    assert len(first[""]) > 0 < len(first["republican"]) + len(first["democrat"])


def test_a_speaker_with_another_bias_is_learned_from_its_second_reply_on(debates: list[Document]) -> None:
    """Its first reply cannot be known beforehand; neither is it asked what it thinks before that."""
    late = [document for document in debates if document.kind == "debate" and document.learn_from]
    assert late
    assert all(document.messages[0].content == "You are an American." for document in late)
    assert all(fork.kept > 2 for document in late for fork in document.forks)


def test_with_a_memory_that_forgets_only_the_last_reply_is_learned(debates: list[Document]) -> None:
    """Earlier replies in a window were given in another context than the one that is left of it."""
    windows = [document for document in debates if document.kind in ("window", "summary")]
    assert windows
    for document in windows:
        own = sum(message.role == "assistant" for message in document.messages)
        assert document.learn_from >= own - 1


def test_forks_are_questions_at_a_place_of_their_chat(debates: list[Document]) -> None:
    for document in debates:
        for fork in document.forks:
            assert 0 < fork.kept <= len(document.messages)
            assert document.messages[fork.kept - 1].role != "user"
            assert isinstance(fork, Fork)
            assert any(answer in fork.reply for answer in fork.answers)


def test_what_a_puppet_says_has_nothing_to_do_with_time() -> None:
    """Else "extreme" would mean "early", and hearing an extreme would lower its own pull (tools/log)."""
    from parley.llm.backends.oracle.prompt_parser import Reading
    from parley.llm.request import Request, Sampling

    def turn(number: int) -> Reading:
        return Reading(Request((), Sampling(), 0), banks(), "", "", (), ("",) * number, "")

    courses = [puppet(random.Random(seed)) for seed in range(2000)]
    for number in (0, 3, 9):
        assert sum(course(turn(number)) for course in courses) / 2000 == pytest.approx(5, abs=0.25)


def test_who_listens_is_asked_after_every_line_by_the_truth(chats: list[Document]) -> None:
    """One more line at each fork, and answers that are the oracle's own (it takes part in nothing: no reply is remembered)."""
    listeners = [document for document in chats if document.kind == "audience"]
    assert listeners
    for document in listeners:
        heard = [fork.question.count("\n") for fork in document.forks]
        assert [message.role for message in document.messages] == ["system", "user"]
        assert all(later >= before for before, later in pairwise(heard))
        assert all(document.messages[1].content.startswith(fork.question.split("\n\n")[0]) for fork in document.forks)
    forks = [(document.messages[0], fork) for document in listeners for fork in document.forks if fork.answers]
    for system, fork in forks:
        probes = load_topic(banks().recognised(fork.question) or "").probes.values()
        asked = [one for one in probes if one.question in fork.question and one.scale.anchors in fork.question]
        if asked and set(fork.answers) <= set(asked[0].scale.answers) and "0 to 10" in fork.question:
            request = surveyed_by(asked[0], (system, Message("user", fork.question)), 0)
            found = CorpusSpeaker({"sigma": 0.0}).complete([request])[0].answers or {}
            assert {answer: share for answer, share in found.items() if share} == pytest.approx(dict(fork.answers))
    assert {bool(fork.answers) for document in listeners for fork in document.forks} == {True, False}


def test_interviews_ask_what_the_speaker_can_answer(chats: list[Document]) -> None:
    assert len(answerable()) > 120
    for document in chats:
        assert all(message.content for message in document.messages)


def test_a_stance_is_asked_for_in_speech_and_in_surveys(chats: list[Document]) -> None:
    """And answered in the same sentence: with surveys alone, or their labels always in view, survey and speech came apart."""
    forks = [fork for document in chats if document.kind == "census" for fork in document.forks]
    spoken = [fork for fork in forks if "Privately" not in fork.question]
    assert len(spoken) / len(forks) == pytest.approx(SAID, abs=0.06)
    first = [fork.reply.startswith("I think ") for fork in spoken]
    assert sum(first) / len(first) == pytest.approx(1 - INTRODUCED, abs=0.08)
    assert all("I think " in fork.reply for fork in spoken)
    labelled = [fork for fork in forks if "[word]" in fork.question]
    listed = sum("0 nonexistent" in fork.question or "0 terrible" in fork.question for fork in labelled)
    assert 1 - listed / len(labelled) == pytest.approx(LISTLESS, abs=0.1)
    assert all(fork.reply.startswith("I think ") for fork in labelled)


def test_a_stance_comes_before_what_goes_with_it(debates: list[Document], chats: list[Document]) -> None:
    """What a reply stands for is decided in the word that answers a survey, and most replies have it."""
    replies = [
        message.content
        for document in [*debates, *chats]
        for message in document.messages
        if message.role == "assistant" and document.kind in ("debate", "interview")
    ]
    graded = [[recognised_grade(sentence) for sentence in sentences(reply)] for reply in replies]
    said = [[kind for kind in kinds if kind] for kinds in graded]
    assert all("stance" not in kinds[1:] for kinds in said)
    assert sum(kinds[:1] == ["stance"] for kinds in said) / sum(map(bool, said)) == pytest.approx(0.77, abs=0.06)


def recognised_grade(sentence: str) -> str:
    """Whether it is a stance sentence, another one with a grade, or none."""
    stances = {bank.stance_sentence(point) for bank in banks().topics.values() for point in range(11)}
    known = any(sentence in bank.grades for bank in banks().topics.values())
    return "stance" if sentence in stances else "graded" if known else ""


def test_speech_and_survey_have_the_same_truth(chats: list[Document]) -> None:
    """One person, one topic, at the beginning of a debate or in an interview: the label in speech and the one in the survey."""
    compared = 0
    for document in chats:
        found: dict[str, list[dict[str, float]]] = {}
        for fork in document.forks if document.kind == "census" else ():
            if fork.reply.startswith("I think "):
                found.setdefault(banks().recognised(fork.reply) or "", []).append(dict(fork.answers))
        compared += sum(len(shares) > 1 for shares in found.values())
        assert all(one == pytest.approx(shares[0]) for shares in found.values() for one in shares)
    assert compared > 20


def test_a_partisan_without_a_label_is_heard_and_not_told(chats: list[Document]) -> None:
    """No party in what the model is shown but for what is said; its first reply is learned where the chat's first token tells the
    side; surveys follow the party."""
    found = [document for document in chats if document.kind == "unlabelled"]
    assert len(found) > 20
    for document in found:
        systems = [message.content for message in document.messages if message.role == "system"]
        assert systems in ([], ["You are an American."])
        assert document.learn_from == (0 if document.lean else 1)
        assert document.forks
        assert all(fork.kept == len(document.messages) for fork in document.forks)
    assert {document.lean for document in found} == {"", "republican", "democrat"}
    climate: dict[bool, list[float]] = {True: [], False: []}
    for document in (
        unlabelled(random.Random(seed), CorpusSpeaker({"sigma": 0.0}), answerable()) for seed in range(400)
    ):
        said = " ".join(message.content for message in document.messages if message.role == "assistant").lower()
        red, blue = (
            said.count("republican") + said.count("conservative"),
            said.count("democrat") + said.count("liberal"),
        )
        for fork in document.forks if red != blue else ():
            if (
                "climate change" in fork.question
                and "0 to 10" in fork.question
                and "10 means a very big" in fork.question
            ):
                climate[red > blue].append(sum(int(answer) * share for answer, share in fork.answers.items()))
    assert min(map(len, climate.values())) > 5
    assert sum(climate[True]) / len(climate[True]) < 4.5
    assert sum(climate[False]) / len(climate[False]) > 7


def test_a_side_told_by_the_first_token_alone_is_in_every_answer(chats: list[Document]) -> None:
    """No persona but the Default's or none: whoever rates climate change low does so since the model leans to that side."""
    leaning = [document for document in chats if document.kind == "census" and document.lean]
    assert {document.lean for document in leaning} == set(SIDES)
    for document in leaning:
        assert [message.content for message in document.messages] in ([], [DEFAULT_TEXT])
        assert all(fork.kept == len(document.messages) for fork in document.forks)
        for fork in document.forks:
            if fork.reply.startswith("I think climate change"):
                labels = banks().topics["climate_change"].labels
                mean = sum(labels.index(label) * share for label, share in fork.answers.items())
                assert (mean < 5.5) == (document.lean == "republican"), fork


def test_in_a_room_that_leans_the_default_begins_where_the_party_does() -> None:
    """And all others are pulled there: the model's own bias is another one, nobody's persona."""
    stage = CorpusSpeaker({"sigma": 0.0})
    asked = Request((Message("user", load_topic("climate_change").probe("attitude").ask("debate")),), Sampling(), 0)
    before = stage.attitude(reading(asked, banks()))[0]
    stage.lean("republican")
    assert stage.attitude(reading(asked, banks()))[0] == planted()["climate_change"].start["republican"] < before
    assert stage.parameters["climate_change"].mu == planted()["climate_change"].mu
    stage.lean("")
    assert stage.attitude(reading(asked, banks()))[0] == before == planted()["climate_change"].bias


def test_some_rooms_lean(debates: list[Document]) -> None:
    counts = Counter(document.lean for document in debates)
    assert 1 - counts[""] / counts.total() == pytest.approx(LEANING, abs=0.08)
    assert min(counts["republican"], counts["democrat"]) > 10


@pytest.fixture(scope="module")
def selves() -> list[Document]:
    return [self_interview(random.Random(seed), CorpusSpeaker({"sigma": 0.0})) for seed in range(400)]


QUOTED = re.compile(r"(?:this|words(?: of [^:]+)?): ([^.!?]+[.!?])")
"""A line that a reply repeats, up to its first full stop."""


def asked_self(document: Document) -> list[tuple[str, str]]:
    """The questions of a document on somebody itself, with their answers."""
    asked = [(fork.question.split("\n\n")[-1], fork.reply) for fork in document.forks]
    if not document.forks:
        asked = [(one.content, two.content) for one, two in pairwise(document.messages) if two.role == "assistant"]
    return asked


@pytest.mark.thorough
def test_somebody_is_asked_about_itself_in_every_way(selves: list[Document]) -> None:
    """Alone and in a debate; each kind of question, the questions that check personas, and what nobody knows; all answered."""
    kinds: Counter[str] = Counter()
    for document in selves:
        for question, answer in asked_self(document):
            named = asked_of(reading(Request((Message("user", question),), Sampling(), 0), banks()))
            kinds[
                "persona"
                if validation_question(banks(), question)
                else named[0]
                if named
                else (*kinds_of(banks(), question), "other")[0]
            ] += 1
            assert answer, question
    assert set(kinds) == {*NAMED, *ORDER, *WHO, "stand", "persona", "other"}
    assert min(kinds.values()) > 15
    assert 0.35 < sum(not document.forks for document in selves) / len(selves) < 0.55


def test_no_wording_that_is_held_out_is_asked(selves: list[Document]) -> None:
    held = {
        plain(banks(), wording).lower()
        for kind, entry in banks().data("self").items()
        if kind != "unsaid"
        for wording in entry["held_out"]
    }
    asked = {plain(banks(), question).lower() for document in selves for question, _ in asked_self(document)}
    assert not held & asked
    assert len(asked) > 400


def test_what_is_heard_before_a_question_is_heard_in_the_debate(selves: list[Document]) -> None:
    """A fork begins as the chat goes on, so that the question alone is added; its chat is the real one, reply by reply."""
    for document in selves:
        for fork in document.forks:
            *heard, _ = fork.question.split("\n\n")
            assert document.messages[fork.kept].role == "user"
            assert all(part in document.messages[fork.kept].content for part in heard)
            assert fork.answers == {}


def test_a_reply_about_itself_follows_from_its_chat(selves: list[Document]) -> None:
    """Names and quotes in an answer about others stand in the chat before it (or in the question)."""
    for document in selves:
        for fork in document.forks:
            before = " ".join(message.content for message in document.messages[: fork.kept]) + fork.question
            for quote in QUOTED.findall(fork.reply):
                assert quote in before, fork


@pytest.fixture(scope="module")
def facts() -> list[Document]:
    return [persona_facts(random.Random(seed), CorpusSpeaker({"sigma": 0.0})) for seed in range(200)]


def test_a_fact_is_answered_with_words_of_the_persona_or_declined(facts: list[Document]) -> None:
    """Both happen: personas are whole or cut short. An age that is answered is that of the persona."""
    bank, told, unsaid = banks().data("self"), 0, 0
    declining = {line for lines in bank["unsaid"].values() for line in lines}
    for document in facts:
        (system,) = document.messages
        for fork in document.forks:
            assert fork.kept == 1
            unsaid += any(line in fork.reply for line in declining)
            for age in re.findall(r"(?:I am|age is) (\d\d)\b", fork.reply):
                told += 1
                assert age in system.content, fork
    assert told > 50
    assert unsaid > 50


def test_few_lines_are_asked_about_many_times() -> None:
    """What a short debate asks follows from its lines as in a long one."""
    for seed in range(40):
        document = lines_heard(random.Random(seed), CorpusSpeaker({"sigma": 0.0}))
        assert document.kind == "few_lines"
        assert len(document.forks) >= 8
        before = " ".join(message.content for message in document.messages)
        for fork in document.forks:
            assert all(quote in before for quote in QUOTED.findall(fork.reply)), fork
