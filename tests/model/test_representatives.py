"""Representatives in a session: who is represented, what is told and never told, what the record says of it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from data_checks import check_each
from standins import Scrambled, opinionated
from synthetic import episodes

import parley.llm.driver
from parley.agents.question import questionnaire
from parley.agents.society import load_society
from parley.analysis.deliberation.consensus_report import _representation_row, representation_means
from parley.analysis.deliberation.episode import Voice
from parley.analysis.deliberation.run_episodes import episodes_of_run, represented_texts
from parley.analysis.model_calls import used_tokens
from parley.analysis.run_report import SUMMARY, write_report
from parley.analysis.tables import load
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.prices import Account
from parley.llm.request import Reply, Request
from parley.model.debate import DebateModel
from parley.model.events import Answered, Called, Event, Posed, Represented, Seated, Utterance
from parley.model.recorder import MemoryRecorder, read_lines, to_line
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, record_of, run_scenario

EARLIER = "Earlier the participant discussed another question: "
NOW = "The question that the group discusses now: "


class Marked:
    """The known-truth speaker; whatever a participant or a representative writes ends in a word of its own."""

    in_flight = 0

    def __init__(self) -> None:
        self.inner, self.asked = open_spec("oracle"), list[tuple[Request, Reply]]()
        self.identity, self.seedless = self.inner.identity, self.inner.seedless

    def complete(self, requests: list[Request]) -> list[Reply]:
        replies = self.inner.complete(requests)
        for request, reply in zip(requests, replies, strict=True):
            if request.purpose in ("speech", "critique", "represented_opinion") and reply.text is not None:
                reply.text += f" Marker{len(self.asked)}end."
            self.asked.append((request, reply))
        return replies


def marks(text: str) -> list[str]:
    return re.findall(r"Marker\d+end", text)


def scenario(**settings: object) -> Scenario:
    return load_preset("representatives").with_settings({"repetitions": 1} | settings)


def held(setup: Scenario, backend: object | None = None) -> list[Event]:
    recorder = MemoryRecorder()
    model = DebateModel(setup, backend=backend or Fake(opinionated), recorder=recorder)
    model.run()
    return recorder.events


def of(events: list[Event], kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]


def said(events: list[Event]) -> dict[str, tuple[str, str, int]]:
    """By marker: room, form and seat (the place of its agent in the room) of what was written."""
    seats: dict[str, list[int]] = defaultdict(list)
    for event in of(events, Seated):
        seats[event.room].append(event.agent)
    return {
        marks(event.text)[0]: (event.room, event.form, seats[event.room].index(event.agent))
        for event in of(events, Utterance)
        if event.agent and event.text
    }


@pytest.mark.parametrize("rounds", [2, 3])
def test_of_the_current_question_a_representative_is_told_opinion_and_statement_alone(rounds: int) -> None:
    """Every prompt is searched. What stands under the others was written by the same person, in an episode before, by itself."""
    backend = Marked()
    events = held(scenario(rounds=rounds), backend)
    posed = {event.room: event for event in of(events, Posed)}
    questions = {event.question: event for event in posed.values()}
    written, seen = said(events), 0
    for request, reply in backend.asked:
        if request.purpose != "critique":
            continue
        seen += 1
        earlier, _, now = request.messages[0].content.partition(NOW)
        room, form, seat = written[marks(reply.text or "")[0]]
        assert form == "critique"
        assert posed[room].episode == 2
        asked = re.findall(rf"(?m)^{EARLIER}(.+)$", earlier)
        assert [questions[one].episode for one in asked] == [0, 1]
        assert posed[room].question not in earlier
        (opinion,) = marks(now)
        assert written[opinion] == (room, "opinion", seat)
        told = [written[mark] for mark in marks(earlier)]
        assert [(posed[where].episode, what) for where, what, _ in told] == [
            (0, "opinion"), (0, "critique"), (1, "opinion"), (1, "critique"),
        ]  # fmt: skip
        assert {(posed[where].session, who) for where, _, who in told} == {(posed[room].session, seat)}
    assert seen == 2 * 5 * (rounds - 1)


def test_a_member_never_reads_what_was_written_in_its_name() -> None:
    """It goes on from its own opinion and the mediator's statements; the mediator reads the representative's critique."""
    backend = Marked()
    events = held(scenario(rounds=3), backend)
    theirs = {(event.room, event.iteration) for event in of(events, Represented)}
    by = {marks(event.text)[0] for event in of(events, Utterance) if (event.room, event.iteration) in theirs}
    members = [request for request, _ in backend.asked if request.messages[0].role == "system"]
    mediator = [request for request, _ in backend.asked if request.purpose == "statement"]
    assert len(by) == 20
    assert not by & {mark for one in members for message in one.messages for mark in marks(message.content)}
    assert by <= {mark for one in mediator for mark in marks(one.messages[0].content)}


@check_each(("who", "each"), [("none", 0), ("one", 1), ("all", 5)])
def test_the_record_tells_which_critiques_are_a_representatives(who: str, each: int) -> None:
    """Of the last episodes, of so many members each; the other questions are told by their ids."""
    events = held(scenario(represented=who))
    posed = {event.room: event for event in of(events, Posed)}
    found = of(events, Represented)
    assert Counter(event.room for event in found) == Counter(
        {room: each for room, event in posed.items() if event.episode == 2 and each}
    )
    spoken = {(event.room, event.iteration): event for event in of(events, Utterance)}
    for event in found:
        utterance = spoken[event.room, event.iteration]
        assert (utterance.form, utterance.agent) == ("critique", event.agent)
        before = [one.id for one in posed.values() if one.session == posed[event.room].session and one.episode < 2]
        assert (event.knows, list(event.told)) == ("OC", before)
    callers = Counter(event.agent < 0 for event in of(events, Called) if event.purpose in ("speech", "critique"))
    assert callers == Counter({True: 2 * each, False: 60 - 2 * each})


def test_who_is_represented_alone_is_drawn_by_name() -> None:
    """The same seat alone and among other sessions, and not always the same one."""
    few, many = (held(scenario(represented="one", repetitions=number)) for number in (1, 6))

    def seats(events: list[Event]) -> dict[str, str]:
        named = {event.agent: event.seat for event in of(events, Seated)}
        return {event.room: named[event.agent] for event in of(events, Represented)}

    assert seats(few).items() <= seats(many).items()
    assert len(set(seats(many).values())) > 2


def test_until_the_critique_all_is_as_without_representatives() -> None:
    """The same people, questions, opinions and drafts: a control is the same command with `represented=none`."""
    with_, without = (held(scenario(represented=who), open_spec("oracle")) for who in ("all", "none"))

    def first(events: list[Event]) -> list[tuple]:
        return [(one.room, one.agent, one.text) for one in of(events, Utterance) if one.form in ("opinion", "draft")]

    last = {event.room for event in of(with_, Posed) if event.episode == 2}
    assert first(with_) == first(without)
    own, theirs = (
        {(one.room, one.agent): one.text for one in of(events, Utterance) if one.form == "critique"}
        for events in (without, with_)
    )
    assert {room for room, agent in own if own[room, agent] != theirs[room, agent]} == last


def test_critiques_of_episodes_before_are_waited_for_and_nothing_else_is() -> None:
    """With C the last episodes come after the others in a round; without it all rooms go side by side."""
    sizes: list[Counter[str]] = []

    class Batches(Fake):
        def complete(self, requests: list[Request]) -> list[Reply]:
            sizes.append(Counter(request.purpose for request in requests))
            return super().complete(requests)

    for knows in ("OP", "C"):
        held(scenario(knows=knows, survey="rounds"), Batches(opinionated))
    waves = [one for one in sizes if set(one) & {"speech", "critique", "statement"}]
    beside = [{"speech": 30}, {"statement": 6}, {"speech": 20, "critique": 10}, {"statement": 6}]
    after = [{"speech": 20}, {"statement": 4}, {"critique": 10}, {"statement": 2}]
    assert waves == [*beside, *beside[:2], *after]


def test_demographics_are_asked_before_and_positions_are_told() -> None:
    """What a member says of itself must be there before it is represented; who would rather not say has not answered."""
    asked: list[Request] = []

    def speaks(request: Request) -> str:
        asked.append(request)
        return opinionated(request)

    events = held(scenario(knows="DP"), Fake(speaks))
    answers = of(events, Answered)
    assert {event.round for event in answers} == {0}
    assert len(answers) == 10 * len(questionnaire(load_society()))
    prompts = [request.messages[0].content for request in asked if request.purpose == "critique"]
    assert all(text.count("The position of the participant on it: ") == 2 for text in prompts)
    declined = {item.answers[-1] for item in questionnaire(load_society())}
    told = [
        line
        for text in prompts
        for line in text.splitlines()
        if line.startswith("About the participant, by a questionnaire: ")
    ]
    assert len(told) == 10
    assert not any(word in line for line in told for word in declined)
    assert "opinion of the participant on it" not in "".join(prompts)


def test_who_has_no_opinion_speaks_for_itself() -> None:
    """As in a substituted group: nobody can represent it. One of ten people never gives an opinion."""
    mute: list[str] = []

    def speaks(request: Request) -> str | Reply:
        opinion = request.purpose == "speech" and "Write your opinion" in request.messages[-1].content
        if opinion and not mute:
            mute.append(request.messages[0].content)
        return Reply.failed("timeout") if opinion and request.messages[0].content in mute else opinionated(request)

    events = held(scenario(knows="D"), Fake(speaks))
    assert len(of(events, Represented)) == 9
    assert all(event.text for event in of(events, Utterance) if event.form == "critique")


def test_a_representative_takes_every_step_of_its_member() -> None:
    """Opinion, critique, ballots and vote of the last episode; no prompt to it has a text of the member on the question."""
    backend, table = Marked(), ("opinion", "critique", "ballot", "vote")
    own = {"mediator": "habermas,candidates=3,ballots=own", "size": 2, "vote": "final"}
    events = held(scenario(represents=table, **own), backend)
    last = {event.room for event in of(events, Posed) if event.episode == 2}
    steps = Counter((event.form, event.room in last) for event in of(events, Represented))
    assert steps == {(form, True): 2 * (2 if form == "ballot" else 1) for form in table}
    writers = [event for event in of(events, Called) if event.room in last and event.purpose != "survey"]
    assert {event.purpose for event in writers if event.agent > 0} == {"questionnaire"}
    assert {event.purpose for event in writers if event.agent < 0} == {
        "represented_opinion",
        "critique",
        "represented_ballot",
    }
    written = said(events)
    for request, reply in backend.asked:
        if request.purpose == "represented_opinion":
            earlier, _, now = request.messages[0].content.partition(NOW)
            room, form, seat = written[marks(reply.text or "")[0]]
            assert (room in last, form) == (True, "opinion")
            assert not marks(now)
            assert [written[mark][1:] for mark in marks(earlier)] == [("opinion", seat)] * 2
    mediator = "".join(one.messages[0].content for one, _ in backend.asked if one.purpose == "statement")
    assert {mark for mark, (room, form, _) in written.items() if room in last and form == "opinion"} <= set(
        marks(mediator)
    )


def test_ballots_alone_change_nothing_before_them() -> None:
    """The same opinions, critiques and statements; only who votes differs, so two runs of equal seed compare the vote itself."""
    own = {"size": 2, "vote": "final"}
    with_, without = (
        held(scenario(represents=("vote",), represented=who, **own), open_spec("oracle")) for who in ("all", "none")
    )
    said_ = [[(one.room, one.agent, one.text) for one in of(events, Utterance)] for events in (with_, without)]
    assert said_[0] == said_[1]
    assert {event.form for event in of(with_, Represented)} == {"vote"}


def test_groups_of_several_sizes_sit_in_one_run() -> None:
    """Three, four and five: an odd size has a group for each majority. Members know how many they are; all are represented."""
    backend = Marked()
    events = held(scenario(sizes=(3, 4, 5), episodes=2), backend)
    members = Counter(event.room for event in of(events, Seated) if event.agent)
    last = {event.room for event in of(events, Posed) if event.episode == 1}
    assert sorted(members[room] for room in last) == [3, 3, 4, 5, 5]
    assert Counter(event.room for event in of(events, Represented)) == {room: members[room] for room in last}
    asked = [one.messages for one, _ in backend.asked if one.purpose == "speech"]
    stated = {re.findall(r"(\d+) people deliberate", "".join(text.content for text in texts))[0] for texts in asked}
    assert stated == {"3", "4", "5"}


def test_a_silent_representative_leaves_its_seat_silent() -> None:
    """The member does not step in: a failure must not look like a perfect representative."""

    def speaks(request: Request) -> str | Reply:
        return Reply.failed("timeout") if request.purpose == "critique" else opinionated(request)

    events = held(scenario(), Fake(speaks))
    theirs = {(event.room, event.iteration) for event in of(events, Represented)}
    silent = [event for event in of(events, Utterance) if event.text is None]
    assert {(event.room, event.iteration) for event in silent} == theirs
    assert {event.reason for event in silent} == {"timeout"}
    assert all(event.text for event in of(events, Utterance) if event.form == "revision")


def test_a_member_prepares_nothing_that_it_does_not_write() -> None:
    """What somebody asks itself before it speaks is not asked before a representative speaks."""
    events = held(scenario(think="bdi"))
    represented_ = {(event.room, event.iteration) for event in of(events, Represented)}
    spoken = {(event.room, event.iteration) for event in of(events, Utterance) if event.agent}
    thought = Counter(event.purpose for event in of(events, Called) if event.agent > 0)
    assert thought["bdi"] == thought["speech"] == len(spoken - represented_) == 50


def test_without_a_draft_there_is_nothing_to_write() -> None:
    def speaks(request: Request) -> str | Reply:
        return Reply.failed("timeout") if request.purpose == "statement" else opinionated(request)

    events = held(scenario(), Fake(speaks))
    assert not of(events, Represented)
    assert {event.reason for event in of(events, Utterance) if event.form == "critique"} == {"no_statement"}


@check_each(
    ("settings", "words"),
    [
        ({"represented": "some"}, "unknown value of represented"),
        ({"knows": "OX"}, "'OX' does not name what a representative knows"),
        ({"episodes": 1}, "set episodes=2 or more"),
        ({"knows": "D", "survey": "never"}, "needs survey answers"),
        ({"represents": "opinions"}, "did you mean opinion"),
        ({"represents": ()}, "represents does not name a step"),
        ({"represents": "vote"}, "needs a final vote"),
        ({"represents": "ballot"}, "mediator=habermas,ballots=own"),
        ({"llms": "representativ=oracle"}, "did you mean representative"),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(settings: dict, words: str) -> None:
    with pytest.raises(UserError) as caught:
        scenario(**settings)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_debates_have_no_representatives() -> None:
    with pytest.raises(UserError, match="only the environment mediated has them"):
        load_preset("three_way").with_settings({"represented": "all"})


def test_a_single_episode_can_be_represented_from_the_base() -> None:
    assert len(of(held(scenario(episodes=1, knows="")), Represented)) == 10


def test_batches_and_flights_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, landed = (
        "".join(map(to_line, held(scenario(), one(opinionated)))) for one in (Fake, lambda f: Scrambled(f, 4))
    )
    assert landed == expected
    monkeypatch.setattr(parley.llm.driver, "MAX_BATCH", 1)
    assert "".join(map(to_line, held(scenario()))) == expected


def test_a_run_stopped_between_the_episodes_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    setup = scenario(knows="DOCP")
    whole = run_scenario(RunSpec(setup, tmp_path / "whole"), backend=Fake(opinionated))
    asked = 0
    for most in (130, 175, 10_000):
        part = run_scenario(RunSpec(setup, tmp_path / "parts", budget=Budget(most)), backend=Fake(opinionated))
        asked += part.asked
    assert part.record.read_bytes() == whole.record.read_bytes()
    assert asked == whole.asked


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of two groups whose representatives have a model of their own, with its report."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    run_scenario(RunSpec(scenario(llms=("representative=oracle,pull=0",), represented="one"), folder))
    write_report(folder)
    return folder


def test_an_episode_has_no_critique_of_who_did_not_write_one(run: Path) -> None:
    """Or a representative would be trained on what representatives wrote."""
    stood = represented_texts(read_lines(record_of(run)))
    missing = [
        (one.id, voice.participant) for one in episodes_of_run(run) for voice in one.voices
        if voice.reasons.get("critique") == "represented" and voice.critique is None
    ]  # fmt: skip
    assert len(missing) == len(stood) == 2
    assert {room for room, _ in missing} == {room for room, _ in stood}
    assert all(voice.critique for one in episodes_of_run(run) for voice in one.voices if not voice.reasons)


def test_the_pages_name_the_representatives(run: Path) -> None:
    text, summary = (run / "transcript.md").read_text(), (run / SUMMARY).read_text()
    assert text.count(" (by a representative):**") == 2
    assert "Representatives wrote 2 critiques in 2 episodes; they knew OC (silent: none)" in summary
    assert "`represented`" in summary


def test_its_calls_are_its_own_models(run: Path) -> None:
    """What a model costs is counted where it was asked."""
    tables = load(run)
    calls = tables.calls[tables.calls["purpose"] == "critique"]
    assert {account.voice for account in used_tokens(tables)} == {"", "representative"}
    assert used_tokens(tables)[Account("representative")].prompt_tokens == calls["prompt_tokens"].sum() > 0
    assert (calls["agent"] < 0).all()
    assert "representative/base" in tables.header.prompts


def test_means_by_hand() -> None:
    """a was represented once (6), before 4 and 5; b has no rating where it was represented: 6 and 4.5, from a alone."""

    def rated(voice: Voice, value: float | None, own: bool) -> Voice:
        reasons = {} if own else {"critique": "represented"}
        critique = voice.critique if own else None
        return replace(voice, agreement={"draft": 4.0, "revision": value}, critique=critique, reasons=reasons)

    values = [(4.0, 1.0), (5.0, 1.0), (6.0, None)]
    made = [
        replace(
            one, voices=tuple(rated(voice, value, place < 2) for voice, value in zip(one.voices, pair, strict=True))
        )
        for place, (one, pair) in enumerate(zip(episodes(1, size=2), values, strict=True))
    ]
    assert representation_means("agreement with the revision (1-7)", made) == [(6.0, 4.5)]
    assert representation_means("revision minus draft", made) == [(2.0, 0.5)]
    assert representation_means("revision minus draft", made[:2]) == []


def test_groups_that_do_not_vary_have_no_interval() -> None:
    """Everybody rated alike in every group: the table has the number alone."""
    alike = {"draft": 4.0, "revision": 5.0}
    made = [replace(one, voices=tuple(replace(v, agreement=alike) for v in one.voices)) for one in episodes(4, size=2)]
    theirs = {"critique": None, "reasons": {"critique": "represented"}}
    last = [replace(one, voices=tuple(replace(v, **theirs) for v in one.voices)) for one in made[2::3]]
    assert _representation_row("revision minus draft", [*made[0::3], *last]) == [
        "revision minus draft",
        "1.00",
        "1.00",
        "0.00",
        "4",
    ]
