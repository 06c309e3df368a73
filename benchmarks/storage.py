"""Bytes of a database per outcome, and bytes written per proposal and its outcomes.

python -m benchmarks storage
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.service.written_log import WrittenLog, bytes_written, table_sizes

_SHAPES = ((1, 2_000), (100, 20_000), (1_000, 50_000))  # games per matching, games in all
_MANY = 1_000  # games per matching where writes are measured


def measure(quick: bool) -> list[dict[str, object]]:
    rows = [_size(games, total // 10 if quick else total) for games, total in _SHAPES]
    marks = (10_000, 30_000) if quick else (10_000, 100_000, 1_000_000)
    return rows + list(_writes(marks))


def _row(what: str, games: int, **figures: object) -> dict[str, object]:
    empty = dict.fromkeys(("bytes per outcome", "by table", "MB written per round"), "")
    return {"what": what, "games": games, **empty, **figures}


def _size(games: int, total: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        log = WrittenLog(Path(folder), games)
        for _ in range(total // games):
            log.play_round()
        log.store.close()
        sizes = table_sizes(log.file)
    per = {name: round(size / total) for name, size in sizes.items() if size > total}
    note = ", ".join(f"{name} {size}" for name, size in per.items())
    outcome = round(sum(sizes.values()) / total)
    what = f"matchings of {games} games"
    return _row(what, total, **{"bytes per outcome": outcome, "by table": note})


def _writes(marks: tuple[int, ...]) -> Iterator[dict[str, object]]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        log = WrittenLog(Path(folder), _MANY)
        for mark in marks:
            while log.games < mark - 10 * _MANY:
                log.play_round()
            before = bytes_written()
            while log.games < mark:
                log.play_round()
            round_mb = round((bytes_written() - before) / 10 / 1e6, 2)
            yield _row(
                f"a proposal and {_MANY} outcomes", mark, **{"MB written per round": round_mb}
            )
        log.store.close()
