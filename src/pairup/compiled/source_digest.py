"""Digests of source files: of their bytes, and of what modules and their imports compute."""

import ast
import functools
import hashlib
import threading
from pathlib import Path
from typing import NamedTuple

_PACKAGE = Path(__file__).parents[1]
_PARSING = threading.Lock()
# Declarations of fields, see `state_fields`.
_FIELDS = {"Field", "Reals", "Integers", "Players", "Flags", "Keys"}


def bytes_digest(root, *patterns):
    """A digest of the names and bytes of the files under the folder `root` that match a pattern."""
    paths = {path for pattern in patterns for path in root.glob(pattern)}
    digest, names = hashlib.sha256(), {path.relative_to(root).as_posix(): path for path in paths}
    for name, path in sorted(names.items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def computation_digest(*modules, package=_PACKAGE):
    """A digest of what modules of pairup compute, and all modules of pairup that they import.

    Layout, comments and messages do not count. Imports are followed that are made when a module is
    imported, not those within functions, which open doors to layers above. A digest is computed
    once per process: an edit made afterwards does not change the code that runs.

    Examples
    --------
    >>> len(computation_digest("pairup.policies.sam"))
    64
    """
    with _PARSING:  # the parser of Python 3.11 fails where two threads parse at the same time
        return _computation_digest(package, frozenset(modules))


@functools.cache
def _computation_digest(package, modules):
    digest = hashlib.sha256()
    for module in sorted(_reached(package, modules)):
        digest.update(f"{module}\0{_source(package, module).computation}\0".encode())
    return digest.hexdigest()


def _reached(package, modules):
    """The modules of pairup that some of them import, themselves included."""
    found, waiting = set(), list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            imports = _source(package, module).imports
            waiting += [_home(package, *each) for each in imports.values()]
    return found


class _Source(NamedTuple):
    """A module: what it computes, and the module and the name of each thing that it imports."""

    computation: str
    imports: dict


def _source(package, module):
    return _parsed(_file(package, module).read_text("utf-8"))


@functools.cache
def _parsed(text):
    tree = ast.parse(text)
    imports = dict(_imports(tree.body))
    return _Source(ast.unparse(_WithoutProse().visit(tree)), imports)


def _imports(body):
    """By the name that it has here: what is imported from pairup when the module is."""
    for node in body:
        if isinstance(node, ast.ImportFrom) and _is_ours(node.module):
            for each in node.names:
                yield each.asname or each.name, (node.module, each.name)
        elif isinstance(node, ast.Import):
            for each in node.names:
                if _is_ours(each.name):
                    yield each.asname or each.name, (each.name, None)
        elif isinstance(node, ast.If | ast.Try | ast.ExceptHandler | ast.With):
            for part in ("body", "handlers", "orelse", "finalbody"):
                if part != "body" or not _is_for_types(node):
                    yield from _imports(getattr(node, part, []))


def _is_ours(module):
    return f"{module}.".startswith("pairup.")


def _is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _home(package, module, name):
    """The module that defines a name; a package may have it from one of its modules."""
    if name is None:
        return module
    if _file(package, f"{module}.{name}").exists():
        return f"{module}.{name}"
    if _file(package, module).name == "__init__.py":
        given = _source(package, module).imports.get(name)
        return module if given is None else _home(package, *given)
    return module


def _file(package, module):
    path = package.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


class _WithoutProse(ast.NodeTransformer):
    """Blanks docstrings and messages: no text with a space in it decides a number.

    Sizes of arrays do, which fields of states declare, such as "slots, slots // 2 + 1". They stay,
    and so do constants that can be a part of them.
    """

    def visit_Constant(self, node):
        """Blank a text with a space."""
        prose = isinstance(node.value, str) and " " in node.value
        return ast.copy_location(ast.Constant(""), node) if prose else node

    def visit_Call(self, node):
        """Leave the declaration of a field as it is."""
        is_field = isinstance(node.func, ast.Name) and node.func.id in _FIELDS
        return node if is_field else self.generic_visit(node)

    def visit_Assign(self, node):
        """Leave a text that is an expression as it is."""
        return node if _is_expression(node.value) else self.generic_visit(node)


def _is_expression(node):
    try:
        ast.parse(ast.literal_eval(node), mode="eval")
    except (SyntaxError, TypeError, ValueError):  # not a text, or not an expression
        return False
    return True
