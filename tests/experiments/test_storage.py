import json
from contextlib import suppress

import duckdb
import numpy as np
import pandas
import polars as pl
import pytest

from pairup import Problem, ResultsError, Uniform, load_experiment, load_results, run_experiment
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.posed_problems import PosedProblem, sweep_problems
from pairup.experiments.result_files import read_sealed, seal_parquet
from pairup.experiments.results import SCHEMA_VERSION, schema
from pairup.experiments.storage import compact, read_part
from pairup.experiments.toml_table import Table
from tests.support.experiments.races import UNITS, race
from tests.support.paths import DOCS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    run_experiment(race(100, replications=3), folder)
    return folder


@pytest.fixture
def copy(tmp_path):
    run_experiment(race(50, replications=2), tmp_path)
    return tmp_path


def test_columns_have_their_names_and_types(folder):
    frame = load_results(folder).frame
    assert dict(frame.schema) == schema(race(100))
    assert list(frame.columns) == [
        "experiment",
        "policy",
        "options",
        "problem",
        "family",
        "players",
        "pairs",
        "param_players",
        "seed",
        "replication",
        "round",
        "regret",
        "games",
    ]
    first = frame.row(0, named=True)
    assert json.loads(first.pop("options")) == {
        "name": "unimodal",
        "compare": "players",
        "index": "ucb",
        "clock": "round",
    }
    assert {key: first[key] for key in list(first)[:10]} == {
        "experiment": "race",
        "policy": "V2",
        "problem": "random(4, seed=0)",
        "family": "random",
        "players": 4,
        "pairs": 2,
        "param_players": 4,
        "seed": 7,
        "replication": 0,
        "round": 1,
    }


def test_a_full_matching_of_two_sides_has_as_many_couples_as_the_smaller_side():
    posed = PosedProblem(Problem.click_model("std"), "click_model", {"setting": "std"})
    small = Experiment("e", "", "", 2, 1, 0, (posed,), (Entry("U", Uniform()),))
    frame = run_experiment(small).frame
    assert set(frame["players"]) == {15}
    assert set(frame["pairs"]) == {5}


def test_rows_come_in_the_order_of_the_experiment(folder):
    frame, experiment = load_results(folder).frame, race(100, replications=3)
    order = [
        (entry.label, posed.problem.name, replication)
        for entry in experiment.entries
        for posed in experiment.problems
        for replication in range(3)
    ]
    assert frame.select("policy", "problem", "replication").unique(maintain_order=True).rows() == (
        order
    )
    rounds = frame.group_by("policy", "problem", "replication").agg(pl.col("round"))
    assert all(each == sorted(each) for each in rounds["round"].to_list())


def test_swept_parameters_are_columns(tmp_path):
    small = load_experiment("experiment-2").scaled(rounds=20, replications=1)
    run_experiment(small, tmp_path)
    frame = load_results(tmp_path).frame
    assert frame["param_mean"].unique().sort().to_list() == [0.5, 0.6, 0.7, 0.8]
    assert frame["param_gap"].unique().to_list() == [0.1]


def test_every_parameter_is_a_column_of_its_type(tmp_path):
    tables = [
        {"family": "random", "players": 4, "seed": [0, 1], "distribution": [[1, 1], [2, 5.5]]},
        {"family": "around", "mean": 0.5, "pairs": 2, "gap": 0.1},
        {"family": "random", "players": 3},
    ]
    problems = sweep_problems([Table("", table) for table in tables])
    small = Experiment("e", "", "", 2, 1, 9, tuple(problems), (Entry("U", Uniform()),))
    frame = run_experiment(small).frame
    names = [
        f"param_{name}" for name in ("pairs", "players", "distribution", "gap", "mean", "seed")
    ]
    assert frame.columns[7:13] == names
    assert frame.filter(round=2).select(names).rows() == [
        (None, 4, "[1, 1]", None, None, 0),
        (None, 4, "[2, 5.5]", None, None, 0),
        (None, 4, "[1, 1]", None, None, 1),
        (None, 4, "[2, 5.5]", None, None, 1),
        (2, None, None, 0.1, 0.5, None),
        (None, 3, "[1, 1]", None, None, 0),
    ]
    assert set(frame["seed"]) == {9}
    assert run_experiment(small, tmp_path).frame.equals(frame)
    assert load_results(tmp_path).frame.equals(frame)


def test_parts_and_the_compacted_file_say_the_same(copy):
    compacted = load_results(copy).frame
    data = (copy / "results.parquet").read_bytes()
    (copy / "results.parquet").unlink()
    assert load_results(copy).frame.equals(compacted)
    assert compact(copy, load_results(copy).experiment).frame.equals(compacted)
    assert (copy / "results.parquet").read_bytes() == data
    assert load_results(copy / "results.parquet").frame.equals(compacted)


def test_pandas_and_duckdb_read_the_file(folder):
    frame, path = load_results(folder).frame, folder / "results.parquet"
    by_pandas = pandas.read_parquet(path)
    assert by_pandas["regret"].to_list() == frame["regret"].to_list()
    assert by_pandas["policy"].to_list() == frame["policy"].to_list()
    assert by_pandas["param_players"].to_list() == frame["param_players"].to_list()
    by_duckdb = duckdb.sql(f"select * from read_parquet('{path}')")
    assert by_duckdb.columns == frame.columns
    assert by_duckdb.fetchall() == frame.rows()
    parts = duckdb.sql(f"select sum(games) from read_parquet('{folder}/parts/*.parquet')")
    assert parts.fetchall() == [(frame["games"].sum(),)]


def test_the_experiment_is_read_back(folder):
    experiment = race(100, replications=3)
    assert load_results(folder).experiment == experiment
    assert load_results(folder / "results.parquet").experiment == experiment


@pytest.mark.parametrize("name", ["nothing", "."])
def test_a_folder_without_results_is_refused(tmp_path, name):
    with pytest.raises(ResultsError, match="holds no results"):
        load_results(tmp_path / name)


def test_another_schema_version_is_refused(copy):
    manifest = json.loads((copy / "experiment.json").read_text())
    (copy / "experiment.json").write_text(json.dumps(manifest | {"schema": 99}))
    table = read_sealed(copy / "results.parquet")  # the compacted file has its own version
    assert load_results(copy).frame.equals(table.frame)
    with pytest.raises(ResultsError, match="has schema version 99, this pairup reads 2"):
        run_experiment(race(50, replications=2), copy)
    metadata = {key: text for key, text in table.metadata.items() if key != "pairup.sha256"}
    other = seal_parquet(table.frame, metadata | {"pairup.schema": "3"})
    (copy / "results.parquet").write_bytes(other)
    with pytest.raises(ResultsError, match="has schema version 3, this pairup reads 2"):
        load_results(copy)


def test_a_file_from_elsewhere_is_refused(tmp_path):
    path = tmp_path / "other.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(ResultsError, match=r"has no checksum: .* written by another program"):
        load_results(path)
    path.write_text("no Parquet")
    with pytest.raises(ResultsError, match="is not a Parquet file, or is truncated"):
        load_results(path)


def test_a_single_work_unit_is_not_taken_for_results(folder):
    part = next(folder.glob("parts/*.parquet"))
    with pytest.raises(ResultsError, match="holds a single work unit"):
        load_results(part)


def test_a_truncated_file_is_refused_and_mended(copy):
    data = (copy / "results.parquet").read_bytes()
    (copy / "results.parquet").write_bytes(data[:-100])
    with pytest.raises(ResultsError, match="is truncated"):
        load_results(copy)
    run_experiment(race(50, replications=2), copy)
    assert (copy / "results.parquet").read_bytes() == data


def flips(data, count, seed=0):
    """Copies of some bytes, each with another bit flipped."""
    bits = np.random.default_rng(seed).choice(8 * len(data), count, replace=False)
    for bit in bits.tolist():
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


def test_a_flipped_bit_in_the_results_is_never_read(copy):
    path = copy / "results.parquet"
    data = path.read_bytes()
    for flipped in flips(data, 300):
        path.write_bytes(flipped)
        with pytest.raises(ResultsError, match="Run the experiment again into its folder"):
            load_results(copy)
    again = run_experiment(race(50, replications=2), copy)
    assert (again.run.computed, path.read_bytes()) == (0, data)


def test_a_flipped_bit_in_a_work_unit_computes_this_unit_again(copy):
    data = (copy / "results.parquet").read_bytes()
    part = next(copy.glob("parts/*.parquet"))
    whole = part.read_bytes()
    for flipped in flips(whole, 300):
        part.write_bytes(flipped)
        assert read_part(copy, part.stem) is None
    again = run_experiment(race(50, replications=2), copy)
    assert (again.run.computed, again.run.reused) == (1, UNITS - 1)
    assert part.read_bytes() == whole
    assert (copy / "results.parquet").read_bytes() == data


def test_the_rows_of_another_work_unit_are_not_taken(copy):
    one, other, *_ = copy.glob("parts/*.parquet")
    one.write_bytes(other.read_bytes())
    assert read_part(copy, one.stem) is None


def test_a_flipped_bit_in_the_manifest_is_refused_or_without_effect(copy):
    (copy / "results.parquet").unlink()
    path, sound = copy / "experiment.json", load_results(copy).experiment
    for flipped in flips(path.read_bytes(), 300):
        path.write_bytes(flipped)
        with suppress(ResultsError):
            assert load_results(copy).experiment == sound
    path.unlink()
    assert run_experiment(race(50, replications=2), copy).run.computed == 0


def test_a_manifest_that_is_not_json_is_refused(copy):
    (copy / "results.parquet").unlink()
    (copy / "experiment.json").write_text("{")
    with pytest.raises(ResultsError, match=r"experiment\.json cannot be read"):
        load_results(copy)


def test_a_missing_part_is_none(copy):
    key = json.loads((copy / "experiment.json").read_text())["units"][0]["key"]
    assert read_part(copy, key) is not None
    assert read_part(copy, "0" * 64) is None


def test_files_can_be_read_by_others(copy):
    (copy / "plain").write_text("")
    mode = (copy / "plain").stat().st_mode
    assert (copy / "results.parquet").stat().st_mode == mode


def test_players_who_never_play_lose_nothing(tmp_path):
    problem = Problem([0.0, 0.0, 0.0], "nobody")
    experiment = Experiment(
        "e",
        "",
        "",
        30,
        2,
        0,
        (PosedProblem(problem, "rates", {"rates": 1}),),
        (Entry("U", Uniform()),),
    )
    run_experiment(experiment, tmp_path)
    frame = load_results(tmp_path).frame
    assert frame["games"].sum() == 0
    assert frame["regret"].sum() == 0
    assert frame["pairs"].unique().to_list() == [1]


def test_every_column_and_file_is_documented(folder):
    text = (DOCS / "reference/results.md").read_text()
    posed = PosedProblem(Problem([0.5, 0.5], "p"), "rates", {"NAME": 1})
    experiment = Experiment("e", "", "", 1, 1, 0, (posed,), (Entry("U", Uniform()),))
    for column in schema(experiment):
        assert f"| `{column}` |" in text
    for file in ("results.parquet", "experiment.json", "run.json", "parts/KEY.parquet"):
        assert f"| `{file}` |" in text
    assert f"This is version {SCHEMA_VERSION}." in text
