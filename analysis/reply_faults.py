"""What is wrong with single replies of a debate: copies, slips of identity, replies cut off, replies in another language.

A five-word phrase (`PHRASE`) of a reply is a copy if an earlier line of its room has it; a reply whose phrases are mostly copies
(`COPIED`) repeats the debate. The null is the same reply against the earlier lines of other rooms on the same topic: what people
who never met say alike. Patterns are data of the language (identity.toml).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache

import pandas as pd

from parley.agents.language import Language
from parley.agents.memory import words
from parley.agents.society import Society
from parley.analysis.sent_prompts import persona_texts
from parley.analysis.tables import Tables
from parley.llm.errors import UserError

PHRASE = 5
COPIED = 0.5
SHIFTS = 5
"""The most other rooms against which the null of a room is measured."""
FEWEST = 12
"""Words of a reply from which on its language, and whether it is cut off, can be recognised."""
COMMON = 0.1
"""The least share of a language's commonest words in a reply of that language."""
PHRASES = 4
"""The fewest phrases of a reply of which a share is formed: people say short things twice ("There is no evidence of that.")."""
_WORD = re.compile(r"\w+")
SEARCHED = 200
"""Up to so many names of a room are looked for anywhere in a text, as in a language that is written without spaces."""
_END = re.compile(r"[.!?…。！？—–-][\W_]*$")

Phrase = tuple[str, ...]
SEAT = ["room", "iteration"]
MEASURED = 20_000
"""The most turns whose replies are measured; of more, each k-th one is (`sampled`)."""
TURNS = "turns"
"""The attribute of a table of some turns: how many the run has."""


def reply_faults(tables: Tables) -> pd.DataFrame:
    """Return a row per turn that an agent was asked for, with what is wrong with its reply.

    Columns: topic, group, room, round, iteration, party, reason (why there is no text), and of replies with text (NaN where it
    cannot be known):
    copied       share of its phrases in earlier lines of the room
    copied_own, copied_others   the same in lines of the agent itself, and of others
    copied_null  the mean of such shares in earlier lines of other rooms on the topic
    looped       share of its phrases that it says again
    relabelled   1 if the label of another agent in front was cut
    slipped      1 if the agent says that it is another one of its room, or of another party, or not of its own, or speaks of
                 itself in the third person
    recited, recited_null   1 for a phrase of its persona, or of another persona, in the second person
    unended      1 if it ends within a sentence
    foreign      1 if it is not in the language of the run

    Of more than MEASURED turns a part is measured: the attribute TURNS of the table is then how many turns there are.
    """
    turns = sampled(tables.replies)
    frame = turns[["topic", "group", "room", "round", *SEAT[1:], "party", "reason"]].reset_index(drop=True)
    has_text = turns["text"].notna().to_numpy()
    for name, values in {**_copies(tables, turns), **_flags(tables, turns)}.items():
        frame[name] = pd.Series(list(values), dtype="float64").where(has_text)
    frame.attrs = dict(turns.attrs)
    return frame


def sampled(turns: pd.DataFrame) -> pd.DataFrame:
    """Return the turns; of more than MEASURED a systematic sample, each k-th one from the first in the order of the record.

    >>> len(sampled(pd.DataFrame({"iteration": range(50_000)}))), sampled(pd.DataFrame({"iteration": range(50_000)})).attrs
    (16667, {'turns': 50000})
    """
    step = -(-len(turns) // MEASURED)
    if step <= 1:
        return turns
    part = turns.iloc[::step].copy()
    part.attrs[TURNS] = len(turns)
    return part


def sample_sentence(measured: pd.DataFrame) -> str:
    """Return how many of the turns were measured, from a table with the attribute TURNS; "" where all were."""
    turns = measured.attrs.get(TURNS, 0)
    step = -(-turns // MEASURED)
    return (
        f"The shares are measured on {-(-turns // step):,} of {turns:,} turns: one in {step:,}, in the order of the record."
        if turns
        else ""
    )


def phrases(text: str) -> list[Phrase]:
    """Return the phrases of PHRASE words of a text, in order.

    >>> phrases("We need to act now, really.")
    [('we', 'need', 'to', 'act', 'now'), ('need', 'to', 'act', 'now', 'really')]
    """
    text_words = words(text)
    return list(zip(*(text_words[place:] for place in range(PHRASE)), strict=False))


class _Lines:
    """The lines of a room: when each phrase was said first, by whom, when by another agent, and when by each agent.

    wanted: by agent the phrases of its measured replies, which alone are looked for; None: all.
    """

    def __init__(self, lines: pd.DataFrame, wanted: Mapping[int, Set[Phrase]] | None = None):
        everything = None if wanted is None else set().union(*wanted.values())
        self.group, self.opened = str(lines["group"].iloc[0]), int(lines["iteration"].min())
        self.first = dict[Phrase, tuple[int, int]]()
        self.by_another, self.by = dict[Phrase, int](), dict[tuple[int, Phrase], int]()
        for agent, turn, text in zip(lines["agent"], lines["iteration"], lines["text"], strict=True):
            said, own = phrases(text), None if wanted is None else wanted.get(agent, frozenset())
            for phrase in said if everything is None else everything.intersection(said):
                if self.first.setdefault(phrase, (turn, agent))[1] != agent:
                    self.by_another.setdefault(phrase, turn)
                if own is None or phrase in own:
                    self.by.setdefault((agent, phrase), turn)

    def share(self, reply_phrases: Sequence[Phrase], before: int) -> float:
        """Return the share of phrases that were said before a turn; NaN without phrases, or where nothing was said before."""
        return _share(
            [self.first.get(phrase, (before, 0))[0] < before for phrase in reply_phrases], self.opened < before
        )

    def shares_by(self, reply_phrases: Sequence[Phrase], before: int, agent: int) -> tuple[float, float]:
        """Return the share of phrases that the agent said before a turn, and the share that others said."""
        by_agent = [self.by.get((agent, phrase), before) < before for phrase in reply_phrases]
        heard = [self._by_others(phrase, before, agent) < before for phrase in reply_phrases]
        return _share(by_agent, self.opened < before), _share(heard, self.opened < before)

    def _by_others(self, phrase: Phrase, before: int, agent: int) -> int:
        """Return the turn in which another agent said a phrase first; `before` where none did."""
        turn, speaker = self.first.get(phrase, (before, agent))
        return self.by_another.get(phrase, before) if speaker == agent else turn


def _share(flags: Sequence[bool], comparable: bool = True) -> float:
    return sum(flags) / len(flags) if flags and comparable else float("nan")


def _copies(tables: Tables, turns: pd.DataFrame) -> dict[str, list[float]]:
    """Return the shares of copied phrases of each turn, by column."""
    heard = tables.utterances.dropna(subset="text")
    wanted = None
    if TURNS in turns.attrs:  # of millions of lines only the phrases of the sample are kept
        wanted = defaultdict[int, set[Phrase]](set)
        for agent, text in zip(turns["agent"], turns["text"], strict=True):
            wanted[agent].update(phrases(text) if isinstance(text, str) else ())
    rooms = {name: _Lines(lines, wanted) for name, lines in heard.groupby("room", sort=False)}
    others = _other_rooms(rooms, turns)
    columns: dict[str, list[float]] = {"copied": [], "copied_own": [], "copied_others": [], "copied_null": []}
    for room, agent, turn, text in zip(turns["room"], turns["agent"], turns["iteration"], turns["text"], strict=True):
        reply_phrases = phrases(text) if isinstance(text, str) else []
        reply_phrases = reply_phrases if len(reply_phrases) >= PHRASES else []
        own_share, others_share = (
            rooms[room].shares_by(reply_phrases, turn, agent) if reply_phrases else (float("nan"), float("nan"))
        )
        columns["copied"].append(rooms[room].share(reply_phrases, turn) if reply_phrases else float("nan"))
        columns["copied_own"].append(own_share)
        columns["copied_others"].append(others_share)
        null = (
            [rooms[other].share(reply_phrases, turn) for other in others[room]]
            if reply_phrases and turn > rooms[room].opened
            else []
        )
        columns["copied_null"].append(pd.Series(null, dtype="float64").mean())
    return columns


def _other_rooms(rooms: Mapping[str, _Lines], turns: pd.DataFrame) -> dict[str, list[str]]:
    """Return the rooms against which each room's null is measured: the next ones on its topic, of its group if there are any."""
    null_rooms: dict[str, list[str]] = {}
    topics = turns.drop_duplicates("room").set_index("room")["topic"]
    for _, names in topics.groupby(topics, sort=False):
        here = [name for name in names.index if name in rooms]
        for place, room in enumerate(here):
            after = [*here[place + 1 :], *here[:place]]
            alike = [name for name in after if rooms[name].group == rooms[room].group]
            null_rooms[room] = (alike or after)[:SHIFTS]
    return defaultdict(list, null_rooms)


def _flags(tables: Tables, turns: pd.DataFrame) -> dict[str, Iterable[float]]:
    texts = ["" if not isinstance(text, str) else text for text in turns["text"]]
    society = _society(tables)
    reply_phrases = [phrases(text) for text in texts]
    return {
        "looped": [
            1 - len(set(turn_phrases)) / len(turn_phrases) if len(turn_phrases) >= PHRASES else float("nan")
            for turn_phrases in reply_phrases
        ],
        "relabelled": turns["mended"].notna().astype(float),
        "slipped": _slips(tables, turns, texts, society),
        "unended": [float(not _END.search(text)) if len(words(text)) >= FEWEST else float("nan") for text in texts],
        "foreign": [float("nan") if society is None else is_foreign(text, society.language) for text in texts],
        **_recitals(tables, turns, texts, society),
    }


def _society(tables: Tables) -> Society | None:
    """Return the society of a run; None where it is not known here, or has no patterns (identity.toml)."""
    try:
        society = tables.society
        society.language.data("identity")
    except UserError:
        return None
    return society


def is_foreign(text: str, language: Language) -> float:
    """Return 1 for a text that is not in a language, 0 for one that is, NaN where it is too short to tell.

    >>> from parley.agents.language import ENGLISH
    >>> is_foreign("Das Klima ist für mich kein Thema, und ich sehe nicht ein, warum wir das alles zahlen.", ENGLISH)
    1.0
    """
    letters = [letter for letter in text if letter.isalpha()]
    if sum(letter > "\u024f" for letter in letters) > len(letters) / 2:  # not in Latin letters
        return 1.0
    text_words, common = words(text), frozenset(language.data("identity")["common"])
    return (
        float("nan")
        if len(text_words) < FEWEST
        else float(sum(word in common for word in text_words) < COMMON * len(text_words))
    )


def _slips(tables: Tables, turns: pd.DataFrame, texts: Sequence[str], society: Society | None) -> Iterator[float]:
    """Yield 1 for a reply in which the agent says that it is someone else of its room, of another party, or not of its own."""
    seated = {room: _Names(seats["name"]) for room, seats in tables.agents.groupby("room")}
    for room, name, party, text in zip(turns["room"], turns["name"], turns["party"], texts, strict=True):
        if society is None:
            yield float("nan")
            continue
        forms = society.language.data("identity")
        # only names in the text can be claimed: a pattern of all names of a large room takes a tenth of a second to make
        met = seated[room].met(text)
        labels = {code: description.label for code, description in society.parties.items()}
        own_labels = (labels[party],) if party in labels else ()
        slips = [
            claim_pattern(tuple(forms["is_name"]), "{name}", tuple(sorted(met - {name}))),
            claim_pattern(tuple(forms["is_party"]), "{party}", tuple(sorted({*labels.values()} - {*own_labels}))),
            claim_pattern(tuple(forms["is_not_party"]), "{party}", own_labels),
            claim_pattern(tuple(forms.get("third_person", ())), "{name}", tuple(met & {name})),
        ]
        yield float(any(slip.search(text) for slip in slips if slip))


class _Names:
    """The names of the people of a room, and which of them a text has.

    >>> sorted(_Names(["Ann", "Ann Lee", "Bob", None]).met("Ann Lee is right."))
    ['Ann', 'Ann Lee']
    """

    def __init__(self, names: Iterable[object]):
        self.names = {name for name in names if isinstance(name, str)}
        self.by_words = defaultdict[Phrase, set[str]](set)
        for name in self.names if len(self.names) > SEARCHED else ():
            self.by_words[tuple(_WORD.findall(name))].add(name)
        self.longest = max(map(len, self.by_words), default=0)

    def met(self, text: str) -> set[str]:
        """Return the names in a text. Of many names, those whose words stand alone in it: there is no time to try all."""
        if not self.by_words:
            return {name for name in self.names if name in text}
        said = _WORD.findall(text)
        parts = {
            tuple(said[start:end])
            for end in range(1, len(said) + 1)
            for start in range(max(0, end - self.longest), end)
        }
        return {name for part in parts for name in self.by_words.get(part, ()) if name in text}


@cache
def claim_pattern(forms: tuple[str, ...], slot: str, names: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern for forms such as `as a {party}` with one of the names, which keep their capitals; None without names."""
    if not names or not forms:
        return None
    named = rf"(?-i:{'|'.join(map(re.escape, names))})"
    return re.compile("|".join(rf"\b{form.replace(slot, named)}\b" for form in forms), re.I)


def _recitals(
    tables: Tables, turns: pd.DataFrame, texts: Sequence[str], society: Society | None
) -> dict[str, list[float]]:
    """Return whether each reply has a phrase of the agent's persona in the second person, and of another persona's."""
    personas = persona_texts(tables) if society is not None else {}
    you = frozenset(society.language.data("identity")["you"]) if society is not None else frozenset()
    told = {persona: {phrase for phrase in phrases(text) if you & set(phrase)} for persona, text in personas.items()}
    people = tables.agents.set_index(["room", "agent"])["persona"]
    seated = [person for person in people.unique() if person in told]
    after = dict(zip(seated, [*seated[1:], *seated[:1]], strict=True))
    columns: dict[str, list[float]] = {"recited": [], "recited_null": []}
    for room, agent, text in zip(turns["room"], turns["agent"], texts, strict=True):
        reply_phrases, person = set(phrases(text)), people.get((room, agent))
        for name, of in (("recited", person), ("recited_null", after.get(person))):
            columns[name].append(float(bool(reply_phrases & told[of])) if of in told else float("nan"))
    return columns


FORCED = "choice"
"""The way in which a schema allows no other reply (llm/backends/openai)."""
LOW = 0.1
"""Below this median probability of the allowed answers a summary warns."""


def ways_read(ratings: pd.DataFrame) -> str:
    """Return how ratings were read, and the median probability of the allowed answers: `strict, exact: 45; ...`."""
    ways = "; ".join(f"{way}: {count:,}" for way, count in ratings["how"].value_counts().items())
    covered = ratings["covered"].dropna()
    if covered.empty:
        return ways
    return f"{ways}; probability of the allowed answers: median {_percent(covered.median())}, lowest {_percent(covered.min())}"


def warnings(ratings: pd.DataFrame) -> Iterator[str]:
    """Yield that answers were forced, or that the allowed answers were improbable."""
    forced = ratings[ratings["how"].str.endswith(f", {FORCED}")]
    covered = ratings["covered"].drop(forced.index).dropna()
    if len(forced):
        yield f"**{_out_of(len(forced), len(ratings))} were forced by a schema**, {_instead(forced['covered'].dropna())}."
    if len(covered) and covered.median() < LOW:
        yield (
            f"**The allowed answers had only {_percent(covered.median())} of the model's probability** (median over "
            "ratings), so the model would mostly have answered something else. Read the model's replies "
            "(`transcript.md`) before you trust the model's ratings."
        )


def improbable_ways(order: pd.DataFrame) -> Iterator[str]:
    """Yield in which ways of asking the allowed answers were improbable. order: of a qualification (measures.planted_order)."""
    for way, covered in order.groupby("way", sort=False)["covered"].median().items():
        if covered < LOW:
            yield (
                f"**Asked in {way}, the allowed answers had only {_percent(covered)} of the model's probability** "
                "(median), so a run that asks in this way has the same warning."
            )


def _instead(covered: pd.Series) -> str:
    if covered.empty:
        return (
            "so it is unknown what the model itself would have answered, and a complete table of ratings proves nothing"
        )
    return f"and without the schema the model would have answered something else in {_percent(1 - covered.mean())} of cases"


def _out_of(count: int, of: int) -> str:
    return f"All {of:,} ratings" if count == of else f"{count:,} of {of:,} ratings"


def _percent(share: float) -> str:
    """Return a share as a percentage.

    >>> _percent(0.0042), _percent(0.93), _percent(1.0)
    ('0.42%', '93%', '100%')
    """
    return f"{100 * share:.2g}%" if share < 0.1 else f"{share:.0%}"
