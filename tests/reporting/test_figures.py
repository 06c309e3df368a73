import dataclasses
import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from pairup import Oracle, Problem
from pairup.bounds import lower
from pairup.errors import ResultsError
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.posed_problems import PosedProblem
from pairup.experiments.results import Results
from pairup.reporting.figures import draw_figures, render, write_pictures
from pairup.reporting.limit_bars import plot_limit_bars
from pairup.reporting.line_plots import (
    plot_final_regret,
    plot_limit_line,
    plot_regret_curves,
    spread_out,
)
from pairup.reporting.style import assign_styles, format_short, line_points
from pairup.reporting.tail_plot import plot_tail
from tests.support.experiments.frames import POLICIES, frame, rows, simulated


@pytest.fixture(scope="module")
def results():
    return simulated()


def experiment(*figures):
    problems = tuple(
        PosedProblem(Problem.from_zero(pairs, 0.1), "from_zero", {"pairs": pairs, "gap": 0.1})
        for pairs in (2, 4)
    )
    entries = tuple(Entry(label, policy) for label, policy in POLICIES.items())
    return Experiment("e", "An experiment", "", 3_000, 3, 0, problems, entries, figures)


def draw(experiment, frame):
    return draw_figures(Results(experiment, frame))


def axes():
    return Figure(figsize=(5.4, 3.7), layout="constrained").subplots()


def names(ax):
    return [text for text in ax.texts if not text.get_text().startswith("Bound")]


def test_a_curve_for_each_policy_ends_at_its_mean(results):
    ax = plot_regret_curves(results.filter(pairs=4), axes())
    ends = {line.get_label(): line_points(line)[1][-1] for line in ax.lines[:3]}
    last = results.filter(pairs=4, round=3_000)
    for policy, end in ends.items():
        assert end == pytest.approx(last.filter(policy=policy)["regret"].mean())
    assert [text.get_text() for text in names(ax)] == ["SAM", "V1", "V2"]
    assert ax.get_ylim()[0] == 0


def test_curves_of_several_problems_are_refused(results):
    with pytest.raises(ResultsError, match="one problem, got 2"):
        plot_regret_curves(results, axes())


def test_final_regret_is_normalised_by_the_gap_squared(results):
    plain = plot_final_regret(results, axes(), x="pairs")
    normal = plot_final_regret(results, axes(), x="pairs", normalise="gap2")
    for a, b in zip(plain.lines[:3], normal.lines[:3], strict=True):
        np.testing.assert_allclose(line_points(a)[1] * 0.01, line_points(b)[1])
    assert "gap²" in normal.get_ylabel()


def test_a_missing_parameter_is_refused(results):
    with pytest.raises(ResultsError, match="needs mean of every problem"):
        plot_final_regret(results, axes(), x="mean")


def instances(*regret, players=4):
    """One policy on random problems that differ in their seed."""
    given = {"family": "random", "players": players, "param_players": players}
    return pl.concat(
        rows("a", values, f"random({players}, seed={seed})", param_seed=seed, **given)
        for seed, values in enumerate(regret)
    ).drop("param_mean", "param_gap")


def test_several_problems_at_one_point_are_refused_or_averaged():
    sweep = pl.concat([instances([1, 3], [5, 7]), instances([2, 2], [8, 8], players=6)])
    with pytest.raises(ResultsError, match=r"2 problems have players = 4, .* over=\"seed\""):
        plot_final_regret(sweep, axes(), x="players")
    with pytest.raises(ResultsError, match=r"for one problem, got 2: .* over=\"seed\""):
        plot_regret_curves(sweep.filter(players=4), axes())
    ax = plot_final_regret(sweep, axes(), x="players", over="seed")
    assert line_points(ax.lines[0])[1].tolist() == [4, 5]
    ax = plot_regret_curves(sweep.filter(players=4), axes(), over="seed")
    assert line_points(ax.lines[0])[1].tolist() == [4]


def test_the_seed_of_the_problems_may_be_the_axis():
    ax = plot_final_regret(instances([1, 3], [5, 7]), axes(), x="seed")
    assert [each.tolist() for each in line_points(ax.lines[0])] == [[0, 1], [2, 6]]
    with pytest.raises(ResultsError, match="no parameter 'sed'; did you mean"):
        plot_final_regret(instances([1, 3], [5, 7]), axes(), x="sed")


def test_bars_over_instances_are_means_of_multiples_of_their_own_limits():
    sweep = instances([10, 10], [60, 60])
    limits = {"random(4, seed=0)": 1.0, "random(4, seed=1)": 3.0}
    ax = plot_limit_bars(sweep, axes(), limits, {"random(4, seed=0)": "four"}, over="seed")
    assert bars(ax)["a"] == pytest.approx([(10 + 60 / 3) / 2 / math.log(9)])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["four"]


def test_a_tail_falls_from_1_to_the_share_of_one_replication():
    ax = plot_tail(frame(a=[1.0, 2.0, 4.0, 8.0], b=[0.0, 0.0, 3.0, 5.0]), axes())
    lines = {line.get_label(): line_points(line) for line in ax.lines}
    assert [each.tolist() for each in lines["a"]] == [[1, 2, 4, 8], [1, 0.75, 0.5, 0.25]]
    assert [each.tolist() for each in lines["b"]] == [[3, 5], [0.5, 0.25]]
    x, share = lines["c / x"]
    np.testing.assert_allclose(x * share, 1.0)  # through the median of a, 2
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_a_tail_of_several_problems_is_refused():
    with pytest.raises(ResultsError, match="a tail is drawn for one problem, got 2"):
        plot_tail(instances([1, 3], [5, 7]), axes())


def test_log_scale_leaves_zeros_out():
    results = rows("a", [[0, 5], [0, 6]], rounds=(1, 10))
    ax = plot_regret_curves(results, axes(), "log", "log")
    assert line_points(ax.lines[0])[0].tolist() == [10]


def test_one_replication_is_drawn_without_a_band():
    one, two = (plot_regret_curves(frame(a=each), axes()) for each in ([3.0], [3.0, 4.0]))
    assert line_points(one.lines[0])[1].tolist() == [3]
    assert [len(ax.collections[0].get_paths()) for ax in (one, two)] == [0, 1]


@pytest.mark.parametrize("count", [2, 5, 12])
def test_names_at_the_ends_do_not_overlap(count):
    equal = pl.concat(
        [rows(f"policy {n}", [[1, 50], [1, 52]], rounds=(1, 10)) for n in range(count)]
    )
    ax = plot_regret_curves(equal, axes())
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in names(ax)]
    assert len(boxes) == count
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(ax.figure.bbox.contains(box.x1, box.y1) for box in boxes)


def test_too_many_names_become_a_legend():
    many = pl.concat([rows(f"policy {n}", [[1, n], [2, n]], rounds=(1, 10)) for n in range(40)])
    ax = plot_regret_curves(many, axes())
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(shown) == sorted(f"policy {n}" for n in range(40))
    assert names(ax) == []


def test_a_long_name_becomes_a_legend():
    name = "a policy with a very long name"
    ax = plot_regret_curves(frame(**{name: [1.0, 2.0]}), axes())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [name]
    assert names(ax) == []


def test_bounds_are_dashed_or_said_to_be_far(results):
    bounds = {"Theorem 1": 1e6, "Theorem 2": 5.0}
    ax = plot_regret_curves(results.filter(pairs=4), axes(), bounds=bounds)
    drawn = {line.get_label(): line for line in ax.lines}
    assert "Theorem 1" not in drawn
    assert line_points(drawn["Theorem 2"])[1][-1] == pytest.approx(5 * math.log(3_000))
    assert any("off the chart" in text.get_text() and "8M" in text.get_text() for text in ax.texts)


def test_the_limit_is_a_line_of_its_logarithm():
    ax = plot_limit_line(axes(), 2.0, 1_000)
    rounds, heights = line_points(ax.lines[0])
    np.testing.assert_allclose(heights, 2 * np.log(rounds))
    assert rounds[-1] == pytest.approx(1_000)


def test_curves_name_the_limit(results):
    ax = plot_regret_curves(results.filter(pairs=4), axes(), limit=3.0)
    assert "limit" in [text.get_text() for text in names(ax)]


def bars(ax):
    return {group.get_label(): [bar.get_height() for bar in group] for group in ax.containers[1::2]}


def test_bars_are_multiples_of_the_limit():
    played = {("a", "p"): [40, 60], ("a", "q"): [10, 10], ("b", "p"): [20, 20], ("b", "r"): [7, 7]}
    results = pl.concat(
        [rows(policy, lost, name, (100,)) for (policy, name), lost in played.items()]
    )
    limits = {"p": 2.0, "q": 1.0, "r": math.nan}
    ax = plot_limit_bars(results, axes(), limits, names={"p": "first"})
    log = math.log(100)
    assert bars(ax)["a"] == pytest.approx([50 / (2 * log), 10 / log])
    assert bars(ax)["b"] == pytest.approx([20 / (2 * log)])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["first", "q"]
    assert ax.get_yscale() == "linear"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["limit", "a", "b"]


def test_bars_far_apart_stand_on_the_limit_in_log_scale():
    results = pl.concat([rows("a", [[1000]], "p", (100,)), rows("b", [[2]], "p", (100,))])
    ax = plot_limit_bars(results, axes(), {"p": 1.0})
    assert ax.get_yscale() == "log"
    log = math.log(100)
    assert bars(ax)["a"] == pytest.approx([1000 / log - 1])
    assert bars(ax)["b"] == pytest.approx([2 / log - 1])
    assert 0 < ax.get_ylim()[0] < 2 / log


def test_a_policy_that_loses_nothing_has_no_bar_above_the_limit():
    results = simulated(pairs=(2,), policies={"V2": POLICIES["V2"], "best": Oracle()})
    ax = plot_limit_bars(results, axes(), {"from_zero(2, 0.1)": 1.97})
    assert bars(ax)["best"] == [-1]
    ax.figure.draw_without_rendering()


def test_without_a_limit_the_bars_say_so(results):
    for played, known in ((results, {}), (rows("a", [[5]], rounds=(1,)), {"p": 1.0})):
        ax = plot_limit_bars(played, axes(), known)
        assert [text.get_text() for text in ax.texts] == ["No problem here has a limit."]


def limits(experiment):
    return Results(experiment, pl.DataFrame()).limits


def test_limits_are_computed_where_a_figure_asks_for_them():
    assert limits(experiment(FigureSpec("final", "f", x="pairs"))) == {}
    line = FigureSpec("curves", "c", where={"pairs": 4}, limit=True)
    assert limits(experiment(line)) == {
        "from_zero(4, 0.1)": lower(Problem.from_zero(4, 0.1)).constant
    }
    assert len(limits(experiment(FigureSpec("limit", "l", x="pairs")))) == 2


def field(count):
    """Many policies on problems of two families."""
    problems = (
        PosedProblem(Problem.from_zero(2, 0.1), "from_zero", {"pairs": 2, "gap": 0.1}),
        PosedProblem(Problem.around(0.5, 2, 0.1), "around", {"mean": 0.5, "pairs": 2, "gap": 0.1}),
    )
    entries = tuple(Entry(f"policy {n}", Oracle()) for n in range(count))
    figures = (
        FigureSpec("limit", "limit", "Bars"),
        FigureSpec("curves", "curves", "Curves", where={"family": "around"}, y_scale="log"),
    )
    return Experiment("e", "A field", "", 10, 2, 0, problems, entries, figures)


@pytest.mark.parametrize("count", [3, 18, 24])
def test_the_names_of_many_policies_find_room(count, monkeypatch):
    experiment = field(count)
    results = pl.concat(
        rows(f"policy {n}", [[1, 50 + n], [1, 52 + n]], posed.problem.name, (1, 10))
        for posed in experiment.problems
        for n in range(count)
    )
    drawn = []
    monkeypatch.setattr("pairup.reporting.figures.render", lambda figure, _: drawn.append(figure))
    bars, curves = draw(experiment, results)
    groups = [tick.get_text() for tick in drawn[0].axes[0].get_xticklabels()]
    assert groups == ["from_zero(2, 0.1)", "around(0.5, 2, 0.1)"]
    assert "against" not in bars.caption
    assert "(family = around)" in curves.caption
    legend = drawn[0].axes[0].get_legend().get_window_extent()
    assert 0 <= legend.y0 < legend.y1 <= drawn[0].bbox.y1
    boxes = [text.get_window_extent() for text in names(drawn[1].axes[0])]
    assert len(boxes) == count
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_styles_are_distinct_and_stable():
    labels = [f"policy {n}" for n in range(21)]
    looks = assign_styles(labels)
    assert len(set(looks.values())) == 21
    assert assign_styles(labels[:5]) == dict(itertools.islice(looks.items(), 5))


@given(st.lists(st.floats(-0.5, 1.5), max_size=12))
def test_spread_keeps_order_distance_and_limits(wanted):
    places = spread_out(wanted, 0.08)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for low, high in itertools.pairwise(order):
        assert places[high] - places[low] >= 0.08 - 1e-9
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)


def test_ticks_are_short():
    assert [format_short(each) for each in (0, 0.25, 999, 1e3, 2.5e6)] == [
        "0",
        "0.25",
        "999",
        "1k",
        "2.5M",
    ]


def test_files_are_the_same_bytes_each_time(results):
    drawn = []
    for _ in range(2):
        figure = Figure()
        plot_regret_curves(results.filter(pairs=2), figure.subplots())
        drawn.append(render(figure))
    assert drawn[0] == drawn[1]
    assert b"dc:date" not in drawn[0]["svg"]


def test_draw_makes_every_figure_the_experiment_asks_for(results, tmp_path):
    specs = (
        FigureSpec("final", "final", "Final", x="pairs", normalise="gap2", y_scale="log"),
        FigureSpec("curves", "curves-0.5", "Curves", where={"pairs": 4}, policies=("SAM", "V2")),
        FigureSpec("curves", "logs", "Logs", where={"pairs": 2}, x_scale="log", y_scale="log"),
        FigureSpec("limit", "limit", "Limit", x="pairs"),
        FigureSpec("curves", "line", "Line", where={"pairs": 2}, limit=True),
        FigureSpec("tail", "tail", "Tail", where={"pairs": 2}),
    )
    pictures = draw(experiment(*specs), results)
    write_pictures(pictures, tmp_path / "new" / "figures")
    found = sorted(path.name for path in (tmp_path / "new" / "figures").iterdir())
    stems = ["e-curves-0.5", "e-final", "e-limit", "e-line", "e-logs", "e-tail"]
    assert found == [f"{stem}.{end}" for stem in stems for end in ("pdf", "png", "svg")]
    titles = ["Final", "Curves", "Logs", "Limit", "Line", "Tail"]
    assert [picture.title for picture in pictures] == titles
    assert "is at least x (L = 2), 3 replications, bands of 95%, log scale" in pictures[5].caption
    assert "SAM median" in pictures[5].alt
    last = results.filter(pairs=2, round=3_000, policy="SAM")["regret"].mean()
    limit = lower(Problem.from_zero(2, 0.1)).regret(3_000)
    assert f"SAM from {last / limit:.1f} to" in pictures[3].alt
    assert "c ln T" in pictures[3].caption
    assert "c ln t" in pictures[4].caption
    assert "c ln" not in pictures[1].caption
    assert "L = 4" in pictures[1].caption
    assert "SAM" in pictures[1].alt
    assert "V1" not in pictures[1].alt


def test_only_the_figures_and_formats_that_are_asked_for_are_drawn(results):
    specs = [FigureSpec("curves", name, where={"pairs": 2}) for name in ("one", "two")]
    analysis = Results(experiment(*specs), results)
    (picture,) = draw_figures(analysis, ["two"], ["svg"])
    assert (picture.name, list(picture.files)) == ("e-two", ["svg"])
    with pytest.raises(ResultsError, match="e has no figure called 'tow'; did you mean"):
        draw_figures(analysis, ["tow"])
    with pytest.raises(ResultsError, match="format cannot be 'gif'"):
        draw_figures(analysis, formats=["gif"])


def test_a_figure_over_instances_says_so():
    posed = tuple(
        PosedProblem(Problem.random(4, seed), "random", {"players": 4, "seed": seed})
        for seed in (0, 1)
    )
    spec = FigureSpec("curves", "c", limit=True)
    entries = (Entry("a", Oracle()),)
    swept = Experiment("e", "", "", 9, 2, 0, posed, entries, (spec,), (), "seed")
    (picture,) = draw(swept, instances([1, 3], [5, 7]))
    assert "mean over seed, 2 replications of each instance, bands over instances" in (
        picture.caption
    )
    assert picture.alt.endswith("at the last round a 4.")


def test_a_figure_without_results_is_refused(results):
    spec = FigureSpec("curves", "curves", where={"pairs": 4})
    other = dataclasses.replace(experiment(spec), name="another")
    with pytest.raises(ResultsError, match="no results to draw"):
        draw(other, results)
