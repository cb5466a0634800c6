"""The agent of a social medium: it is shown a feed, chooses an act, the post that the act is about, and writes a text.

Each step is a question of its own. The act and the post are closed questions (`Request.answers`), so that a backend can
tell the probability of each answer. Nothing is remembered of these questions; what stays are the posts that were shown,
and the agent's own texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from parley.agents.act_names import WRITTEN, Act
from parley.agents.acts import ShownPost, act_words, read_act, targets_of
from parley.agents.closed_answers import ANSWER_TOKENS, read_number
from parley.agents.language import Language
from parley.agents.network_agent import NetworkDebater
from parley.agents.reply_cleaning import clean_speech
from parley.llm.prompts import Template
from parley.llm.purposes import Facts
from parley.llm.request import Reply, Request, Sampling
from parley.llm.seeding import stream

SEARCHED = 5
"""Words of a search."""


class Choice(NamedTuple):
    """An answer to a closed question, or None and a reason.

    probabilities  of the answers that were offered, in their order, if the backend gives them
    """

    value: str | int | None
    reason: str | None
    raw: str | None
    probabilities: tuple[float, ...] | None = None
    covered: float | None = None
    how: str = "strict"


class PlatformDebater(NetworkDebater):
    """An agent who acts on a social medium."""

    @staticmethod
    def about(language: Language) -> Template:
        return language.prompt("platform")

    def compose_act(self, feed: Sequence[ShownPost], offered: Sequence[Act], seed: int, again: bool = False) -> Request:
        """Ask what the agent does now. offered: the acts to choose from, in the order of the answers."""
        words, listed = act_words(self.topic.language), self._listed(offered, seed)
        acts = self.topic.language.join([self._told(act) for act in listed])
        instruction = self.topic.language.prompt("act").fill(acts=acts, words=", ".join(words[act] for act in listed))
        facts = Facts(acts=offered, posts=[(post.text, post.score) for post in feed], options=_options(offered, feed))
        return self._closed("act", feed, instruction, tuple([words[act] for act in offered]), facts, seed, again)

    def compose_target(
        self, act: Act, feed: Sequence[ShownPost], numbers: Sequence[int], seed: int, again: bool = False
    ) -> Request:
        """Ask which of the posts an act is about, by its number."""
        language = self.topic.language
        answers = tuple(map(str, numbers))
        slots = {"word": act_words(language)[act], "meaning": _meaning(self, act), "numbers": ", ".join(answers)}
        instruction = language.prompt("target").fill(**slots)
        posts = [(post.text, post.score) for post in feed]
        facts = Facts(acts=(act,), posts=posts, options={act: tuple(numbers)})
        return self._closed("target", feed, instruction, answers, facts, seed, again)

    def absorb_act(self, reply: Reply, offered: Sequence[Act]) -> Choice:
        """Read the act that a reply names."""
        if reply.failure:
            return Choice(None, reply.failure.name, None)
        act, reason = read_act(reply.text, offered, self.topic.language)
        words = act_words(self.topic.language)
        return _choice(act, reason, reply, tuple([words[offered_act] for offered_act in offered]))

    def absorb_target(self, reply: Reply, numbers: Sequence[int]) -> Choice:
        """Read the number of a post out of a reply."""
        if reply.failure:
            return Choice(None, reply.failure.name, None)
        value, reason = read_number(reply.text, numbers)
        return _choice(None if value is None else int(value), reason, reply, tuple(map(str, numbers)))

    def compose_query(self, feed: Sequence[ShownPost], seed: int) -> Request:
        """Ask for the words of a search."""
        instruction = self.topic.language.prompt("search").text
        messages = self._chat(self._reminded(self._stated(f"{self._shown(feed)}\n\n{instruction}")))
        return self._request("search", messages, self._short, seed, Facts(count=SEARCHED))

    def absorb_query(self, reply: Reply) -> Choice:
        """Read the words of a search: the first few words of the reply's first line."""
        if reply.failure:
            return Choice(None, reply.failure.name, None)
        lines = clean_speech((reply.text or "").strip(), self.name, None).split("\n")
        words = " ".join(lines[0].split()[:SEARCHED]).strip("\"'.,:;!? ")
        return Choice(words or None, None if words else "empty", reply.text)

    def compose_text(self, act: Act, feed: Sequence[ShownPost], target: ShownPost | None, seed: int) -> Request:
        """Ask for the text of a post, of a reply to a post, or of a quote of a post."""
        form = WRITTEN[act]
        self._instruction = self.instruction(form) if target is None else self._answering(form, target)
        if self.character.role:
            self._instruction += f" {self.character.ask}"
        messages = self._chat(self._noted(f"{self._shown(feed)}\n\n{self._instruction}"))
        return self._request("speech", messages, self.style.sampling, seed, Facts(form=form))

    def see(self, feed: Sequence[ShownPost]) -> None:
        """Remember the posts of a feed. The first post comes last, so that a short memory keeps it."""
        for post in reversed(feed):
            self.hear(post.name, post.text, "post")

    @property
    def _short(self) -> Sampling:
        return self.style.sampling._replace(max_tokens=ANSWER_TOKENS, stop=())

    def _closed(
        self,
        purpose: str,
        feed: Sequence[ShownPost],
        instruction: str,
        answers: tuple[str, ...],
        facts: Facts,
        seed: int,
        again: bool,
    ) -> Request:
        if again:
            instruction = self.topic.language.prompt("reask").fill(survey=instruction)
        messages = self._chat(self._noted(f"{self._shown(feed)}\n\n{instruction}"))
        return self._request(purpose, messages, self._short, seed, facts, answers=answers)

    def _answering(self, form: str, target: ShownPost) -> str:
        """Return the instruction for a text about a post, after the agent's side if it has one."""
        instruction = self.topic.language.prompt(f"statement_{form}").fill(name=target.name, post=target.text)
        return f"{self.side} {instruction}".strip()

    def _shown(self, feed: Sequence[ShownPost]) -> str:
        """Return the feed as text, one numbered post per line."""
        language = self.topic.language
        if not feed:
            return language.words("no_posts")
        return language.prompt("feed").fill(posts="\n".join(map(self._line, feed)))

    def _line(self, post: ShownPost) -> str:
        slots = {"number": post.number, "name": post.name, "marks": self._marks(post), "text": post.text}
        return self.topic.language.fill("shown", **slots)

    def _marks(self, post: ShownPost) -> str:
        """Return what follows the author's name: the score, who shared the post, whether the author is a stranger."""
        language = self.topic.language
        marks = [language.fill("score", score=post.score)]
        marks += [language.fill("reposted_by", name=post.carrier)] if post.carrier else []
        marks += [] if post.followed else [language.fill("stranger", name=post.name)]
        return ", ".join(marks)

    def _told(self, act: Act) -> str:
        language = self.topic.language
        return language.fill("own_act", word=act_words(language)[act], meaning=_meaning(self, act))

    def _listed(self, offered: Sequence[Act], seed: int) -> list[Act]:
        """Return the acts in the order in which they are listed, by the style's `listing`, as the answers of surveys are."""
        if self.style.listing == "shuffled":
            return stream(seed, "listing").sample(list(offered), len(offered))
        return list(offered)[::-1] if self.style.listing == "reversed" else list(offered)


def _meaning(agent: PlatformDebater, act: Act) -> str:
    return str(agent.topic.language.data("sentences")["acts"][act][1])


def _options(offered: Sequence[Act], feed: Sequence[ShownPost]) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the posts that each act can be about."""
    return {act: tuple([post.number for post in targets_of(act, feed)]) for act in offered}


def _choice(value: str | int | None, reason: str | None, reply: Reply, answers: tuple[str, ...]) -> Choice:
    shares = tuple([reply.answers[answer] for answer in answers]) if reply.answers else None
    how = f"strict, {reply.way}" if reply.way else "strict"
    return Choice(value, reason, reply.text, shares, reply.covered, how)
