import dataclasses
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from pairup import (
    SAM,
    ExperimentError,
    PolicyError,
    Problem,
    Unimodal,
    get_policy,
    load_experiment,
    policy_names,
    shipped_experiments,
)
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.experiment_file import copy_experiment
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.posed_problems import PosedProblem
from pairup.experiments.work_units import split_into_units
from pairup.policies.contract import check_fit, split_by_fit
from pairup.problem.families import click_model_settings
from tests.support.paths import DOCS
from tests.support.policy_variants import two_sided_variants, variants

GOOD = """
name = "race"
rounds = 100
replications = 2

[problem]
family = "from_zero"
pairs = [2, 3]
gap = [0.1, 0.2]

[[policy]]
label = "SAM"
name = "sam"

[[policy]]
label = "V2"
name = "unimodal"
index = "ucb"

[[figure]]
kind = "final"
name = "final"
x = "pairs"
where = { gap = 0.1 }

[[figure]]
kind = "curves"
name = "curves"
where = { pairs = 2, gap = 0.2 }
policies = ["V2"]
y_scale = "log"
"""


def load(folder, text):
    path = folder / "race.toml"
    path.write_text(text)
    return load_experiment(path)


def with_problem(problem):
    head, rest = GOOD.split("[problem]")
    policies = rest[rest.index("[[policy]]") : rest.index("[[figure]]")]
    return f"{head}[problem]\n{problem}\n{policies}"


def test_a_file_is_read(tmp_path):
    experiment = load(tmp_path, GOOD)
    assert [posed.problem for posed in experiment.problems] == [
        Problem.from_zero(pairs, gap) for pairs in (2, 3) for gap in (0.1, 0.2)
    ]
    assert experiment.problems[1].parameters == {"pairs": 2, "gap": 0.2}
    assert experiment.entries == (Entry("SAM", SAM()), Entry("V2", Unimodal(index="ucb")))
    assert experiment.figures[1].policies == ("V2",)
    assert experiment.title == "race"
    assert experiment.seed == 0


@pytest.mark.parametrize(
    ("problem", "names"),
    [
        ('family = "random"\nplayers = [4, 5]', ["random(4, seed=0)", "random(5, seed=0)"]),
        (
            'family = "random"\nplayers = 4\nseed = 3\ndistribution = [2, 5]',
            ["random(4, seed=3, distribution=(2, 5))"],
        ),
        (
            'family = "random"\nplayers = 4\ndistribution = [[1, 1], [2.0, 5.0]]',
            ["random(4, seed=0)", "random(4, seed=0, distribution=(2, 5))"],
        ),
        ('family = "rates"\nrates = [0.9, 0.5, 0.1]', ["rates(1)"]),
        ('family = "rates"\nrates = [[0.9, 0.5], [0.9, 0.5, 0]]', ["rates(1)", "rates(2)"]),
        ('family = "around"\nmean = 0.5\npairs = 3\ngap = 0.1', ["around(0.5, 3, 0.1)"]),
        ('family = "matrix"\ncouple_rates = [[0, 0.5], [0.5, 0]]', ["matrix(1)"]),
        (
            'family = "matrix"\ncouple_rates = [[[0, 0.5], [0.5, 0]], [[0, 0.1], [0.1, 0]]]',
            ["matrix(1)", "matrix(2)"],
        ),
        (
            'family = "piecewise"\nstarts = [[0, 10], [0, 50]]\nrates = [[0.5, 0.1], [0.1, 0.2]]',
            ["piecewise(1)", "piecewise(2)"],
        ),
    ],
)
def test_families_pose_problems(tmp_path, problem, names):
    experiment = load(tmp_path, with_problem(problem))
    assert [posed.problem.name for posed in experiment.problems] == names


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rounds = 100", "round = 100", 'round: there is no such key; did you mean "rounds"?'),
        ("rounds = 100", "rounds = 0", "rounds: must be an integer of at least 1, got 0"),
        ("rounds = 100", "rounds = 1.5", "rounds: must be an integer of at least 1, got 1.5"),
        ("rounds = 100", "", "rounds: is missing"),
        (
            "rounds = 100",
            "rounds = 100\nseed = -1",
            "seed: must be an integer of at least 0, got -1",
        ),
        ('name = "race"', "name = 3", 'name: must be a string, got 3: put it in quotes, "3"'),
        ('name = "race"', 'name = "a/b"', "name: must be letters, digits, dashes"),
        ('"from_zero"', '"from_zer"', """[problem] family: cannot be 'from_zer'; did you mean"""),
        (
            "gap = [0.1, 0.2]",
            "gab = 0.1",
            '[problem] gab: there is no such key; did you mean "gap"',
        ),
        ("gap = [0.1, 0.2]", "", "[problem] gap: is missing"),
        ("gap = [0.1, 0.2]", "gap = []", "[problem] gap: must have at least one value"),
        ("gap = [0.1, 0.2]", 'gap = "x"', "[problem] gap: must be a number, or a list of such"),
        ("gap = [0.1, 0.2]", "gap = [0.1, 0.1]", "[problem] gap: has 0.1 twice"),
        ("gap = [0.1, 0.2]", "gap = 2", "[problem]: (pairs - 1) * gap must lie in (0, 1]"),
        ("pairs = [2, 3]", "pairs = 2.5", "[problem] pairs: must be an integer"),
        (
            'name = "sam"',
            'name = "sma"',
            """[[policy]] 1 ("SAM"): no policy is called 'sma'; did""",
        ),
        ('label = "SAM"', "", "[[policy]] 1 label: is missing"),
        ('label = "SAM"', 'label = "V2"', "label of a policy: must be given and be distinct"),
        (
            'index = "ucb"',
            'idnex = "ucb"',
            """unimodal has no option 'idnex'; did you mean "index"?""",
        ),
        (
            'index = "ucb"',
            'index = "ucp"',
            """index of unimodal cannot be 'ucp'; did you mean "ucb"?""",
        ),
        ('index = "ucb"', "index = [1]", "index of unimodal cannot be 1"),
        (
            'kind = "final"',
            'kind = "finl"',
            """[[figure]] 1 kind: cannot be 'finl'; did you mean""",
        ),
        ('x = "pairs"', 'x = "pair"', """figure 'final' x: must be a parameter, got 'pair'; did"""),
        ("where = { gap = 0.1 }", "", "figure 'final' where: gap has several values: choose one"),
        (
            "{ gap = 0.1 }",
            "{ gap = 0.3 }",
            "figure 'final' where: gap is never 0.3; known: 0.1, 0.2",
        ),
        (
            "{ gap = 0.1 }",
            "{ gab = 0.1 }",
            "figure 'final' where: no parameter is called 'gab'; did",
        ),
        ("{ gap = 0.1 }", "3", "[[figure]] 1 where: must be a table, got 3"),
        ('["V2"]', '["V3"]', """figure 'curves' policies: no policy is labelled 'V3'; known"""),
        ('["V2"]', '"V2"', "[[figure]] 2 policies: must be a list of labels"),
        ('"log"', '"lgo"', """[[figure]] 2 y_scale: cannot be 'lgo'; did you mean "log"?"""),
        ('name = "curves"', 'name = "final"', "name of a figure: must be given and be distinct"),
        ('name = "curves"', 'name = "a b"', "figure 'a b' name: names a file"),
        ('kind = "curves"', 'kind = "curves"\nx = "gap"', "figure 'curves' x: curves are drawn"),
        ('kind = "curves"', 'kind = "curves"\nlimit = 1', "[[figure]] 2 limit: must be true or"),
        (
            'kind = "curves"',
            'kind = "tail"\nx = "gap"',
            "x: a tail is drawn against the",
        ),
        ('kind = "curves"', 'kind = "tail"\nover = "gap"', "over: a tail is that of one problem"),
        ('kind = "final"', 'kind = "final"\nover = 3', "[[figure]] 1 over: must be a string"),
        (
            'kind = "final"',
            'kind = "final"\nover = "gab"',
            "over: must be a parameter of the problems, got 'gab'; did you mean",
        ),
        ('kind = "final"', 'kind = "final"\nover = "pairs"', "over: pairs is along the axis"),
        ("rounds = 100", 'rounds = 100\nover = "gab"', "over: must be a parameter of the problems"),
        (
            "replications = 2",
            'replications = 2_000_000\nover = "gap"',
            "replications: an instance has at most 1,000,000, got 2000000",
        ),
        ('kind = "final"', 'kind = "final"\nlimit = true', "figure 'final' limit: is a line among"),
        (
            "rounds = 100",
            'rounds = 100\nhorizon_check = ["V3"]',
            "horizon_check: no policy is labelled 'V3'; known",
        ),
        (
            "rounds = 100",
            'rounds = 100\nhorizon_check = "V2"',
            "horizon_check: must be a list of labels, got 'V2'",
        ),
        ("[problem]", "[problem", "not valid TOML"),
        ("[problem]", "[[policies]]", "policies: there is no such key"),
        (
            '[problem]\nfamily = "from_zero"\npairs = [2, 3]\ngap = [0.1, 0.2]',
            "problem = 3",
            "problem: must be tables, got 3: write [[problem]] above each",
        ),
        (
            "{ gap = 0.1 }",
            '{ family = "around" }',
            "family is never 'around'; known: \"from_zero\"",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "race.toml: "))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            'family = "random"\nplayers = 4\ndistribution = [1]',
            "distribution: must be two numbers such as [1, 1]",
        ),
        ('family = "rates"\nrates = [0.5, 1.5]', "must lie in [0, 1], got 1.5 for player 1"),
        ('family = "rates"\nrates = [0.5, "x"]', "rates: must be numbers such as"),
        ("pairs = 2", "[problem] family: cannot be ''"),
        ('family = "random"\nplayers = 4\nseed = -1', "[problem]: seed must be an integer"),
        ('family = "matrix"\ncouple_rates = [0.5]', "couple_rates: must be lists of numbers such"),
        (
            'family = "matrix"\ncouple_rates = [[0, 0.5], [1, 0]]',
            "[problem]: rates of couples must",
        ),
        (
            'family = "piecewise"\nstarts = [5]\nrates = [[0.5, 0.1]]',
            "[problem]: starts must ascend from 0, got [5]",
        ),
    ],
)
def test_what_is_wrong_with_a_problem_is_named(tmp_path, problem, message):
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path, with_problem(problem))
    assert message in str(caught.value)


def test_a_figure_may_choose_a_distribution(tmp_path):
    problem = with_problem('family = "random"\nplayers = [4, 5]\ndistribution = [[1, 1], [2, 5]]')
    figure = '[[figure]]\nkind = "final"\nname = "f"\nx = "players"\n'
    experiment = load(tmp_path, problem + figure + "where = { distribution = [2, 5] }")
    assert [experiment.figures[0].shows(posed) for posed in experiment.problems] == [
        False,
        True,
        False,
        True,
    ]
    with pytest.raises(ExperimentError, match="distribution has several values: choose one"):
        load(tmp_path, problem + figure)
    with pytest.raises(
        ExperimentError, match="x: distribution is not a number, which has no place"
    ):
        load(
            tmp_path,
            problem + figure.replace('"players"', '"distribution"') + "where = { players = 4 }",
        )


SEEDS = 'family = "random"\nplayers = [4, 6]\nseed = [0, 1, 2]'
FINAL = '[[figure]]\nkind = "final"\nname = "f"\nx = "players"\n'


def test_several_instances_per_point_need_over(tmp_path):
    with pytest.raises(ExperimentError, match='seed = 0 }, or average over them, over = "seed"'):
        load(tmp_path, with_problem(SEEDS) + FINAL)
    (figure,) = load(tmp_path, with_problem(SEEDS) + FINAL + 'over = "seed"').figures
    assert figure.over == "seed"


def test_figures_average_over_what_the_experiment_does_unless_they_choose(tmp_path):
    text = 'over = "seed"\n' + with_problem(SEEDS) + FINAL
    one = '[[figure]]\nkind = "{}"\nname = "{}"\nwhere = {{ players = 4, seed = 1 }}\n'
    both = one.format("curves", "c") + one.format("tail", "t")
    along = '[[figure]]\nkind = "final"\nname = "s"\nx = "seed"\nwhere = { players = 4 }'
    experiment = load(tmp_path, text + both + along)
    assert [figure.over for figure in experiment.figures] == ["seed", None, None, None]
    assert Experiment.from_definition(experiment.definition()) == experiment
    with pytest.raises(ExperimentError, match=r"figure 't' where: seed has several .* seed = 0 }$"):
        load(tmp_path, text + '[[figure]]\nkind = "tail"\nname = "t"\nwhere = { players = 4 }')


def test_a_figure_of_problems_without_instances_averages_over_nothing(tmp_path):
    problems = f'[[problem]]\n{SEEDS}\n[[problem]]\nfamily = "rates"\nrates = [0.9, 0.2]'
    curves = '[[figure]]\nkind = "curves"\nname = "c"\nwhere = { family = "rates" }'
    text = 'over = "seed"\n' + with_problem("").replace("[problem]\n", problems) + curves
    (figure,) = load(tmp_path, text).figures
    assert figure.over is None


def test_a_shipped_experiment_is_copied_and_nothing_is_overwritten(tmp_path):
    for name in shipped_experiments():
        path = copy_experiment(name, tmp_path / name)
        assert load_experiment(path) == load_experiment(name)
    with pytest.raises(ExperimentError, match="File exists; give another path"):
        copy_experiment("field", path)
    with pytest.raises(ExperimentError, match=r'no shipped experiment is called .* mean "field"'):
        copy_experiment("feild", tmp_path / "new")


def test_gap2_needs_a_gap(tmp_path):
    figure = '[[figure]]\nkind = "curves"\nname = "c"\nnormalise = "gap2"\nwhere = { players = 4 }'
    with pytest.raises(ExperimentError, match="gap2 needs a problem family with a gap"):
        load(tmp_path, with_problem('family = "random"\nplayers = [4, 5]') + figure)


def test_a_missing_file_is_named_with_its_nearest():
    with pytest.raises(ExperimentError, match='experiment-7; did you mean "experiment-'):
        load_experiment("experiment-7")


def test_a_folder_or_bytes_are_refused(tmp_path):
    with pytest.raises(ExperimentError, match="cannot be read"):
        load_experiment(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ExperimentError, match="cannot be read"):
        load_experiment(tmp_path / "bytes.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rounds = 100", f"rounds = {10**30}", "rounds: must be an integer below 2**40, got 1000"),
        ("rounds = 100", f"rounds = {'9' * 5_000}", "not valid TOML: Exceeds the limit"),
        ("pairs = [2, 3]", f"pairs = {'[' * 5_000}", "not valid TOML: brackets or keys nested"),
        ("pairs = [2, 3]", f"pairs.{'a.' * 2_000}a = 1", "not valid TOML: brackets or keys nested"),
        ("pairs = [2, 3]", f"pairs = {'{a = ' * 2_000}", "not valid TOML: brackets or keys nested"),
    ],
)
def test_endless_numbers_and_nesting_are_refused(tmp_path, old, new, message):
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path / 'race.toml'}: {message}")


def test_a_file_without_an_end_is_refused():
    with pytest.raises(ExperimentError, match="/dev/zero: is longer than 16,777,216 bytes"):
        load_experiment("/dev/zero")


def test_a_file_may_be_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        threads.submit(pipe.write_text, GOOD)
        assert load_experiment(pipe).name == "race"


def test_more_work_units_than_a_manifest_can_list_are_refused(tmp_path):
    many = load(tmp_path, GOOD).scaled(replications=2**39)
    with pytest.raises(ExperimentError, match="at most 1,000,000 work units: lower its replic"):
        split_into_units(many)


MIXED = """
[[problem]]
family = "from_zero"
pairs = [2, 3]
gap = 0.1

[[problem]]
family = "around"
mean = 0.5
pairs = 2
gap = 0.2

[[problem]]
family = "rates"
rates = [0.9, 0.5]

[[problem]]
family = "rates"
rates = [0.9, 0.5, 0.1]
"""


def mixed(figure="", problems=MIXED):
    head, rest = GOOD.split("[problem]")
    policies = rest[rest.index("[[policy]]") : rest.index("[[figure]]")]
    return f"{head}{problems}\n{policies}\n{figure and '[[figure]]'}\n{figure}"


def test_each_table_of_problems_is_swept_by_itself_and_rates_are_numbered_through(tmp_path):
    experiment = load(tmp_path, mixed())
    assert [(posed.family, posed.problem.name) for posed in experiment.problems] == [
        ("from_zero", "from_zero(2, 0.1)"),
        ("from_zero", "from_zero(3, 0.1)"),
        ("around", "around(0.5, 2, 0.2)"),
        ("rates", "rates(1)"),
        ("rates", "rates(2)"),
    ]
    assert experiment.problems[2].parameters == {"mean": 0.5, "pairs": 2, "gap": 0.2}


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ('{ family = "around" }', ["around(0.5, 2, 0.2)"]),
        ("{ mean = 0.5 }", ["around(0.5, 2, 0.2)"]),
        ("{ pairs = 3 }", ["from_zero(3, 0.1)"]),
        ('{ family = "from_zero", pairs = 2 }', ["from_zero(2, 0.1)"]),
        ("{ rates = 2 }", ["rates(2)"]),
    ],
)
def test_curves_choose_a_problem_among_families(tmp_path, where, shown):
    figure = f'kind = "curves"\nname = "c"\nwhere = {where}'
    experiment = load(tmp_path, mixed(figure))
    chosen = [each for each in experiment.problems if experiment.figures[0].shows(each)]
    assert [posed.problem.name for posed in chosen] == shown


def test_bars_stand_for_problems_of_several_families(tmp_path):
    experiment = load(tmp_path, mixed('kind = "limit"\nname = "l"'))
    assert all(map(experiment.figures[0].shows, experiment.problems))


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ('kind = "curves"', 'where: family has several values: choose one, { family = "from_zero"'),
        ('kind = "curves"\nwhere = { pairs = 2 }', "where: family has several values"),
        ('kind = "curves"\nwhere = { family = "from_zero" }', "pairs has several values"),
        ('kind = "final"\nx = "pairs"', "where: family has several values"),
        ('kind = "limit"\nx = "pairs"', "where: family has several values"),
        ('kind = "limit"\nx = "pears"', """x: must be a parameter, got 'pears'; did you mean"""),
        ('kind = "final"\nwhere = { mean = 0.5 }', "x: must be a parameter, got None"),
        ('kind = "final"\nx = "mean"\nwhere = { means = 1 }', "no parameter is called 'means'"),
        (
            'kind = "curves"\nwhere = { mean = 0.5, pairs = 3 }',
            "where: no problem has all of these values: leave one out",
        ),
        (
            'kind = "curves"\nnormalise = "gap2"\nwhere = { rates = 1 }',
            "gap2 needs a problem family with a gap",
        ),
    ],
)
def test_what_does_not_fit_several_families_is_named(tmp_path, figure, message):
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path, mixed(f'{figure}\nname = "f"'))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"around"', '"arund"', "[[problem]] 2 family: cannot be 'arund'; did you mean"),
        ("mean = 0.5\n", "", "[[problem]] 2 mean: is missing"),
        ("mean = 0.5", "mean = 2", "[[problem]] 2: "),
        ('"around"\nmean = 0.5', '"from_zero"', "name of a problem: must be given and be distinct"),
        ("[[problem]]", "[problem]", "not valid TOML"),
    ],
)
def test_what_is_wrong_with_one_of_several_problems_is_named(tmp_path, old, new, message):
    wrong = MIXED.replace(old, new, 1).replace("pairs = 2\ngap = 0.2", "pairs = 2\ngap = 0.1", 1)
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path, mixed(problems=wrong))
    assert message in str(caught.value)


def test_no_problem_is_refused(tmp_path):
    with pytest.raises(ExperimentError, match="at least one problem"):
        load(tmp_path, mixed(problems="problem = []"))


PAPER = ("experiment-1", "experiment-2")


@pytest.mark.parametrize("name", PAPER)
def test_shipped_experiments_are_the_papers(name):
    experiment = load_experiment(name)
    assert experiment.name == name
    assert (experiment.rounds, experiment.replications) == (1_000_000, 20)
    labels = ["SAM", "V1", "V2", "V1 KL", "V2 KL", "Rank one"]
    assert [entry.label for entry in experiment.entries] == labels
    ucb = {"index": "ucb", "clock": "round"}
    assert experiment.entries[1].policy == Unimodal(compare="matchings", **ucb)
    assert experiment.entries[2].policy == Unimodal(compare="players", **ucb)
    assert {figure.policies for figure in experiment.figures} == {("SAM", "V1", "V2"), ()}


def test_the_field_is_every_policy_on_two_problems():
    field = load_experiment("field")
    assert (field.rounds, field.replications) == (1_000_000, 20)
    names = [posed.problem.name for posed in field.problems]
    assert names == ["from_zero(4, 0.1)", "around(0.5, 4, 0.1)"]
    raced = {entry.policy.name for entry in field.entries}
    able = {name for name in policy_names() if not get_policy(name).needs_sides}
    assert raced == able - {"oracle"}  # a policy that knows the rates runs no race
    for other in PAPER:  # the same policies under the same names
        assert set(load_experiment(other).entries) <= set(field.entries)
    assert all(len(entry.label) <= 10 for entry in field.entries)


def test_the_field_on_two_sides_is_every_policy_that_plays_there():
    field = load_experiment("field-two-sided")
    able = set()
    for variant in [*variants(), *two_sided_variants()]:
        try:
            check_fit(variant.policy([0.5]), field.problems[0].problem)
        except PolicyError:
            continue
        able.add(variant.policy_class.name)
    assert {entry.policy.name for entry in field.entries} == able - {"oracle"}
    entrants = {entry.label: entry.policy for entry in field.entries}
    assert split_by_fit(entrants, Problem.click_model("kdd-2")) == (entrants, {})


@pytest.mark.parametrize("name", ["rankings", "rankings-kdd"])
def test_shipped_rankings_have_all_click_models(name):
    experiment = load_experiment(name)
    assert (experiment.rounds, experiment.replications) == (100_000, 20)
    settings = [posed.parameters["setting"] for posed in experiment.problems]
    queries = name == "rankings-kdd"
    known = [each for each in click_model_settings() if each.startswith("kdd-") == queries]
    assert settings == known
    assert {figure.name for figure in experiment.figures} == set(known)
    for posed in experiment.problems:
        rows, columns = posed.problem.sides
        assert (5 <= rows <= 11 and columns == 3) if queries else (rows, columns) == (10, 5)


def test_shipped_problems_are_the_papers():
    first, second = map(load_experiment, PAPER)
    assert [posed.problem.pairs for posed in first.problems] == list(range(2, 12))
    means = [posed.parameters["mean"] for posed in second.problems]
    assert means == [0.5, 0.6, 0.7, 0.8]
    assert {posed.problem.pairs for posed in second.problems} == {4}


@pytest.mark.parametrize("name", shipped_experiments())
def test_a_definition_is_plain_and_makes_the_experiment_again(name):
    experiment = load_experiment(name)
    definition = json.loads(json.dumps(experiment.definition()))
    assert Experiment.from_definition(definition) == experiment


def test_a_definition_makes_problems_of_every_kind_again(tmp_path):
    tables = (
        'family = "matrix"\ncouple_rates = [[0, 0.5], [0.5, 0]]',
        'family = "piecewise"\nstarts = [0, 9]\nrates = [[0.5, 0.1], [0.1, 0.2]]',
    )
    for table in tables:
        experiment = load(tmp_path, with_problem(table))
        definition = json.loads(json.dumps(experiment.definition()))
        assert Experiment.from_definition(definition) == experiment


def test_scaled_changes_nothing_else():
    experiment = load_experiment("experiment-1")
    small = experiment.scaled(rounds=10)
    assert small == dataclasses.replace(experiment, rounds=10)
    assert experiment.scaled() == experiment
    with pytest.raises(ExperimentError, match="replications: must be an integer of at least 1"):
        experiment.scaled(replications=0)


def test_an_experiment_made_in_python_is_checked_too():
    posed = (PosedProblem(Problem([0.1, 0.2]), "rates", {}),)
    with pytest.raises(ExperimentError, match="at least one problem and one policy"):
        Experiment("e", "", "", 1, 1, 0, (), (Entry("a", SAM()),))
    with pytest.raises(ExperimentError, match="name of a problem: must be given"):
        Experiment("e", "", "", 1, 1, 0, posed, (Entry("a", SAM()),))
    named = (PosedProblem(Problem([0.1, 0.2], "two"), "rates", {}),)
    with pytest.raises(ExperimentError, match="x: must be a parameter, got None"):
        Experiment("e", "", "", 1, 1, 0, named, (Entry("a", SAM()),), (FigureSpec("final", "f"),))


PAGE = (DOCS / "reference/experiment-file.md").read_text()


def test_the_documented_file_is_valid(tmp_path):
    example = PAGE.split("```toml\n")[1].split("```")[0]
    experiment = load(tmp_path, example)
    assert len(experiment.problems) == 3
    message = PAGE.split("answered with the file")[1].split("```\n")[1].split("```")[0]
    with pytest.raises(ExperimentError) as caught:
        load(tmp_path, example.replace('index = "kl"', 'idnex = "kl"'))
    assert str(caught.value).endswith(message.strip().removeprefix("my-race.toml"))


def test_every_key_is_documented():
    for figure in dataclasses.fields(FigureSpec):
        assert f"`{figure.name}`" in PAGE
    for key in ("name", "title", "about", "rounds", "replications", "seed", "horizon_check"):
        assert f"| `{key}` |" in PAGE
