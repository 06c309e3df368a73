"""The circle method: m players, m even, all meet each other in m - 1 turns of m / 2 meetings.

In turn r the last player meets number r, and the others meet across the circle: r + s meets r - s,
counted modulo m - 1.
"""

from pairup.kernels.runtime.compilation import kernel


@kernel
def step(up, down, last):
    """From the meeting of `up` and `down` to the next; `last` is the number of the last player.

    The first meeting of turn r is that of r and `last`, but one steps on from r and r.
    """
    return up + 1 if up + 1 < last else 0, down - 1 if down > 0 else last - 1
