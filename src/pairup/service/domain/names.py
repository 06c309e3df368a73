"""Names of pools, players and API keys, and ids of games: what they may be, in one place."""

from __future__ import annotations

import re
import unicodedata

POOL_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
MATCHING_ID = r"^[0-9a-f]{1,16}-[0-9a-f]{1,16}-[0-9a-f]{16}$"
GAME_ID = r"^[0-9a-f]{1,16}-[0-9a-f]{1,16}-[0-9a-f]{16}-[0-9a-f]{1,8}$"
MAX_NAME = 128
ERASED = "erased:"  # followed by a number, it stands for a player whose name was erased
# With characters that nobody sees, what looks like one name would be two. These are the controls,
# format characters (joiners and bidirectional controls among them), line separators and private
# characters of Unicode, all that it calls default-ignorable (fillers, variation selectors, tags),
# two blank symbols, and what stands for undecodable bytes. They are listed, because the categories
# of Python's own tables change with its version. Characters beyond U+FFFF are written as they are:
# JavaScript, Rust and Python have no escape for them in common.
_HIDDEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    r"\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ue000-\uf8ff"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
)
PRINTABLE = f"^[^{_HIDDEN}]+$"
_hidden = re.compile(f"[{_HIDDEN}]")


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
    if not plain and (hidden := _hidden.search(made)):
        raise ValueError(f"a name has no invisible or control characters like {_code(hidden[0])}")
    if made != made.strip():
        raise ValueError("a name neither begins nor ends with a blank")
    if made in (".", ".."):  # clients resolve these in an address before they send it
        raise ValueError("a name cannot be . or .., which mean folders in an address")
    if made.startswith(ERASED):
        raise ValueError(
            f"a name cannot begin with {ERASED!r}, which stands for players whose names were erased"
        )
    made.encode()  # refuses half of a surrogate pair, which no database could store
    return made


def _code(character: str) -> str:
    """Return the code point of a character with its name, where it has one."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()
