"""A run that is watched: the record is that of an unwatched one, whatever is paused, stepped or asked meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model.events import Ended, Header, Intervened, Seated
from parley.model.files import PARTIAL, RECORD
from parley.model.interactive_run import InteractiveRun
from parley.model.interventions import parse_intervention
from parley.model.recorder import from_line
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

PATIENCE = 20.0


class Watched:
    """A live run and its watcher, who can wait for something to be so."""

    def __init__(self, scenario: Scenario, folder: Path, answer: Callable[[Request], str] | None = None):
        self.changed = threading.Condition()
        self.live = InteractiveRun(scenario, folder, self._tell, Fake(answer) if answer else None)

    def _tell(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def until(self, so: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(so, PATIENCE), (self.live.phase, self.live.error)

    def at(self, phase: str, round_: int) -> None:
        self.until(lambda: (self.live.phase, self.live.round) == (phase, round_))


@pytest.fixture
def scenario() -> Scenario:
    settings = {"topic": "racism", "repetitions": 2, "rounds": 3, "llm": "oracle"}
    return load_preset("three_way").with_settings(settings)


@pytest.fixture
def watched(scenario: Scenario, tmp_path: Path) -> Iterator[Watched]:
    one = Watched(scenario, tmp_path / "watched")
    yield one
    one.live.stop()
    one.live.join(PATIENCE)


def record(scenario: Scenario, folder: Path) -> bytes:
    """That of a run that nobody watches."""
    return run_scenario(RunSpec(scenario, folder)).record.read_bytes()


def test_stepped_and_interviewed_it_leaves_the_record_of_an_undisturbed_run(
    watched: Watched, scenario: Scenario, tmp_path: Path
) -> None:
    """An interview that reached memory, seeds or record would change what is measured by looking at it."""
    live = watched.live
    live.play(1)
    watched.at("paused", 1)
    live.interview(1, "What do you think of the others?")
    watched.until(lambda: len(live.interviews) == 1)
    live.play(1)
    watched.at("paused", 2)
    live.interview(999, "Who are you?")
    watched.until(lambda: len(live.interviews) == 2)
    live.play()
    watched.at("done", 3)
    live.interview(2, "Did anything change your mind?")
    watched.until(lambda: len(live.interviews) == 3)
    live.stop()
    live.join(PATIENCE)
    assert isinstance(live.events[-1], Ended)
    assert live.calls == live.total
    assert [one.reason for one in live.interviews] == [None, "no_such_agent", None]
    assert (watched.live.folder / RECORD).read_bytes() == record(scenario, tmp_path / "alone")


def test_paused_in_the_middle_of_a_round_nothing_more_is_asked(scenario: Scenario, tmp_path: Path) -> None:
    """A model that costs money or minutes a reply must obey at once, not at the end of the round."""
    asked: list[Request] = []
    holder: list[InteractiveRun] = []

    def answer(request: Request) -> str:
        asked.append(request)
        if len(asked) == 8:
            holder[0].pause()
        return request.answers[0] if request.answers else "I see."

    watched = Watched(scenario, tmp_path / "run", answer)
    holder.append(watched.live)
    watched.live.play()
    watched.until(lambda: watched.live.phase == "paused")
    before = len(asked)
    assert before < watched.live.total
    assert watched.live.round == 0
    watched.live.play()
    watched.at("done", 3)
    assert len(asked) > before
    watched.live.stop()
    watched.live.join(PATIENCE)


def test_a_stopped_run_can_be_gone_on_with(watched: Watched, scenario: Scenario, tmp_path: Path) -> None:
    watched.live.play(1)
    watched.at("paused", 1)
    watched.live.stop()
    watched.live.join(PATIENCE)
    assert watched.live.phase == "stopped"
    outcome = run_scenario(RunSpec(scenario, watched.live.folder))
    assert outcome.replayed == watched.live.calls
    assert outcome.record.read_bytes() == record(scenario, tmp_path / "alone")


def test_what_goes_wrong_is_told_in_one_line(scenario: Scenario, tmp_path: Path) -> None:
    """A page that shows nothing looks as if the run were still on its way."""
    folder = tmp_path / "other"
    run_scenario(RunSpec(scenario.with_settings({"seed": 9}), folder))
    watched = Watched(scenario, folder)
    watched.live.play()
    watched.until(lambda: watched.live.phase == "failed")
    assert "another scenario, seed or setting" in watched.live.error
    watched.live.join(PATIENCE)
    with pytest.raises(UserError, match="so agents cannot answer"):
        watched.live.interview(1, "Hello?")


def test_who_steps_in_leaves_the_record_of_a_run_with_that_timetable(
    watched: Watched, scenario: Scenario, tmp_path: Path
) -> None:
    """What somebody does to a run while it is watched has to be in what is said of it, or nobody could hold it again."""
    live = watched.live
    live.play(1)
    watched.at("paused", 1)
    live.add_intervention(
        parse_intervention("message round=1 to=democrat by=Ann text='Think of the cost.' rooms=" + f"'{room(live)}'")
    )
    live.add_intervention(parse_intervention("mute round=1 to=republican"))
    live.add_intervention(parse_intervention("message round=1 to=nobody by=Ann text='Hello.'"))
    live.add_intervention(parse_intervention("join round=1 to=default"))
    live.add_intervention(parse_intervention("leave round=1 to=default"))
    watched.until(lambda: len(live.interventions) == 5)
    assert [one.refused for one in live.interventions[:2]] == ["", ""]
    assert "unknown party or seat" in live.interventions[2].refused
    assert "this agent already takes part in the debate" in live.interventions[3].refused
    assert live.interventions[4].refused == ""
    live.play(1)
    watched.at("paused", 2)
    live.add_intervention(parse_intervention("unmute round=1 to=republican"))
    live.add_intervention(parse_intervention("join round=1 to=default"))
    watched.until(lambda: len(live.interventions) == 7)
    live.play()
    watched.at("done", 3)
    live.stop()
    live.join(PATIENCE)
    done = [event for event in live.events if isinstance(event, Intervened)]
    assert [(one.room == room(live), one.round, one.what) for one in done] == [
        (True, 2, "message"), (True, 2, "mute"), (True, 2, "leave"), (False, 2, "mute"), (False, 2, "leave"),
        (True, 3, "unmute"), (True, 3, "join"), (False, 3, "unmute"), (False, 3, "join"),
    ]  # fmt: skip
    kept = (live.folder / RECORD).read_bytes()
    assert live.scenario != scenario
    again = run_scenario(RunSpec(live.scenario, tmp_path / "again", ("interventions",)))
    assert kept == again.record.read_bytes()
    again = run_scenario(RunSpec(live.scenario, live.folder))
    assert again.already


def test_a_run_that_was_stepped_into_and_stopped_goes_on(watched: Watched, tmp_path: Path) -> None:
    """The folder's label is that of the run with the intervention: it is resumed with it, and with nothing else."""
    live = watched.live
    live.play(1)
    watched.at("paused", 1)
    live.add_intervention(parse_intervention("shock round=1 text='The report is out.'"))
    live.play(1)
    watched.at("paused", 2)
    live.stop()
    live.join(PATIENCE)
    first = from_line((live.folder / PARTIAL).read_text(encoding="utf-8").splitlines()[0])
    assert isinstance(first, Header)
    assert (first.given, len(first.scenario["interventions"])) == (("interventions",), 1)
    outcome = run_scenario(RunSpec(live.scenario, live.folder, ("interventions",)))
    assert outcome.replayed == live.calls
    again = run_scenario(RunSpec(live.scenario, tmp_path / "again", ("interventions",)))
    assert outcome.record.read_bytes() == again.record.read_bytes()


def test_nobody_steps_into_a_run_that_is_over(watched: Watched) -> None:
    watched.live.play()
    watched.at("done", 3)
    with pytest.raises(UserError, match="cannot be changed"):
        watched.live.add_intervention(parse_intervention("mute round=1"))


def test_a_run_at_a_pace_rests_between_rounds_until_somebody_wants_something(watched: Watched) -> None:
    """A rest of an hour, which who asks or pauses does not sit through."""
    live = watched.live
    live.pace = 3600
    live.play()
    watched.until(lambda: live.round == 1)
    live.interview(1, "Why?")
    watched.until(lambda: live.round == 2)
    live.pause()
    watched.at("paused", 2)
    live.play(1)
    watched.at("done", 3)


def room(live: InteractiveRun) -> str:
    """The first."""
    return next(event.room for event in live.events if isinstance(event, Seated))


def test_a_run_that_is_over_is_whole_while_somebody_looks_at_it(watched: Watched) -> None:
    """Else a page that is killed at the end leaves a run that another sitting would go on with."""
    watched.live.play()
    watched.at("done", 3)
    names = {path.name for path in watched.live.folder.iterdir()}
    assert RECORD in names
    assert PARTIAL not in names


def test_an_interview_that_fails_is_no_failure_of_the_run(scenario: Scenario, tmp_path: Path) -> None:
    """A key that is taken back once a run is over takes nothing from the run."""
    over: list[bool] = []

    def answer(request: Request) -> str:
        if over:
            raise UserError("no credit")
        return request.answers[0] if request.answers else "I see."

    watched = Watched(scenario, tmp_path / "run", answer)
    watched.live.play()
    watched.at("done", 3)
    over.append(True)
    watched.live.interview(1, "Why?")
    watched.until(lambda: len(watched.live.interviews) == 1)
    watched.live.stop()
    watched.live.join(PATIENCE)
    assert watched.live.interviews[0].reason == "no credit"
    assert (watched.live.phase, watched.live.error) == ("done", "")


def test_questions_wait_in_order_and_say_which_one_the_model_has(scenario: Scenario, tmp_path: Path) -> None:
    """A question without a sign of life is asked again and again."""
    slow, over = threading.Event(), []

    def answer(request: Request) -> str:
        if over:
            assert slow.wait(PATIENCE)
        return request.answers[0] if request.answers else "I see."

    watched = Watched(scenario, tmp_path / "run", answer)
    live = watched.live
    live.play(1)
    watched.at("paused", 1)
    over.append(True)
    live.interview(1, "Why?")
    live.interview(2, "And you?")
    watched.until(lambda: len(live.pending) == 2 and live.pending[0].sent is not None)
    assert [(one.agent, one.question, one.sent is None) for one in live.pending] == [
        (1, "Why?", False),
        (2, "And you?", True),
    ]
    slow.set()
    watched.until(lambda: len(live.interviews) == 2)
    assert live.pending == []
    live.stop()
    live.join(PATIENCE)


def test_two_who_ask_at_once_are_both_heard(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wanted is read and written in one hold of the lock: between the two, the other's question would get lost."""

    class Guarded(InteractiveRun):
        @property
        def _requests(self) -> list:
            assert self._lock._is_owned()  # type: ignore[attr-defined]
            return self.__dict__["requests"]

        @_requests.setter
        def _requests(self, wanted: list) -> None:
            self.__dict__["requests"] = wanted

    live = Guarded(scenario, tmp_path / "run")
    monkeypatch.setattr(live._thread, "is_alive", lambda: True)
    live.interview(1, "Why?")
    live.add_intervention(parse_intervention("mute round=1"))
    assert len(live.__dict__["requests"]) == 2
