"""Line search: against the error at every point of a fine grid, and by hand."""

import numpy as np
import pytest

from charlm.nbest.metrics.error_rates import Ints, WordErrorRate
from charlm.nbest.ranking.features import Floats
from charlm.nbest.tuning.line_search import (
    Profile,
    Space,
    breakpoints,
    contenders,
    minimise,
    profile,
)
from charlm.nbest.tuning.problem import Problem

RATES = WordErrorRate().errors


def random_problem(seed: int, *, n_lists: int = 12, n_features: int = 3) -> Problem:
    """Ragged lists with duplicates, some features with few values, so that totals tie."""
    generator = np.random.default_rng(seed)
    values, statistics = [], []
    for _ in range(n_lists):
        size = int(generator.integers(1, 9))
        features_HF = generator.standard_normal((size, n_features))
        features_HF[:, -1] = generator.integers(-2, 3, size)
        errors_H = generator.integers(0, 5, size)
        if size > 3:
            features_HF[3] = features_HF[1]
        values.append(features_HF)
        statistics.append(np.stack([errors_H, 0 * errors_H, 0 * errors_H, 0 * errors_H + 5], 1))
    return Problem.of(values, statistics, rates=RATES)


def slow_error(problem: Problem, weights_F: Floats) -> float:
    """List by list, the first of those with the highest total."""
    errors, tokens = 0, 0
    for number in range(problem.lists_N[-1] + 1):
        rows = np.flatnonzero(problem.lists_N == number)
        totals = [
            sum(float(w) * float(v) for w, v in zip(weights_F, problem.values_NF[row], strict=True))
            for row in rows
        ]
        best = rows[totals.index(max(totals))]
        errors += int(problem.statistics_NK[best, :3].sum())
        tokens += int(problem.statistics_NK[best, 3])
    return errors / tokens


def wide(n_features: int, *, reach: float = 5.0) -> Space:
    ones_F = np.ones(n_features)
    return Space(ones_F, -reach * ones_F, reach * ones_F)


@pytest.mark.parametrize("seed", range(12))
def test_the_line_search_is_as_good_as_every_point_of_a_grid_and_keeps_its_promise(
    seed: int,
) -> None:
    problem = random_problem(seed)
    generator = np.random.default_rng(100 + seed)
    origin_F, direction_F = generator.uniform(-2, 2, 3), generator.standard_normal(3)
    space = wide(3)
    low, high = space.reach(origin_F, direction_F)
    promised, step = profile(problem, origin_F, direction_F=direction_F, space=space).best()
    grid = [slow_error(problem, origin_F + t * direction_F) for t in np.linspace(low, high, 201)]
    assert promised <= min(grid)
    assert slow_error(problem, origin_F + step * direction_F) == pytest.approx(promised)


@pytest.mark.parametrize("seed", range(12))
def test_every_winner_along_a_line_is_found_and_no_other(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = [generator.standard_normal((int(generator.integers(1, 60)), 3)) for _ in range(9)]
    problem = Problem.of(values, [np.ones((len(each), 4), int) for each in values], rates=RATES)
    origin_F, direction_F = generator.standard_normal((2, 3))
    found = breakpoints(problem, origin_F, direction_F=direction_F, low=-7.0, high=7.0)
    grid = np.linspace(-7, 7, 2_001)
    at_grid = {row for t in grid for row in problem.winners(origin_F + t * direction_F).tolist()}
    ends = np.stack([found.before_M, found.after_M])
    assert at_grid <= {*found.first_L.tolist(), *ends.ravel().tolist()}
    for t, *rows in zip(found.points_M, *ends, strict=True):
        before, after = problem.totals(origin_F + t * direction_F)[rows]
        best = problem.winners(origin_F + t * direction_F)[problem.lists_N[rows[0]]]
        assert before == pytest.approx(after)
        assert before == pytest.approx(problem.totals(origin_F + t * direction_F)[best])


@pytest.mark.parametrize("seed", range(6))
def test_who_contends_wins_as_if_all_did(seed: int) -> None:
    problem = random_problem(seed, n_lists=40)  # the last feature has only five values
    space = Space(np.array([0.0, 0.0, 1.0]), np.full(3, -5.0), np.full(3, 5.0))
    start_F = np.array([1.0, -0.5, 0.0])
    some = contenders(problem, start_F, space=space)
    assert len(some.lists_N) < len(problem.lists_N)
    for weight in np.linspace(-5, 5, 101):
        weights_F = np.array([1.0, -0.5, weight])
        assert some.error(weights_F) == problem.error(weights_F)


def test_of_those_that_rounding_may_tie_all_contend_and_of_equal_ones_the_first() -> None:
    free = [(2.0, 1.0), (2.0 + 1e-15, 1.0), (2.0, 1.0), (1.9, 1.0), (0.0, 3.0)]
    space = Space(np.array([0.0, 1.0]), np.full(2, -5.0), np.full(2, 5.0))
    some = contenders(one_list(free, [0, 1, 2, 3, 4]), np.array([1.0, 0.0]), space=space)
    assert some.statistics_NK[:, 0].tolist() == [0, 1, 4]


@pytest.mark.parametrize("seed", range(10))
def test_within_each_interval_the_error_is_the_one_evaluated_there(seed: int) -> None:
    problem = random_problem(seed)
    origin_F, direction_F = np.array([1.0, 0.3, -0.2]), np.array([0.0, 1.0, 0.5])
    along = profile(problem, origin_F, direction_F=direction_F, space=wide(3))
    assert len(along.errors_I) > 5
    for left, right, error in zip(
        along.edges_E[:-1], along.edges_E[1:], along.errors_I, strict=True
    ):
        for share in (0.01, 0.5, 0.99):
            point_F = origin_F + (left + share * (right - left)) * direction_F
            assert slow_error(problem, point_F) == pytest.approx(error)


def one_list(lines: list[tuple[float, float]], errors: list[int]) -> Problem:
    """Values and slopes: with weights (1, t) a total is value + t·slope."""
    counts: Ints = np.array([[error, 0, 0, 10] for error in errors])
    return Problem.of([np.array(lines)], [counts], rates=RATES)


def test_breakpoints_are_where_lines_cross_by_hand() -> None:
    # t, 1 and 3 − 2t all meet at t = 1: there the third hands over to the steepest, the first.
    problem = one_list([(0.0, 1.0), (1.0, 0.0), (3.0, -2.0)], [1, 2, 3])
    found = breakpoints(
        problem, np.array([1.0, 0.0]), direction_F=np.array([0.0, 1.0]), low=-4.0, high=4.0
    )
    assert found.first_L.tolist() == [2]
    assert found.points_M.tolist() == [1.0]
    assert (found.before_M.tolist(), found.after_M.tolist()) == ([2], [0])


def test_of_equal_lines_the_one_that_stands_first_wins_on_both_sides_of_a_breakpoint() -> None:
    lines = [(0.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.0, 1.0)]
    problem = one_list(lines, [4, 1, 0, 0])
    along = profile(problem, np.array([1.0, 0.0]), direction_F=np.array([0.0, 1.0]), space=wide(2))
    assert along.edges_E.tolist() == [-5.0, 0.0, 5.0]
    assert along.errors_I.tolist() == [0.4, 0.1]
    assert problem.winners(np.array([1.0, 0.0])).tolist() == [0]


@pytest.mark.parametrize(
    ("edges", "errors", "point"),
    [
        ([-9, 1, 2, 4, 6, 9], [5, 3, 5, 3, 5], 5.0),  # the wider of two
        ([-9, 1, 2, 4, 6, 9], [5, 3, 3, 4, 5], 2.5),  # neighbours are one interval
        ([-9, -4, -2, 4, 6, 9], [5, 3, 5, 3, 5], -3.0),  # of equal width: the one nearest 0
        ([-9, -6, -4, 2, 4, 9], [5, 3, 5, 3, 5], 3.0),
        ([-9, 3, 9], [4, 3], 4.0),  # an open interval: two steps, not six
        ([-9, -8.5, 9], [3, 4], -8.75),  # an open interval, but short
        ([-9, 3, 9], [3, 4], 2.0),
        ([-9, 9], [3], 0.0),  # nothing changes: stay
    ],
)
def test_the_point_is_the_middle_of_the_widest_best_interval(
    edges: list[float], errors: list[float], point: float
) -> None:
    along = Profile(np.array(edges, float), np.array(errors, float) / 10)
    assert along.best() == (min(errors) / 10, point)


def test_the_interval_around_the_start_ends_where_the_error_rises_too_far() -> None:
    along = Profile(np.array([-9.0, -5.0, -1.0, 2.0, 3.0, 9.0]), np.array([1, 3, 2, 1, 3]) / 10)
    assert along.around(0.2) == (-1.0, 3.0)
    assert along.around(0.3) == (-9.0, 9.0)
    assert along.around(0.1) == (0.0, 0.0)


def test_a_winner_between_breakpoints_that_all_but_coincide_is_passed_over() -> None:
    problem = one_list([(0.0, 1.0), (1.0 + 1e-12, 0.0), (3.0, -2.0)], [2, 0, 3])
    along = profile(problem, np.array([1.0, 0.0]), direction_F=np.array([0.0, 1.0]), space=wide(2))
    assert along.errors_I.tolist() == [0.3, 0.2]


def test_a_line_reaches_to_the_nearest_bound_on_each_side() -> None:
    bounds_F = np.array([5.0, 2.0, 1.0])  # for t: −3 to 2, −1 to 3, and none
    space = Space(np.ones(3), -bounds_F, bounds_F)
    assert space.reach(np.array([1.0, 1.0, 0.5]), np.array([2.0, -1.0, 0.0])) == (-1.0, 2.0)


def test_a_line_that_leaves_the_space_where_it_begins_keeps_its_point() -> None:
    problem = one_list([(0.0, 1.0), (1.0, 0.0)], [2, 0])
    corner_F, outwards_F = np.array([5.0, -5.0]), np.array([1.0, 1.0])
    along = profile(problem, corner_F, direction_F=outwards_F, space=wide(2))
    assert along.errors_I.tolist() == [0.0]
    assert along.best() == (0.0, 0.0)


def searched(problem: Problem, *, reach: float) -> tuple[list[float], float]:
    """The search from weights 1 and 0, the second of them free within ±reach."""
    space = Space(np.array([0.0, 1.0]), np.full(2, -reach), np.full(2, reach))
    generator = np.random.default_rng(0)
    start_F = np.array([1.0, 0.0])
    found = minimise(problem, start_F, space=space, restarts=20, generator=generator)
    return found.weights_F.tolist(), found.error


def test_a_start_that_cannot_be_bettered_is_moved_to_the_middle_of_its_interval() -> None:
    # The first wins from −1 to 3.
    problem = one_list([(0.0, 0.0), (-3.0, 1.0), (-1.0, -1.0)], [1, 2, 2])
    assert searched(problem, reach=5.0) == ([1.0, 1.0], 0.1)


def test_a_start_whose_interval_has_no_end_stays() -> None:
    problem = one_list([(0.0, 0.0), (-3.0, 1.0)], [1, 2])
    assert searched(problem, reach=5.0) == ([1.0, 0.0], 0.1)


def test_no_weight_leaves_its_range_for_fewer_errors() -> None:
    problem = one_list([(0.0, 0.0), (-0.5, 1.0)], [2, 0])  # the second wins above 0.5
    weights, error = searched(problem, reach=0.1)
    assert error == 0.2
    assert abs(weights[1]) <= 0.1
    assert searched(problem, reach=1.0)[1] == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_no_more_errors_than_a_grid_over_two_weights(seed: int) -> None:
    problem = random_problem(seed, n_lists=20)
    fixed = Space(np.array([0.0, 1.0, 1.0]), np.full(3, -5.0), np.full(3, 5.0))
    found = minimise(
        problem,
        np.array([1.0, 0.0, 0.0]),
        space=fixed,
        restarts=40,
        generator=np.random.default_rng(seed),
    )
    grid = np.linspace(-5, 5, 41)
    lowest = min(problem.error(np.array([1.0, a, b])) for a in grid for b in grid)
    assert found.error <= lowest
    assert found.error == slow_error(problem, found.weights_F)
    assert found.weights_F[0] == 1.0
    assert (np.abs(found.weights_F) <= 5).all()


def test_the_same_seed_finds_the_same_weights_and_restarts_do_no_harm() -> None:
    problem = random_problem(3, n_lists=40)

    def search(restarts: int) -> tuple[list[float], float]:
        found = minimise(
            problem,
            np.array([1.0, 0.0, 0.0]),
            space=wide(3),
            restarts=restarts,
            generator=np.random.default_rng(5),
        )
        return found.weights_F.tolist(), found.error

    assert search(3) == search(3)
    assert search(8)[1] <= search(0)[1]


def test_spreads_are_pooled_within_lists_and_exactly_zero_where_nothing_varies() -> None:
    first, second = np.array([[0.1, 1.0], [0.1, 3.0], [0.1, 5.0]]), np.array([[0.7, 9.0]])
    counts = [np.ones((len(each), 4), int) for each in (first, second)]
    problem = Problem.of([first, second], counts, rates=RATES)
    assert problem.spreads().tolist() == [0.0, pytest.approx((8 / 4) ** 0.5)]


def test_a_part_of_the_lists_has_their_winners_alone() -> None:
    problem = random_problem(1)
    chosen_L = np.arange(12) % 3 == 0
    part = problem.part(chosen_L)
    weights_F = np.array([0.3, -1.0, 0.2])
    winners = problem.winners(weights_F)[chosen_L]
    assert (
        part.sums(part.winners(weights_F)).tolist()
        == problem.statistics_NK[winners].sum(axis=0).tolist()
    )
