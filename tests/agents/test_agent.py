"""The debater: what it asks for and what it makes of a reply. Failures and surveys must leave no trace in what is sent later."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.reply_cleaning import clean_speech, shortened, speaks_for
from parley.agents.speech import Rating, Speech
from parley.agents.topic import load_topic
from parley.llm.request import Reply

from .conftest import Make, say, sent

ATTITUDE = load_topic("gun_violence").probe("attitude")
LABELLED = load_topic("gun_violence").probe("attitude_labelled")
REVERSED = load_topic("gun_violence").probe("attitude_reversed")
LIMIT = "Speak only for yourself, in your own voice, in at most 50 words."
TURN = "Now it is your turn to speak, Ann. Answer what was said, in your own words."


def test_first_request(make: Make) -> None:
    """The one who starts is told who is there and to start; the persona is the system message, whole."""
    request = make("Ann", "Bob", "Cid").compose_speech(seed=5)
    assert sent(request) == [
        "system: You are Ann.",
        f"user: This is a debate about gun violence. You are Ann; the others are Bob and Cid. {LIMIT}\n\n"
        "Nobody has spoken in this debate yet. Ann, say what you think about gun violence, and why.",
    ]
    assert (request.seed, request.purpose, request.answers, request.sampling.max_tokens) == (5, "speech", (), 120)


def test_second_speaker_hears_first(make: Make) -> None:
    """Whoever has heard something goes on and is not told to start."""
    ann = make("Ann", "Bob")
    ann.hear("Bob", "Guns!")
    assert sent(ann.compose_speech(1))[-1].endswith(f"{LIMIT}\n\nBob: Guns!\n\n{TURN}")


@check_each(
    ("others", "told"),
    [("Bob", "other is Bob."), ("Bob Cid", "others are Bob and Cid."), ("Bob Cid Dot", "others are Bob, Cid and Dot.")],
)
def test_who_else_is_there(make: Make, others: str, told: str) -> None:
    """One other is not "others"."""
    assert f"You are Ann; the {told} {LIMIT}" in sent(make("Ann", *others.split()).compose_speech(1))[-1]


def test_alone_there_are_no_others(make: Make) -> None:
    """A room of one is not told of others, and its lines are not cut for anybody."""
    ann = make("Ann")
    assert "others" not in sent(ann.compose_speech(1))[-1]
    assert ann.absorb_speech(Reply("Yes.\nBob: No.")) == Speech("Yes. Bob: No.", None)


def test_what_was_said_is_sent_again(make: Make) -> None:
    """An own reply is an assistant message, after the very instruction that it answered."""
    ann = make("Ann", "Bob")
    first = say(ann, "Ann: We must act.")
    ann.hear("Bob", "No.")
    second = ann.compose_speech(2)
    assert second.messages[: len(first.messages)] == first.messages
    assert sent(second)[-2:] == ["assistant: We must act.", f"user: Bob: No.\n\n{TURN}"]


@check_each("memory", ["whole", "last:3", "summary:2", "retrieve:2"])
@check_each("text", [None, "", "  \n", "Ann:", '""', "Ann:\nBob: I say no."])
def test_a_failed_reply_leaves_no_trace(make: Make, memory: str, text: str | None) -> None:
    """A silent turn is as if it had never been asked: the next request is the same, word for word."""
    ann = make("Ann", "Bob", memory=memory)
    ann.hear("Bob", "Guns!")
    say(ann, "Yes.")
    before = ann.compose_speech(3)
    speech = ann.absorb_speech(Reply(text) if text is not None else Reply.failed("timeout"))
    reason = "timeout" if text is None else "spoke_for_others" if "Bob" in text else "empty"
    assert speech == Speech(None, reason)
    assert ann.compose_speech(3).messages == before.messages


@check_each(
    ("text", "reason"),
    {
        "**Bob:**": "spoke_for_others",
        "Ann:\nBob: No!": "spoke_for_others",
        "Bob:\nBob:": "spoke_for_others",
        "Ann:": "empty",
        "\n": "empty",
    }.items(),
)
def test_why_nothing_was_said(make: Make, text: str, reason: str) -> None:
    """A reply with only another agent's turn is a fault of the model, not a silence: a table of reasons tells them apart."""
    assert make("Ann", "Bob").absorb_speech(Reply(text)) == Speech(None, reason)


@check_each(
    ("text", "line"),
    {
        "Bob: No!": "No!", '"Bob: No!"': "No!", "**[Bob]:** No!": "No!", "Bob (nods): No!": "No!", "Bob: Cid: No!": "No!",
        "Sure! Here is my reply: Bob: No!": "No!", "Bob: No!\nBob: Never.": "No!", "Bob: No!\nCid: Yes.": "No!",
        "Bob: No!\nAnn: Yes.": "Yes.", "Bob: Ann: Yes.\nCid: No.": "Yes.",
    }.items(),
)  # fmt: skip
def test_a_wrong_label_is_cut_and_the_line_is_kept(make: Make, text: str, line: str) -> None:
    """A real model of 1.5B lost 7 of 18 replies that were usable lines under the label that it had read last. The label is cut,
    the line is kept and noted; the turn of a partner that follows is not Ann's, and a line under her own name is.
    """
    assert make("Ann", "Bob", "Cid").absorb_speech(Reply(text)) == Speech(line, None, "relabelled")


@check_each(
    ("text", "line"),
    {
        "Rachel: I disagree.": "I disagree.", "**Rachel:** I disagree.": "I disagree.", "<b>Bob</b>: No!": "No!",
        "MODERATOR: Welcome.": "Welcome.", "Bob: Shelly:\n\nA: Welcome.": "Welcome.", "Rachel (laughs): No!": "No!",
    }.items(),
)  # fmt: skip
def test_the_label_of_an_invented_person_is_cut(make: Make, text: str, line: str) -> None:
    """Small models write under names of nobody in the room (SmolLM2, Gemma 270M): `Rachel:`, `A:`, `Bob: Shelly: A:`."""
    assert make("Ann", "Bob", "Cid").absorb_speech(Reply(text)) == Speech(line, None, "relabelled")


@check_each(
    "text",
    [
        "I agree.\nRachel: No!", "I agree.\n\nMODERATOR: Thank you.\nBob: No!", "I agree.\nB: No!", "I agree.\n**Philip**: No!",
        "I agree.\n<b>Bob</b>: No!", "I agree.\nSpeaker 2: No!", "I agree.\n\n- Walter: No!",
    ],
)  # fmt: skip
def test_a_reply_ends_where_an_invented_person_speaks(make: Make, text: str) -> None:
    """What such a person says is no line of the agent's, and would be one in every prompt that follows."""
    assert make("Ann", "Bob", "Cid").absorb_speech(Reply(text)) == Speech("I agree.", None)


@check_each(
    "text",
    [
        "Let me be clear: taxes are too high.", "Pros: it is cheap. Cons: it is late.", "The truth: nobody knows.",
        "Rachel Carson: that is who began it.", "I ask Rachel: why?", "Congress: a failed institution.", "Plan A: we build.",
        "rachel: no capital, no name.", "First: jobs. Second: schools.", "Marks: they say it all.", "Answers: none.",
    ],
)  # fmt: skip
def test_honest_colons_stay(make: Make, text: str) -> None:
    """The null: nothing is cut from text that only has a colon."""
    if text != "Answers: none.":
        assert make("Ann", "Bob", "Cid").absorb_speech(Reply(text)) == Speech(text, None)
    headings = "Two points.\nPros: it is cheap.\nCons: it is late.\nNote: so am I."
    assert make("Ann", "Bob").absorb_speech(Reply(headings)) == Speech(" ".join(headings.split()), None)


def test_an_agent_of_a_name_in_the_list_of_labels_keeps_its_own(make: Make) -> None:
    assert make("Rachel", "Bob").absorb_speech(Reply("Rachel: I agree.\nSarah: No!")) == Speech("I agree.", None)


def test_people_of_a_real_deliberation_lose_nothing(make: Make) -> None:
    """Human texts (beside the checkout): all stay whole."""
    path = Path(__file__).parents[3] / "shared" / "data" / "cc_by" / "habermas_real_issues_opinions_consensus.json"
    if not path.exists():
        pytest.skip("the folder shared/data does not stand beside the checkout")
    ann = make("Ann", "Bob")
    for text in re.findall(r'"((?:[^"\\]|\\.){40,})"', path.read_text(encoding="utf-8")):
        said = json.loads(f'"{text}"')
        assert ann.read_speech(Reply(said)).mended is None
        assert len(ann.read_speech(Reply(said)).text or "") >= len(" ".join(said.split())) - 4  # quotes around it


def test_a_reply_begins_with_the_own_label(make: Make) -> None:
    """A real model of 1.5B began 7 of 18 replies with a partner's label, and none that was begun with its own. Without others
    there are no labels; a number is begun with words of its own.
    """
    assert make("Ann", "Bob").compose_speech(1).begin == "Ann:"
    assert make("Ann").compose_speech(1).begin == ""
    assert make("Ann", "Bob").compose_survey(ATTITUDE, 1).begin == "My rating:"


@check_each("memory", ["whole", "last:3", "summary:2", "retrieve:2"])
def test_a_survey_is_never_remembered(make: Make, memory: str) -> None:
    """Asked or not, answered or not, the debate goes on the same: neither question nor answer is in any later request."""
    asked, spared = (make("Ann", "Bob", memory=memory) for _ in range(2))
    for reply in (Reply("7"), Reply("no idea"), Reply.failed("timeout")):
        asked.hear("Bob", "Guns!")
        spared.hear("Bob", "Guns!")
        asked.compose_survey(ATTITUDE, 1)
        asked.absorb_survey(reply, ATTITUDE)
        assert say(asked, "Yes.").messages == say(spared, "Yes.").messages


def test_a_survey_between_asking_and_answering(make: Make) -> None:
    """What is remembered as the question of a speech is the speech's own, whatever was asked in between."""
    ann = make("Ann", "Bob")
    first = ann.compose_speech(1)
    ann.compose_survey(ATTITUDE, 1)
    ann.absorb_speech(Reply("Yes."))
    assert ann.compose_speech(2).messages[:2] == first.messages


def test_survey_request(make: Make) -> None:
    """A survey shows all that is remembered and asks last; its answers are the points, so that a backend can weigh them."""
    ann = make("Ann", "Bob")
    say(ann, "Yes.")
    request = ann.compose_survey(ATTITUDE, 9)
    assert sent(request)[-2:] == ["assistant: Yes.", f"user: {ATTITUDE.ask('debate')}"]
    assert request.answers == tuple(str(point) for point in range(11))
    assert (request.seed, request.purpose, request.sampling.temperature) == (9, "survey", 0.7)


def test_asking_again(make: Make) -> None:
    """The second question is the first with a note before it: no hint at a value, and no trace of the bad answer."""
    ann = make("Ann", "Bob")
    first = ann.compose_survey(ATTITUDE, 1)
    ann.absorb_survey(Reply("7 or 8, as an idea"), ATTITUDE)
    again = ann.compose_survey(ATTITUDE, 2, again=True)
    assert again.messages[:-1] == first.messages[:-1]
    note = f"That answer could not be read. {ATTITUDE.ask('debate')}"
    assert again.messages[-1].content == first.messages[-1].content.replace(ATTITUDE.ask("debate"), note)
    assert again.answers == first.answers


def test_a_rating(make: Make) -> None:
    """The value stays on its scale and the attitude is on the topic's axis; the raw words are kept."""
    ann = make("Ann", "Bob")
    assert ann.absorb_survey(Reply("**6**"), REVERSED) == Rating(
        "attitude_reversed", 6, None, 4, None, None, "**6**", "strict"
    )
    assert ann.absorb_survey(Reply("a serious problem (8)"), LABELLED).attitude == 8
    assert set(ann.ratings) == {"attitude_reversed", "attitude_labelled"}


def test_a_distribution(make: Make) -> None:
    """By hand: even odds on 2 and 4 of a reversed scale expect 3, an attitude of 7; the answer drawn is its own value."""
    shares = dict.fromkeys(REVERSED.scale.answers, 0.0) | {"2": 0.5, "4": 0.5}
    rating = make("Ann", "Bob").absorb_survey(Reply("4", answers=shares), REVERSED)
    assert (rating.value, rating.attitude, rating.expected) == (4, 6, 7)
    assert rating.probabilities == (0, 0, 0.5, 0, 0.5, 0, 0, 0, 0, 0, 0)


@check_each(
    ("reply", "reason"), [(Reply("no idea"), "no_number"), (Reply(""), "empty"), (Reply.failed("timeout"), "timeout")]
)
def test_a_missing_rating_is_not_the_last_one(make: Make, reply: Reply, reason: str) -> None:
    """Missing is not zero, and not what was said a round ago either."""
    ann = make("Ann", "Bob")
    ann.absorb_survey(Reply("7"), ATTITUDE)
    rating = ann.absorb_survey(reply, ATTITUDE)
    assert (rating.value, rating.attitude, rating.reason) == (None, None, reason)
    assert ann.ratings["attitude"] is rating


def test_the_reader_is_named(make: Make) -> None:
    """`paper` guesses, so a rating read by it says so."""
    rating = make("Ann", "Bob", reader="paper").absorb_survey(Reply("15 or so"), ATTITUDE)
    assert (rating.value, rating.how) == (10, "paper")


def test_summary(make: Make) -> None:
    """The older half is put up for a summary; a failed summary changes nothing, a good one stands in for those lines."""
    ann = make("Ann", "Bob", memory="summary:1")
    ann.hear("Bob", "Guns!")
    say(ann, "Yes.")
    assert ann.memory.overflows
    request = ann.compose_summary(3)
    assert request.purpose == "summary"
    assert "Bob: Guns!\n\nSummarise the debate so far" in request.messages[-1].content
    before = ann.compose_speech(4).messages
    ann.absorb_summary(Reply.failed("timeout"))
    assert ann.compose_speech(4).messages == before
    ann.absorb_summary(Reply(" Bob: wants guns.\n"))
    assert "Summary of what was said before:\nBob: wants guns." in sent(ann.compose_speech(4))[1]


@check_each(
    ("said", "kept"),
    {
        "I agree.": "I agree.", "Ann: I agree.": "I agree.", " ann : I agree.": "I agree.", "Me: I agree.": "I agree.",
        "**Ann:** I agree.": "I agree.", "**Ann**: I agree.": "I agree.", "Ann (nods): I agree.": "I agree.",
        "Ann: Bob is right.": "Bob is right.", "Anna: I agree.": "Anna: I agree.", "My view: no.": "My view: no.",
        '"I agree."': "I agree.", "“I agree.”": "I agree.", 'Ann: "I agree."': "I agree.", '"Ann: I agree."': "I agree.",
        '"Yes" and "no"': '"Yes" and "no"', 'I say "no"': 'I say "no"', '"': '"', '""': "", "": "",
        "I agree.\nBob: No!": "I agree.", "I agree.\n\n  Bob : No!": "I agree.", "I agree.\r\nBob: No!": "I agree.",
        "I agree.\rBob: No!": "I agree.", "I agree.\u2028Bob: No!": "I agree.", "I agree.\n**Bob:** No!": "I agree.",
        "I agree.\nBOB: No!": "I agree.", "I agree.\n- Bob (angry): No!": "I agree.", "I agree.\nCid: So?\nBob: No!": "I agree.",
        "Bob: No!": "No!", "Bob: No!\nAnn: I agree.": "I agree.", '"Bob: No!"': "No!",
        "I agree.\nAnn: And more.": "I agree.", "I told Bob: no.": "I told Bob: no.",
        "I agree.\nDave: No!": "I agree. Dave: No!", "One.\nTwo.\n\n\tThree.": "One. Two. Three.",
        "I agree.\nBobby: No!": "I agree. Bobby: No!",
    }.items(),
)  # fmt: skip
def test_clean_speech(said: str, kept: str) -> None:
    """Ann, with Bob and Cid: her own label goes, and she ends where she starts to speak for one of them."""
    assert (
        clean_speech(
            said,
            "Ann",
            speaks_for(
                (
                    "Bob",
                    "Cid",
                )
            ),
        )
        == kept
    )


PIECES = ["Ann", "Bob", "Cid", ":", " ", "\n", "\r", "\u2028", "\x85", "\x0b", "**", '"', "yes", "(", ")", "\n\n"]


@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_no_speech_becomes_somebody_elses_line(text: str) -> None:
    """An injected line break and name would put words into another's mouth in every prompt that follows."""
    said = clean_speech(
        text,
        "Ann",
        speaks_for(
            (
                "Bob",
                "Cid",
            )
        ),
    )
    assert len(said.splitlines()) <= 1
    assert said == said.strip()
    assert not re.match(r"(?:Bob|Cid)\s*:", said)


def test_names_are_no_patterns() -> None:
    """A name with a dot or a bracket is a name."""
    assert clean_speech("J.R.: Yes.\nA(b: No.", "J.R.", speaks_for(("A(b",))) == "Yes."
    assert clean_speech("JxR.: Yes.", "J.R.", speaks_for(("A(b",))) == "JxR.: Yes."


@pytest.mark.parametrize(("party", "role"), [("default", "hear all sides out"), ("democrat", "win the others over")])
def test_a_structured_debate_has_a_case_a_question_and_roles(make: Make, party: str, role: str) -> None:
    """002, section 3.3: the scenario, the debate question; the neutral listens, partisans persuade. In one paragraph."""
    topic = load_topic("gun_violence")
    ann = make("Ann", "Bob", party=party, format="structured", known="Bob is a man.")
    told = sent(ann.compose_speech(1, "opening"))[-1].split("\n\n")
    assert len(told) == 2
    assert f"{topic.case} The question is: {topic.question} You are Ann; the other is Bob. {LIMIT[:-1]}," in told[0]
    assert role in told[0]
    assert told[0].endswith("Bob is a man.")


def test_statements_are_asked_for_in_their_own_words(make: Make) -> None:
    """And a closing replaced by an ordinary round is a reply like any other."""
    ann = make("Ann", "Bob", format="structured")
    assert "opening statement" in sent(ann.compose_speech(1, "opening"))[-1]
    ann.absorb_speech(Reply("We must act."))
    assert sent(ann.compose_speech(1))[-1] == f"user: {TURN}"
    assert "closing statement in at most 50 words" in sent(ann.compose_speech(1, "closing"))[-1]


@check_each(
    ("text", "cut", "left"),
    [
        ("One two. Three four. Five six.", "sentence", "One two. Three four."),
        ("One two three four five six.", "sentence", "One two three four…"),
        ('He said: "No." She left at once.', "sentence", 'He said: "No."'),
        ("One two. Three four. Five six.", "last", "Three four. Five six."),
        ("One two. Three four. Five six.", "none", "One two. Three four. Five six."),
        ("One two. Three four", "sentence", "One two. Three four"),
    ],
)
def test_a_reply_that_is_too_long(text: str, cut: str, left: str) -> None:
    """Cut after a sentence, or as the public code of the UCL study does; one that is short enough stays."""
    assert shortened(text, 4, cut) == left


@given(st.lists(st.text("ab.!? ", min_size=1), min_size=1, max_size=12).map(" ".join), st.integers(1, 6))
def test_a_cut_reply_is_never_too_long_nor_empty(text: str, words: int) -> None:
    for cut in ("sentence", "last"):
        left = shortened(text, words, cut)
        assert len(left.split()) <= words
        assert bool(left.strip()) == bool(text.strip())


def test_what_was_cut_is_not_remembered(make: Make) -> None:
    """Nobody hears the rest, the speaker neither."""
    ann = make("Ann", "Bob", cut="sentence")
    assert ann.absorb_speech(Reply("One two. " * 40)).text == " ".join(["One two."] * 25)
    assert sent(ann.compose_speech(1))[-2] == f"assistant: {' '.join(['One two.'] * 25)}"
