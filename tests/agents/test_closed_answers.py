"""The wall of closed answers: every ordinary form of a chat model, for every kind of question, in every language that is read.

What can be read is read in each kind alike; what cannot be read without guessing is refused in each kind alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.act_names import ACTS
from parley.agents.acts import read_act
from parley.agents.closed_answers import OPTIONS, read_choice, read_number
from parley.agents.language import ENGLISH
from parley.agents.persuasion import read_choice as read_better
from parley.agents.probe import scales
from parley.agents.respondent import read_option
from parley.agents.scales import read_rating
from parley.agents.social_choice import read_ranking
from parley.llm.request import Reply
from parley.llm.thinking import CALLS, THOUGHTS, split_thinking
from parley.studies.herding.members import HerdPlanner
from parley.studies.survey_prediction.asking import SurveyItem, read_prediction


class Kind(NamedTuple):
    """A kind of question: its reader, the answer that is said, another answer, and what the reader returns for the first."""

    read: Callable[[str], tuple[object, str | None]]
    said: str
    other: str
    value: object
    number: bool = False


PLANNER = HerdPlanner(ENGLISH, None, (0.6, 0.7), 0.6, 1.0, "right")  # type: ignore[arg-type]  # nothing is asked
POLL = ("A great deal", "Some", "Not much", "Nothing")
SEVERITY = scales()["severity_labelled"]
ITEM = SurveyItem("parks", "More parks?", ("yes", "no"))
KINDS = {
    "rating": Kind(lambda text: read_rating(text, scales()["severity_0_10"]), "7", "3", 7.0, True),
    "rating 1-7": Kind(lambda text: read_rating(text, scales()["agreement_1_7"]), "5", "2", 5.0, True),
    "label": Kind(lambda text: read_rating(text, SEVERITY), "serious", "trivial", 8.0),
    "option": Kind(lambda text: read_choice(text, OPTIONS), "B", "A", "B"),
    "letter of a poll": Kind(lambda text: read_option(Reply(text), POLL), "C", "A", "C"),
    "words of a poll": Kind(lambda text: read_option(Reply(text), POLL), "Not much", "Nothing", "C"),
    "letter and words": Kind(lambda text: read_option(Reply(text), POLL), "C. Not much", "A. A great deal", "C"),
    "questionnaire": Kind(lambda text: read_choice(text, ("a woman", "a man")), "a woman", "a man", "a woman"),
    "age": Kind(lambda text: read_choice(text, ("18-34", "35-54", "55 or older")), "35-54", "18-34", "35-54"),
    "prediction": Kind(lambda text: read_prediction(Reply(text), ITEM)[:2], "no", "yes", 0.0),
    "act": Kind(lambda text: read_act(text, ACTS), "share", "mute", "repost"),
    "act on a post": Kind(lambda text: read_act(text, ACTS), "like post 2", "mute", "like"),
    "post": Kind(lambda text: read_number(text, (1, 2, 4)), "2", "4", 2.0, True),
    "better of two": Kind(lambda text: read_better(Reply(text)), "1", "2", 1.0, True),
    "message": Kind(lambda text: read_better(Reply(text)), "message 2", "message 1", 0.0, True),
    "precision": Kind(lambda text: PLANNER.absorb(Reply(text)), "70", "60", 0.7, True),
    "ranking": Kind(lambda text: read_ranking(text, 3), "B > A > C", "C > B > A", (1, 0, 2)),
}  # fmt: skip
BARE = [
    "{x}", " {x}\n", "{x}.", "{x}!", "({x})", '"{x}"', "“{x}”", "'{x}'", "**{x}**", "**{x}**.", "*{x}*", "__{x}__",
    "`{x}`", "[{x}]", "> {x}", "- {x}", "```\n{x}\n```", "```json\n{{\"answer\": \"{x}\"}}\n```", '{{"answer": "{x}"}}',
    '{{"answer": "{x}", "reason": "It is not so easy."}}', '{{"Final_Answer": "{x}"}}', '{{"answer": "{x}", "reason": "It i',
    'Sure! Here is my answer:\n\n```json\n{{"answer": "{x}"}}\n```', '{{"name": "reply", "arguments": {{"answer": "{x}"}}}}',
    '{{"name": "reply", "parameters": "{{\\"answer\\": \\"{x}\\"}}"}}', r"\boxed{{{x}}}", r"$\boxed{{\text{{{x}}}}}$",
    "<answer>{x}</answer>", "<b>{x}</b>", "{x}</s>", "<|im_start|>assistant\n{x}<|im_end|>",
]  # fmt: skip
CHATTER = [
    "Sure! Here's my answer:\n\n**{x}**", "Sure: {x}", "Certainly! {x}", "Answer: {x}", "**Answer:** {x}",
    "Answer: **{x}**", "My answer: {x}.",
    "My answer is {x}.", "The answer is {x}.", "Final answer: {x}", "**Final answer:** {x}", "My final answer is {x}.",
    "Final answer:\n{x}",
    "I would say {x}.", "I'd say {x}.", "I'd say: {x}.", "I would answer {x}.", "I would choose {x}.", "I choose {x}.",
    "I'd go with {x}.",
    "I'd go with **{x}**.", "I will go with {x}.", "Okay, {x}.", "Well, {x}.", "Honestly, {x}.", "So, {x}.",
    "In my view: {x}", "I think: {x}",
    "I have thought about it.\n\n{x}", "I have thought about it for a while. My answer is {x}.",
    "Here is what I think.\n\nAnswer: {x}",
    "Let me weigh this.\n\nFinal answer: **{x}**",
]  # fmt: skip
REASONED = [
    "{x}\n\nThis fits who I am.", "{x}.\n\nThis fits who I am.", "**{x}**\n\nThat is how I feel about it.",
    "{x}, because I care about it.",
    "{x} because I care about it.", "{x} - it fits who I am.", "{x} – it fits who I am.", "{x}. It fits who I am.",
    "I would say {x}, because I care about it.", "Final answer: {x}\n\nReason: it fits who I am.",
    "Answer: {x}\nReason: it fits who I am.",
    "Sure, {x}.\n\nLet me know if you would like to hear more!", "{x}\n\n(As a mother, I care about it.)",
]  # fmt: skip
ELSEWHERE = {
    "de": ["Klar! Hier ist meine Antwort:\n\n**{x}**", "Antwort: {x}", "Meine Antwort ist {x}.",
    "Meine Antwort lautet: {x}", "Ich würde sagen: {x}.",
           "Endgültige Antwort: {x}", "{x}, weil mir das wichtig ist.", "{x}\n\nDas passt zu mir.", "Natürlich: {x}"],
    "fr": ["Bien sûr : {x}", "Réponse : {x}", "Ma réponse est {x}.", "Je dirais {x}.",
    "{x}, parce que c'est important.", "Réponse finale : {x}"],
    "es": ["Claro: {x}", "Respuesta: {x}", "Mi respuesta es {x}.", "Yo diría {x}.", "{x}, porque es importante.",
    "Respuesta final: {x}"],
}  # fmt: skip
FORMS = [*BARE, *CHATTER, *REASONED, *(form for forms in ELSEWHERE.values() for form in forms)]
REFUSED = [
    "", " \n", "null", "None", "N/A", '{{"answer": null}}', '{{"answer": ["{x}", "{y}"], "note": "{y}"}}',
    "{x} or {y}", "Either {x} or {y}.",
    "between {x} and {y}", "{x}\n{y}", "{x}/{y}", "I choose {x} or I choose {y}.",
    "Final answer: {x}\nFinal answer: {y}",
    '{{"answer": "{x}", "choice": "{y}"}}', "I would not choose {x}.", "Not {x}.", "It isn't {x}",
    "My answer is not {x}.", "Some would say {x}.",
    "My neighbor would say {x}.", "As an AI language model, I cannot take on this role.",
    "As an AI, I have no opinion.", "I'm sorry, but I can't help with that.",
    "Als KI-Sprachmodell habe ich keine Meinung.", "Both {x} and {y} have merit.", "It depends.", "I do not know.",
]  # fmt: skip


@check_each("name", KINDS)
def test_every_form_is_read_in_every_kind(name: str) -> None:
    """One reader, one grammar: a form that one kind of question can read, all can."""
    kind = KINDS[name]
    texts = {form: split_thinking(form.format(x=kind.said, y=kind.other))[0] for form in FORMS}
    assert {form: tuple(read) for form, text in texts.items() if (read := kind.read(text)) != (kind.value, None)} == {}
    assert len(FORMS) >= 60


@check_each("name", KINDS)
def test_what_is_ambiguous_is_refused_in_every_kind(name: str) -> None:
    """A guess would be data: a range, two answers, a denial, another person's answer, null and a refusal are none."""
    kind = KINDS[name]
    texts = {form: form.format(x=kind.said, y=kind.other) for form in REFUSED}
    read = {form: kind.read(text) for form, text in texts.items()}
    assert {form: tuple(found) for form, found in read.items() if found[0] is not None or not found[1]} == {}


@check_each("name", KINDS)
def test_thoughts_of_every_family_of_models_are_no_answers(name: str) -> None:
    kind = KINDS[name]
    for start, end in (*THOUGHTS, *CALLS):
        text = split_thinking(f"{start}Perhaps {kind.other}? Final answer: {kind.other}{end}\n\n{kind.said}")[0]
        assert kind.read(text) == (kind.value, None), start
        assert kind.read(split_thinking(f"{start}Perhaps {kind.said}")[0])[0] is None, start


DIGITS = {"Arabic-Indic": "٠١٢٣٤٥٦٧٨٩", "Devanagari": "०१२३४५६७८९", "full-width": "０１２３４５６７８９"}


@check_each("name", [name for name, kind in KINDS.items() if kind.number])
def test_numerals_of_other_scripts_are_numbers(name: str) -> None:
    kind = KINDS[name]
    for digits in DIGITS.values():
        other = kind.said.translate({ord(str(place)): digit for place, digit in enumerate(digits)})
        for form in ("{x}", "**{x}**.", "Answer: {x}", "I would say {x}."):
            assert kind.read(form.format(x=other)) == (kind.value, None), form.format(x=other)


@check_each(
    "text",
    ["七", "七分", "7分", "我打七分。", "答案：七", "我认为是七", "我给七分", "**七**", "评分：7分", "我的评分是7"],
)
def test_chinese_numerals_are_numbers(text: str) -> None:
    """Only where an answer stands: the numeral one is also the article of most sentences."""
    assert read_rating(text, scales()["severity_0_10"]) == (7.0, None)
    assert read_rating("这是一个非常大的问题", scales()["severity_0_10"]).value is None
    assert [read_rating(text, scales()["severity_0_10"]).value for text in ("十", "十一", "零")] == [10.0, None, 0.0]


OPTION = {
    "A": "A", "b": "B", " B.\n": "B", "(B)": "B", "Option A": "A", "option b": "B", "Option B.": "B",
    "I would choose option A": "A",
    "A, because my check says so": "A", "A, because B was chosen by a few only": "A",
    "B because all others chose it": "B",
    "A\nMy check points to A.": "A", "After the others, I pick A.": "A",
    "I do not trust the others, so I choose A.": "A",
    "A: my own check": "A", "Ich wähle B.": "B", "Antwort: A": "A", "B, weil alle es wählen": "B", "B, not A.": "B",
    "It's not A, it's B.": "B", "B is my choice.": "B", "As a nurse, I'd pick B over A.": "B",
    "A: cheap. B: fair.\nFinal answer: B": "B",
    "Ich würde B nehmen.": "B", "Ich entscheide mich für A.": "A", "Je choisis B.": "B", "Elijo la opción B.": "B",
    "B?": "B",
    "Great question! I'd go with option B here.": "B", "The better choice is A.": "A",
    "Option A is the better choice.": "A",
    None: "empty", "7": "no_answer", "The first one": "no_answer", "AB": "no_answer", "a": "A",
    "a good one": "no_answer",
    "A check is a check.": "unclear_answer", "A good choice is hard.": "unclear_answer",
    "My check points to B": "unclear_answer",
    "I would not choose A": "denied_answer", "A, B": "several_answers", "A - B": "several_answers",
    "A-B": "several_answers",
    "A? No, B.": "several_answers", "I was going to say A, but I choose B.": "B",
    "A\n\nFinal answer: B": "several_answers",
    "Option A is not my choice": "denied_answer", "B" * 20_001: "too_long",
    "I cannot choose between A and B.": "several_answers",
}  # fmt: skip
"""The letter A is also a word, and a letter after a sentence is one as well; neither must ever become a choice."""


@check_each(("text", "expected"), OPTION.items())
def test_options(text: str | None, expected: str) -> None:
    assert read_choice(text, OPTIONS) == ((expected, None) if expected in OPTIONS else (None, expected))


@check_each(
    "text",
    [
        "Which one?\n1\n2. This is the opposite of 1.",
        "1. 2. This is the opposite of 1.",
        "1. Message one is clear.\n2. It is fair.",
    ],
)
def test_a_list_of_both_messages_is_no_choice(text: str) -> None:
    """SmolLM2 wrote the first two, and a number on a line of its own was taken for the answer."""
    assert read_number(text, (1, 2)).value is None


NINE = tuple("ABCDEFGHI")


@check_each(
    ("text", "letter"),
    [("I", "I"), ("I.", "I"), ("I, as a father, say C.", None), ("I think it is C.", "C"), ("C. I am sure.", "C")],
)
def test_the_ninth_letter_is_also_a_word(text: str, letter: str | None) -> None:
    assert read_choice(text, NINE).answer == letter


REASONS = {"empty", "too_long", "refusal", "no_answer", "several_answers", "denied_answer", "unclear_answer"}
PIECES = [
    "A",
    "B",
    "a",
    " or ",
    ", ",
    ". ",
    "\n",
    "not ",
    "I choose ",
    "answer: ",
    '{"answer": "',
    '"}',
    "**",
    "(",
    ")",
    "-",
    "some say ",
]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_text_gives_an_allowed_answer_or_a_documented_reason(text: str) -> None:
    answer, reason = read_choice(text, OPTIONS)
    assert answer in OPTIONS if reason is None else answer is None and reason in REASONS
    assert [reason for reason in REASONS if reason not in str(read_choice.__doc__)] == []
