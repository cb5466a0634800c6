"""A round on a social medium: feeds are shown, everyone who is active chooses an act, and then all acts take effect.

A visit is what one active person does in a round, as a conversation of its own: it chooses an act, the post that the act is
about, and writes a text. A search shows what it found, and the person chooses once more. All visits of a round run at the same
time, so no one sees an act of this round before the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from parley.agents.act_names import ACTS, UNTARGETED, VOTES, WRITTEN, Act
from parley.agents.acts import ShownPost, offered_acts, targets_of
from parley.agents.platform_agent import Choice, PlatformDebater
from parley.environments._social_graph import Feed, Post, SocialGraph
from parley.environments.base import Room, Turn
from parley.environments.platform import FORM, Platform, feed_of
from parley.llm.driver import Conversation, ask, ask_in_step
from parley.llm.exchange import Meeting
from parley.llm.request import Reply, Request
from parley.model.asked_again import TurnReply, ask_until_said
from parley.model.events import Acted, Event, Shown, Utterance
from parley.model.network_round import change_links
from parley.model.recorder import Slot
from parley.model.room import RoomState, record_call
from parley.model.round import ScheduledTurn, prepare, utterance

FEED, SEARCH = "feed", "search"
SEEDS = {"up": 1, "down": -1}


@dataclass(slots=True)
class Visit:
    """What one person does in a round, and the events of it, in their order."""

    room: RoomState
    society: SocialGraph
    agent: int
    iteration: int
    allowed: tuple[Act, ...]
    length: int
    events: list[Event] = field(default_factory=list)
    calls: list[Event] = field(default_factory=list)
    done: list[Acted] = field(default_factory=list)
    text: Utterance | None = None

    @property
    def person(self) -> PlatformDebater:
        member = self.room.members[self.agent]
        assert isinstance(member, PlatformDebater)
        return member

    def seed(self, purpose: str, attempt: int = 0) -> int:
        """Return the seed of a request; a choice after a search has a seed of its own."""
        name = f"{purpose} after search" if self.done else purpose
        return self.room.seed(self.agent, name, attempt, self.iteration)

    def record(self, request: Request, reply: Reply) -> None:
        """Keep the event of a call."""
        record_call(self.calls, self.room, self.agent, request, reply)


class Asked(NamedTuple):
    """A choice with the number of calls for it, and the unreadable replies before it."""

    choice: Choice
    calls: int
    earlier: tuple[str | None, ...]


def run_platform_round(room: RoomState, environment: Platform, view: Room) -> Conversation[list[Event]]:
    """Run a round: links change, feeds are shown, and everyone who is active acts."""
    society = room.society
    assert society is not None
    events = list(change_links(room, environment, view))
    for links in society.changes:
        links.clear()
    feeds = {feed.reader: feed for feed in environment.feeds(view, room.round)}
    visits = []
    for turn in environment.turns(view, room.round):
        room.iteration += 1
        visits.append(Visit(room, society, turn.speaker, room.iteration, environment.acts, environment.length))
    own = [visit for visit in visits if room.owns(visit.agent)]
    yield from ask_in_step([_visit(visit, feeds.get(visit.agent, Feed(visit.agent, (), ()))) for visit in own])
    if room.meeting:
        _tell_visits(room.meeting, visits, own)
    for visit in visits:
        effects = _take_effect(visit, environment.seeded)
        if room.owns(visit.agent):
            room.mark(events, 0, visit.iteration)
            events += [event for event in effects if not isinstance(event, Slot)]
    room.steps += 1
    society.public_acts[room.round] = frozenset([visit.agent for visit in visits if _can_be_seen(visit)])
    _forget_old_posts(room, society, room.round - environment.lasting + 1)
    return events


def _tell_visits(meeting: Meeting, visits: Sequence[Visit], own: Sequence[Visit]) -> None:
    """Let all workers know what everyone did, wrote and was shown."""
    told = []
    for visit in own:
        written = [visit.text.text, visit.text.form] if visit.text else None
        shown = [number for event in visit.events if isinstance(event, Shown) for number in event.posts]
        told.append([visit.iteration, [[acted.act, acted.target] for acted in visit.done], written, shown])
    others = {visit.iteration: visit for visit in visits if not meeting.owns(visit.agent)}
    for iteration, done, written, shown in meeting.tell_all(told):
        if other := others.get(iteration):
            other.done = [Acted(*_place(other), act, None, target) for act, target in done]
            other.text = Utterance(*_place(other), written[0], None, form=written[1]) if written else None
            other.society.wall.show(Feed(other.agent, tuple(shown), (0,) * len(shown)))


def _visit(visit: Visit, feed: Feed) -> Conversation[None]:
    """Let one person act; after a search, once more with what was found."""
    if (reason := visit.person.blocked_reason(FORM)) is not None:
        visit.done.append(Acted(*_place(visit), None, reason))
        return
    if visit.person.prepares:
        turn = ScheduledTurn(visit.iteration, visit.agent, Turn(visit.agent, ()), FORM, visit.person)
        yield from prepare(visit.room, [turn], visit.events)
    search_feed = yield from _act(visit, feed, FEED, visit.allowed)
    if search_feed is not None:
        rest = tuple([act for act in visit.allowed if act != "search"])
        yield from _act(visit, search_feed, SEARCH, rest)


def _act(visit: Visit, feed: Feed, source: str, allowed: Sequence[Act]) -> Conversation[Feed | None]:
    """Show a feed and let the person choose; return what a search found, if it searched."""
    shown = _show(visit, feed, source)
    offered = offered_acts(allowed, shown)
    acted = _chosen(visit, offered, (yield from _ask_act(visit, shown, offered)))
    act, search_feed, target = _named(acted.act), None, None
    if act and act not in UNTARGETED:
        acted, target = yield from _choose_target(visit, act, acted, shown)
    if act == "search":
        acted, search_feed = yield from _search(visit, acted, shown)
    if act in WRITTEN and acted.reason is None:
        yield from _write(visit, act, shown, target)
    else:
        visit.person.see(shown)
    visit.done.append(acted)
    return search_feed


def _chosen(visit: Visit, offered: tuple[Act, ...], answered: Asked) -> Acted:
    """Return the event of a choice, before its post is known."""
    choice = answered.choice
    return Acted(
        *_place(visit),
        act=None if choice.value is None else str(choice.value),
        reason=choice.reason,
        offered=offered,
        probabilities=choice.probabilities,
        covered=choice.covered,
        raw=choice.raw,
        how=choice.how,
        asked=answered.calls,
        earlier=answered.earlier,
    )


def _write(visit: Visit, act: Act, shown: Sequence[ShownPost], target: ShownPost | None) -> Conversation[None]:
    """Let the person write the text of an act, again where a reply holds none. It remembers the feed, then its own text."""
    person = visit.person

    def compose(key: str, attempt: int) -> Request:
        return person.compose_text(act, shown, target, visit.seed("speech", attempt))

    request = compose("", 0)
    reply = yield from ask(request)
    turns = {"": TurnReply(request, reply)}
    if request.voice not in visit.room.context.people:
        yield from ask_until_said(
            turns,
            lambda _, text: person.read_speech(text),
            compose,
            lambda _, *call: visit.record(*call),
            visit.room.context.asks,
        )
    person.see(shown)
    answer = turns[""]
    visit.text = utterance(_place(visit), person.absorb_speech(answer.reply), WRITTEN[act], answer)
    visit.record(answer.request, answer.reply)


def _named(act: str | None) -> Act | None:
    return next((known_act for known_act in ACTS if known_act == act), None)


def _place(visit: Visit) -> tuple[str, int, int, int]:
    return visit.room.id, visit.room.round, visit.iteration, visit.agent


def _show(visit: Visit, feed: Feed, source: str) -> tuple[ShownPost, ...]:
    """Return a feed as the person sees it; record it, and count its posts as read."""
    society, members = visit.society, visit.room.members
    followed, shown = society.links.hears[visit.agent], []
    for number, (iteration, carrier) in enumerate(zip(feed.iterations, feed.carriers, strict=True), 1):
        post, (name, text, _) = society.wall.posts[iteration], visit.room.posts[iteration]
        by = "" if carrier == post.author else members[carrier].name
        shown.append(ShownPost(number, iteration, post.author, name, text, post.votes, by, post.author in followed))
    if shown:
        scores = tuple([post.score for post in shown])
        place = visit.room.id, visit.room.round, visit.agent
        visit.events.append(Shown(*place, feed.iterations, scores, feed.carriers, source))
        society.wall.show(feed)
    return tuple(shown)


def _ask_act(visit: Visit, shown: Sequence[ShownPost], offered: Sequence[Act]) -> Conversation[Asked]:
    """Ask for an act, and ask again where the reply cannot be read."""
    earlier: list[str | None] = []
    while True:
        request = visit.person.compose_act(shown, offered, visit.seed("act", len(earlier)), bool(earlier))
        reply = yield from ask(request)
        visit.record(request, reply)
        choice = visit.person.absorb_act(reply, offered)
        if choice.value is not None or reply.failure or len(earlier) + 1 >= visit.room.context.asks:
            return Asked(choice, len(earlier) + 1, tuple(earlier))
        earlier.append(choice.raw)


def _choose_target(
    visit: Visit, act: Act, acted: Acted, shown: Sequence[ShownPost]
) -> Conversation[tuple[Acted, ShownPost | None]]:
    """Ask which post an act is about, unless there is only one."""
    possible = {post.number: post for post in targets_of(act, shown)}
    acted = replace(acted, options=tuple([post.iteration for post in possible.values()]))
    if len(possible) == 1:
        (only,) = possible.values()
        return replace(acted, target=only.iteration), only
    answered = yield from _ask_target(visit, act, shown, tuple(possible))
    choice = answered.choice
    post = possible.get(int(choice.value)) if choice.value is not None else None
    acted = replace(
        acted,
        target=post.iteration if post else None,
        reason=None if post else f"target_{choice.reason}",
        target_probabilities=choice.probabilities,
        target_raw=choice.raw,
        asked=acted.asked + answered.calls,
        earlier=acted.earlier + answered.earlier,
    )
    return acted, post


def _ask_target(visit: Visit, act: Act, shown: Sequence[ShownPost], numbers: tuple[int, ...]) -> Conversation[Asked]:
    earlier: list[str | None] = []
    while True:
        seed = visit.seed("target", len(earlier))
        request = visit.person.compose_target(act, shown, numbers, seed, bool(earlier))
        reply = yield from ask(request)
        visit.record(request, reply)
        choice = visit.person.absorb_target(reply, numbers)
        if choice.value is not None or reply.failure or len(earlier) + 1 >= visit.room.context.asks:
            return Asked(choice, len(earlier) + 1, tuple(earlier))
        earlier.append(choice.raw)


def _search(visit: Visit, acted: Acted, shown: Sequence[ShownPost]) -> Conversation[tuple[Acted, Feed | None]]:
    """Ask for the words of a search; return the posts with these words as a feed: not its own, none of those just shown."""
    request = visit.person.compose_query(shown, visit.seed("search"))
    reply = yield from ask(request)
    visit.record(request, reply)
    query, reason, *_ = visit.person.absorb_query(reply)
    if query is None:
        return replace(acted, reason=f"query_{reason}"), None
    society, muted = visit.society, visit.society.wall.muted.get(visit.agent, ())
    hidden = {post.iteration for post in shown}
    posts = [
        number
        for number, post in society.wall.posts.items()
        if number not in hidden and post.author != visit.agent and post.author not in muted
    ]
    numbers = visit.room.words.search(str(query), posts, visit.length)
    search_feed = feed_of(society, visit.agent, [society.wall.posts[number] for number in numbers])
    return replace(acted, query=str(query)), search_feed


def _take_effect(visit: Visit, seeded: float) -> list[Event]:
    """Do what a person chose; return the events of the visit."""
    seed = 0
    if visit.text is not None and visit.text.text is not None:
        last = visit.done[-1]
        seed = _seed_of(visit, seeded)
        visit.done[-1] = replace(last, seeded=seed)
        post = Post(visit.iteration, visit.agent, visit.room.round, seed, parent=last.target or 0)
        visit.society.wall.posts[visit.iteration] = post
        visit.room.posts[visit.iteration] = (visit.person.name, visit.text.text, visit.text.form)
        visit.room.public_lines.append((visit.person.name, visit.text.text))
        visit.room.words.add(visit.iteration, visit.agent, visit.text.text)
    for acted in visit.done:
        if acted.act and acted.target is not None and acted.act not in WRITTEN:
            _change(visit, acted.act, visit.society.wall.posts[acted.target])
    text = [visit.text] if visit.text else []
    return [*visit.events, *visit.done, *text, *visit.calls]


def _can_be_seen(visit: Visit) -> bool:
    """Return whether a person wrote or shared something that others can be shown."""
    written = visit.text is not None and visit.text.text is not None
    return written or any(acted.act == "repost" and acted.target is not None for acted in visit.done)


def _change(visit: Visit, act: str, post: Post) -> None:
    """Count a vote or a repost; note a link that is made or dropped, and whom the person mutes."""
    society, agent = visit.society, visit.agent
    if act in VOTES:
        society.wall.vote(agent, post.iteration, VOTES[act])
    elif act == "repost":
        post.reposts[agent] = visit.room.round
    elif act == "mute":
        society.wall.muted.setdefault(agent, set()).add(post.author)
    else:
        society.changes[act == "follow"].append((agent, post.author))


def _seed_of(visit: Visit, share: float) -> int:
    """Draw the vote from outside that a post gets at once: 1 and -1 with the probability `share` each, else 0."""
    if not share:
        return 0
    draw = visit.society.draw("seeded", visit.iteration).random()
    return SEEDS["up"] if draw < share else SEEDS["down"] if draw < 2 * share else 0


def _forget_old_posts(room: RoomState, society: SocialGraph, since: int) -> None:
    """Drop the posts that were neither written nor reposted since a round."""
    society.wall.keep([], since)
    room.posts = {iteration: room.posts[iteration] for iteration in society.wall.posts}
    room.words.keep(society.wall.posts)
