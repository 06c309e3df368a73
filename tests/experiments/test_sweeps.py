"""Options of policies that are swept, in files and in calls."""

import json

import pytest
from matplotlib.figure import Figure

from pairup import (
    SAM,
    EpsilonGreedy,
    ExperimentError,
    Problem,
    ResultsError,
    Uniform,
    compare,
    load_experiment,
    load_results,
    run_experiment,
)
from pairup.reporting import draw_figures
from tests.support.experiments.frames import simulated

VALUES = [5.0, 10.0, 40.0]
FILE = """
name = "swept"
rounds = 200
replications = 3

[problem]
family = "around"
mean = 0.5
pairs = 2
gap = 0.1

[[policy]]
label = "greedy"
name = "epsilon_greedy"
epsilon = [5.0, 10.0, 40.0]

[[policy]]
label = "random"
name = "uniform"

[[figure]]
kind = "final"
name = "epsilon"
x = "epsilon"
"""


def load(tmp_path, text=FILE):
    (tmp_path / "swept.toml").write_text(text)
    return load_experiment(tmp_path / "swept.toml")


def sweep(**options):
    policies = {
        "greedy": [EpsilonGreedy(epsilon=value) for value in VALUES],
        "random": Uniform(),
    }
    return compare(Problem.around(0.5, 2, 0.1), policies, 200, replications=3, **options)


def lines_of(ax):
    return {str(line.get_label()): line for line in ax.lines}


def test_a_list_under_a_policy_gives_an_entry_for_each_value(tmp_path):
    entries = load(tmp_path).entries
    assert [entry.label for entry in entries] == [
        *(f"greedy epsilon={value:g}" for value in VALUES),
        "random",
    ]
    assert [entry.policy for entry in entries[:3]] == [EpsilonGreedy(epsilon=v) for v in VALUES]


def test_several_lists_give_all_combinations_the_last_changing_fastest(tmp_path):
    two = 'schedule = ["constant", "decaying"]\nepsilon = [0.1, 0.5]'
    labels = [
        e.label
        for e in load(
            tmp_path, FILE.replace("epsilon = [5.0, 10.0, 40.0]", two).partition("[[figure]]")[0]
        ).entries
    ]
    assert labels[:4] == [
        f"greedy schedule={schedule} epsilon={value}"
        for schedule in ("constant", "decaying")
        for value in (0.1, 0.5)
    ]


def test_a_call_and_a_file_give_the_same_rows(tmp_path):
    by_file = run_experiment(load(tmp_path), tmp_path / "out")
    by_call = sweep()
    columns = [name for name in by_call.frame.columns if name != "experiment"]
    assert by_file.frame.select(columns).equals(by_call.frame.select(columns))
    values = by_file.frame.filter(policy="greedy epsilon=10")["option_epsilon"]
    assert set(values) == {10.0}
    assert by_file.frame.filter(policy="random")["option_epsilon"].null_count() == len(values)
    loaded = load_results(tmp_path / "out")
    assert loaded.experiment == by_file.experiment
    assert loaded.frame.equals(by_file.frame)


def test_rows_without_a_sweep_have_no_column_for_options():
    frame = compare(Problem([0.9, 0.1]), [Uniform(), SAM()], 10, replications=1).frame
    assert [name for name in frame.columns if name.startswith("option_")] == []


def test_an_option_is_along_the_axis_and_other_policies_are_flat(tmp_path):
    results = sweep()
    ax = results.plot(x="epsilon", ax=Figure().subplots())
    lines = lines_of(ax)
    final = results.frame.filter(round=200)
    means = [final.filter(option_epsilon=value)["regret"].mean() for value in VALUES]
    assert lines["greedy"].get_xdata().tolist() == VALUES
    assert lines["greedy"].get_ydata().tolist() == pytest.approx(means)
    flat = final.filter(policy="random")["regret"].mean()
    assert lines["random"].get_ydata().tolist() == pytest.approx([flat] * 3)
    (picture,) = draw_figures(run_experiment(load(tmp_path)), formats=["svg"])
    assert "against epsilon" in picture.caption


def test_of_several_swept_options_the_others_have_a_line_each():
    sizes = (0.1, 0.5)
    grid = [EpsilonGreedy(s, e) for s in ("constant", "decaying") for e in sizes]
    policies = {"greedy": grid, "random": Uniform()}
    results = compare(Problem.around(0.5, 2, 0.1), policies, 100, replications=3)
    ax = results.plot(x="epsilon", ax=Figure().subplots())
    lines = lines_of(ax)
    final = results.frame.filter(round=100)
    for schedule in ("constant", "decaying"):
        line = lines[f"greedy schedule={schedule}"]
        rows = final.filter(option_schedule=schedule)
        assert line.get_xdata().tolist() == list(sizes)
        assert line.get_ydata().tolist() == pytest.approx(
            [rows.filter(option_epsilon=size)["regret"].mean() for size in sizes]
        )
    with pytest.raises(ResultsError, match="schedule is not a number, which has no place on an"):
        results.plot(x="schedule", ax=Figure().subplots())


def test_an_axis_that_is_not_swept_is_refused():
    with pytest.raises(ResultsError, match="no parameter 'width', and no such option is swept"):
        sweep().plot(x="width", ax=Figure().subplots())
    assert "param_gap" in simulated((2,), 10, 2).columns


def test_an_option_is_along_the_axis_for_one_problem():
    problems = [Problem.around(mean, 2, 0.1) for mean in (0.4, 0.5)]
    policies = {"greedy": [EpsilonGreedy(epsilon=value) for value in VALUES]}
    results = compare(problems, policies, 50, replications=2)
    with pytest.raises(ResultsError, match=r'epsilon .* got 2: choose one, problem="around\(0.4'):
        results.plot(x="epsilon", ax=Figure().subplots())
    ax = results.plot(x="epsilon", problem="around(0.5, 2, 0.1)", ax=Figure().subplots())
    assert lines_of(ax)["greedy"].get_xdata().tolist() == VALUES


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[5.0, 10.0, 40.0]", "[]", r"\[\[policy\]\] 1 epsilon: must have at least one value"),
        ("[5.0, 10.0, 40.0]", "[5.0, 5.0]", "epsilon: has 5.0 twice"),
        ("[5.0, 10.0, 40.0]", "[5.0, -1.0]", "greedy.*epsilon of epsilon_greedy.*got -1"),
        ("epsilon = [5.0", "epsilom = [5.0", "has no option 'epsilom'; did you mean"),
        ('x = "epsilon"', 'x = "epsilom"', "parameter, or an option that is swept, got 'epsilom'"),
        ("pairs = 2", "pairs = [2, 3]", "figure 'epsilon' where: pairs has several values"),
    ],
)
def test_a_mistake_is_reported_when_the_file_is_read(tmp_path, old, new, message):
    assert old in FILE
    with pytest.raises(ExperimentError, match=message):
        load(tmp_path, FILE.replace(old, new))


def test_words_have_no_place_on_an_axis(tmp_path):
    words = FILE.replace("epsilon = [5.0, 10.0, 40.0]", 'schedule = ["constant", "decaying"]')
    with pytest.raises(ExperimentError, match="x: schedule is not a number"):
        load(tmp_path, words.replace('x = "epsilon"', 'x = "schedule"'))


def test_a_list_that_an_option_takes_itself_is_one_value(tmp_path):
    text = FILE.partition("[[policy]]")[0]
    for prior, labels in (
        ("[2, 3]", ["r"]),
        ("[[2, 3], [1, 1]]", ["r prior=(2.0, 3.0)", "r prior=(1.0, 1.0)"]),
    ):
        policy = f'[[policy]]\nlabel = "r"\nname = "rank_one_thompson"\nprior = {prior}'
        assert [entry.label for entry in load(tmp_path, text + policy).entries] == labels


def test_a_sweep_is_of_one_policy():
    with pytest.raises(ExperimentError, match="a sweep varies the options of one policy, got sam"):
        compare(Problem([0.9, 0.1]), {"mixed": [SAM(), Uniform()]}, 10)
    with pytest.raises(ExperimentError, match="a sweep varies the options of one policy, got none"):
        compare(Problem([0.9, 0.1]), {"none": []}, 10)


def test_the_definition_of_an_experiment_without_sweeps_does_not_mention_them():
    definition = load_experiment("experiment-1").definition()
    assert "sweeps" not in json.dumps(definition)
