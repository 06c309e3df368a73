from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import matplotlib
import polars as pl
import pytest
from matplotlib.figure import Figure

from pairup import (
    ExperimentError,
    Oracle,
    PolicyError,
    Problem,
    ResultsError,
    Uniform,
    Unimodal,
    compare,
    load_experiment,
    load_results,
    simulate,
)
from pairup.analysis import paired_differences
from pairup.policies.contract import split_by_fit

MEANS = (0.4, 0.5, 0.6)
POLICIES = {"V2": Unimodal(), "random": Uniform(), "best": Oracle()}


@pytest.fixture(scope="module")
def results():
    problems = [Problem.around(mean, pairs=2, gap=0.1) for mean in MEANS]
    return compare(problems, POLICIES, 500, replications=6, seed=3)


def test_the_rows_are_those_of_simulations(results):
    for label, policy in POLICIES.items():
        for mean in MEANS:
            run = simulate(Problem.around(mean, 2, 0.1), policy, 500, 6, seed=3)
            rows = results.frame.filter(policy=label, param_mean=mean)
            assert rows["regret"].to_list() == run.regret.ravel().tolist()
            assert rows["games"].to_list() == run.frame["games"].to_list()
            assert rows["round"].to_list() == run.frame["round"].to_list()


def test_a_run_is_a_frame_that_statistics_take():
    from pairup.analysis import mean_intervals

    run = simulate(Problem([0.9, 0.5, 0.1], "mine"), Uniform(), 50, 4)
    row = mean_intervals(run.frame).row(-1, named=True)
    assert (row["policy"], row["problem"], row["round"]) == ("Uniform()", "mine", 50)
    assert row["estimate"] == pytest.approx(run.mean()[-1])


def test_a_run_has_the_types_of_results(results):
    frame = simulate(Problem([0.9, 0.5, 0.1]), Uniform(), 5, 2).frame
    assert frame.schema == {name: results.frame.schema[name] for name in frame.columns}


def test_nothing_is_written_without_out_and_what_is_written_is_loaded(
    results, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    problem, policies = Problem([0.9, 0.8, 0.1]), [Uniform(), Oracle()]
    alone = compare(problem, policies, 50, replications=2)
    assert list(tmp_path.iterdir()) == []
    kept = compare(problem, policies, 50, replications=2, out=tmp_path / "kept")
    assert kept.run.computed == 2
    loaded = load_results(tmp_path / "kept")
    assert loaded.frame.equals(alone.frame)
    assert loaded.experiment == alone.experiment
    assert compare(problem, policies, 50, replications=2, out=tmp_path / "kept").run.computed == 0


def test_the_summary_has_intervals_and_paired_differences_from_the_best(results):
    summary = results.summary()
    assert len(summary) == len(MEANS) * len(POLICIES)
    for name, rows in results.standings.items():
        assert [row.policy for row in rows] == ["best", "V2", "random"]
        pairs = paired_differences(results.frame, name)
        for row in rows[1:]:
            (pair,) = pairs.filter(policy=row.policy, other="best").to_dicts()
            assert (row.difference, row.adjusted) == (pair["difference"], pair["adjusted"])
            assert row.difference_low <= row.difference <= row.difference_high
            mine = summary.filter(problem=name, policy=row.policy).row(0, named=True)
            assert mine["difference"] == row.difference
            assert mine["rank"] == row.rank


def test_summaries_of_different_results_fit_each_other(results):
    alone = compare(Problem([0.9, 0.1]), Uniform(), 5, replications=1).summary()
    assert alone.schema == results.summary().schema
    assert alone["low"].to_list() == [None]
    assert pl.concat([alone, results.summary()]).height == 1 + len(MEANS) * len(POLICIES)


def test_differences_have_the_sign_of_policy_minus_best():
    problem = Problem([0.9, 0.8, 0.3, 0.1])
    for policies in ([Oracle(), Uniform()], [Uniform(), Oracle()]):
        best, other = compare(problem, policies, 300, replications=5).standings["rates(1)"]
        assert (best.policy, best.difference, best.adjusted) == ("Oracle()", None, None)
        assert 0 < other.difference_low < other.difference < other.difference_high


def test_a_notebook_shows_a_table_for_each_problem(results):
    shown = results._repr_html_()
    assert shown.count("<table>") == len(MEANS)
    assert shown.count("<td>V2</td>") == len(MEANS)
    assert "6 replications of 500 rounds" in shown


def test_problems_and_policies_are_named_by_a_dict():
    problems = {"first": Problem([0.9, 0.1]), "second": Problem([0.5, 0.5])}
    results = compare(problems, {"at random": Uniform()}, 10, replications=1)
    assert results.frame["problem"].unique(maintain_order=True).to_list() == ["first", "second"]
    assert set(results.frame["policy"]) == {"at random"}
    assert [figure.where for figure in results.experiment.figures[:2]] == [
        {"problem": "first"},
        {"problem": "second"},
    ]


@pytest.mark.parametrize(
    ("problems", "policies", "message"),
    [
        (Problem([0.9, 0.1]), "sam", r"policies must be a list or a dict, got 'sam': try \[Uni"),
        (Problem([0.9, 0.1]), ["sam"], "policies must be a Policy, got 'sam'"),
        (Problem([0.9, 0.1]), {"S": 3}, "policies S must be a Policy, got 3"),
        ([[0.9, 0.1]], Uniform(), r"problems must be a Problem, got \[0.9, 0.1\]"),
        (Problem([0.9, 0.1]), Uniform, r"policies must be a Policy, .*: try Uniform\(\)"),
        (Problem([0.9, 0.1]), [Uniform(), Uniform()], r"label of a policy: .* 'Uniform\(\)' twice"),
        (Problem([0.9, 0.1]), [], "at least one problem and one policy"),
    ],
)
def test_what_is_not_a_problem_or_a_policy_is_refused(problems, policies, message):
    with pytest.raises(ExperimentError, match=message):
        compare(problems, policies, 10)


def test_a_policy_that_cannot_play_is_refused_before_anything_is_played_or_written(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("pairup.experiments.runner.compute_tasks", None)
    problems = [Problem([0.9, 0.1]), Problem.random_graph(6, 0.5).renamed("sparse")]
    policies = {"random": Uniform(), "V2": Unimodal()}
    for executor in (None, ThreadPoolExecutor(1)):
        with pytest.raises(PolicyError, match=r"^V2 on sparse: unimodal is for complete graphs"):
            compare(problems, policies, 10, out=tmp_path / "out", executor=executor)
    assert not (tmp_path / "out").exists()


def lines(ax):
    return {str(line.get_label()): line for line in ax.lines}


def test_results_are_drawn_by_a_word(results):
    axes = [Figure().subplots() for _ in range(4)]
    results.plot(ax=axes[0])
    assert axes[0].get_xlabel() == "mean acceptance rate"
    assert lines(axes[0])["V2"].get_xdata().tolist() == list(MEANS)
    finals = results.frame.filter(policy="V2", round=500, param_mean=0.5)
    assert lines(axes[0])["V2"].get_ydata()[1] == pytest.approx(finals["regret"].mean())
    results.plot(problem="around(0.5, 2, 0.1)", ax=axes[1])
    assert axes[1].get_xlabel() == "round, t"
    assert {"V2", "random", "limit"} <= lines(axes[1]).keys()
    results.plot("tail", problem="around(0.5, 2, 0.1)", ax=axes[2])
    assert "share of replications" in axes[2].get_ylabel()
    results.plot("ratio", ax=axes[3])
    assert axes[3].get_ylabel() == "regret after 500 rounds / limit"
    assert len(axes[3].patches) == len(MEANS) * len(POLICIES)
    assert axes[3].get_xlabel() == "mean acceptance rate"
    assert [label.get_text() for label in axes[3].get_xticklabels()] == ["0.4", "0.5", "0.6"]


@pytest.mark.parametrize(("count", "angle"), [(2, 0), (5, 30)])
def test_names_below_bars_do_not_overlap(count, angle):
    pairs = range(2, 2 + count)  # and other gaps, so that a problem is shown by its name
    problems = [Problem.from_zero(each, 0.1 / each) for each in pairs]
    results = compare(problems, Uniform(), 50, replications=2)
    figure = Figure(figsize=(6, 4))
    labels = results.plot("ratio", ax=figure.subplots()).get_xticklabels()
    assert [label.get_text() for label in labels] == [problem.name for problem in problems]
    assert {label.get_rotation() for label in labels} == {angle}
    boxes = [label.get_window_extent() for label in labels] if angle == 0 else []
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_a_figure_of_its_own_is_made_without_axes_and_saved(results, tmp_path):
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    ax = results.plot()
    assert ax.figure.number in plt.get_fignums()
    ax.savefig(tmp_path / "regret.png")
    assert (tmp_path / "regret.png").read_bytes().startswith(b"\x89PNG")
    plt.close(ax.figure)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "curve"}, "kind cannot be 'curve'"),
        ({"problem": "around(0.5, 2, 0.2)"}, "no results on the problem"),
        ({"kind": "tail"}, r'a tail is drawn for one problem, got 3: choose one, problem="aro'),
        ({"x": "gaps"}, "no parameter 'gaps'"),
        ({"x": "epsilon"}, 'no parameter \'epsilon\'; known: "pairs", "gap", "mean", "players"$'),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused(results, given, message):
    with pytest.raises(ResultsError, match=message):
        results.plot(**given, ax=Figure().subplots())


@pytest.mark.parametrize(
    "problems",
    [
        [Problem.around(0.5, 2, 0.1), Problem.random(6)],
        [Problem([0.9, 0.8, 0.3, 0.1], "mine"), Problem([0.5, 0.4], "yours")],
    ],
    ids=["other families", "lists of rates"],
)
def test_problems_that_do_not_differ_in_one_number_have_bars(problems):
    policies = {"random": Uniform(), "best": Oracle()}
    results = compare(problems, policies, 50, replications=2)
    ax = results.plot(ax=Figure().subplots())
    assert [label.get_text() for label in ax.get_xticklabels()] == [p.name for p in problems]
    tops = sorted(bar.get_y() + bar.get_height() for bar in ax.patches)
    final = results.frame.filter(round=50).group_by("policy", "problem").agg(pl.mean("regret"))
    assert tops == pytest.approx(sorted(final["regret"]))
    assert ax.get_ylabel() == "regret after 50 rounds"


def test_problems_that_differ_in_several_ways_are_drawn_along_a_given_axis():
    problems = [Problem.around(0.5, 2, 0.1), Problem.random(6)]
    results = compare(problems, Uniform(), 10, replications=2)
    ax = results.plot(x="players", ax=Figure().subplots())
    assert lines(ax)["Uniform()"].get_xdata().tolist() == [4, 6]


def test_the_field_on_a_problem_too_large_for_some_says_why():
    field = {entry.label: entry.policy for entry in load_experiment("field").entries}
    able, left_out = split_by_fit(field, Problem.random(42))
    assert list(left_out) == ["PMED"]
    assert "at most 40 players, got 42" in left_out["PMED"]
    assert able.keys() == field.keys() - {"PMED"}


def test_the_limit_of_many_players_is_not_waited_for():
    few, many = (compare(Problem.random(n), Uniform(), 5, replications=1) for n in (24, 26))
    assert [figure.kind for figure in few.experiment.figures if figure.limit] == ["curves"]
    assert [(figure.kind, figure.limit) for figure in many.experiment.figures] == [
        ("curves", False)
    ]
    assert isinstance(many.summary(), pl.DataFrame)
