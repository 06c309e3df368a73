"""The page of the REST API, from the OpenAPI description that the service publishes."""

import re
from typing import Any

from pairup.service.api.openapi import describe
from pairup.service.api.schemas.problems import PROBLEM_TYPES
from pairup.service.domain.names import PRINTABLE
from scripts.reference.markdown import NOTICE, table

Json = dict[str, Any]

_HEAD = f"""# REST API

{NOTICE}

A running service describes itself: `/docs` is this page with a form for each request, and
`/openapi.json` is the OpenAPI description that both are made from. `pairup openapi` prints it, and
[clients can be generated](../how-to/generate-a-client.md) from it. How to use the API, step by
step: [serve pools](../how-to/serve-pools.md).

Where API keys are needed, send `Authorization: Bearer KEY`. Every refusal is a
[problem](#problems). Every page of a list has `next`, which is null on the last one and otherwise
sent as `cursor`, or as `after` in the log. Moments (`date-time`) are in UTC. Fields marked * are
always present in an answer, and required in a request.
"""
_PROBLEMS = """
## Problems

Every refusal is a problem as RFC 9457 defines it, `application/problem+json`: a stable `type`,
which is also the path of a page that explains it, and in `detail` the value, the rule and the way
out. After 503 and 507 send the same request again, with the same `Idempotency-Key` if it is a POST.

"""


def page() -> str:
    """Return the text of the page."""
    described = describe(needs_keys=True)
    schemas = described["components"]["schemas"]
    parts = [_HEAD, *_operations(described["paths"])]
    parts += [_PROBLEMS + _problems(), "\n## Schemas\n"]
    parts += [_schema(name, schema) for name, schema in schemas.items()]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _operations(paths: Json) -> list[str]:
    by_tag: dict[str, list[str]] = {}
    for path, operations in paths.items():
        for method, operation in operations.items():
            tag = operation["tags"][0]
            by_tag.setdefault(tag, [f"## {tag.capitalize()}\n"])
            by_tag[tag].append(_operation(method, path, operation))
    return [part for parts in by_tag.values() for part in parts]


def _operation(method: str, path: str, operation: Json) -> str:
    lines = [f"### `{method.upper()} {path}`", operation["description"]]
    parameters = operation.get("parameters", ())
    if parameters:
        rows = (
            (_required(each["name"], each), each["in"], _type(each["schema"]), _note(each))
            for each in parameters
        )
        lines.append(table(("parameter", "in", "type", "note"), rows))
    if "requestBody" in operation:
        lines.append(f"Body: {_content(operation['requestBody'])}")
    lines += [f"Answers: {'; '.join(_answers(operation['responses']))}."]
    return "\n\n".join(line.strip() for line in lines) + "\n"


def _answers(responses: Json) -> list[str]:
    good = {code: answer for code, answer in responses.items() if int(code) < 400}
    shown = [f"{code} {_content(answer)}".strip() for code, answer in good.items()]
    refusals = [code for code in responses if code not in good]
    return shown + ([f"{', '.join(refusals)} [a problem](#problems)"] if refusals else [])


def _content(body: Json) -> str:
    media = body.get("content", {})
    if "application/json" not in media:
        return ", ".join(f"`{kind}`" for kind in media)
    others = "".join(f" or `{kind}`" for kind in media if kind != "application/json")
    return _type(media["application/json"]["schema"]) + others


def _schema(name: str, schema: Json) -> str:
    # Paths of problems are addresses of a running service, not of the site.
    said = re.sub(r"\[(`[^`]+`)\]\(/problems/[^)]*\)", r"\1", schema.get("description", ""))
    about = f"### {name}\n\n{said}\n\n"
    if "properties" not in schema:
        by = schema.get("discriminator")
        what = f"By `{by['propertyName']}`" if by else "Values"
        return f"{about}{what}: {_type(schema)}.\n"
    required = set(schema.get("required", ()))
    rows = (
        (_required(field, {"required": field in required}), _type(each), _note(each))
        for field, each in schema["properties"].items()
    )
    return about + table(("field", "type", "note"), rows)


def _required(name: str, described: Json) -> str:
    return f"`{name}`" + (" *" if described.get("required") else "")


def _note(described: Json) -> str:
    schema = described.get("schema", described)
    options = [schema, *schema.get("anyOf", ())]
    note = described.get("description") or next(
        (each["description"] for each in options if "description" in each), ""
    )
    default = schema.get("default")
    return note if default is None else f"{note} Default: `{default}`.".strip()


def _type(schema: Json) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(each) for each in choices))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return schema.get("format") or schema.get("type", "anything") + _limits(schema)


def _limits(schema: Json) -> str:
    limits = {
        "minimum": "≥ {}",
        "exclusiveMinimum": "> {}",
        "maximum": "≤ {}",
        "exclusiveMaximum": "< {}",
        "maxLength": "at most {} characters",
        "pattern": "`{}`",
    }
    shown = [text.format(_number(schema[key])) for key, text in limits.items() if key in schema]
    # Nobody would read the pattern, and half of its characters cannot be seen.
    shown = [each.replace(f"`{PRINTABLE}`", "[visible](settings.md#limits)") for each in shown]
    return f" ({', '.join(shown)})" if shown else ""


def _number(value: Any) -> str:
    return re.sub(r"\.0$", "", f"{value}")


def _problems() -> str:
    rows = ((f"`{kind.path}`", str(kind.status), kind.title) for kind in PROBLEM_TYPES.values())
    return table(("type", "status", "title"), rows)
