"""Contrast of text on a page, as the accessibility guidelines count it."""

import re


def contrast(page, selector):
    """Return the contrast of an element's text against what is behind it."""
    colours = page.evaluate(
        """selector => {
            const element = document.querySelector(selector);
            let behind = element;
            while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
                behind = behind.parentElement;
            return [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor];
        }""",
        selector,
    )
    low, high = sorted(luminance(colour) for colour in colours)
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    """Return how light a colour is, written as rgb(r, g, b)."""
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
