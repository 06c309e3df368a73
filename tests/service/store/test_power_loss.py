"""Nothing acknowledged is lost when the power is cut; more in benchmarks/power_cuts.py."""

from tests.support.service.power_cuts import choose_cuts, find_lost, serve_load
from tests.support.service.power_loss import LOSSES


def test_no_power_cut_loses_what_was_acknowledged(tmp_path):
    (tmp_path / "served").mkdir()
    trace = serve_load(tmp_path / "served", rounds=12)
    kinds = {step[0] for step in trace.steps}
    assert kinds >= {"written", "synced", "deleted", "acknowledged"}
    moved = [step for step in trace.steps if step[:2] == ("written", "pools.db")]
    assert len(moved) > 40  # pages by checkpoints
    assert find_lost(trace, tmp_path / "cut", choose_cuts(trace, 200)) == []


def test_a_power_cut_while_the_database_is_made_is_recovered_from(tmp_path):
    (tmp_path / "served").mkdir()
    trace = serve_load(tmp_path / "served", rounds=0)
    made = next(n for n, step in enumerate(trace.steps) if step[0] == "deleted") + 1
    cuts = [(cut, LOSSES[(cut + turn) % 4]) for cut in range(made + 2) for turn in (0, 1)]
    assert find_lost(trace, tmp_path / "cut", cuts) == []


def test_without_syncs_power_cuts_do_lose_what_was_acknowledged(tmp_path):
    """The layer loses what is not synced: otherwise the test above could not fail."""
    (tmp_path / "served").mkdir()
    trace = serve_load(tmp_path / "served", rounds=2, synchronous="OFF")
    cut = max(place for place, step in enumerate(trace.steps) if step[0] == "acknowledged") + 1
    lost = find_lost(trace, tmp_path / "cut", [(cut, LOSSES[0])])
    assert [each for _, _, each in lost] == trace.acknowledged(cut)
    assert find_lost(trace, tmp_path / "cut", [(cut, LOSSES[1])]) == []
