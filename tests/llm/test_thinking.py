"""What a model thinks is neither spoken nor read as its answer, whatever family it is of; ordinary text stays as it is."""

from __future__ import annotations

from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.probe import scales
from parley.agents.scales import read_rating
from parley.llm.thinking import CALLS, THOUGHTS, split_thinking

THOUGHT, ANSWER = "They said 3, so I say <b> it is", "Crime is bad. 7"
CHANNELS = {
    f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>",
    f"analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}",
    f"{THOUGHT}<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{ANSWER}",
    f"<|channel|>commentary to=functions.x<|message|>{THOUGHT}<|call|><|channel|>final<|message|>{ANSWER}<|end|>",
    f"analysis{THOUGHT}assistantfinal{ANSWER}",
}
PLAIN = [
    "", " ", "Yes. ", "analysis of crime shows 3 things", "Analysis: crime is bad", "analysis", "final analysis: 7",
    "a < b and c > d",
    "I think [sic] so", "<b>7</b>", "[thinks] Well, 7.", "<think is no mark", "He said <nothing>.", "x <| y |> z", "3 <5", "[7]",
    "I agree.\n\n<small>Ann</small>", "the analysis\nassistant finally agreed", "<p>One</p><p>Two</p>", "◁ 7 ▷",
]  # fmt: skip


@check_each("pair", [*THOUGHTS, *CALLS])
def test_thoughts_and_calls_are_taken_out(pair: tuple[str, str]) -> None:
    """Whole, unclosed (cut by length), without their beginning (the template wrote it), after some words, and in capitals."""
    start, end = pair
    assert split_thinking(f"\n{start}\n{THOUGHT}\n{end}\n\n{ANSWER}") == (ANSWER, THOUGHT)
    assert split_thinking(f"{start}{THOUGHT}") == ("", THOUGHT)
    assert split_thinking(f"{THOUGHT}{end}{ANSWER}") == (ANSWER, THOUGHT)
    assert split_thinking(f"{ANSWER}{start}{THOUGHT}{end}") == (ANSWER, THOUGHT)
    assert split_thinking(f"{start}a{end}{start}b{end}{ANSWER}") == (ANSWER, "a\nb")
    if start.startswith("<"):
        assert split_thinking(f"{start.upper()}{THOUGHT}{end.upper()}{ANSWER}") == (ANSWER, THOUGHT)


@check_each("text", CHANNELS)
def test_only_the_final_channel_is_the_answer(text: str) -> None:
    assert split_thinking(text) == (ANSWER, THOUGHT)


@check_each(
    "text",
    [f"<|channel|>analysis<|message|>{THOUGHT}", f"analysis{THOUGHT}", f"<|start|>assistant<|channel|>{THOUGHT}"],
)
def test_a_channel_that_is_cut_off_leaves_no_answer(text: str) -> None:
    assert split_thinking(text) == ("", THOUGHT)


def test_a_mark_inside_a_thought_belongs_to_it() -> None:
    assert split_thinking("<think>a <tool_call>b</tool_call> <think> c</think>7") == (
        "7", "a <tool_call>b</tool_call> <think> c",
    )  # fmt: skip


@check_each("text", PLAIN)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert split_thinking(text) == (text, "")


@given(st.text(st.characters(exclude_characters="<[◁")))
def test_text_without_marks_stays_as_it_is(text: str) -> None:
    if not text.lstrip().startswith(("analysis", "assistantfinal")):
        assert split_thinking(text) == (text, "")


CONTROLS = {
    "<|im_start|>assistant\nYes.<|im_end|>\n<|im_start|>user\nNo.": "Yes.", "Yes.</s>": "Yes.", "<s> Yes.": "Yes.",
    "<|start_header_id|>assistant<|end_header_id|>\n\nYes.<|eot_id|>": "Yes.", "Yes.<｜end▁of▁sentence｜>User: No.": "Yes.",
    "<start_of_turn>model\nYes.<end_of_turn>\n<start_of_turn>user": "Yes.", "<answer>Yes.</answer>": "Yes.", "[INST]Yes.": "Yes.",
    "<|begin_of_solution|>\nYes.\n<|end_of_solution|>": "Yes.\n", "<|im_end|>": "",
}  # fmt: skip


@check_each("text, answer", list(CONTROLS.items()))
def test_control_tokens_are_no_words(text: str, answer: str) -> None:
    """A server that leaves them in has the model speak of `<|im_end|>`, and then write the next turn of somebody else."""
    assert split_thinking(text) == (answer, "")


@check_each("pair", THOUGHTS)
def test_a_number_in_a_thought_is_no_rating(pair: tuple[str, str]) -> None:
    scale = scales()["severity_0_10"]
    whole, cut = (split_thinking(f"{pair[0]}They said 3{end}")[0] for end in (f"{pair[1]}7", ""))
    assert read_rating(whole, scale).value == 7
    assert read_rating(cut, scale).reason == "empty"
