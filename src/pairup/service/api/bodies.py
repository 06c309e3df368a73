"""Bodies of requests: how JSON is read, what is refused of it, and how it is described.

They are read in the thread that answers the request, never on the event loop.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import models_json_schema

from pairup.service.api.schemas.fields import PATTERN_RULES
from pairup.service.problems import RefusalError

M = TypeVar("M", bound=BaseModel)
_JSON, _NOT_JSON = "application/json", "not_json"
_LARGE = 65_536  # bytes, beyond which parsing takes more than a moment
_ALWAYS = 100  # parts, and commas, that a body of any kind may have
_MAX_ERRORS = 100  # that are listed; lists stop at their first
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
) -> M:
    """Return what was sent as JSON, or refuse it.

    Parameters
    ----------
    body, content_type
        What was sent, and what it was declared to be.
    model
        What it is read as.
    default
        What nothing and null stand for; by default they are refused.
    max_parts, max_items
        Number of objects, lists and named fields in the largest valid body, and of items in its
        lists besides. About a hundred are always taken.
    wait_s
        Seconds for which a large body waits for others to be parsed.
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
    with _taking_turns(wait_s):
        _check_structure(body, max_parts + _ALWAYS, max_parts + max_items + _ALWAYS)
        return _parse(body, model)


@contextmanager
def _taking_turns(wait_s: float) -> Iterator[None]:
    """Let one thread parse at a time, and leave the other threads twice the time that it took.

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
    try:
        began = time.perf_counter()
        yield
    finally:
        time.sleep(2 * (time.perf_counter() - began))
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
            "applies of max_players, max_player_changes, max_outcomes, max_apart, max_import_rows",
            {"most": max_parts},
        )


def count_structure(body: bytes) -> tuple[int, int]:
    r"""Count the objects, lists and named fields, and the commas of JSON, without parsing it.

    Examples
    --------
    >>> count_structure(b'{"players": [{"player": "[a] \\"b: {c"}, {}]}')
    (6, 1)
    """
    # An escaped backslash or quotation mark neither begins nor ends a text.
    text = np.frombuffer(body.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
    outside = ~np.logical_xor.accumulate(text == ord('"'))
    parts = ((text | 0x20) == ord("{")) | (text == ord(":"))  # [ is { without that bit
    commas = text == ord(",")
    return int(np.count_nonzero(parts & outside)), int(np.count_nonzero(commas & outside))


def _parse(body: bytes, model: type[M]) -> M:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        count = error.error_count()
        if count > _MAX_ERRORS:  # to list them would take as long as to parse them
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
    """Say which rule was broken, where, and by which value."""
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
