"""Interventions: what they do is what is said of them, to those that are meant, and nothing else changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st
from standins import Scrambled, opinionated

from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Backend, Reply, Request
from parley.llm.router import RoutedBackend
from parley.model.debate import DebateModel
from parley.model.events import Event, Heard, Intervened, Linked, Rated, Seated, Unlinked, Utterance
from parley.model.interventions import (
    INTERVENTIONS,
    Intervention,
    intervention_spec,
    parse_intervention,
    parse_interventions,
)
from parley.model.interventions.moderator import LINES
from parley.model.interventions.planner import Planner
from parley.model.recorder import MemoryRecorder, to_line
from parley.model.scenario import Scenario, load_preset

Small = Callable[..., Scenario]
EXAMPLES = {
    "message": "message round=2 to=democrat by='A Friend' text='Think again.'",
    "fact_check": "fact_check round=2 text='That is not so.'",
    "moderator": "moderator round=2 text=civility every=2",
    "shock": "shock round=2 text='Something happened.' share=0.5",
    "guidance": "guidance round=2 style=empathic by='City Hall' factual='It has been checked.'",
    "planner": "planner round=1 every=1 target=9 messages='9: It is bad, and: getting worse.' messages='1: It is fine.'",
    "model": "model round=2 to=default llm=oracle,mu=0",
    "speech": "speech round=2 to=default temperature=0.2 cut=last",
    "links": "links round=2 to=republican change=remove hear=democrat both=true",
    "join": "join round=2 to=default",
    "leave": "leave round=2 share=0.5",
    "mute": "mute round=2 to=republican,democrat",
    "unmute": "unmute round=2",
}
SECRET = "The bridge will be closed on Tuesday."
words = st.lists(st.text("abcXYZ'\"\\=:,;$ é", min_size=1), min_size=1, max_size=4).map(" ".join).map(str.strip)


def events(scenario: Scenario, backend: Backend | None = None) -> list[Event]:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend, recorder=recorder, keep_going=True).run()
    return recorder.events


def told(found: list[Event]) -> list[Intervened]:
    return [event for event in found if isinstance(event, Intervened)]


def turns(found: list[Event]) -> list[Utterance]:
    return [event for event in found if isinstance(event, Utterance)]


@check_each("name", INTERVENTIONS.names())
def test_every_kind_can_be_held(small: Small, name: str) -> None:
    """A file in the folder is a kind: it has an example here, acts when it says, and is in the record."""
    one = parse_intervention(EXAMPLES[name])
    assert (one.kind, parse_intervention(intervention_spec(one))) == (name, one)
    more = {"size": 8, "graph": "complete", "rounds": 3} if one.networked else {}
    scenario = small("network" if one.networked else "three_way", interventions=[EXAMPLES[name]], **more)
    found = told(events(scenario, Fake(opinionated)))
    assert {event.what for event in found} == {name}
    assert min(event.round for event in found) == one.round


@settings(max_examples=25, deadline=None)
@given(words, words, st.integers(1, 9), st.sampled_from([(), ("democrat",), ("republican 1", "default")]))
def test_what_is_written_is_read_again(by: str, text: str, round_: int, to: tuple[str, ...]) -> None:
    """A summary's command line and a record's header give back the very intervention, whatever is in its text."""
    try:
        one = parse_intervention(
            {"kind": "message", "round": round_, "by": by, "text": text, **({"to": to} if to else {})}
        )
    except UserError:
        return
    assert parse_intervention(intervention_spec(one)) == one


def test_table_and_command_line_mean_the_same(small: Small) -> None:
    """Whoever moves a line from the command line into a preset holds the same experiment."""
    typed = small(interventions=EXAMPLES["planner"])
    table = {
        "kind": "planner",
        "round": 1,
        "every": 1,
        "target": 9,
        "messages": ["9: It is bad, and: getting worse.", "1: It is fine."],
    }
    assert small(interventions=[table]).digest() == typed.digest() != small().digest()
    assert small().with_settings({"interventions": typed.to_dict()["interventions"]}) == typed


@check_each(
    ("line", "words"),
    [
        ("mesage round=2", "unknown intervention 'mesage': did you mean message"),
        ("message round=2 txt=x", "unknown key of message 'txt': did you mean text"),
        ("message round=2", "message lacks by, text"),
        ("message round=two by=Ann text=x", "round is 'two', but must be a whole number"),
        ("message round=0 by=Ann text=x", "round must be at least 1"),
        ("message round=3 by=Ann text=x", "message before round 3 is too late"),
        ("message round=2 to=demcrat by=Ann text=x", "unknown party or seat of message 'demcrat': did you mean democrat"),
        ("message round=2 by=Ann text='x", "no closing quotation"),
        ("message round=2 by=Ann text=it is so", "write is as key=value"),
        ("message round=2 by=Ann text=", "text must not be empty"),
        ("message round=2 by='Ann: Bob' text=x", "the option by is 'Ann: Bob', but must be a name"),
        ("message round=2 round=1 by=Ann text=x", "round must have one value, but has 2 values"),
        ("shock round=2 share=1.5 text=x", "share is 1.5, but must be above 0 and at most 1"),
        ("shock round=2 to=all,democrat text=x", "to must be all, or names of parties or seats"),
        ("planner round=1 target=9 messages=x", "must begin with the attitude"),
        (
            "planner round=1 target=9 messages='8: a|2: b'",
            "write the key messages= before each message: messages='8: a' messages='2: b'",
        ),
        ("moderator round=1 text=civilty", "unknown text 'civilty': did you mean civility?"),
        ("planner round=1 target=11 messages='8: x'", "target must be between 0 and 10"),
        ("planner round=1 target=1 audience=some messages='8: x'", "unknown value of audience 'some'"),
        ("links round=1 change=remove", "links changes a network, and environment round_table has none"),
        ("links round=1 change=cut", "unknown value of change 'cut'"),
        ("model round=1 llm=", "name the new model with llm=SPEC"),
    ],
)  # fmt: skip
def test_what_is_mistyped_is_told_in_one_line(small: Small, line: str, words: str) -> None:
    """Nothing is held with an intervention other than the one that was meant."""
    with pytest.raises(UserError) as caught:
        small(interventions=[line])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_text_is_one_line(small: Small) -> None:
    """A line break followed by a name would read as somebody else's line in the next prompt."""
    one = parse_intervention({"kind": "shock", "round": 1, "text": "First.\nAnn: I agree\twith all of it."})
    assert vars(one)["text"] == "First. Ann: I agree with all of it."


def test_without_any_the_record_is_the_same(small: Small) -> None:
    """An empty timetable is none."""
    assert list(map(to_line, events(small()))) == list(map(to_line, events(small(interventions=[]))))


@pytest.mark.parametrize("in_flight", [0, 4])
def test_the_past_is_untouched_and_no_turn_moves(small: Small, in_flight: int) -> None:
    """Everything before it is the same to the byte; after it everybody has the same turns, under the same seeds."""
    backend = Scrambled(opinionated, in_flight) if in_flight else Fake(opinionated)
    plain = events(small(rounds=3), backend)
    given_ = events(small(rounds=3, interventions=[EXAMPLES["shock"], EXAMPLES["message"]]), backend)
    past = [[to_line(event) for event in found if getattr(event, "round", 0) < 2] for found in (plain, given_)]
    assert past[0] == past[1]
    places = [
        [(turn.room, turn.round, turn.iteration, turn.agent) for turn in turns(found)] for found in (plain, given_)
    ]
    assert places[0] == places[1]
    assert [turn.text for turn in turns(plain)] != [turn.text for turn in turns(given_)]


def test_only_those_meant_hear_it_and_only_from_then_on(small: Small) -> None:
    """Told to one seat, it is in every later prompt of that seat, and in nobody else's."""
    asked: list[Request] = []
    backend = Fake(lambda request: asked.append(request) or opinionated(request))
    scenario = small(
        "echo_chamber", rounds=3, interventions=[f"message round=2 to='republican 2' by=Ann text='{SECRET}'"]
    )
    model = DebateModel(scenario, backend=backend)
    knew = []
    while not model.over:
        before = len(asked)
        model.step()
        knew.append(
            {
                request.messages[0]
                for request in asked[before:]
                if any(SECRET in one.content for one in request.messages)
            }
        )
    meant = {agent._system for agent in model.agents if agent.seat == "republican 2" and agent.group != "reference"}
    assert knew == [set(), meant, meant]
    assert len(meant) == 2
    assert not any(SECRET in (turn.text or "") for turn in turns(events(scenario, Fake(opinionated))))


def test_a_share_falls_on_the_same_people(small: Small) -> None:
    """Half of three is one or two; another text, fewer rooms or a repetition do not draw anew; another seed does."""

    def drawn(text: str, **settings: object) -> dict[str, set[tuple[int, ...]]]:
        scenario = small(repetitions=12, interventions=[f"shock round=1 every=1 share=0.5 text='{text}'"], **settings)
        found: dict[str, set[tuple[int, ...]]] = {}
        for event in told(events(scenario, Fake(opinionated))):
            found.setdefault(event.room, set()).add(event.agents)
        return found

    one = drawn("First.")
    assert one == drawn("Second.") != drawn("First.", seed=1)
    assert all(len(agents) == 1 for agents in one.values())
    sizes = [len(next(iter(agents))) for agents in one.values()]
    assert set(sizes) == {1, 2}


def speaks_of_nothing(law: str) -> Fake:
    """Ratings by the known-truth speaker; what is said says nothing, so that only what comes from outside can move anybody."""
    oracle = open_spec(law)
    return Fake(lambda request: oracle.complete([request])[0] if request.answers else "Nothing from me.")


def expected(found: list[Event], round_: int) -> dict[int, float]:
    return {
        one.agent: one.expected
        for one in found
        if isinstance(one, Rated) and one.round == round_ and one.expected is not None
    }


def test_a_message_has_the_planted_effect(small: Small) -> None:
    """On the known-truth speaker without pull and noise a line of grade 9 moves an attitude by kappa (9 - a), and no further."""
    line = "message round=1 by='A Neighbour' to=republican text='I think {topic} is a severe problem.'"
    found = events(small(interventions=[line]), speaks_of_nothing("oracle,kappa=0.1,mu=0,sigma=0"))
    start, (first, last) = expected(found, 0), (expected(found, round_) for round_ in (1, 2))
    meant = {agent for event in told(found) for agent in event.agents}
    assert len(meant) == 2
    for agent, was in start.items():
        assert first[agent] == pytest.approx(was + 0.1 * (9 - was) if agent in meant else was)
        assert last[agent] == first[agent]


def test_a_message_without_content_has_none(small: Small) -> None:
    """The instrument does not take that something was said for what was said."""
    backend = speaks_of_nothing("oracle,kappa=0.1,mu=0,sigma=0")
    found = events(small(interventions=[f"shock round=1 every=1 text='{SECRET}'"]), backend)
    assert len(told(found)) == 4
    assert expected(found, 0) == expected(found, 1) == expected(found, 2)


def test_the_muted_are_silent_hear_and_are_asked(small: Small) -> None:
    """Their turns count, with the reason; nobody asks the model for them; unmuted, they speak of what they heard."""
    asked: list[Request] = []
    backend = Fake(lambda request: asked.append(request) or opinionated(request))
    lines = ["mute round=2 to=democrat", "unmute round=3 to=democrat"]
    found = events(small(rounds=3, interventions=lines), backend)
    silent = [turn for turn in turns(found) if turn.text is None]
    assert {(turn.round, turn.reason) for turn in silent} == {(2, "muted")}
    assert len(silent) == 2
    assert sum(request.purpose == "speech" for request in asked) == 2 * 9 - 2
    muted = {turn.agent for turn in silent}
    assert all(turn.text for turn in turns(found) if turn.agent in muted and turn.round != 2)
    assert sum(isinstance(event, Rated) and event.agent in muted and event.round == 2 for event in found) == 2


def test_another_model_speaks_from_its_round_on(small: Small) -> None:
    """Its seats ask it for speech and ratings, before that round and for all others nobody does."""
    scenario = small(rounds=3, interventions=["model round=2 to=democrat llm=oracle,mu=0"])
    assert scenario.llm_by_party == {"oracle,mu=0": "oracle,mu=0"}
    asked: list[Request] = []
    other = Fake(lambda request: asked.append(request) or opinionated(request))
    model = DebateModel(scenario, backend=RoutedBackend(Fake(opinionated), {"oracle,mu=0": other}))
    counts = []
    while not model.over:
        model.step()
        counts.append(len(asked))
    assert counts == [0, 4, 8]
    assert {request.voice for request in asked} == {"oracle,mu=0"}


def planner(**more: object) -> Planner:
    made = parse_intervention(
        {"kind": "planner", "round": 1, "target": 8, "gain": 0.5, "messages": ["10: up", "4: down"], **more}
    )
    assert isinstance(made, Planner)
    return made


@check_each(
    ("attitudes", "choice"),
    [
        ([4.0, 6.0], ("up", None)),  # mean 5: up brings 7.5, down 4.5
        ([10.0, None], ("down", None)),  # 10 stays with up, is 7 after down
        ([8.0], (None, "no_nearer")),  # up brings 9, down 6
        ([7.0], ("up", None)),  # up brings 8.5, half a point off in place of one
        ([9.0], (None, "no_nearer")),  # up brings 9.5, down 6.5
        ([None, None], (None, "no_attitude")),
    ],
)
def test_the_planner_chooses_what_it_expects_to_help(attitudes: list[float | None], choice: tuple) -> None:
    """By hand: the message whose expected mean is nearest to the target, or none."""
    assert planner().choose(attitudes) == choice


def test_the_planner_tells_each_its_own(small: Small) -> None:
    """Private messages go by each one's own attitude; who is not to be told anything is in the record with the reason."""
    ratings = itertools.chain(
        ["2", "10", "6"], itertools.repeat("5")
    )  # before, of Republican, Democrat, Default; after
    backend = Fake(lambda request: next(ratings) if request.answers else "Nothing from me.")
    line = {
        "kind": "planner",
        "round": 1,
        "target": 6,
        "gain": 0.5,
        "messages": ["10: up", "4: down"],
        "audience": "each",
    }
    found = told(events(small(repetitions=1, rounds=1, survey="ends", interventions=[line]), backend))
    assert [(event.agents, event.text, event.reason) for event in found] == [
        ((1,), "up", None),
        ((2,), "down", None),
        ((3,), None, "no_nearer"),
    ]


def test_a_planner_steers(small: Small) -> None:
    """On the known-truth speaker it brings people nearer to its target than they come without it."""
    messages = [
        f"{point}: I think {{topic}} is a {word} problem." for point, word in ((0, "nonexistent"), (10, "catastrophic"))
    ]
    line = {"kind": "planner", "round": 1, "every": 1, "target": 2, "messages": messages}
    base = small(repetitions=6, rounds=4)
    ends = [
        list(expected(events(one), 4).values())
        for one in (base, base.with_settings({"interventions": parse_interventions([line])}))
    ]
    off = [sum(abs(value - 2) for value in end) / len(end) for end in ends]
    assert off[1] < off[0] - 0.3


def test_the_moderators_lines_have_names(small: Small) -> None:
    found = told(events(small(interventions=["moderator round=1 text=other_side"]), Fake(opinionated)))
    assert {(event.by, event.text) for event in found} == {("Moderator", LINES["other_side"])}


def test_news_is_no_statement_to_criticise() -> None:
    """In a private deliberation it is heard, and a critique still is of what the mediator said."""
    failing = Fake(
        lambda request: Reply.failed("gone") if request.purpose in ("statement", "speech") else opinionated(request)
    )
    scenario = load_preset("consensus").with_settings(
        {"repetitions": 1, "episodes": 1, "interventions": f"shock round=1 every=1 text='{SECRET}'"}
    )
    critiques = [turn for turn in turns(events(scenario, failing)) if turn.form == "critique"]
    assert critiques
    assert {turn.reason for turn in critiques} == {"no_statement"}


def test_every_kind_is_frozen_and_says_what_it_is() -> None:
    """A scenario holds them: two that are equal are the same experiment."""
    for line in EXAMPLES.values():
        one: Intervention = parse_intervention(line)
        assert hash(one) == hash(parse_intervention(line))
        assert type(one).__doc__


def ties(found: list[Event], until: int) -> set[tuple[int, int]]:
    """The links of the one room after what is recorded up to a round."""
    there: set[tuple[int, int]] = set()
    for event in found:
        if isinstance(event, Linked | Unlinked) and event.round <= until:
            there = there | set(event.pairs) if isinstance(event, Linked) else there - set(event.pairs)
    return there


def test_cut_links_carry_nothing(small: Small) -> None:
    """Split by party, nobody hears the other side from then on; the record tells who is linked, and who heard whom."""
    cut = "links round=2 to=republican change=remove hear=democrat both=true"
    scenario = small("network", repetitions=1, size=8, graph="complete", rounds=3, interventions=[cut])
    found = events(scenario, Fake(opinionated))
    party = {event.agent: event.party for event in found if isinstance(event, Seated)}
    author = {turn.iteration: turn.agent for turn in turns(found)}
    across = dict.fromkeys((1, 2, 3), 0)
    for event in found:
        if isinstance(event, Heard):
            across[event.round] += sum(party[author[one]] != party[event.agent] for one in event.iterations)
    assert across == {1: 2 * 4 * 4, 2: 0, 3: 0}
    assert len(ties(found, 1)) == 8 * 7
    assert ties(found, 3) == {(one, other) for one, other in ties(found, 1) if party[one] == party[other]}


def test_added_links_are_as_many_as_asked_for(small: Small) -> None:
    """Each of those meant comes to hear two more, of those it did not hear; where nobody is left, the record says so."""
    add = "links round=2 every=1 to=democrat change=add hear=republican number=2"
    scenario = small("network", repetitions=1, size=12, graph="ring,degree=2", rounds=5, interventions=[add])
    found = events(scenario, Fake(opinionated))
    party = {event.agent: event.party for event in found if isinstance(event, Seated)}
    democrats = [agent for agent, side in party.items() if side == "democrat"]
    heard = [[sum(pair[0] == one and party[pair[1]] == "republican" for pair in ties(found, round_)) for one in democrats]
             for round_ in range(1, 6)]  # fmt: skip
    assert [after - before for before, after in zip(*heard[:2], strict=True)] == [2] * 6
    assert heard[-1] == [6] * 6
    assert told(found)[-1].reason == "no_link_to_change"


def test_rooms_narrow_it_down(small: Small) -> None:
    """Who steps into one debate of many must not change the others; a room that is not there would be a silent nothing."""
    plain = small("two_way")
    seated = [event for event in events(plain) if isinstance(event, Seated) and event.group != "reference"]
    first, *others = dict.fromkeys(event.room for event in seated)
    there = plain.with_settings({"interventions": f"message round=2 by=Ann text=Hello. rooms='{first}'"})
    assert [one.room for one in told(events(there))] == [first]
    assert {turn.text for turn in turns(events(plain)) if turn.room in others} == {
        turn.text for turn in turns(events(there)) if turn.room in others
    }
    with pytest.raises(UserError, match="unknown room of mute 'nowhere'"):
        DebateModel(plain.with_settings({"interventions": "mute round=2 rooms=nowhere"}))
