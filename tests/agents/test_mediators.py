"""Mediators: what they are sent, what they make of it, what happens when replies cannot be read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.mediators import MEDIATORS, open_mediator
from parley.agents.mediators.base import ATTEMPTS, MediatorAgent, MediatorBrief, ParticipantInput, Statement
from parley.agents.question import Question
from parley.llm.backends.fake import Fake
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request, Sampling
from parley.llm.seeding import derive

QUESTION = Question("q", "Should it be so?", "It should be so.", "It should not be so.", "t")
MEMBERS = (
    ParticipantInput("I am for it.", None, 6.0),
    ParticipantInput("I am against it.", None, 2.0),
    ParticipantInput("I do not mind.", None, 5.0),
)
BRIEF = MediatorBrief(QUESTION, MEMBERS)
AGAIN = MediatorBrief(
    QUESTION, tuple(one._replace(critique=f"Objection {n}.") for n, one in enumerate(MEMBERS)), "We are for it."
)
Speaks = Callable[[Request], "str | Reply"]


def seed(*name: object) -> int:
    return derive(7, *name)


def said(spec: str, brief: MediatorBrief, speaks: Speaks | None = None) -> tuple[Statement, list[Request]]:
    """The statement and all requests that were made for it."""
    asked: list[Request] = []

    def answer(request: Request) -> str | Reply:
        asked.append(request)
        assert speaks is not None, "a mediator without a model asks nothing"
        return speaks(request)

    (statement,) = drive([open_mediator(spec).speak(brief, seed)], Fake(answer))
    return statement, asked


def text(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


def ranks(request: Request, best: Callable[[str], float]) -> str:
    """The listed statements in descending order of `best`."""
    listed = dict(re.findall(r"(?m)^([A-Z]): (.+)$", text(request)))
    return " > ".join(sorted(listed, key=lambda letter: -best(listed[letter])))


def numbered(speaks: Speaks) -> Speaks:
    """Candidates are called `We say 0.`, `We say 1.`, ... in the order of asking; rankings are as `speaks` says."""
    count = iter(range(1000))
    return lambda request: f"We say {next(count)}." if request.purpose == "statement" else speaks(request)


def number_of(statement: str) -> float:
    return float(re.findall(r"\d+", statement)[0])


def test_every_mediator_is_found_by_its_folder() -> None:
    assert MEDIATORS.names() == ["draft_revise", "groups", "habermas", "human_statement", "majority", "random_opinion"]


@check_each(
    ("spec", "words"),
    [
        ("habermass", "did you mean habermas"),
        ("habermas,candidate=3", "did you mean candidates"),
        ("habermas,candidates=many", "candidates of habermas is 'many', but must be a whole number"),
        ("habermas,candidates=", "is '', but must be a whole number"),
        ("habermas,candidates=27", "candidates must be between 1 and 26"),
        ("habermas,candidates=0", "candidates must be between 1 and 26"),
        ("draft_revise,words=0", "words must be at least 1"),
        ("human_statement", "human_statement,file=PATH"),
        ("human_statement,file=", "human_statement,file=PATH"),
        ("human_statement,file=no/such.toml", "cannot read no/such.toml"),
        ("majority,words=3", "unknown option of majority"),
    ],
)
def test_a_wrong_spec_is_named_in_one_line(spec: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        open_mediator(spec)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["draft_revise", "habermas,candidates=2"])
def test_a_draft_is_made_of_the_opinions_and_a_revision_of_critiques_too(spec: str) -> None:
    """Every text of every member is there once; the last statement is in the revision and only there."""
    speaks = numbered(lambda request: ranks(request, number_of))
    for brief in (BRIEF, AGAIN):
        _, asked = said(spec, brief, speaks)
        for request in [one for one in asked if one.purpose == "statement"]:
            for one in brief.members:
                assert text(request).count(one.opinion or "") == 1
                assert one.critique is None or text(request).count(one.critique) == 1
            assert ("We are for it." in text(request)) == (brief is AGAIN)
            assert QUESTION.question in text(request)


@pytest.mark.parametrize("spec", ["draft_revise", "habermas,candidates=2"])
def test_what_one_member_wrote_has_one_number(spec: str) -> None:
    """Opinion 2 and Critique 2 are the same person's: the mediator can weigh an objection against the opinion behind it."""
    _, asked = said(spec, AGAIN, numbered(lambda request: ranks(request, number_of)))
    for request in [one for one in asked if one.purpose == "statement"]:
        told = {kind: dict(re.findall(rf"(?m)^{kind} (\d): (.+)$", text(request))) for kind in ("Opinion", "Critique")}
        pairs = {(told["Opinion"][number], told["Critique"][number]) for number in "123"}
        assert pairs == {(one.opinion, one.critique) for one in AGAIN.members}


def test_a_member_who_wrote_nothing_has_no_line() -> None:
    brief = MediatorBrief(QUESTION, (MEMBERS[0], ParticipantInput(None), MEMBERS[2]))
    _, asked = said("draft_revise", brief, lambda _: "We agree.")
    assert len(re.findall(r"(?m)^Opinion \d: ", text(asked[0]))) == 2
    assert "None" not in text(asked[0])


def test_groups_of_opinion_are_listed_by_side_the_smallest_first() -> None:
    """Two for and one against: the prompt names the opinion of the one as group A; the revision has the same groups."""
    for brief in (BRIEF, AGAIN):
        statement, (asked,) = said("groups", brief, lambda _: "We agree. What divides us: how far to go.")
        assert statement.text == "We agree. What divides us: how far to go."
        numbers = {line: number for number, line in re.findall(r"(?m)^Opinion (\d): (.+)$", text(asked))}
        assert f"\nGroup A: Opinion {numbers['I am against it.']}\nGroup B: Opinion " in text(asked)
        assert asked.facts["groups"][0] == ["I am against it."]
        assert sorted(asked.facts["groups"][1]) == ["I am for it.", "I do not mind."]
        assert ("Objection 1." in text(asked)) == (brief is AGAIN)


def test_without_two_known_groups_the_model_finds_them() -> None:
    """No positions, or all on one side: the prompt says to find groups in the texts, and names none."""
    for position in (None, 6.0):
        brief = MediatorBrief(QUESTION, tuple(one._replace(position=position) for one in MEMBERS))
        _, (asked,) = said("groups", brief, lambda _: "We agree.")
        assert "Find the groups in what members wrote." in text(asked)
        assert "Group A" not in text(asked)


@check_each("spec", ["draft_revise", "groups", "habermas", "random_opinion"])
def test_without_any_opinion_nothing_is_asked_or_said(spec: str) -> None:
    statement, asked = said(spec, MediatorBrief(QUESTION, (ParticipantInput(None), ParticipantInput(None, None, 4.0))))
    assert (statement.text, statement.reason, asked) == (None, "no_opinions", [])


def test_an_unusable_draft_is_asked_for_again_with_another_seed() -> None:
    replies = iter(["As an AI language model, I cannot do this.", "  ", "Mediator: We agree."])
    statement, asked = said("draft_revise", BRIEF, lambda _: next(replies))
    assert statement.text == "We agree."
    assert statement.raw == "Mediator: We agree."
    assert len({request.seed for request in asked}) == len(asked) == 3


def test_a_draft_that_never_can_be_used_is_missing_with_its_reason() -> None:
    statement, asked = said("draft_revise", BRIEF, lambda _: Reply.failed("timeout"))
    assert (statement.text, statement.reason, len(asked)) == (None, "timeout", ATTEMPTS)


def test_the_candidate_that_most_members_prefer_is_the_statement() -> None:
    """Two of three members put the highest number first, one the lowest: Schulze's winner is the highest."""

    def speaks(request: Request) -> str:
        against = "against" in text(request)
        return ranks(request, lambda one: -number_of(one) if against else number_of(one))

    statement, asked = said("habermas,candidates=5", BRIEF, numbered(speaks))
    assert statement.text == "We say 4."
    assert statement.order == (4, 3, 2, 1, 0)
    assert statement.tied == 1
    assert [ranking.order for ranking in statement.rankings] == [(4, 3, 2, 1, 0), (0, 1, 2, 3, 4), (4, 3, 2, 1, 0)]
    assert Counter(request.purpose for request in asked) == {"statement": 5, "ranking": 3}
    assert len(asked) == open_mediator("habermas,candidates=5").calls(3)


def test_candidates_are_shown_to_every_ballot_in_another_order() -> None:
    """A model that likes the letter A must not choose the statement."""
    shown: list[tuple[str, ...]] = []

    def speaks(request: Request) -> str:
        shown.append(tuple(re.findall(r"(?m)^[A-Z]: (.+)$", text(request))))
        return ranks(request, number_of)

    said("habermas,candidates=8", BRIEF, numbered(speaks))
    assert len(set(shown)) == 3
    assert {tuple(sorted(order)) for order in shown} == {tuple(f"We say {n}." for n in range(8))}


def test_every_candidate_is_written_from_an_order_of_its_own() -> None:
    _, asked = said("habermas,candidates=16", AGAIN, numbered(lambda request: ranks(request, number_of)))
    prompts = [text(request) for request in asked if request.purpose == "statement"]
    assert len(set(prompts)) == 6, "all six orders of three members, over sixteen candidates"


def test_a_ballot_holds_what_one_member_wrote_and_no_more() -> None:
    """The prediction is of one person: what others wrote would colour it."""
    _, asked = said("habermas,candidates=3", AGAIN, numbered(lambda request: ranks(request, number_of)))
    ballots = [text(request) for request in asked if request.purpose == "ranking"]
    for place, one in enumerate(AGAIN.members):
        for other, ballot in enumerate(ballots):
            assert ((one.opinion or "") in ballot) == ((one.critique or "") in ballot) == (place == other)


def test_an_unreadable_ranking_is_asked_again_and_counted() -> None:
    calls = Counter[str]()

    def speaks(request: Request) -> str:
        who = next(one for one in ("for it", "against it", "not mind") if one in text(request))
        calls[who] += 1
        if who == "for it" and calls[who] < 3:
            return ["A and B are equal", "A > B, C"][calls[who] - 1]
        return "no idea" if who == "not mind" else ranks(request, number_of)

    statement, asked = said("habermas,candidates=3", BRIEF, numbered(speaks))
    first, second, third = statement.rankings
    assert (first.order, first.asked, first.earlier) == ((2, 1, 0), 3, ("A and B are equal", "A > B, C"))
    assert (second.asked, second.earlier) == (1, ())
    assert (third.order, third.reason, third.asked, third.raw) == (None, "no_ranking", ATTEMPTS, "no idea")
    assert statement.text == "We say 2."
    assert len({request.seed for request in asked}) == len(asked)


def test_what_cannot_be_read_is_not_asked_again_with_the_same_words_at_temperature_0() -> None:
    """The same greedy question has the same answer: the second time it is put in other words, and drawn."""
    for own in (0.0, 0.7):
        _, asked = said("habermas,candidates=3", replace(BRIEF, sampling=Sampling(own)), numbered(lambda _: "hm"))
        ballots = [request for request in asked if request.purpose == "ranking"]
        assert len(ballots) == len(BRIEF.members) * ATTEMPTS
        greedy = [one.messages for one in ballots if one.sampling.temperature == 0]
        assert len(set(greedy)) == len(greedy)
        later = ballots[len(BRIEF.members) :]
        assert {one.sampling.temperature for one in ballots[: len(BRIEF.members)]} == {0.0}
        assert {one.sampling.temperature for one in later} == {own or 1.0}
        assert all(text(one).startswith("That answer could not be read. A group") for one in later)


def test_ties_prose_and_nothing_at_all_beside_each_other() -> None:
    """A ballot with ties counts for what it tells apart; who has no ballot has a reason, and the others decide."""

    def speaks(request: Request) -> str | Reply:
        if "not mind" in text(request):
            return "It is hard to say what this member would prefer."
        if "against it" in text(request):
            return Reply("")
        best = next(line for line in text(request).splitlines() if line.endswith("We say 1."))[0]
        others = sorted({"A", "B", "C"} - {best})
        return f"{best} > {others[0]} = {others[1]}"

    statement, _ = said("habermas,candidates=3", BRIEF, numbered(speaks))
    tied, silent, prose = statement.rankings
    assert tied.order is not None
    assert (tied.order[0], set(tied.order[1])) == (1, {0, 2})  # type: ignore[arg-type]
    assert (silent.order, silent.reason, silent.asked) == (None, "empty", ATTEMPTS)
    assert (prose.order, prose.reason, prose.asked) == (None, "no_ranking", ATTEMPTS)
    assert statement.text == "We say 1."


def test_the_rule_can_be_borda_s() -> None:
    """0 is the first choice of three of five, 1 is nobody's last: a majority elects 0, points elect 1."""
    brief = MediatorBrief(QUESTION, tuple(ParticipantInput(word) for word in ("up", "up", "up", "down", "down")))

    def speaks(request: Request) -> str:
        places = [0, 1, 2] if "Opinion: up" in text(request) else [1, 2, 0]
        return ranks(request, lambda one: -places.index(int(number_of(one))))

    by_rule = {
        rule: said(f"habermas,candidates=3,rule={rule}", brief, numbered(speaks))[0].text
        for rule in ("schulze", "borda")
    }
    assert by_rule == {"schulze": "We say 0.", "borda": "We say 1."}
    with pytest.raises(UserError, match="rule is copeland, but must be one of schulze, "):
        open_mediator("habermas,rule=copeland")


def test_nothing_is_chosen_where_no_ranking_can_be_read() -> None:
    """A lot would be a falsified choice; what was written is kept."""
    statement, _ = said("habermas,candidates=3", BRIEF, numbered(lambda _: "hm"))
    assert (statement.text, statement.reason, statement.order) == (None, "no_ranking", ())
    assert len(statement.candidates) == 3


def test_candidates_that_failed_are_left_out_of_the_ballots() -> None:
    count = iter(range(1000))

    def speaks(request: Request) -> str | Reply:
        if request.purpose == "ranking":
            return ranks(request, number_of)
        number = next(count)
        return Reply.failed("timeout") if number % 3 == 1 else f"We say {number}."

    statement, _ = said("habermas,candidates=3", BRIEF, speaks)
    assert [one.text for one in statement.candidates] == ["We say 0.", "We say 3.", "We say 2."]
    assert [one.asked for one in statement.candidates] == [1, 2, 1]
    dead = said("habermas,candidates=3", BRIEF, lambda request: Reply.failed("timeout"))[0]
    assert (dead.text, dead.reason) == (None, "no_candidate")


def test_one_candidate_needs_no_ranking() -> None:
    statement, asked = said("habermas,candidates=1", BRIEF, numbered(lambda _: "unused"))
    assert (statement.text, len(asked), statement.order) == ("We say 0.", 1, (0,))


def test_ties_are_broken_by_a_ballot_drawn_by_lot_and_told() -> None:
    """Two members against two: Schulze has a tie at the top; the same seeds break it alike, others otherwise."""
    brief = MediatorBrief(
        QUESTION, (ParticipantInput("up"), ParticipantInput("down"), ParticipantInput("up"), ParticipantInput("down"))
    )

    def speaks(request: Request) -> str:
        return ranks(request, number_of if "Opinion: up" in text(request) else lambda one: -number_of(one))

    statement = said("habermas,candidates=2", brief, numbered(speaks))[0]
    assert statement.tied == 2
    assert statement == said("habermas,candidates=2", brief, numbered(speaks))[0]
    texts = set()
    for run in range(20):
        mediator = open_mediator("habermas,candidates=2")
        (one,) = drive([mediator.speak(brief, lambda *name, run=run: derive(run, *name))], Fake(numbered(speaks)))
        texts.add(one.text)
    assert texts == {"We say 0.", "We say 1."}


def test_rankings_are_greedy_and_statements_drawn_as_the_scenario_says() -> None:
    brief = MediatorBrief(QUESTION, MEMBERS, None, Sampling(0.7, 10, 0.9), "mine", "theirs")
    _, asked = said("habermas,candidates=2,words=50", brief, numbered(lambda request: ranks(request, number_of)))
    by_purpose = {request.purpose: request for request in asked}
    assert by_purpose["statement"].sampling == Sampling(0.7, 150, 0.9)
    assert by_purpose["ranking"].sampling.temperature == 0
    assert {(request.adapter, request.voice) for request in asked} == {("mine", "theirs")}
    assert "at most 50 words" in text(by_purpose["statement"])


@check_each(
    ("positions", "told"),
    [
        ((6.0, 2.0, 5.0), {"It should be so."}),
        ((3.0, 2.0, 7.0), {"It should not be so."}),
        ((4.0, 4.0, 5.0), {"It should be so."}),
        ((None, 2.0, None), {"It should not be so."}),
        ((2.0, 6.0, 4.0), {"It should be so.", "It should not be so."}),
    ],
)
def test_the_majority_is_that_of_the_position_scores(positions: Sequence[float | None], told: set[str]) -> None:
    """An even split is decided by lot: both statements come up over the seeds."""
    brief = MediatorBrief(QUESTION, tuple(ParticipantInput("x", None, position) for position in positions))
    found = {
        drive([open_mediator("majority").speak(brief, lambda *name, run=run: derive(run, *name))], Fake("no"))[0].text
        for run in range(20)
    }
    assert found == told


def test_no_position_is_no_majority() -> None:
    assert said("majority", MediatorBrief(QUESTION, (ParticipantInput("x"), ParticipantInput("y"))))[0][:2] == (
        None,
        "no_positions",
    )


def test_a_random_opinion_is_one_of_them_word_for_word() -> None:
    found = {
        drive([open_mediator("random_opinion").speak(BRIEF, lambda *name, run=run: derive(run, *name))], Fake("no"))[
            0
        ].text
        for run in range(30)
    }
    assert found == {one.opinion for one in MEMBERS}


def test_a_human_statement_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "given.toml"
    file.write_text('[statements]\nq = "We all\\n agree."\n')
    spec = f"human_statement,file={file}"
    assert said(spec, BRIEF)[0].text == "We all agree."
    other = MediatorBrief(Question("p", "?", "a", "b", "t"), MEMBERS)
    assert said(spec, other)[0][:2] == (None, "no_statement_given")
    assert open_mediator(spec).files() == (file,)


@pytest.mark.parametrize("spec", ["majority", "random_opinion"])
def test_a_baseline_revises_nothing(spec: str) -> None:
    assert said(spec, AGAIN)[0].text == "We are for it."


def test_the_chair_hands_over_what_was_said_since_its_last_statement() -> None:
    """A critique belongs to one statement: it is not shown again beside the next one."""
    seen: list[MediatorBrief] = []

    class Policy:
        def speak(self, brief: MediatorBrief, seed: object) -> object:
            seen.append(brief)
            yield from ()
            return Statement(f"statement {len(seen)}" if len(seen) != 2 else None, None)

    chair = MediatorAgent(Policy(), QUESTION, (3, 5), Sampling())  # type: ignore[arg-type]
    for form, member in (("opinion", 5), ("critique", 3), ("critique", 5), ("critique", 3)):
        chair.hear(member, f"{form} of {member}", form)
        drive([chair.speak({3: 2.0}, seed)], Fake("no"))
    assert [one.previous for one in seen] == [None, "statement 1", "statement 1", "statement 3"]
    assert seen[0].members == (ParticipantInput(None, None, 2.0), ParticipantInput("opinion of 5"))
    assert seen[1].members == (ParticipantInput(None, "critique of 3", 2.0), ParticipantInput("opinion of 5"))
    assert seen[2].members == (
        ParticipantInput(None, "critique of 3", 2.0),
        ParticipantInput("opinion of 5", "critique of 5"),
    )
    assert seen[3].members == (ParticipantInput(None, "critique of 3", 2.0), ParticipantInput("opinion of 5"))
