"""Errors of Numba in one line: the step, the line in the user's file, and what cannot be compiled.

Numba's own text, dozens of lines, stays at hand as the cause of the error.
"""

import re

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PLACE = re.compile(r"^.*\bDuring: .* at (.+) \((\d+)\)$", re.M)
_ALLOCATES = ("NRT required but not enabled", "Only accept returning of array passed into")
_CALL = re.compile(r"^\s*>>> (.+)$", re.M)
_PREAMBLE = re.compile(r"^(Failed in |\s*$)")


def explain_compile_error(error, name, step, files):
    """Say in one line why the step `name`, a function in one of `files`, does not compile."""
    text = _COLOURS.sub("", str(error))
    return (
        f"the step {name} does not compile, {_place(text, error, step, files)}: {_reason(text)}; "
        "steps are plain loops over arrays, and allocate nothing"
    )


def _place(text, error, step, files):
    """The innermost line in a file of the user; Numba names the innermost place first."""
    for file, line in _PLACE.findall(text):
        if file in files:
            return f"{file}:{line}"
    place = getattr(error, "loc", None)
    if place is not None and place.filename in files:
        return f"{place.filename}:{place.line}"
    return f"{step.__code__.co_filename}:{step.__code__.co_firstlineno}"


def _reason(text):
    call = _CALL.search(text)
    called = re.sub(r"Literal\[\w+\]\((.*?)\)", r"\1", call[1]) if call else ""
    if any(sign in text for sign in _ALLOCATES):
        return f"{called or 'it'} allocates memory, make the array in start()"
    if called:
        return f"{called} cannot be called in compiled code"
    lines = (line.strip() for line in text.splitlines() if not _PREAMBLE.match(line))
    return next(lines, "Numba gives no reason")
