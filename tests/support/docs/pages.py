"""Pages of the documentation as tests read them: their blocks of code."""

import re
from typing import NamedTuple

from tests.support.paths import DOCS


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    title: str  # of a file that the reader saves
    text: str


def read(page):
    """Return the text of a page by its path in docs."""
    return (DOCS / page).read_text("utf-8")


def blocks(page, *languages):
    """Return the blocks of a page, in its order; of some languages, or of all."""
    pattern = r"^```(\w*)(?: title=\"(.*?)\")?\n(.*?)^```$"
    found = [Block(*each) for each in re.findall(pattern, read(page), re.S | re.M)]
    return [each for each in found if not languages or each.language in languages]
