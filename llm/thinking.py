"""What a model writes besides its answer: thoughts, calls of tools, and the control tokens of its chat template.

The marks are data: a new family of models needs a line in THOUGHTS, CALLS or ENDS.
"""

from __future__ import annotations

import re

Marks = tuple[tuple[str, str], ...]
THOUGHTS: Marks = (
    ("<think>", "</think>"),  # DeepSeek R1, Qwen 3, GLM, MiniMax
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),  # EXAONE
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<scratch_pad>", "</scratch_pad>"),  # Hermes
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("[THINK]", "[/THINK]"),  # Magistral, Ministral
    ("◁think▷", "◁/think▷"),  # Kimi
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # Sky-T1, OpenThinker
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<unused94>thought", "<unused95>"),  # MedGemma
)
"""How thoughts begin and end. Small and capital letters count alike in angle brackets."""
CALLS: Marks = (
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<function_call>", "</function_call>"),
    ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    ("<|tool_call_begin|>", "<|tool_call_end|>"),
    ("<|START_ACTION|>", "<|END_ACTION|>"),
)
"""The same for calls of tools: no one has offered any."""
ENDS = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|endoftext|>", "<|end_of_text|>", "<|return|>", "<|call|>",
    "<|end_of_solution|>", "<|END_RESPONSE|>", "<|END_OF_TURN_TOKEN|>", "<end_of_turn>", "<turn|>", "<eos>",
    "<｜end▁of▁sentence｜>",
)  # fmt: skip
"""What ends a turn: a server that goes on behind it writes the turn of another."""
CHANNEL, MESSAGE, FINAL = "<|channel|>", "<|message|>", "final"
"""The channels of gpt-oss (harmony): `<|channel|>analysis<|message|>...<|end|><|channel|>final<|message|>...`"""
BARE, BARE_FINAL = "analysis", "assistantfinal"
"""The same where a server strips control tokens: `analysisThe user asks ... assistantfinalI think ...`"""
_CLOSED_BY = {start.lower(): (end.lower(), pairs) for pairs in (THOUGHTS, CALLS) for start, end in pairs}
_CLOSES = dict(_CLOSED_BY.values())
_MARK = re.compile("|".join(
    f"(?i:{re.escape(mark)})" if mark.startswith("<") else re.escape(mark) for pair in (*THOUGHTS, *CALLS) for mark in pair
))  # fmt: skip
_END = re.compile("|".join(map(re.escape, ENDS)))
_CONTROL = (
    r"<\|(?:im_start|start|start_header_id)\|>(?:assistant|model)?(?:<\|end_header_id\|>)?\s?+|<start_of_turn>(?:model)?\s?+"
    r"|<\|[A-Za-z0-9_]{1,40}\|>|<｜[^｜<>\s]{1,40}｜>|\[/?INST\]|<(?:pad|unk|bos|s)>"
)
_CONTROLS = re.compile(_CONTROL)
_BEGINNING = re.compile(rf"(?:\s*+(?:{_CONTROL}|{_END.pattern}|<(?:answer|response)>))+")
_ENDING = re.compile(r"(?:</(?:answer|response|s)>\s*+)+$")


def split_thinking(text: str) -> tuple[str, str]:
    """Return the answer in a reply, and the thoughts and calls of tools in it. A thought that does not end leaves no answer.

    All before a mark that ends a thought is one, because many chat templates write the mark that begins it.

    >>> split_thinking("<think>Let me see.</think> Yes."), split_thinking("[THINK]Let me"), split_thinking("Yes.")
    (('Yes.', 'Let me see.'), ('', 'Let me'), ('Yes.', ''))
    """
    if not any(map(text.__contains__, "<[◁")) and BARE_FINAL not in text and not text.lstrip().startswith(BARE):
        return text, ""
    public, hidden = _split_channels(text)
    answer, thoughts = _split_marks(public)
    answer = _without_control_tokens(answer)
    shown = answer if answer == text else answer.lstrip()
    return shown, "\n".join(filter(None, map(str.strip, (*hidden, *thoughts))))


def _split_channels(text: str) -> tuple[str, list[str]]:
    """Return what is in the channel `final`, and what is in others; of a text without channels the text and nothing."""
    bare = text.lstrip()
    if bare.startswith(BARE) and BARE_FINAL in bare:
        thought, _, answer = bare.removeprefix(BARE).partition(BARE_FINAL)
        return answer, [thought]
    if bare.startswith(BARE_FINAL):
        return bare.removeprefix(BARE_FINAL), []
    if bare.startswith(BARE) and bare[len(BARE) : len(BARE) + 1].isupper():  # cut off before the answer
        return "", [bare.removeprefix(BARE)]
    before, *channels = text.split(CHANNEL)
    if MESSAGE in before:  # the prompt had the mark of the channel
        before, channels = "", [before, *channels]
    if not channels:
        return text, []
    answers, thoughts = [before], list[str]()
    if end := _END.search(before):  # the template wrote where the thought begins
        answers, thoughts = [], [before[: end.start()]]
    for channel in channels:
        head, marker, body = channel.partition(MESSAGE)
        body = _END.split(body, maxsplit=1)[0].partition("<|start|>")[0]
        (answers if marker and head.split()[:1] == [FINAL] else thoughts).append(body if marker else head)
    return "".join(answers), thoughts


def _split_marks(text: str) -> tuple[str, list[str]]:
    """Return a text without what is between marks, and that. A mark inside a thought or a call belongs to it."""
    answers, thoughts, start = list[str](), list[str](), 0
    closing, kind = "", Marks()  # of the thought or call that is open
    for match in _MARK.finditer(text):
        mark = match[0].lower()
        if closing and _CLOSES.get(mark) is not kind:
            continue
        between, start = text[start : match.start()], match.end()
        if mark in _CLOSED_BY and not closing:
            answers.append(between)
            closing, kind = _CLOSED_BY[mark]
        elif closing:
            thoughts.append(between)
            closing, kind = "", Marks()
        else:
            thoughts.append("".join([*answers, between]))
            answers.clear()
    (thoughts if closing else answers).append(text[start:])
    return "".join(answers), thoughts


def _without_control_tokens(text: str) -> str:
    """Return a text up to where its turn ends, without control tokens and the tags of an answer around it."""
    begun = text[match.end() :] if (match := _BEGINNING.match(text)) else text
    ended = begun[: match.start()] if (match := _END.search(begun)) else begun
    return _ENDING.sub("", _CONTROLS.sub("", ended))
