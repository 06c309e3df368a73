"""Pictures as tests look at them: whether the policies are drawn, each in its colour."""

import numpy as np
from matplotlib import colors, image

from pairup.reporting.style import assign_styles


def missing_policies(picture, labels, few=40):
    """Return the labels of which fewer than `few` pixels have the colour of their style."""
    pixels = np.rint(255 * image.imread(picture)[..., :3]).astype(int)
    return [
        label
        for label, style in assign_styles(labels).items()
        if np.sum(np.abs(pixels - _rgb(style.colour)).max(axis=-1) <= 2) < few
    ]


def _rgb(colour):
    return np.rint(255 * np.array(colors.to_rgb(colour))).astype(int)
