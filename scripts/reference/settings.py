"""The page of the service's settings, from the fields of `Settings`."""

from pairup.service.settings import OTHER_VARIABLES, Settings
from scripts.reference.markdown import NOTICE, table

_HEAD = f"""# Settings of the service

{NOTICE}

Each setting is an environment variable: `PAIRUP_PORT` sets `port`. `host`, `port`, `database` and
`workers` are also options of [`pairup serve`](cli.md#pairup-serve), which take precedence. A
variable that begins with `PAIRUP_` and is not a setting is refused at the start, so that a spelling
error is noticed; only {{others}} may be set beside them. (Kubernetes sets such variables for a
service called `pairup`, unless `enableServiceLinks` is false.)

"""
_LIMITS = """
## Limits

What a request controls is bounded. With several workers each process counts for itself.

"""
_FIXED = """
These limits are the same everywhere; what exceeds them is refused with 422 `invalid-request`:

"""
_FIXED_ROWS = (
    ("name of a pool", "64 lower-case ASCII letters, digits, `-` and `_`"),
    (
        "name of a player or an API key",
        "128 characters, none of them invisible, a control or a private character; not `.`, `..` "
        "or `erased:...`. It is converted to Unicode's form NFC. Joiners and variation selectors "
        "are invisible: an emoji composed of several, or with a selector of its style, is refused",
    ),
    ("idempotency key", "255 visible ASCII characters"),
    ("`Last-Event-ID`, id of a game, cursor", "32, 64 and 1,024 characters"),
    ("integer", "below 2⁵³ in size"),
    ("options of a policy", "32, names of 64 characters, texts of 256 characters"),
    (
        "number as the value of an option",
        "10⁹ in size, or less where a policy says so: `period` of `rank_one_thompson` is at most "
        "100 in a pool",
    ),
    ("`lifetime_s`", "31 days"),
)


def page() -> str:
    """Return the text of the page."""
    fields, others = Settings.model_fields.items(), ", ".join(f"`{n}`" for n in OTHER_VARIABLES)
    rows = (
        (f"`{name}`", f"`PAIRUP_{name.upper()}`", f"`{field.default}`", field.description or "")
        for name, field in fields
    )
    limits = (
        (f"`{name}`", f"`{field.default}`", field.json_schema_extra["exceeded"])
        for name, field in fields
        if field.json_schema_extra
    )
    settings = table(("setting", "variable", "default", "meaning"), rows)
    bounds = table(("setting", "default", "what happens beyond it"), limits)
    fixed = table(("what", "limit"), _FIXED_ROWS)
    return _HEAD.replace("{others}", others) + settings + _LIMITS + bounds + _FIXED + fixed
