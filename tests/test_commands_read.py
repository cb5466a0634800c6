"""Every command that asks a model, small, against the ways in which chat models say an answer."""

from __future__ import annotations

from collections import Counter

import pytest
from unit_counts import tables_without_counts

from benchmarks.commands_read import COMMANDS, HEAD, Materials, ShareRead, share_read, table_row, with_rows
from parley.llm.manners import CLOSED
from parley.llm.model_catalogue import find_weights

MANNERS = tuple(CLOSED)
SLOW = frozenset({
    "run echo_chamber", "run public_opinion", "run emotion_spread", "run fake_news", "run consensus", "run representatives",
    "run basic_income", "run hurricane", "run platform", "run network", "guidance", "flips", "audit", "refutation", "structured",
    "validate", "stereotypes", "predict", "evolve", "run news_evolution", "run recollection", "run persuasion", "correct",
    "intervene", "archetypes", "arguments", "honesty",
})  # fmt: skip
"""Commands of more than a second of processor, whose questions a quick one asks too; the thorough lane runs them on chatter."""
NAMES = [pytest.param(name, marks=pytest.mark.nightly) if name in SLOW else name for name in COMMANDS]


@pytest.fixture(scope="module")
def materials(tmp_path_factory: pytest.TempPathFactory) -> Materials:
    return Materials(tmp_path_factory.mktemp("commands"))


@pytest.mark.parametrize("name", NAMES)
def test_a_command_reads_every_answer_in_a_manner_of_chat_models(name: str, materials: Materials) -> None:
    """One manner each, in turn. Before, "I would say B." lost all answers of herding, conjoint, distributions and elicit."""
    manner = MANNERS[list(COMMANDS).index(name) % len(MANNERS)]
    found = share_read(name, f"oracle,manner={manner}", materials, f"{name} {manner}")
    lost = set(found.missing) - {"no_known_sentence"}  # an oracle that judges knows the sentences of one topic only
    assert (found.code, lost, found.tries[1]) == (0, set(), 0), f"{manner}: {found.said}"
    assert found.asked > 0 or name.startswith(("personas", "case")), "these write a file"
    assert tables_without_counts(materials.folder / f"{name} {manner}".replace(" ", "_")) == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", COMMANDS)
def test_a_speaker_that_sees_messages_alone_is_read(name: str, materials: Materials) -> None:
    """It knows no purpose, no facts and no list of answers: the prompt has to say what is wanted, or the command why it stops."""
    found = share_read(name, "chatter", materials, f"{name} chatter")
    if name == "personas":  # a backstory has to say things that chatter does not know
        assert found.said.startswith("run.py: "), found.said
    else:
        assert found.code == 0, found.said
        assert found.share >= 0.9, found


REAL = ("run two_way", "run herding", "distributions", "predict", "judge")
"""Commands of each kind of question, for the small part of the real lane: ratings, acts, options, opinions, verdicts."""


@pytest.mark.real
@pytest.mark.skipif(not find_weights("smollm2"), reason="run.py models get smollm2 fetches the weights")
@pytest.mark.parametrize("name", REAL)
def test_a_command_reads_a_real_model(name: str, materials: Materials) -> None:
    """Real before planted: its answers to closed questions have a distribution, and 95% of them are read."""
    found = share_read(name, "smollm2", materials, f"{name} real", most=16)
    assert found.code == 0 or "--max-calls 16 is spent" in found.said, found.said
    assert found.asked > 0
    assert found.share >= 0.95, found


def test_the_table_of_a_page_keeps_what_was_not_run() -> None:
    """A lane that is stopped half way writes what it has; rows stand in the order of the commands."""
    page = f"Words.\n<!-- commands on m -->\n{HEAD}| `games` | 1 |\n| `bets` | old |\n<!-- end -->\nMore words.\n"
    found = ShareRead("bets", 2, 10, Counter(timeout=1), (4, 1), 1.6, "run.py: --max-calls 16 is spent: add more")
    row = "| `bets` | 10 | 90% | 4 | 75% | 2 | stopped after 16 calls; timeout 1 |"
    assert table_row(found) == row
    assert with_rows(page, "m", {"bets": row}) == page.replace("| `bets` | old |", row)
    longer = with_rows(page, "m", {"herding": "| `herding` |"})
    assert longer.index("`herding`") < longer.index("`games`") < longer.index("`bets`")
    with pytest.raises(SystemExit, match="has no table on other"):
        with_rows(page, "other", {})


def test_the_replies_of_a_plan_are_not_counted(materials: Materials) -> None:
    """The progress bar runs the debates once with made-up replies: counted too, a lost half looked like a lost quarter."""
    found = share_read("run two_way", "chatter", materials, "two_way counted")
    assert (found.asked, found.tries) == (7, (5, 0))  # three ratings before, two after, and two replies


def test_a_command_that_stops_with_a_reason_has_it_in_its_row() -> None:
    found = ShareRead(
        "personas", 2, 0, Counter(), (0, 0), 3.0, "run.py: the model wrote no usable backstory | for Elena"
    )
    assert table_row(found) == "| `personas` | 0 | – | 0 | – | 3 | the model wrote no usable backstory / for Elena |"
