"""`run.py study community`: the same people write in a community before and after a change of its rules.

Counterpart of Social Simulacra (2022). README.md lists the departures. The unit is the room: people and topics, drawn by
a seed, who write the same threads under each set of rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.closed_answers import OPTIONS, read_choice
from parley.agents.persuasion import read_message
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.rule_judge import Case, Question, check_judge, judge_texts
from parley.llm.backends import identity_spec
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError
from parley.llm.seeding import derive, stream

from .members import Community, Member, MemberProfile, Post, StatedRules, compose_member, read_member

BEFORE, AFTER, REWORDED = CONDITIONS = ("before", "after", "reworded")
"""Sets of rules; the last is that of AFTER in other words."""
PLAIN, ANSWERED = KINDS = ("without the answer", "with the answer")
"""How the thread of a what-if goes on."""
EXAMPLES = 3
"""Members that are shown when one more is written."""
POST_COLUMNS = ["id", "condition", "room", "topic", "place", "author", "text", "reason"]


class Written(NamedTuple):
    """A post of a thread, or a decision not to write. place: 0 begins the thread. text: None with a reason if it is missing.

    replies: 1 if the member replies, 0 if not, None if its decision cannot be read. condition: of CONDITIONS or KINDS.
    """

    condition: str
    room: int
    topic: str
    place: int
    author: str
    text: str | None
    reason: str = ""
    replies: int | None = 1

    @property
    def id(self) -> str:
        """The name of the post: `after/3/Slugs on lettuce/0`."""
        return f"{self.condition}/{self.room}/{self.topic}/{self.place}"

    @property
    def is_post(self) -> bool:
        """Whether the member wrote, or was asked to write."""
        return self.replies == 1


class WhatIf(NamedTuple):
    """An answer to one post, and how often the thread is continued with it and without it. by: who answers."""

    text: str
    by: str = ""
    continuations: int = 20


class Room(NamedTuple):
    """Members and topics of a room."""

    number: int
    people: list[MemberProfile]
    topics: list[Case]


@dataclass(frozen=True)
class CommunityStudy:
    """A community and two sets of its rules (names). people: members in a room. members: how many more the model writes."""

    community: Community
    before: tuple[str, ...]
    after: tuple[str, ...]
    rooms: int = 20
    threads: int = 2
    people: int = 5
    members: int = 0
    words: int = 40
    temperature: float = 1.0
    seed: int = 0

    def check(self) -> None:
        """Errors: UserError for sets of rules that do not differ, none after, and more people or threads than there are."""
        community = self.community
        if self.before == self.after:
            raise UserError("--before and --after name the same rules: name other rules in --before or --after")
        if not self.after:
            raise UserError("--after names no rules: exchange --before and --after")
        if not 2 <= self.people <= len(community.people) + self.members:
            most_people = len(community.people) + self.members
            raise UserError(
                f"--people must be from 2 to {most_people}, the members of {community.name}; --members N adds more"
            )
        if self.threads > len(community.topics):
            raise UserError(f"--threads must be at most {len(community.topics)}, the topics of {community.name}")

    def to_dict(self, llm: str, judge: str) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        return {"llm": identity_spec(llm), "judge": identity_spec(judge), **asdict(self)}

    def stated(self, condition: str) -> StatedRules:
        """Return the rules that members read in a condition (in a what-if: those after the change)."""
        names = self.before if condition == BEFORE else self.after
        return StatedRules(self.community.rules_of(names), condition == REWORDED)

    def write_members(self, llm: str, desk: CallDesk) -> tuple[list[MemberProfile], list[str]]:
        """Return all members, those of the file first, and for each written one that is left out the reason."""
        community = self.community

        def written(number: int) -> Conversation[tuple[MemberProfile | None, str]]:
            examples = stream(self.seed, "examples", number).sample(
                community.people, min(EXAMPLES, len(community.people))
            )
            return read_member(
                (yield from ask(compose_member(community, examples, derive(self.seed, "member", number))))
            )

        written_members = desk.ask(
            [written(number) for number in range(self.members)], llm, "members", lambda outcome: outcome[1] or None
        )
        members_by_name, lost = {member.name: member for member in community.people}, []
        for profile, reason in written_members:
            if profile is None or profile.name in members_by_name:
                lost.append(reason or "name_known")
            else:
                members_by_name[profile.name] = profile
        return list(members_by_name.values()), lost

    def draw_rooms(self, people: Sequence[MemberProfile]) -> list[Room]:
        """Return the rooms: people and topics drawn with the seed, the same in every condition."""
        drawn = []
        for number in range(1, self.rooms + 1):
            rng = stream(self.seed, "room", number)
            seats = rng.sample(list(people), min(self.people, len(people)))
            drawn.append(Room(number, seats, rng.sample(list(self.community.topics), self.threads)))
        return drawn

    def write(self, rooms: Sequence[Room], llm: str, desk: CallDesk) -> list[Written]:
        """Return the posts of all rooms in each of CONDITIONS, thread by thread."""
        conversations = [
            self._thread(condition, room, topic) for condition in CONDITIONS for room in rooms for topic in room.topics
        ]
        return [post for thread in desk.ask(conversations, llm, "threads", thread_reason) for post in thread]

    def _thread(self, condition: str, room: Room, topic: Case) -> Conversation[list[Written]]:
        first, *others = self._seats(room, topic)
        seeds = ("post", room.number, topic.name, 0)
        opening = self._member(first, condition).compose_post(topic, derive(self.seed, *seeds))
        message = read_message((yield from ask(opening)))
        begun = Written(condition, room.number, topic.name, 0, first.name, message.text, message.reason or "")
        if message.text is None:
            return [begun]
        thread = [Post(first.name, message.text)]
        return [begun, *(yield from self._replies(condition, room.number, topic, thread, others, 0))]

    def _replies(
        self, condition: str, room: int, topic: Case, thread: list[Post], others: Sequence[MemberProfile], again: int
    ) -> Conversation[list[Written]]:
        """Let each of the others decide whether to reply, and write. again: counts the continuations of one thread."""
        written = []
        for place, profile in enumerate(others, 1):
            member, where = self._member(profile, condition), (again, room, topic.name, place)
            chosen = yield from ask(member.compose_choice(topic, thread, derive(self.seed, "choice", *where)))
            option = read_choice(chosen.text, OPTIONS)
            at = (condition, room, topic.name, place, profile.name)
            if option.answer != "A":
                reason = chosen.failure.name if chosen.failure else option.reason or ""
                written.append(Written(*at, None, reason, None if option.answer is None else 0))
                continue
            message = read_message(
                (yield from ask(member.compose_reply(topic, thread, derive(self.seed, "reply", *where))))
            )
            written.append(Written(*at, message.text, message.reason or ""))
            thread += [Post(profile.name, message.text)] if message.text is not None else []
        return written

    def _seats(self, room: Room, topic: Case) -> list[MemberProfile]:
        """Return the members of a room in the order in which they write about a topic."""
        return stream(self.seed, "seats", room.number, topic.name).sample(room.people, len(room.people))

    def check_what_if(self, rooms: Sequence[Room], what_if: WhatIf) -> None:
        """Errors: UserError, before anything is written, unless the one who answers and another member read the first post."""
        _divide(self._seats(rooms[0], rooms[0].topics[0])[1:], what_if)

    def _member(self, profile: MemberProfile, condition: str) -> Member:
        return Member(self.community, profile, self.stated(condition), self.words, self.temperature)

    def continue_post(
        self, posts: Sequence[Written], rooms: Sequence[Room], what_if: WhatIf, llm: str, desk: CallDesk
    ) -> tuple[Post, str, list[Written]]:
        """Return the first post that is there under the rules AFTER, who answers it, and its continuations of both KINDS.

        Continuations are numbered as rooms are. Errors: UserError if there is no post, or the one who answers does not read it.
        """
        begun_posts = [post for post in posts if post.condition == AFTER and post.place == 0 and post.text is not None]
        if not begun_posts:
            raise UserError(
                "no post could be read, so none can be continued: choose another model, or leave out --what-if"
            )
        begun = begun_posts[0]
        room = next(room for room in rooms if room.number == begun.room)
        topic = next(topic for topic in room.topics if topic.name == begun.topic)
        others = [person for person in room.people if person.name != begun.author]
        answers, left = _divide(others, what_if)
        post = Post(begun.author, str(begun.text))

        def continued(kind: str, number: int) -> Conversation[list[Written]]:
            thread = [post, *([Post(answers.name, what_if.text)] if kind == ANSWERED else [])]
            order = stream(self.seed, "order", number).sample(left, len(left))
            return (yield from self._replies(kind, number, topic, thread, order, number))

        conversations = [continued(kind, number) for kind in KINDS for number in range(1, what_if.continuations + 1)]
        replies = [post for thread in desk.ask(conversations, llm, "continuations", thread_reason) for post in thread]
        return post, answers.name, replies

    def judge_posts(self, posts: Sequence[Written], judge: str, desk: CallDesk) -> pd.DataFrame:
        """Return what the judge says of posts (`judge_texts`; the probe is the rule)."""
        judged, topics = self.community.judged, {topic.name: topic for topic in self.community.topics}
        questions = [
            (post.id, Question(judged, topics[post.topic], rule, post.text, post.reason))
            for post in posts
            if post.is_post
            for rule in judged.probes
        ]
        return judge_texts(questions, judge, self.seed, desk)

    def check_judge(self, judge: str, desk: CallDesk) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return what the judge says of known posts, and how good it is, as `check_judge` of analysis/rule_judge.py."""
        return check_judge([self.community.judged], judge, self.seed, desk)


def _divide(others: Sequence[MemberProfile], what_if: WhatIf) -> tuple[MemberProfile, list[MemberProfile]]:
    """Return who answers a post, and the other members who read it (others: all of them). Errors: UserError if there are none."""
    answers = [person for person in others if person.name == (what_if.by or others[0].name)]
    if not answers:
        raise UserError(
            f"--by {what_if.by} does not read this post: name one of {', '.join(member.name for member in others)}"
        )
    left = [person for person in others if person != answers[0]]
    if not left:
        raise UserError("--what-if needs a third member, who reads the answer: set --people 3 or more")
    return answers[0], left


def thread_reason(thread: Sequence[Written]) -> str | None:
    """Return why the first missing post or decision of a thread is missing, if more than half of it is; else None."""
    lost = [post.reason for post in thread if post.reason]
    return lost[0] if 2 * len(lost) > len(thread) else None


def post_table(posts: Sequence[Written]) -> pd.DataFrame:
    """Return one row per post that was written or is missing: POST_COLUMNS."""
    rows = [[getattr(post, name) for name in POST_COLUMNS] for post in posts if post.is_post]
    return pd.DataFrame(rows, columns=POST_COLUMNS)
