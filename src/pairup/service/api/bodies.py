"""Bodies of requests: how JSON is read, when it is refused, and how it is described.

They are read in the thread that answers the request, never on the event loop.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.json_schema import models_json_schema

from pairup.service.api.schemas.fields import PATTERN_RULES
from pairup.service.problems import RefusalError

M = TypeVar("M", bound=BaseModel)
_JSON, _NOT_JSON = "application/json", "not_json"
_LARGE = 65_536  # bytes, beyond which parsing takes more than a moment
_ALWAYS = 100  # parts, and commas, that a body of any kind may have
_MAX_ERRORS = 100  # that are listed; a list reports only its first
_PART = 20_000  # items of a long list that are parsed at once
_MAX_DEPTH = 4  # of lists that are looked at
_FIELD = re.compile(rb'"([a-z_]+)"\s*:\s*\[$')
_COMMA = 2
_STEPS = np.zeros(256, np.int8)  # by which a character changes the depth, or that it is a comma
_STEPS[list(b"[{")], _STEPS[list(b"]}")], _STEPS[ord(",")] = 1, -1, _COMMA
_turn = threading.Lock()  # of the thread that parses a large body


def read_json(
    body: bytes,
    content_type: str,
    model: type[M],
    *,
    default: M | None = None,
    max_parts: int = 0,
    max_items: int = 0,
    wait_s: float = 20.0,
    in_parts: bool = False,
) -> M:
    """Return what was sent as JSON, or refuse it.

    Parameters
    ----------
    body, content_type
        What was sent, and its declared type.
    model
        What it is read as.
    default
        Value of an empty body and of null; by default both are refused.
    max_parts, max_items
        Number of objects, lists and named fields in the largest valid body, and of items in its
        lists besides. About a hundred are always taken.
    wait_s
        Seconds for which a large body waits for others to be parsed.
    in_parts
        Whether long lists are parsed some items at a time, so that others can work in between. A
        model that compares lists with each other does so in a method `check`, which is called again
        when they are complete.
    """
    if default is not None and body.strip() in (b"", b"null"):
        return default
    if not body:
        raise invalid_request([{"type": "missing", "loc": ("body",), "msg": "Field required"}])
    if not _is_json(content_type):
        rule = f"Input should be sent as {_JSON}"
        raise invalid_request([{"type": _NOT_JSON, "loc": ("body",), "msg": rule, "input": body}])
    if len(body) <= _LARGE:
        return _parse(body, model)
    with _taking_turns(wait_s) as turn:
        _check_structure(body, max_parts + _ALWAYS, max_parts + max_items + _ALWAYS)
        if in_parts and (lists := _long_lists(body)):
            with suppress(ValueError):  # of which the parser of the whole body tells
                made = _parse_in_parts(body, model, lists)
                turn.breaks = 0.0  # it had them
                return made
        return _parse(body, model)


class _Turn:
    """A turn to parse, and how long others get after it, in times of what it took."""

    breaks = 2.0


@contextmanager
def _taking_turns(wait_s: float) -> Iterator[_Turn]:
    """Allow one thread at a time to parse, and then leave the others twice the time it took.

    The parser keeps the interpreter's lock from the first byte to the last. If threads parsed one
    after the other without a break, the event loop would wait for one of them at every step.
    """
    if not _turn.acquire(timeout=wait_s):
        raise RefusalError(
            "too-much-at-once",
            f"other large bodies have been parsed for more than {wait_s:g} s: send it again later, "
            "or less at once",
            retry_s=1,
        )
    turn, began = _Turn(), time.perf_counter()
    try:
        yield turn
    finally:
        time.sleep(turn.breaks * (time.perf_counter() - began))
        _turn.release()


def _is_json(content_type: str) -> bool:
    sent = content_type.partition(";")[0].strip().lower()
    return sent == _JSON or (sent.startswith("application/") and sent.endswith("+json"))


def _check_structure(body: bytes, max_parts: int, max_commas: int) -> None:
    """Refuse a body that would keep everyone waiting while it is parsed."""
    parts, commas = count_structure(body)
    if parts > max_parts or commas > max_commas:
        raise RefusalError(
            "too-large",
            f"the body has {parts} objects, lists and named fields and {commas} commas, at most "
            f"{max_parts} and {max_commas} are taken here: send less at once, or raise whichever "
            "applies of max_players, max_player_changes, max_outcomes, max_apart, max_allowed, "
            "max_import_rows",
            {"most": max_parts},
        )


def count_structure(body: bytes) -> tuple[int, int]:
    r"""Count the objects, lists and named fields, and the commas of JSON, without parsing it.

    Examples
    --------
    >>> count_structure(b'{"players": [{"player": "[a] \\"b: {c"}, {}]}')
    (6, 1)
    """
    text = np.frombuffer(_without_escapes(body), np.uint8)
    outside = ~np.logical_xor.accumulate(text == ord('"'))
    parts = ((text | 0x20) == ord("{")) | (text == ord(":"))  # [ is { without that bit
    commas = text == ord(",")
    return int(np.count_nonzero(parts & outside)), int(np.count_nonzero(commas & outside))


def _without_escapes(body: bytes) -> bytes:
    """Return JSON of the same length in which each quotation mark begins or ends a text.

    To replace something keeps the interpreter's lock, for a millisecond per megabyte even if there
    is nothing to replace; most bodies have no escapes.
    """
    if b"\\" not in body:
        return body
    return body.replace(b"\\\\", b"__").replace(b'\\"', b"__")


class _LongList(NamedTuple):
    """A long list in a body."""

    name: str  # of the field
    begin: int  # of its items in the body
    end: int
    cuts: list[int]  # commas between its parts


def _long_lists(body: bytes) -> list[_LongList]:
    """Find the lists with very many items; none if that of a field without a name is among them."""
    text = np.frombuffer(_without_escapes(body), np.uint8)
    kinds = _STEPS[text] * ~np.logical_xor.accumulate(text == ord('"'))
    marks = np.flatnonzero(kinds)
    kinds = kinds[marks]
    depth = np.cumsum(np.where(kinds == _COMMA, 0, kinds))
    found = list[_LongList]()
    for level in range(1, min(int(depth.max(initial=0)), _MAX_DEPTH) + 1):
        begins, ends = (marks[(kinds == sign) & (depth == level - (sign < 0))] for sign in (1, -1))
        commas = marks[(kinds == _COMMA) & (depth == level)]
        if len(begins) != len(ends):
            return []  # not JSON, which the parser says better
        first, last = np.searchsorted(commas, begins), np.searchsorted(commas, ends)
        for x in np.flatnonzero(last - first >= _PART).tolist():
            named = _FIELD.search(body[max(0, begins[x] - 100) : begins[x] + 1])
            if named is None:
                return []
            cuts = commas[first[x] : last[x]][_PART - 1 :: _PART].tolist()
            found.append(_LongList(named[1].decode(), int(begins[x]) + 1, int(ends[x]), cuts))
    return sorted(found, key=lambda each: each.begin)


def _parse_in_parts(body: bytes, model: type[M], lists: list[_LongList]) -> M:
    """Parse a body without its long lists, and then these, some items at a time.

    Raises a `ValueError` where a rule is broken, but not what must be said of it.
    """
    ends = [0, *(each.end for each in lists)]
    begins = [*(each.begin for each in lists), len(body)]
    between = [body[end:begin] for end, begin in zip(ends, begins, strict=True)]
    made = model.model_validate_json(b"".join(between))
    nested: list[BaseModel] = [each for each in vars(made).values() if isinstance(each, BaseModel)]
    models: list[BaseModel] = [made, *nested]
    owners = {name: each for each in models for name in type(each).model_fields}
    for each in lists:
        owner = owners[each.name]
        setattr(owner, each.name, _parse_list(body, each, type(owner)))
    for owner in nested:
        getattr(owner, "check", lambda: None)()
    return made


def _parse_list(body: bytes, of: _LongList, model: type[BaseModel]) -> list[Any]:
    """Parse the items of a long list, with breaks as long as each part took."""
    kind: Any = model.model_fields[of.name].annotation
    adapter: TypeAdapter[list[Any]] = TypeAdapter(kind)
    items, begin = list[Any](), of.begin
    for end in (*of.cuts, of.end):
        began = time.perf_counter()
        items += adapter.validate_json(b"[" + body[begin:end] + b"]")
        begin = end + 1
        time.sleep(time.perf_counter() - began)
    return items


def _parse(body: bytes, model: type[M]) -> M:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        count = error.error_count()
        if count > _MAX_ERRORS:  # listing them would take as long as parsing them
            raise RefusalError(
                "invalid-request",
                f"the body breaks {count} rules: compare it with what /docs says of this address",
            ) from None
        found = error.errors(include_url=False)
        raise invalid_request([{**each, "loc": ("body", *each["loc"])} for each in found]) from None


def invalid_request(errors: Sequence[Any]) -> RefusalError:
    """Make the refusal of a request that breaks these rules, the errors of pydantic."""
    found, kind = [_broken(each) for each in errors[:20]], errors[0]["type"]
    first = found[0]
    detail = f"{first['where']} breaks a rule, {first['rule']}, got {first['sent']}: correct it"
    if kind == "json_invalid":
        detail = f"the body is not JSON, {first['rule']}: correct it"
    elif kind == _NOT_JSON:
        detail = "the body was not sent as JSON: send the header Content-Type: application/json"
    return RefusalError("invalid-request", detail, {"errors": found})


def _broken(error: Any) -> dict[str, str]:
    """Return which rule was broken, where, and by which value."""
    rule, sent = error["msg"].removeprefix("Value error, "), error.get("input")
    where = ".".join(map(str, error["loc"]))
    if error["type"] == "string_pattern_mismatch":
        rule = PATTERN_RULES.get(error["ctx"]["pattern"], rule)
    if error["type"] == "json_invalid":
        rule = error["ctx"]["error"]
    shown = ascii(sent[:201] if isinstance(sent, str | bytes) else sent)
    shown = shown if len(shown) <= 200 else f"{shown[:200]}..."
    return {"where": where, "rule": rule, "sent": shown}


def json_body(model: type[BaseModel], required: bool = True) -> dict[str, Any]:
    """Describe the body that an operation takes, as an addition to its OpenAPI description."""
    template = "#/components/schemas/{model}"
    described, shared = models_json_schema([(model, "validation")], ref_template=template)
    schema: dict[str, Any] = dict(described[model, "validation"])
    if not required:
        schema = {"anyOf": [schema, {"type": "null"}], "title": "Body"}
    # `openapi` moves the definitions to those of the whole description.
    content = {"content": {_JSON: {"schema": {**schema, "$defs": shared["$defs"]}}}}
    return {"requestBody": {"required": True, **content} if required else content}
