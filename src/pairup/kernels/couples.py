"""Couples as they are written: rows (i, j) with i < j."""

from pairup.kernels.runtime.compilation import kernel


@kernel
def write_couple(couples, row, i, j):
    """Write the couple of `i` and `j`, in ascending order."""
    couples[row, 0], couples[row, 1] = min(i, j), max(i, j)


@kernel
def couple_in_order(order, available, couples):
    """Couple the available players who are next to each other in `order`; an odd one is left."""
    row, waiting = 0, -1
    for x in range(len(order)):
        i = order[x]
        if not available[i]:
            continue
        if waiting < 0:
            waiting = i
        else:
            write_couple(couples, row, waiting, i)
            row, waiting = row + 1, -1
