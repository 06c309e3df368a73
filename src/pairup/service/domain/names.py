"""Names of pools, players and API keys: what they may be, in one place."""

from __future__ import annotations

import re
import unicodedata

POOL_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
MAX_NAME = 128
# No control characters, line breaks, marks that turn the direction of text, invisible blanks, nor
# characters that stand for undecodable bytes: what looks like one name would be two.
PRINTABLE = (
    r"^[^\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    r"\ufff0-\uffff]+$"
)


def normalized_name(name: str) -> str:
    r"""Return the name of a player or an API key in Unicode's form NFC, or raise a `ValueError`.

    Two spellings of the same letters, which look alike, are one name.

    Examples
    --------
    >>> len("Zoe\u0308"), len(normalized_name("Zoe\u0308"))
    (4, 3)
    """
    plain = name.isascii() and name.isprintable()  # as most are: checked fast, as there are many
    made = name if plain else unicodedata.normalize("NFC", name)
    if not 1 <= len(made) <= MAX_NAME:
        raise ValueError(f"a name has 1 to {MAX_NAME} characters, not {len(made)}")
    if not plain and not re.fullmatch(PRINTABLE, made):
        raise ValueError("a name has no control characters, line breaks or invisible marks")
    if made != made.strip():
        raise ValueError("a name neither begins nor ends with a blank")
    if made in (".", ".."):  # clients resolve these in an address before they send it
        raise ValueError("a name cannot be . or .., which mean folders in an address")
    made.encode()  # refuses half of a surrogate pair, which no database could store
    return made
