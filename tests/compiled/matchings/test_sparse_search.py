import numpy as np

from pairup.compiled.matchings.sparse_search import EventHeap, add_event, drop_first, is_full
from pairup.compiled.state_fields import new_state


def test_events_come_in_the_order_of_their_times():
    random, heap, awaited = np.random.default_rng(0), new_state(EventHeap, {"events": 50}), []
    for turn in range(2_000):
        if not is_full(heap) and random.random() < 0.55:
            event = float(random.integers(0, 30)), turn, -turn
            add_event(heap, *event)
            awaited.append(event)
        elif awaited:
            first = heap.time[0], heap.what[0], heap.other[0]
            assert first[0] == min(time for time, _, _ in awaited)
            awaited.remove(first)
            drop_first(heap)
        assert heap.size[0] == len(awaited)
