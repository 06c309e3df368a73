"""Sorting of players by a value of each."""

from pairup.compiled.kernels import kernel, outlined

_FEW = 64  # players up to which insertion is faster, which leaves an order that hardly changed


@kernel
def sort_by_values(order, values, spare, count):
    """Sort the first `count` players of `order` by decreasing value; equals stay in their order."""
    _insert(order, values, 0, min(count, _FEW))
    if count > _FEW:
        _merge_sort(order, values, spare, count)


@kernel
def _insert(order, values, first, end):
    for x in range(first + 1, end):
        i = order[x]
        y = x
        while y > first and values[order[y - 1]] < values[i]:
            order[y] = order[y - 1]
            y -= 1
        order[y] = i


@outlined
def _merge_sort(order, values, spare, count):
    """Sort runs of a few by insertion, then merge them, two by two."""
    for first in range(_FEW, count, _FEW):
        _insert(order, values, first, min(first + _FEW, count))
    width = _FEW
    while width < count:
        for first in range(0, count - width, 2 * width):
            _merge(order, values, spare, first, first + width, min(first + 2 * width, count))
        width *= 2


@kernel
def _merge(order, values, spare, first, middle, end):
    """Merge two sorted runs next to each other."""
    if values[order[middle - 1]] >= values[order[middle]]:
        return
    for x in range(first, middle):
        spare[x] = order[x]
    x, y = first, middle
    for z in range(first, end):
        if x == middle:
            break  # the rest of the second run is in its place
        if y < end and values[order[y]] > values[spare[x]]:
            order[z] = order[y]
            y += 1
        else:
            order[z] = spare[x]
            x += 1
