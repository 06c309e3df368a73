"""Digests of source files: of their bytes, and of what they compute."""

import ast
import hashlib
from pathlib import Path


def bytes_digest(root, paths):
    """A digest of the names and bytes of files under the folder `root`."""
    return _digest(root, paths, Path.read_bytes)


def computation_digest(root, paths):
    """A digest of what files under `root` compute, whatever their layout, comments and messages."""
    return _digest(root, paths, _computation)


def _computation(path):
    return ast.unparse(_WithoutProse().visit(ast.parse(path.read_text("utf-8")))).encode()


def _digest(root, paths, read):
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
