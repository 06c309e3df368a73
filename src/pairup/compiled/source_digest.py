"""Digests of source files: of their bytes, and of what they compute."""

import ast
import functools
import hashlib
import threading
from pathlib import Path

_PARSING = threading.Lock()


def bytes_digest(root, *patterns):
    """A digest of the names and bytes of the files under the folder `root` that match a pattern."""
    return _digest(root, patterns, Path.read_bytes)


def computation_digest(root, *patterns):
    """A digest of what such files compute, whatever their layout, comments and messages.

    It is computed once per process: an edit made afterwards does not change the code that runs.
    """
    with _PARSING:  # the parser of Python 3.11 fails where two threads parse at the same time
        return _computation_digest(root, patterns)


@functools.cache
def _computation_digest(root, patterns):
    return _digest(root, patterns, _computation)


def _computation(path):
    return ast.unparse(_WithoutProse().visit(ast.parse(path.read_text("utf-8")))).encode()


def _digest(root, patterns, read):
    paths = {path for pattern in patterns for path in root.glob(pattern)}
    digest, names = hashlib.sha256(), {path.relative_to(root).as_posix(): path for path in paths}
    for name, path in sorted(names.items()):
        digest.update(name.encode() + b"\0" + read(path) + b"\0")
    return digest.hexdigest()


class _WithoutProse(ast.NodeTransformer):
    """Blanks docstrings and messages: no text with a space in it decides a number."""

    def visit_Constant(self, node):
        """Blank a text with a space."""
        prose = isinstance(node.value, str) and " " in node.value
        return ast.copy_location(ast.Constant(""), node) if prose else node
