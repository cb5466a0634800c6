"""The list of all purposes of requests, and of all facts that prompts state.

A request carries a purpose and facts along with its messages. Both repeat what a reader of the prompt knows. The rule-based
speaker (the oracle) answers by them, so it does not depend on the wording of a prompt. A language model gets the messages alone.
Purpose and facts are no part of a journal key, because the messages, which are part of it, state the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypedDict

EMBEDDING, CONSENT = "embedding", "consent"
"""The purpose of a request whose message is a text, and whose reply is its embedding, as a JSON list of numbers; and that of a
request that asks a person to agree to take part."""

PURPOSES: Mapping[str, str] = {
    # people in a debate or a deliberation
    "speech": "an utterance: a reply, a statement, a post, a story, an opinion or critique for the mediator (`form` says which)",
    "survey": "a rating on a scale, of the topic or of a statement",
    "questionnaire": "a closed question about oneself",
    "poll": "a closed question of a survey, asked of a member of a group",
    CONSENT: "whether a person agrees to take part (llm/backends/person)",
    "interview": "a question in free words",
    "summary": "what was said so far, in a line for each speaker",
    "bdi": "a private note: belief, desire and intention",
    "latent": "a private note: stance and feeling",
    "bounded": "a private note in a few words",
    "plan": "a private plan for a day",
    "reflection": "insights into what was said",
    "importance": "how much one remembered line matters",
    "embedding": "the embedding of a text: a list of numbers",
    "act": "what an agent does on a social medium, of the acts that are possible",
    "target": "which post of a feed the act is about",
    "search": "the words of a search for posts",
    # agents without a seat
    "check": "a fact checker's correction of what was said lately",
    "statement": "a mediator's draft, or its revision",
    "ranking": "how a member would rank candidate statements",
    "ballot": "how a member itself ranks candidate statements",
    "critique": "the critique that a representative writes for a participant",
    "represented_opinion": "the opinion that a representative writes for a participant",
    "represented_ballot": "how a representative ranks statements for a participant",
    # people who are to be persuaded
    "persuasion": "which of two messages with the same aim does more to persuade?",
    # judges
    "alignment": "does an answer fit a person of some leaning?",
    "appeal": "is an appeal (logos, pathos, ethos) made in a statement?",
    "sentiment": "how negative or positive is the feeling that a statement expresses?",
    "agreement": "how strongly does a statement agree with a claim?",
    "recall": "how much of the truth does an answer recall?",
    "payoff": "how strongly would the author of an opinion agree with a statement?",
    "payoff_ranking": "how would the author of an opinion rank statements?",
    "preference": "which of two statements would the author of an opinion rather agree with?",
    "authorship": "which of two critiques would the author of an opinion rather have written?",
    "contradiction": "does a sentence contradict what is known of a person?",
    "verdict": "what a rubric of the user asks",
    # writing
    "backstory": "a persona of a party, from its positions",
    "persona": "a persona from leaning, place and news",
    "persona_variant": "a persona rewritten for a gender or an age",
    "attribute": "one more sentence about a person, on an attribute",
    "case": "the situation that opens a structured debate",
    "case_refinement": "the same situation with one change",
    "questions": "questions on US politics",
    "divisive_questions": "questions that divide, with their declarative forms",
}
"""Every purpose of the package, with what is asked for. A reasoning step of the user adds its name as one more purpose."""


class RatingScale(Protocol):
    """A scale as a question states it: whole points from `low` to `high`, some or all of them named.

    `kind`: numeric (the answer is a number) or labelled (the answer is a label).
    """

    @property
    def kind(self) -> str: ...
    @property
    def low(self) -> int: ...
    @property
    def high(self) -> int: ...
    @property
    def labels(self) -> Mapping[int, str]: ...


class Facts(TypedDict, total=False):
    """What a prompt states, by name. Each prompt states the facts that its purpose needs."""

    # the situation of an agent
    topic: str  # title of the debate's topic
    own: str  # the same title, where the topic is one of the user's, which no society has
    issue: str  # the question on which a group deliberates in private
    spoken: str  # the code of the language of a person who does not speak that of the society
    frame: str  # debate, conversation
    wording: str  # how instructions are worded: given, or another wording
    spacing: str  # the white space of the messages (llm/spacing.py)
    words: int  # the most words asked for
    role: str  # ROLE or ROLE+ARGUMENT
    character: str  # temperament and confirmation bias, as the system message ends with them
    confirmation_bias: str  # none, weak, strong
    traits: Mapping[str, str]  # levels of the Big Five by name
    belief: str  # what the prompt says that an agent thinks of an item of news: believer, susceptible
    outside: Mapping[str, str]  # lines from outside that are no lines of a debate: text and form
    # the task
    form: str  # of a speech: reply, opening, closing, talk, post, retelling, opinion, critique
    # of a message that is written anew: persuasive, paraphrase
    side: str  # argued in a speech: for, against
    claim: str  # what is argued or judged
    question: str  # the question itself, without the words around it
    construct: str  # of a survey: severity, agreement, confidence, ...
    scale: RatingScale
    toward: int  # of a survey on a topic of the user's: 1 where the high end of the scale is that of the topic's axis, else -1
    negated: bool  # whether a survey asks for agreement with the opposite of the claim in its question
    interviewer: str  # what the interviewer says to think of the claim: for, against
    sentence: str  # the form of an answer on a labelled scale, with {label} and {number}
    state: Mapping[
        str, float
    ]  # last answers of which an agent is reminded, by construct, as a share of the scale (0 to 1)
    choices: Sequence[str]  # what can be chosen in a survey, in the order of the allowed answers
    group: str  # whose member answers a survey; empty for no group
    position: str  # a survey's answer to the issue, agreement with which is asked
    count: int  # how many insights or questions
    line: str  # a line to be weighed
    memories: Sequence[
        tuple[str, str]
    ]  # what an insight can cite, in the order of its numbers from 1: speaker ("": oneself), text
    about: str  # of an interview, what is to be recalled: self, said, heard, plan, insight
    plan: str  # the speaker's plan for the day, as far as the prompt says it
    insights: Sequence[str]  # the speaker's insights in the prompt
    remembered: Sequence[str]  # older own lines in the prompt
    truth: str  # what really was
    acts: Sequence[str]  # what an agent can do on a social medium, in the order of the allowed answers
    posts: Sequence[tuple[str, int]]  # the posts that are shown: text and score
    options: Mapping[str, Sequence[int]]  # the numbers of the posts (from 1) that each act can be about
    stated: Sequence[tuple[str, str]]  # what a person answered or wrote on other questions: question, answer
    # the material of a mediator, a representative, a judge
    opinion: str
    opinions: Sequence[str]
    groups: Sequence[Sequence[str]]  # opinions of each group of opinion
    critiques: Sequence[str]
    earlier: Sequence[str]  # what the author of the opinion wrote on other questions
    rated: Sequence[tuple[str, float]]  # positions of a person on other questions, 1 to 7, by the question
    statement: str  # a draft, a statement, an utterance, an answer: what is judged or written anew
    candidates: Sequence[str]  # what is compared, in the order shown
    person: str  # whose character an answer is judged by
    source: str  # the true report of an item of news, the version of a story that an agent got, what a rival may state, a topic
    kind: str  # of what is written about: sales, garden, ...
    dimension: str  # in which a version of a story, or a statement, is rated; an appeal (logos, pathos, ethos)
    # the material of a corrector and of its judge
    post: str  # what is answered
    passages: Sequence[str]  # what may be quoted, in the order shown
    draft: str  # a reply whose claims are to be replaced
    quality: str  # of a text that is judged: politeness, a rule, ...
    language: str  # the code of the language of the reply
    # the material of a writer of messages; their aim is the claim
    advice: str  # what the message is to follow
    # the material of a writer
    name: str
    party: str
    positions: Sequence[tuple[str, str]]  # a subject, and the answers to choose from
    shortest: int
    longest: int
    leaning: str
    location: str
    news: str
    persona: str  # a backstory to be rewritten, or what is known of a person
    attribute: str  # what a sentence about a person is about
    variant: str  # the word that states its gender or age
    arguments_for: Sequence[str]
    arguments_against: Sequence[str]
