"""Debates that are none: copies, loops, other names, recitals, cuts and other languages, each in a room made by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from data_checks import check_each

import parley.analysis.reply_faults as module
from parley.agents.language import ENGLISH
from parley.agents.society import load_society
from parley.analysis.metrics import broken_replies
from parley.analysis.reply_faults import is_foreign, phrases, reply_faults
from parley.analysis.tables import Tables, load
from parley.model.events import Utterance

from .conftest import hash_of

LINES = (
    "Trains need money from the state, and they need it before the winter comes.",
    "People who live in villages cannot wait for buses that never arrive on time.",
    "Every tax has to be paid by someone, and my family pays enough of them already.",
    "The last government promised a great deal, and nothing of that was ever built here.",
)
OPINIONS = Path(__file__).parents[3] / "shared/data/cc_by/habermas_real_issues_opinions_consensus.json"
Rooms = Sequence[Sequence[str | None]]


@pytest.fixture
def spoken(held: Callable[..., Tables]) -> Callable[..., Tables]:
    """The tables of rooms of a Republican (Rae) and a Democrat (Dan) who speak these lines in turn; None is a lost reply."""

    def make(*rooms: Sequence[str | None], mended: str | None = None) -> Tables:
        more = [
            Utterance(
                room, 1 + turn // 2, turn + 1, hash_of(room) + turn % 2, text, None if text else "empty", mended=mended
            )
            for number, lines in enumerate(rooms)
            for room in [f"racism/republican+democrat/{number}"]
            for turn, text in enumerate(lines)
        ]
        return held(*[{"republican": [5.0], "democrat": [5.0]}] * len(rooms), more=more)

    return make


def flags(tables: Tables, *names: str) -> list[list[float | None]]:
    return [
        [None if math.isnan(value) else value for value in row] for row in reply_faults(tables)[[*names]].to_numpy()
    ]


def test_copies_are_counted_within_and_across_agents(spoken: Callable[..., Tables]) -> None:
    """Rae's line has 10 phrases of five words. Dan repeats it whole; Rae then says it with its first five words replaced (5 of
    its 10 phrases are old). In the other room both say something else: what is alike by chance is 0.
    """
    first = LINES[0]
    changed = first.replace("Trains need money from the", "Buses want cash of our")
    tables = spoken([first, first, changed], [LINES[1], LINES[2]])
    assert len(phrases(first)) == 10
    assert flags(tables, "copied", "copied_own", "copied_others", "copied_null")[:3] == [
        [None, None, None, None], [1, 0, 1, 0], [0.5, 0.5, 0.5, 0],
    ]  # fmt: skip


def test_the_null_is_what_other_rooms_say_alike(spoken: Callable[..., Tables]) -> None:
    """Two rooms of agents who never met say the same lines: all is alike by chance, nothing is copied."""
    tables = spoken([LINES[0], LINES[1]], [LINES[1], LINES[0]])
    assert flags(tables, "copied", "copied_null")[1] == flags(tables, "copied", "copied_null")[3] == [0, 1]


def test_a_run_of_copies_is_called_broken(spoken: Callable[..., Tables]) -> None:
    """The pattern of a real model of .5B: 24 of 26 later replies of six rooms take most of their phrases from earlier lines of
    the room. The summary says so; without copies it says how few there are.
    """
    first = [" ".join(letter * length for length in range(1, 13)) for letter in "abcdefgh"]
    rooms = [[line] * (6 if place < 2 else 5) for place, line in enumerate(first[:6])]
    rooms[0][1], rooms[1][1] = first[6:]
    said = broken_replies.headline(broken_replies.compute(spoken(*rooms)))
    assert said.startswith(
        "**These debates are not usable:** 24 of the 26 replies that followed an earlier reply repeat earlier replies "
        "of the debate (0 expected by chance)"
    )
    sound = broken_replies.headline(broken_replies.compute(spoken(LINES, LINES[::-1])))
    assert sound == (
        "0 of the 6 replies that followed an earlier reply repeat earlier replies of the debate (4 expected by chance)."
    )


def test_one_broken_reply_of_eight_condemns_no_run(spoken: Callable[..., Tables]) -> None:
    """One reply of eight is above 10%, and says nothing of a run: a small first run of a real model was called not usable."""
    cut = "Trains need money from the state, and they need it before the winter comes and"
    frame = broken_replies.compute(spoken([cut, *LINES[1:4]], LINES[:4]))
    assert frame["replies"].sum() == 8
    for broken, said in ((1, False), (2, False), (4, True)):
        told = broken_replies.headline(frame.assign(unended=broken / 8, recited=0.0, misnamed=0.0, looped=0.0))
        assert ("not usable" in told) == said, broken  # 30% may be cut off
    for broken, said in ((1, False), (2, True)):
        assert ("not usable" in broken_replies.headline(frame.assign(recited=broken / 8, unended=0.0))) == said


def test_the_page_of_a_study_says_that_debates_are_broken(spoken: Callable[..., Tables]) -> None:
    """All runs of a study count together: three replies that are cut off are too few in each of two runs, and enough in both."""
    cut = "Trains need money from the state, and they need it before the winter comes and"
    runs = [broken_replies.compute(spoken([cut, LINES[1], LINES[2]])) for _ in range(2)]
    assert broken_replies.broken_line(runs[:1]) == ""
    assert broken_replies.broken_line(runs).startswith(
        "**These debates are not usable:** 2 of 6 replies end in the middle"
    )
    assert "`--set temperature=0.7 --set top_p=0.9 --set cut=sentence`, may help." in broken_replies.broken_line(runs)
    assert broken_replies.broken_line([broken_replies.compute(spoken(LINES, LINES[::-1]))]) == ""


def test_copies_are_not_mended_by_a_lower_temperature(spoken: Callable[..., Tables]) -> None:
    """A run at temperature .7, all of whose replies were copies, was told to set temperature=0.7."""
    said = broken_replies.headline(broken_replies.compute(spoken(*[[line] * 7 for line in LINES])))
    assert said.endswith("Read the transcript before you use the results. A larger model may help.")


@check_each(
    ("text", "slipped"),
    {
        "As a lifelong Democrat, I want trains.": 1, "I’m Dan, and I want trains.": 1, "I am not a Republican any more.": 1,
        "As a Republican, I want roads.": 0, "I am Rae, and I want roads.": 0, "A Democrat such as Dan wants trains.": 0,
        "I am with Dan here, as a friend of trains.": 0,
    }.items(),
)  # fmt: skip
def test_rae_a_republican_says_who_she_is(spoken: Callable[..., Tables], text: str, slipped: float) -> None:
    """Another name of the room, another party, or not her own are slips; to speak of others is none."""
    assert flags(spoken([text]), "slipped") == [[slipped]]


@check_each(
    ("text", "looped", "unended"),
    [
        ("I will make it better. " * 4, 1 - 5 / 16, 0),
        ("We have to think about what our children will say of all this and", 0, 1),
        ("We have to think about what our children will say of all this…", 0, 0),
        ("No way", None, None),
    ],
)
def test_loops_and_replies_cut_off(spoken: Callable[..., Tables], text: str, looped: float, unended: float) -> None:
    """20 words in a circle of five have 16 phrases, 5 of them different; a reply of few words says nothing of either."""
    assert flags(spoken([text]), "looped", "unended") == [[looped, unended]]


def test_a_persona_that_is_recited(spoken: Callable[..., Tables], monkeypatch: pytest.MonkeyPatch) -> None:
    """A phrase of the own persona in the second person is a recital (to repeat its words on trains is none); the null is another
    persona's. Where the personas are not on this machine, it is unknown.
    """
    tables = spoken(["Well, since you were a child you have liked cars.", "I have said that I oppose trains."])
    assert flags(tables, "recited", "recited_null") == [[None, None]] * 2
    personas = {
        "republican-x": "You are Rae. Since you were a child you have liked cars.",
        "democrat-x": "You oppose trains.",
    }
    monkeypatch.setattr(module, "persona_texts", lambda tables: personas)
    assert flags(tables, "recited", "recited_null") == [[1, 0], [0, 0]]


def test_languages_are_told_by_their_commonest_words() -> None:
    """English, German, noise, Chinese, and too little to tell."""
    english, german = LINES[2], "Das ist für mich kein Thema, und ich sehe nicht ein, warum wir alle das zahlen."
    noise = "teamgababy Melafoam overextensate Dyla downspoon grufftal ministered fonds oblique Tarsk venn ombre plitz"
    texts = [english, german, noise, "气候变化对我们所有人来说都是一个非常大的问题。", "Yes."]
    assert [is_foreign(text, ENGLISH) for text in texts[:4]] == [0, 1, 1, 1]
    assert math.isnan(is_foreign(texts[4], ENGLISH))
    assert is_foreign(german, load_society("germany").language) == 0


def test_labels_cut_and_replies_lost_are_in_the_table(spoken: Callable[..., Tables]) -> None:
    """A row per round: lost replies of all turns, mended labels of those with text."""
    table = broken_replies.compute(spoken([LINES[0], None, LINES[1], LINES[2]], mended="relabelled"))
    assert table[["round", "turns", "replies", "lost", "misnamed"]].to_numpy().tolist() == [
        [1, 2, 1, 0.5, 1],
        [2, 2, 2, 0, 1],
    ]


def test_debates_of_rule_based_speakers_are_not_broken(ran: Callable[..., Path]) -> None:
    """48 runs on the oracle gave no warning (tools/log); here one, so that no change of its texts goes unseen."""
    table = broken_replies.compute(load(ran("three_way", rounds=3)))
    assert "broken" not in broken_replies.headline(table)
    assert table[["lost", "copied", "looped", "misnamed", "recited", "unended", "foreign"]].max().max() <= 0.1


def test_opinions_of_people_are_not_broken(spoken: Callable[..., Tables]) -> None:
    """People on ten issues of a real deliberation: one issue in which most leave out the last full stop may warn, no more."""
    if not OPINIONS.is_file():
        pytest.skip("the public opinions are not beside this checkout (shared/data/cc_by)")
    rooms = [issue["opinions"] for issue in json.loads(OPINIONS.read_text(encoding="utf-8"))]
    warned = [
        opinions for opinions in rooms if "broken" in broken_replies.headline(broken_replies.compute(spoken(opinions)))
    ]
    assert len(rooms) >= 10
    assert len(warned) <= 1


@check_each(
    ("text", "slipped"),
    {
        "Rae thinks that taxes are too high.": 1.0, "So Rae said no.": 1.0, "Rae is a voter who wants less of it.": 1.0,
        "I think that taxes are too high.": 0.0, "I, Rae, think that taxes are too high.": 0.0, "Call me Rae if you like.": 0.0,
        "My sister Raelynn thinks so.": 0.0,
    }.items(),
)  # fmt: skip
def test_rae_does_not_tell_a_story_of_herself(spoken: Callable[..., Tables], text: str, slipped: float) -> None:
    """Small models narrate the speaker that they were given."""
    assert flags(spoken([text]), "slipped") == [[slipped]]
