import threading
import time

from pairup.service.use_cases import ids
from pairup.service.use_cases.ids import IdSequence


def test_ids_ascend_with_time():
    draw = IdSequence()
    drawn = [id for _ in range(200) for id in draw(10)]
    assert drawn == sorted(set(drawn))
    time.sleep(0.01)
    assert IdSequence()(1)[0] > drawn[-1]  # those of another process too


def test_ids_ascend_when_the_clock_goes_back(monkeypatch):
    draw = IdSequence()
    (before,) = draw(1)
    monkeypatch.setattr(ids.time, "time_ns", lambda: 1)
    assert draw(1)[0] > before


def test_most_of_an_id_is_random():
    """Of ids drawn in the same microsecond, the last fifteen characters differ."""
    ends = {IdSequence()(1)[0][-15:] for _ in range(1_000)}
    assert len(ends) == 1_000


def test_threads_draw_different_ids():
    draw, drawn = IdSequence(), []
    threads = [
        threading.Thread(target=lambda: drawn.extend(id for _ in range(100) for id in draw(5)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 2_000
