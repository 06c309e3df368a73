"""The registry: policies by name, whether of pairup, of a plugin or of a module of your own."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar

from pairup.compiled.kernel_cache import is_ours
from pairup.errors import PolicyError, did_you_mean
from pairup.policies.contract import Policy, StartContext
from pairup.policies.plugins import (
    find_imported,
    import_reference,
    load_plugin,
    plugin_names,
    reference_of,
)

_REGISTRY: dict[str, type[Policy]] = {}

P = TypeVar("P", bound=type[Policy])


def register(policy_class: P) -> P:
    """Enter a policy class into the registry under its `name`.

    A class that is defined again, in a notebook for example, replaces the earlier one.

    Raises
    ------
    PolicyError
        Another policy has this name.
    """
    name = policy_class.name
    holder = _REGISTRY.get(name, policy_class)
    if reference_of(holder) != reference_of(policy_class):
        raise PolicyError(
            f"{reference_of(policy_class)} cannot be called {name!r}, as {reference_of(holder)} "
            "is: give it another name"
        )
    _REGISTRY[name] = policy_class
    return policy_class


def policy_names() -> tuple[str, ...]:
    """Return the names of all registered policies."""
    return tuple(sorted(_REGISTRY))


def import_policy(name: str, folder: str | Path | None = None) -> type[Policy]:
    """Find a policy class by its name, importing it if necessary, and register it.

    Parameters
    ----------
    name
        A registered name, the name of an entry point in the group `pairup.policies`, or a place
        "module:Class".
    folder
        Folder in which modules are found too.

    Raises
    ------
    PolicyError
        No policy has this name, it cannot be imported, or another policy has its name.

    Examples
    --------
    >>> from pairup.policies import import_policy
    >>> import_policy("sam").__name__
    'SAM'
    """
    if isinstance(name, str) and name in _REGISTRY:
        return _REGISTRY[name]
    if isinstance(name, str) and ":" in name:
        return register(_checked_class(name, import_reference(name, folder)))
    if name in plugin_names():
        return register(_checked_class(name, load_plugin(name)))
    known = sorted({*_REGISTRY, *plugin_names()})
    raise PolicyError(f"no policy is called {name!r}{did_you_mean(name, known)}")


def get_policy(name: str, **options: Any) -> Policy:
    """Make a policy from its name and options.

    Parameters
    ----------
    name
        One of `policy_names`, the name of an entry point in the group `pairup.policies`, or
        "module:Class" of a module that is imported.
    **options
        Options of the policy, as its class takes them; the others keep their defaults.

    Raises
    ------
    PolicyError
        No policy has this name, or it has no such option.

    Examples
    --------
    >>> from pairup import get_policy
    >>> get_policy("unimodal", index="ucb")
    Unimodal(compare='players', index='ucb', clock='leader')
    """
    if isinstance(name, str) and ":" in name:
        return get_known_policy(name, **options)
    return make_policy(import_policy(name), **options)


def get_known_policy(name: str, **options: Any) -> Policy:
    """Make a policy as `get_policy` does, but import nothing: for names that are not trusted."""
    if isinstance(name, str) and name in _REGISTRY:
        return make_policy(_REGISTRY[name], **options)
    found = find_imported(name) if isinstance(name, str) else None
    if isinstance(found, type) and issubclass(found, Policy) and not is_ours(found):
        return make_policy(found, **options)
    if isinstance(name, str) and ":" in name:
        raise PolicyError(
            f"the policy {name!r} is not imported: import {name.partition(':')[0]} first"
        )
    raise PolicyError(f"no policy is called {name!r}{did_you_mean(name, policy_names())}")


def make_policy(policy_class: type[Policy], **options: Any) -> Policy:
    """Make a policy of a class, or refuse an option that it does not have."""
    known = [field.name for field in dataclasses.fields(policy_class)]
    for option in options:
        if option not in known:
            near = did_you_mean(option, known)
            raise PolicyError(f"{policy_class.name} has no option {option!r}{near}")
    return policy_class(**options)


def takes_sequence(policy_class: type[Policy], option: str) -> bool:
    """Whether one value of an option may be several numbers, by the annotation of the option.

    Examples
    --------
    >>> from pairup import RankOneThompson
    >>> [takes_sequence(RankOneThompson, option) for option in ("prior", "period")]
    [True, False]
    """
    with suppress(Exception):  # annotations of third-party policies may be anything
        hint = typing.get_type_hints(policy_class).get(option)
        kinds = [typing.get_origin(each) for each in (hint, *typing.get_args(hint))]
        return any(kind in (tuple, list, Sequence) for kind in kinds)
    return False


def _checked_class(name: str, found: object) -> type[Policy]:
    if isinstance(found, type) and issubclass(found, Policy):
        return found
    raise PolicyError(f"{name!r} is not a policy, got {found!r}: name a class derived from Policy")


def describe_policies() -> list[dict[str, str]]:
    """List each policy's name, its options with their defaults, and a line about it.

    Examples
    --------
    >>> "oracle" in [policy["name"] for policy in describe_policies()]
    True
    """
    rows = []
    for plugin in plugin_names():
        with suppress(PolicyError):  # a plugin that is broken is refused when it is named
            import_policy(plugin)
    for name in policy_names():
        fields = dataclasses.fields(_REGISTRY[name])
        options = ", ".join(f"{field.name}={field.default}" for field in fields)
        about = (_REGISTRY[name].__doc__ or "").partition("\n")[0]
        rows.append({"name": name, "options": options, "about": about})
    return rows


@dataclasses.dataclass(frozen=True)
class UnknownPolicy(Policy):
    """Stands for a policy that is not imported, with its options.

    It can be shown, not played: results of a policy can be read where its code is not.
    """

    known: tuple[str, tuple[tuple[str, Any], ...]] = ("", ())

    name: ClassVar[str] = "unknown"

    @property
    def known_as(self) -> str:
        return self.known[0]

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.known[1])

    def start(self, context: StartContext) -> NoReturn:
        raise PolicyError(f"the policy {self.known_as!r} is not imported: import it first")

    def __str__(self) -> str:
        return self.known_as


def find_or_stand_in(name: str, options: Mapping[str, Any]) -> Policy:
    """Make a policy by its name, or one that stands for it where its code is not imported."""
    try:
        return get_known_policy(name, **options)
    except PolicyError:
        if ":" not in name:
            raise
        return UnknownPolicy((name, tuple(options.items())))
