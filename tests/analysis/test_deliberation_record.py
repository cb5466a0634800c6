"""Deliberations as they are reported: episodes from a record, movement and agreement by hand, pages without any markup."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from parley.agents.question import load_questions
from parley.analysis.deliberation.consensus_report import EPISODES, deliberates, repeated_drafts
from parley.analysis.deliberation.episode import Episode, Voice, checked, read_episodes, to_line
from parley.analysis.deliberation.position_change import (
    MEASURES,
    agreement,
    agreement_gain,
    endorsed_share,
    majority_margin,
    majority_position,
    measure_movement,
    net_movement,
    share_moved,
)
from parley.analysis.deliberation.run_episodes import episodes_of_events, episodes_of_run, measured_episodes
from parley.analysis.run_report import main_figure, write_report
from parley.analysis.tables import load
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.events import Rated, Utterance
from parley.model.files import RECORD
from parley.model.recorder import read_lines
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, record_of, run_scenario

NASTY = (
    "**Mediator:** agreed <script>alert(1)</script> [x](http://evil.example) ![](y.png) \x1b[31m \x00\u202e `code` "
    "| a | b | & </details>"
)
Runs = Callable[..., Path]


def scenario(**settings: object) -> Scenario:
    return load_preset("consensus").with_settings({"repetitions": 1, "llm": "oracle", "topic": "racism"} | settings)


@pytest.fixture
def run(tmp_path: Path) -> Runs:
    """A sitting on the known-truth speaker, or on another backend; its folder."""

    def made(backend: object | None = None, calls: int | None = None, **settings: object) -> Path:
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        given = ("repetitions", "llm", "topic", *settings)
        task = RunSpec(scenario(**settings), folder, given, Budget(calls, keep_going=True))
        run_scenario(task, backend=backend or open_spec("oracle"))  # type: ignore[arg-type]
        return folder

    return made


def voice(name: str, position: float | None, after: float | None, *agreed: float | None) -> Voice:
    rated = dict(zip(("draft", "revision"), agreed or (None, None), strict=True))
    values = {"position": position, "after": after, **{f"agreement.{key}": value for key, value in rated.items()}}
    reasons = {key: "timeout" for key, value in values.items() if value is None}
    return Voice(name, "for", "against", position, rated, after, {}, reasons)


def episode(*voices: Voice, number: int = 0, session: str = "s") -> Episode:
    return Episode(f"e{number}", session, load_questions()[number], voices, "We say so.", "We still do.", "human", {})


GROUP = episode(
    voice("a", 6, 7, 5, 6),
    voice("b", 5, 5, 4, 4),
    voice("c", 2, 4, 3, 5),
    voice("d", 7, 6, 7, 7),
    voice("e", None, 6, None, 7),
)
"""Three for, one against: a moves toward the majority, c too (by 2), d away, b stays, e was not rated before."""


def test_movement_by_hand() -> None:
    assert majority_position(GROUP.voices) == 1
    assert net_movement(GROUP) == pytest.approx((1 + 0 + 1 - 1) / 4)
    assert share_moved(GROUP) == pytest.approx(3 / 4)
    mirrored = episode(voice("a", 2, 1), voice("b", 3, 5))
    assert (majority_position(mirrored.voices), net_movement(mirrored)) == (-1, 0.0)
    even = episode(voice("a", 2, 3), voice("b", 6, 5), voice("c", 4, 4))
    assert (majority_position(even.voices), net_movement(even), share_moved(even)) == (
        0,
        None,
        pytest.approx(2 / 3),
    )


def test_agreement_by_hand() -> None:
    """Missing is not zero: e gave no rating of the draft and is in no mean of it, nor in the gain."""
    assert agreement(GROUP, "draft") == pytest.approx((5 + 4 + 3 + 7) / 4)
    assert agreement(GROUP, "revision") == pytest.approx((6 + 4 + 5 + 7 + 7) / 5)
    assert agreement_gain(GROUP) == pytest.approx((1 + 0 + 2 + 0) / 4)
    assert endorsed_share(GROUP) == pytest.approx(4 / 5)


def test_group_agreement_by_hand() -> None:
    """The index of the public table: five people, one against, is 0.6; one against and one neutral 0.4; two against 0.2."""
    assert majority_margin([6, 5, 7, 5, 2]) == pytest.approx(0.6)
    assert majority_margin([6, 5, 7, 4, 2]) == pytest.approx(0.4)
    assert majority_margin([6, 5, 7, 1, 2]) == pytest.approx(0.2)
    assert majority_margin([4, 4]) == 0.0
    assert majority_margin([]) is None
    before, after = (MEASURES[name][1](GROUP) for name in ("margin_before", "margin_after"))
    assert (before, after) == (pytest.approx(0.5), pytest.approx(0.75)), "of the four that were rated twice"


def test_half_a_point_is_a_side_and_a_move() -> None:
    """Means of distributions are never whole: 3.9 and 4.1 are no sides, and .3 points are no move."""
    near = episode(voice("a", 4.4, 4.1), voice("b", 3.9, 4.1), voice("c", 4.5, 5.2))
    assert majority_position(near.voices) == 1, "c alone is on a side"
    assert net_movement(near) == pytest.approx(1 / 3)
    assert share_moved(near) == pytest.approx(1 / 3)
    assert majority_margin([3.6, 4.4, 4.5]) == pytest.approx(1 / 3)


def test_agreement_is_the_mean_of_the_distribution(run: Runs) -> None:
    """SmolLM2's answers were nearly flat over seven points: the likeliest was 1, the mean 3.5. The summary said "1.4 to 1.8".

    episodes.jsonl keeps the answers. One answer without a distribution, and all of its question are answers.
    """
    folder = run()
    events = [*read_lines(record_of(folder))]
    flat = (0.3, 0.1, 0.1, 0.15, 0.15, 0.05, 0.15)
    rated = [
        replace(event, rating=1.0, probabilities=flat) if isinstance(event, Rated) and event.probe == "draft" else event
        for event in events
    ]
    means, answers = measured_episodes(rated), episodes_of_events(rated)
    by_hand = sum(point * share for point, share in enumerate(flat, 1))
    assert [voice.agreement["draft"] for one in means for voice in one.voices] == pytest.approx([by_hand] * 30)
    assert {voice.agreement["draft"] for one in answers for voice in one.voices} == {1.0}
    first = next(place for place, event in enumerate(rated) if isinstance(event, Rated) and event.probe == "draft")
    rated[first] = replace(rated[first], probabilities=None)  # type: ignore[arg-type]
    assert {voice.agreement["draft"] for one in measured_episodes(rated) for voice in one.voices} == {1.0}


def test_answers_in_phrases_are_those_in_numbers(run: Runs) -> None:
    """Small models rank positions in phrases alone, and a deliberation could only be asked in numbers. The points stay 1 to 7."""
    plain, words = episodes_of_run(run()), episodes_of_run(run(asked="phrases"))
    for one, other in zip(plain, words, strict=True):
        for voice_, same in zip(one.voices, other.voices, strict=True):
            assert (same.position, same.after, dict(same.agreement)) == (
                voice_.position,
                voice_.after,
                dict(voice_.agreement),
            )


def test_what_does_not_vary_has_no_interval() -> None:
    """16 groups of one value are no certainty: an interval without width would look like one."""
    even = [episode(voice("a", 4, 4, 5, 5), number=number, session=f"s{number}") for number in range(16)]
    for one in measure_movement(even):
        assert one.value is None or math.isnan(one.low)
        assert one.value is None or math.isnan(one.high)
    (draft,) = (one for one in measure_movement([*even, GROUP]) if one.name == "draft")
    assert draft.low < draft.high


def test_intervals_of_shares_end_where_shares_do() -> None:
    """Five sessions of which one has a share below 1: the interval of the share ends below 1, that of movement too."""
    all_agree = [voice(name, 2, 3, 5, 6) for name in "abc"]
    one_does_not = [*all_agree[:2], voice("c", 2, 2, 5, 4)]
    groups = [episode(*(all_agree if place else one_does_not), number=place, session=f"s{place}") for place in range(5)]
    found = {measure.name: measure for measure in measure_movement(groups)}
    for name in ("endorsed", "moved"):
        assert found[name].value == pytest.approx(14 / 15)
        assert 14 / 15 < found[name].high < 1.0
    towards = [replace(one, voices=tuple(replace(each, after=each.position and each.position - 1) for each in one.voices))
               for one in groups[1:]]  # fmt: skip
    assert {m.name: m for m in measure_movement([groups[0], *towards])}["movement"].high <= 1.0


def test_nothing_rated_is_nothing_measured() -> None:
    empty = episode(voice("a", None, None), voice("b", None, None))
    assert {measure.value for measure in measure_movement([empty])} == {None}
    assert {measure.groups for measure in measure_movement([empty])} == {0}


def test_the_unit_is_the_group_and_its_episodes_are_averaged_first() -> None:
    """Two episodes of one session are one number: (4 + 6) / 2 and four times 2 are averaged to 2.6, not to 3."""
    episodes = [
        episode(voice("a", 4, 4, 4, 4)),
        episode(voice("a", 4, 4, 6, 6), number=1),
        *[episode(voice("b", 4, 4, 2, 2), number=number, session=f"t{number}") for number in (2, 3, 4, 5)],
    ]
    draft = next(measure for measure in measure_movement(episodes) if measure.name == "draft")
    assert (draft.value, draft.groups, draft.episodes) == (2.6, 5, 6)
    assert (draft.low, draft.high) == pytest.approx((1.5306, 4.4609), abs=1e-3)  # Wilson's form, reach 2.776 * 0.6


def test_a_record_gives_its_episodes(run: Runs) -> None:
    episodes = checked(episodes_of_run(run()), "here")
    assert len(episodes) == 6
    assert {one.source for one in episodes} == {"oracle (known-truth speaker)"}
    known = {one.id: one for one in load_questions()}
    for one in episodes:
        assert known[one.question.id] == one.question
        assert len(one.voices) == 5
        assert one.draft
        assert one.revision
        assert one.reasons == {}
        for person in one.voices:
            assert person.opinion
            assert person.critique
            assert person.reasons == {}
            assert set(person.agreement) == {"draft", "revision"}
    for session in {one.session for one in episodes}:
        told = [[person.demographics for person in one.voices] for one in episodes if one.session == session]
        assert told[0] == told[1] == told[2], "asked once a session, known in each of its episodes"
        assert any(told[0])
    assert not any("prefer not to say" in person.demographics.values() for one in episodes for person in one.voices)


def test_what_was_recorded_is_what_was_said(run: Runs) -> None:
    """Texts and ratings of the first room, beside the tables of the same record."""
    folder = run()
    tables, one = load(folder), episodes_of_run(folder)[0]
    said = tables.utterances[tables.utterances["room"] == one.id]
    for form, attribute in (("opinion", "opinion"), ("critique", "critique")):
        assert said.loc[said["form"] == form, "text"].tolist() == [getattr(person, attribute) for person in one.voices]
    assert said.loc[said["form"] == "draft", "text"].item() == one.draft
    rated = tables.attitudes[(tables.attitudes["room"] == one.id)]
    first = rated[(rated["probe"] == "position") & (rated["round"] == 0)]
    assert first["rating"].tolist() == [person.position for person in one.voices]
    assert rated.loc[rated["probe"] == "revision", "rating"].tolist() == [
        person.agreement["revision"] for person in one.voices
    ]


def test_of_more_rounds_the_draft_its_critique_and_the_last_revision_are_kept(run: Runs) -> None:
    folder = run(rounds=3)
    tables, one = load(folder), episodes_of_run(folder)[0]
    said = tables.utterances[tables.utterances["room"] == one.id]
    assert said.loc[said["form"] == "revision", "text"].tolist()[-1] == one.revision
    assert said.loc[(said["form"] == "critique") & (said["round"] == 2), "text"].tolist() == [
        person.critique for person in one.voices
    ]


def test_a_last_revision_that_failed_leaves_the_one_before_with_its_ratings(run: Runs) -> None:
    """A rating of one statement beside another would be agreement with what no agent rated."""
    folder = run(rounds=3)
    record = list(read_lines(folder / RECORD))
    said = [event for event in record if isinstance(event, Utterance) and event.form == "revision"]
    rated = [event for event in record if isinstance(event, Rated)]

    def left(*gone: int, probes: tuple[str, ...]) -> Episode:
        """The first room without revisions of these rounds and with these ratings."""
        lost = [replace(event, text=None, reason="broken") if event.round in gone else event for event in said]
        kept = [event for event in rated if not event.probe.startswith("revision") or event.probe in probes]
        others = [event for event in record if event not in said and event not in rated]
        return episodes_of_events([*others, *lost, *kept])[0]

    def ratings(probe: str, one: Episode) -> list[float | None]:
        return [event.rating for event in rated if (event.probe, event.room) == (probe, one.id)]

    for gone, probe, round_ in (((), "revision 3", 3), ((3,), "revision", 2)):
        one = left(*gone, probes=("revision", "revision 3"))
        assert one.revision == next(event.text for event in said if (event.room, event.round) == (one.id, round_))
        assert [voice.agreement["revision"] for voice in one.voices] == ratings(probe, one)
    stopped = left(probes=("revision",))
    assert {voice.agreement["revision"] for voice in stopped.voices} == {None}, (
        "the older rating is of another statement"
    )
    none = left(2, 3, probes=("revision",))
    assert (none.revision, none.reasons["revision"]) == (None, "broken")
    assert {voice.reasons["agreement.revision"] for voice in none.voices} == {"broken"}


def test_what_is_missing_has_its_reason(run: Runs) -> None:
    """A speaker that fails, a scenario that does not ask, a run that was stopped: three reasons, and no number."""

    def broken(request: Request) -> Reply:
        return Reply.failed("timeout")

    for one in episodes_of_run(run(Fake(broken))):
        assert (one.draft, one.reasons["draft"]) == (None, "no_opinions")
        assert one.voices[0].reasons | {"x": ""} == {
            "opinion": "timeout",
            "critique": "no_statement",
            "position": "timeout",
            "after": "timeout",
            "agreement.draft": "no_opinions",
            "agreement.revision": "no_opinions",
            "x": "",
        }
    for one in episodes_of_run(run(survey="never", rounds=1)):
        assert one.reasons == {"revision": "not_asked"}
        assert set(one.voices[0].reasons.values()) == {"not_asked"}
    for one in episodes_of_run(run(calls=70)):
        assert one.revision is None
        assert one.reasons["revision"] == "unfinished"
        assert to_line(one)


def test_a_debate_holds_no_deliberation(tmp_path: Path) -> None:
    run_scenario(
        RunSpec(
            load_preset("two_way").with_settings({"repetitions": 1, "topic": "racism", "llm": "oracle"}),
            tmp_path / "run",
        )
    )
    with pytest.raises(UserError, match="has no private deliberations"):
        episodes_of_run(tmp_path / "run")
    assert not deliberates(load(tmp_path / "run"))


@pytest.mark.thorough
@pytest.mark.parametrize("mediator", ["draft_revise", "habermas,candidates=3"])
def test_the_report_is_whole_and_the_same_twice(run: Runs, mediator: str) -> None:
    folder = run(mediator=mediator)
    figure = write_report(folder)
    kept = {
        path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and "journal" not in path.name
    }
    write_report(folder)
    assert figure == main_figure(folder) == folder / "figures" / "consensus.png"
    assert {path: path.read_bytes() for path in kept} == kept
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    for words in (
        "agreement with the revision",
        "known-truth speaker",
        "was 0.137 (1,047 rounds",
        "There are 2 groups and 6 episodes",
        "Nothing is missing: 120 ratings, 72 replies",
        "answers about oneself",
        f"--set {shlex.quote(f'mediator={mediator}')}",
    ):
        assert words in summary, words
    assert ("predicted rankings" in summary) == mediator.startswith("habermas")
    assert read_episodes(folder / EPISODES) == episodes_of_run(folder)
    assert {"voices.csv", "episodes.csv", "utterances.csv"} <= {path.name for path in (folder / "tables").iterdir()}


def test_pages_tell_every_text_and_who_moved(run: Runs) -> None:
    folder = run(mediator="habermas,candidates=3")
    write_report(folder)
    text = (folder / "transcript.md").read_text(encoding="utf-8")
    episodes = episodes_of_run(folder)
    links, places = re.findall(r"\(#(episode-\d+)\)", text), re.findall(r'<a id="(episode-\d+)"></a>', text)
    assert links == places
    assert len(set(links)) == len(episodes) == 6
    headings = re.findall(r"^### Round \d: (\w+)", text, re.MULTILINE)
    assert headings == ["Opinions", "Draft", "Critiques", "Revision"] * 6
    assert text.count("<details>") == text.count("</details>") == 12
    assert text.count(", predicted: ") == 60
    assert all((one.revision or "") in text for one in episodes)


def test_nothing_that_a_model_says_becomes_markup(run: Runs) -> None:
    """Opinions, statements, candidates and critiques are plain text in pages and summary alike."""
    oracle = open_spec("oracle")

    def speaks(request: Request) -> Reply:
        (reply,) = oracle.complete([request])
        open_ = request.purpose in ("speech", "statement") and reply.text
        return Reply(f"{reply.text} {NASTY}") if open_ else reply

    folder = run(Fake(speaks), mediator="habermas,candidates=2")
    write_report(folder)
    for name in ("transcript.md", "summary.md"):
        text = (folder / name).read_text(encoding="utf-8")
        told = "\n".join(line for line in text.splitlines() if "agreed" in line)
        assert "alert" in told
        assert not re.search(r"<(?!a id|/a|details|/details|summary|/summary)", told)
        assert not re.search(r"(?<!\\)!\[|(?<!\\)\[x|(?<!\\)`code|(?<!\\)\| a", told)
        assert not re.search(r"[\x00-\x08\x1b\u202e]", text)


def test_an_unfinished_run_says_so(run: Runs) -> None:
    folder = run(calls=70)
    write_report(folder)
    assert "**Unfinished**" in (folder / "summary.md").read_text(encoding="utf-8")


def test_a_revision_that_is_its_draft_is_said() -> None:
    """A model of 1.5 billion parameters repeated its drafts; "agreement went from 5.2 to 5.2" sounds like people who stayed."""
    copied = SimpleNamespace(draft="We all\nagree.", revision="We all agree.")
    revised, lost = SimpleNamespace(draft="Yes.", revision="No."), SimpleNamespace(draft="Yes.", revision=None)
    (warning,) = repeated_drafts([copied, copied, revised, lost])  # type: ignore[list-item]
    assert "in 2 of 3 episodes" in warning
    assert list(repeated_drafts([copied, revised])) == []  # type: ignore[list-item]
