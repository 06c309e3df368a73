"""How much is stored and written; more in benchmarks/storage.py."""

import pytest

from tests.support.service.written_log import WrittenLog, bytes_written, table_sizes


@pytest.fixture
def log(tmp_path):
    log = WrittenLog(tmp_path, games=500)
    yield log
    log.store.close()


def _bytes_per_round(log, rounds=3):
    before = bytes_written()
    for _ in range(rounds):
        log.play_round()
    return (bytes_written() - before) / rounds


def test_an_outcome_takes_120_bytes_and_a_commit_writes_no_more_in_a_larger_database(log):
    log.play_round()
    early = _bytes_per_round(log)
    while log.games < 15_000:
        log.play_round()
    assert _bytes_per_round(log) < 1.25 * early
    log.store.close()
    assert sum(table_sizes(log.file).values()) / log.games < 120


def test_an_outcome_in_a_matching_of_its_own_takes_300_bytes(tmp_path):
    """Beside what an empty database takes, a page for each table."""
    log = WrittenLog(tmp_path, games=1)
    empty = sum(table_sizes(log.file).values())
    while log.games < 1_500:
        log.play_round()
    log.store.close()
    assert (sum(table_sizes(log.file).values()) - empty) / log.games < 300
