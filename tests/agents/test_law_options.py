"""What every law has: noise, stubborn people and a pull; and what some use: traits of people, several dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from data_checks import check_each
from law_runs import after, complete, generator, moved, rows_to_one, weighted, with_traits

from parley.agents.laws import LAWS, People, open_law
from parley.agents.laws._meetings import draw_meetings
from parley.agents.laws.deffuant import Deffuant
from parley.agents.laws.degroot import DeGroot
from parley.agents.laws.friedkin_johnsen import FriedkinJohnsen
from parley.agents.laws.hegselmann_krause import HegselmannKrause
from parley.agents.laws.motion import Motion
from parley.agents.laws.voter import Voter
from parley.environments.sparse_graphs import ring, small_world
from parley.llm.errors import UserError

OURS = [name for name in LAWS.builtin() if name not in ("surrogate", "fitted")]
VECTORS = ("degroot", "friedkin_johnsen", "hegselmann_krause", "deffuant", "dissonance")


@check_each("name", OURS)
def test_by_default_nothing_is_added(name: str) -> None:
    """With no option of every law, a step is the law's own move, bit for bit."""
    graph, law = small_world(300, 6, 0.2, generator(1)), open_law(name)
    start = law.admit(generator(2).random(300) * 10)
    assert (moved(law, start, graph, 4, 5)[-1] == after(law, start, graph, 4, 5)).all()


@check_each("name", OURS)
def test_stubborn_people_never_move(name: str) -> None:
    """Exactly the share asked for, whatever else pulls at them; others move. The law's argument is not written to."""
    law = open_law(f"{name},stubborn=0.25,noise=1,pull=0.2,toward=9")
    start = law.admit(generator(2).random(200) * 10)
    kept = start.copy()
    people = People.alike(200)
    motion = Motion.start(law, start, people, generator(4))
    assert motion.stubborn is not None
    assert motion.stubborn.sum() == 50
    path = moved(law, start, small_world(200, 6, 0.2, generator(1)), 10)
    assert (start == kept).all()
    still = np.all([one == start for one in path], axis=0)
    assert still.sum() >= 50
    assert still.mean() < 0.8


def test_stubborn_people_are_drawn_by_the_seed() -> None:
    drawn = [Motion.start(DeGroot(stubborn=0.3), np.zeros(50), People.alike(50), generator(seed)) for seed in (1, 1, 2)]
    one, same, other = (motion.stubborn.tolist() for motion in drawn if motion.stubborn is not None)
    assert one == same != other


def test_a_trait_says_who_is_stubborn() -> None:
    """In a triangle the one who never moves draws the others to its opinion."""
    people = with_traits(3, stubborn=[0, 1, 0])
    path = moved(DeGroot(), np.array([0.0, 8.0, 3.0]), complete(3), 200, people=people)
    assert path[-1] == pytest.approx([8.0, 8.0, 8.0])
    with pytest.raises(ValueError, match="leave out the option stubborn"):
        moved(DeGroot(stubborn=0.5), np.zeros(3), complete(3), 1, people=people)


def test_pull_alone_approaches_geometrically() -> None:
    """The gap shrinks by the same share in every step: x(t) = toward + (x(0) - toward) (1 - pull)^t."""
    start = np.array([0.0, 4.0, 10.0])
    path = moved(DeGroot(own=1, pull=0.2, toward=8), start, ring(3, 2), 12)
    for time, opinions in enumerate(path):
        assert opinions == pytest.approx(8 + (start - 8) * 0.8**time)


def test_a_fading_pull_loses_its_share_in_every_step() -> None:
    """The first step has the whole pull, step t pull fade^t: the gap is their product, and never closes."""
    path = moved(DeGroot(own=1, pull=0.4, toward=8, fade=0.5), np.array([0.0, 1.0]), complete(2), 30)
    gap = 1.0
    for time, opinions in enumerate(path):
        assert opinions == pytest.approx(8 - np.array([8.0, 7.0]) * gap)
        gap *= 1 - 0.4 * 0.5**time
    assert path[-1][0] < 5


def test_the_pull_comes_after_the_law_of_the_same_step() -> None:
    """0 and 10 meet at 5, then go a tenth of the way to 10: 5.5, and not the mean of 1 and 10."""
    assert moved(DeGroot(own=0.5, pull=0.1, toward=10), np.array([0.0, 10.0]), complete(2), 1)[-1].tolist() == [
        5.5,
        5.5,
    ]


def test_noise_has_its_spread_and_stays_on_the_axis() -> None:
    """20,000 people in the middle: SD 0.5 within 2%, mean 0 within 3.5 standard errors; at the end of the axis half of
    them stay there. The law's own draws are those without noise."""
    start, graph = np.full(20_000, 5.0), ring(20_000, 2)
    step = moved(DeGroot(noise=0.5), start, graph, 1)[-1] - start
    assert step.std() == pytest.approx(0.5, rel=0.02)
    assert abs(step.mean()) < 3.5 * 0.5 / np.sqrt(20_000)
    edge = moved(DeGroot(noise=0.5), np.full(20_000, 10.0), graph, 1)[-1]
    assert edge.max() == 10.0
    assert (edge == 10.0).mean() == pytest.approx(0.5, abs=0.02)
    begun = generator(3).random(300) * 10
    quiet, loud = (
        moved(Deffuant(noise=noise), begun, small_world(300, 6, 0.1, generator(1)), 1) for noise in (0, 1e-9)
    )
    assert loud[-1] == pytest.approx(quiet[-1], abs=1e-7)


def test_a_stubborn_agent_does_not_move_within_a_step() -> None:
    """Deffuant's meetings as a loop in which stubborn agents never move: who meets them twice meets the same opinion."""
    graph, start = small_world(1000, 10, 0.1, generator(1)), generator(2).random(1000) * 10
    stubborn = generator(3).random(1000) < 0.3
    expected = start.copy()
    for one, other in zip(*draw_meetings(graph, generator(7)), strict=True):
        gap = expected[other] - expected[one]
        if abs(gap) < 4:
            expected[one] += 0.5 * gap * (not stubborn[one])
            expected[other] -= 0.5 * gap * (not stubborn[other])
    people = People(np.zeros(1000, dtype=np.int64), stubborn=stubborn)
    assert Deffuant(4).begin(start, people).step(start, graph, generator(7)) == pytest.approx(expected)


@check_each(
    ("options", "told"),
    [
        ("noise=-1", "noise is -1, but must be 0 or more"),
        ("stubborn=1.5", "stubborn is 1.5, but must be between 0 and 1"),
        ("pull=2,toward=3", "pull is 2, but must be between 0 and 1"),
        ("pull=0.1", "write pull=0.1,toward=8"),
        ("pull=0.1,toward=11", "toward is 11, but must be between 0 and 10"),
        ("fade=1.1", "fade is 1.1, but must be between 0 and 1"),
        ("noise=nan", "finite number"),
    ],
)
def test_options_out_of_range_are_refused(options: str, told: str) -> None:
    """For every law, in one line."""
    for name in OURS:
        with pytest.raises(UserError, match=told) as error:
            open_law(f"{name},{options}")
        assert "\n" not in str(error.value)


def test_degroot_with_stubborn_agents_ends_at_its_fixed_point() -> None:
    """(I - (1 - S)(own I + (1 - own) W))^-1 S x(0), solved densely: some are stubborn altogether, some in part, some
    not at all (Ghaderi and Srikant 2014)."""
    graph, start = weighted(), generator(1).random(12) * 10
    hold = np.array([1.0, 0.3, 0, 0, 0.6, 0, 0, 1.0, 0, 0, 0.1, 0])
    mixing = 0.5 * np.eye(12) + 0.5 * rows_to_one(graph)
    fixed = np.linalg.solve(np.eye(12) - (1 - hold)[:, None] * mixing, hold * start)
    found = after(DeGroot(), start, graph, 600, people=with_traits(12, stubbornness=list(hold)))
    assert found == pytest.approx(fixed)
    assert np.ptp(fixed) > 1  # no consensus
    assert found[[0, 7]] == pytest.approx(start[[0, 7]])


def test_friedkin_johnsen_with_a_stubbornness_for_each() -> None:
    """(I - (1 - S) W)^-1 S x(0); the trait stands in place of the option."""
    graph, start, hold = weighted(), generator(1).random(12) * 10, generator(2).random(12)
    fixed = np.linalg.solve(np.eye(12) - (1 - hold)[:, None] * rows_to_one(graph), hold * start)
    people = with_traits(12, stubbornness=list(hold))
    assert after(FriedkinJohnsen(0.9), start, graph, 400, people=people) == pytest.approx(fixed)


def test_hegselmann_krause_with_a_bound_for_each_by_hand() -> None:
    """0 1 3, bounds 1 0 3 (Lorenz 2010): 0 hears 1; 1 hears itself alone, though 0 hears it; 3 hears all."""
    people = with_traits(3, bound=[1, 0, 3])
    found = after(HegselmannKrause(0.1), np.array([0.0, 1.0, 3.0]), complete(3), 1, people=people)
    assert found == pytest.approx([0.5, 1.0, 4 / 3])


def test_deffuant_with_a_bound_for_each() -> None:
    """Each moves by its own bound (Weisbuch and others 2002), as in a loop over the meetings. Among two, the one with the
    narrow bound stays, and the other comes to it."""
    people = with_traits(2, bound=[1, 5])
    assert after(Deffuant(), np.array([2.0, 6.0]), complete(2), 1, people=people).tolist() == [2.0, 3.0]
    graph, start = small_world(500, 6, 0.1, generator(1)), generator(2).random(500) * 10
    bound = generator(3).random(500) * 4
    expected = start.copy()
    for one, other in zip(*draw_meetings(graph, generator(7)), strict=True):
        gap = expected[other] - expected[one]
        expected[one] += 0.5 * gap * (abs(gap) < bound[one])
        expected[other] -= 0.5 * gap * (abs(gap) < bound[other])
    begun = Deffuant().begin(start, with_traits(500, bound=list(bound)))
    assert begun.step(start, graph, generator(7)) == pytest.approx(expected)


@pytest.mark.parametrize("name", VECTORS)
def test_one_column_is_one_dimension(name: str) -> None:
    """(n, 1) gives what (n,) gives, bit for bit, with a trait too."""
    graph, start = small_world(400, 6, 0.1, generator(1)), generator(2).random(400) * 10
    for people in (People.alike(400), with_traits(400, bound=[1.5] * 400, stubbornness=[0.3] * 400)):
        flat = after(open_law(name), start, graph, 3, people=people)
        column = after(open_law(name), start[:, None], graph, 3, people=people)
        assert column.shape == (400, 1)
        assert (column[:, 0] == flat).all()


@pytest.mark.parametrize("name", ["degroot", "friedkin_johnsen"])
def test_linear_laws_move_each_dimension_by_itself(name: str) -> None:
    start = generator(1).random((12, 3)) * 10
    together = after(open_law(name), start, weighted(), 6)
    for place in range(3):
        assert together[:, place] == pytest.approx(after(open_law(name), start[:, place], weighted(), 6))


def test_hegselmann_krause_takes_the_euclidean_distance_by_hand() -> None:
    """(0,0) and (3,4) are 5 apart and hear each other; (4,7) is 8.06 from the first and 3.16 from the second. Each
    coordinate alone would join (0,0) and (4,4), which are 5.66 apart."""
    found = after(HegselmannKrause(5), np.array([[0.0, 0], [3, 4], [4, 7]]), complete(3), 1)
    assert found == pytest.approx(np.array([[1.5, 2], [7 / 3, 11 / 3], [3.5, 5.5]]))
    apart = np.array([[0.0, 0], [4, 4]])
    assert (after(HegselmannKrause(5), apart, complete(2), 1) == apart).all()


def test_deffuant_moves_along_the_line_between_two() -> None:
    """Sequential reference in the plane: the distance is Euclidean, both move mu of the gap; the mean is conserved."""
    graph, start = small_world(500, 6, 0.1, generator(1)), generator(2).random((500, 2)) * 10
    expected = start.copy()
    for one, other in zip(*draw_meetings(graph, generator(7)), strict=True):
        gap = expected[other] - expected[one]
        if np.linalg.norm(gap) < 3:
            expected[one], expected[other] = expected[one] + 0.3 * gap, expected[other] - 0.3 * gap
    found = Deffuant(3, 0.3).step(start, graph, generator(7))
    assert found == pytest.approx(expected)
    assert found.mean(axis=0) == pytest.approx(start.mean(axis=0))


@check_each("name", [name for name in OURS if name not in VECTORS])
def test_other_laws_refuse_several_dimensions(name: str) -> None:
    with pytest.raises(ValueError, match="works only if each agent has one opinion"):
        moved(open_law(name), np.zeros((4, 2)), complete(4), 1)


def test_what_a_law_cannot_know_is_checked_for_laws_of_users_too() -> None:
    """A law of a user may check only its own options; those of every law are checked when it starts."""

    class Careless(Voter):
        def __post_init__(self) -> None:
            pass

    with pytest.raises(ValueError, match="noise is -1, but must be 0 or more"):
        moved(Careless(noise=-1), np.zeros(4), complete(4), 1)
