"""A topic in one line: the survey questions that follow from a question or a statement.

The questions follow from the language's own_topic.toml.

    --topic "Should cities ban cars from their centres?"      its claim: the answer to "Should cities ...?" is yes
    --topic "Cities should ban cars from their centres."      its claim: "Cities should ban cars from their centres" is right
"""

from __future__ import annotations

from typing import Any

from parley.agents.datafiles import quoted
from parley.agents.language import Language
from parley.agents.society import US, Society, is_sentence
from parley.llm.errors import UserError

FILE = "own_topic"
LONGEST = 300
"""Characters of the longest line."""
ABOUT = """# {heading}
# Its 0-10 axis is agreement. A probe has a scale of agents/languages/{language}/scales.toml; polarity = -1 where a high answer
# means a low attitude. high_party names the party that rates higher, if there is one. Debate it with --topic FILE.
"""


def split_topics(text: str) -> tuple[str, ...]:
    """Return the topics of a text with commas, each once. A comma inside a sentence divides nothing.

    >>> split_topics("racism,Should towns, cities and villages ban cars?,./mine.toml")
    ('racism', 'Should towns, cities and villages ban cars?', './mine.toml')
    """
    return tuple(dict.fromkeys(_parts(text)))


def _parts(text: str) -> list[str]:
    topics: list[str] = []
    for part in text.split(","):
        if topics and " " in topics[-1] and not is_sentence(topics[-1]) and not topics[-1].endswith(".toml"):
            topics[-1] = f"{topics[-1]},{part}".rstrip()
        elif part.strip():
            topics.append(part.strip())
    return topics


class TopicList:
    """What a field of topics takes: names, paths and sentences, as one text or as a list."""

    @staticmethod
    def open(value: Any) -> tuple[str, ...]:
        """Errors: UserError."""
        topics = _parts(value) if isinstance(value, str) else value
        if not isinstance(topics, list | tuple) or not all(isinstance(topic, str) for topic in topics):
            raise UserError(f"topic is {value!r}, but must be a list of names")
        return tuple(topics)


def derive_topic(line: str, language: Language) -> dict[str, Any]:
    """Return what the file of a topic would hold (agents/topic.py): title, axis, question and probes.

    Errors: UserError for a question that yes or no does not answer, a line too long, and a language without own_topic.toml.
    """
    if len(line) > LONGEST or set(line) & set("{}\n"):
        raise UserError(f"a topic must be one line of at most {LONGEST} characters without braces: shorten it")
    forms, is_question, first = language.data(FILE), line.endswith("?"), line.split()[0].lower()
    is_proposal = is_question and first in forms["proposals"]
    if is_question and not is_proposal and first not in forms["yes_or_no"]:
        raise UserError(
            f'a debate needs a yes-or-no question, such as "{forms["example"]}", or a statement, not "{line}"'
        )
    kind = forms["question" if is_question else "statement"]
    text = line if is_question else line.rstrip(".!")
    title, claim = (kind[name].replace("{text}", text) for name in ("title", "claim"))
    asked = forms["probes"] | (forms["proposal"] if is_proposal else {})
    probes = {
        name: {"construct": "agreement"}
        | {key: form.replace("{claim}", claim).replace("{text}", text) for key, form in probe.items()}
        for name, probe in asked.items()
    }
    question = line if is_question else forms["asked"].replace("{text}", text)
    return {"title": title, "axis": "agreement", "high_party": "", "question": question, "probes": probes, "line": line}


def topic_text(line: str, society: Society) -> str:
    """Return the text of a topic's file that holds what `derive_topic` returns, to be edited. Errors: UserError."""
    values = derive_topic(line, society.language)
    probes = values.pop("probes")
    del values["line"]
    if society.name != US:
        values["society"] = society.name
    tables = [[f"[probes.{name}]", *_entries(probe)] for name, probe in probes.items()]
    about = ABOUT.format(heading=line, language=society.language.code)
    return about + "\n\n".join("\n".join(table) for table in (_entries(values), *tables)) + "\n"


def _entries(values: dict[str, Any]) -> list[str]:
    return [f"{key} = {quoted(value)}" for key, value in values.items()]
