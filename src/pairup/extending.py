"""Extending: every name that a policy of your own needs.

The names listed here keep their meaning within a major version of pairup, by semantic versioning;
modules beneath `pairup.compiled` and `pairup.policies` may change in any version.
`docs/how-to/add-a-policy.md` shows a policy in 40 lines, `pairup.testing.check_policy` tests one.

The contract
    `Policy` and `StartContext`; `register`; bases with statistics, saving and forgetting done:
    `CouplePolicy`, `GreedyLeaderPolicy`, `ExactMatchingPolicy`.
Steps
    `provide` gives a state its steps. `propose` returns `OK`, or `FULL` or `STALE` if the host must
    `Policy.grow` or `Policy.replan` first. `learn_nothing` is an `observe` that does nothing.
    `kernel` compiles a helper, `outlined` one that is long and seldom called. `slot` makes an index
    of a player that needs no check for negative values.
States
    Fields of a state may declare their arrays, by `Reals`, `Integers`, `Players`, `Flags` and
    `Keys`: what they are, what is saved, what is erased when a player is forgotten. `new_state`
    makes them; `new_counters` with the places `ROUND`, `AVAILABLE` and `MEMBERS`; `Arrays`,
    `numbers` and `require` check what is loaded.
Couples
    `write_couple`, `write_mates`, `couple_in_order`; who is available: `mark_available`,
    `fill_members`, `set_members`.
Random streams
    `word` is the word at an index of a stream; `mantissa`, `MANTISSA`, `below`, `shuffle`,
    `uniform`, `normal`, `beta`, `fill_normal`, `fill_beta` and `draw_matching` draw with it.
    `log` is a logarithm that is the same bit for bit everywhere.
Statistics of couples
    `CoupleStatistics`, `new_couple_statistics`, `record`, `PHANTOM_MEAN`; `kl_index` and
    `exploration_level`; `CoupleCounts` and `pick_counts` list the couples that have met.
The greedy leader
    `Leader` and `new_leader`, and the module `greedy_leader` with `set_players`, `update`,
    `note_mean` and `learn`.
Exact matchings
    `MatchingWorkspace` and `new_matching_workspace`, and the module `max_matching` with `solve` and
    `reset`.
"""

from pairup.compiled.couples import greedy_leader
from pairup.compiled.couples.greedy_leader import Leader, new_leader
from pairup.compiled.couples.kl_index import exploration_level, kl_index
from pairup.compiled.couples.rows import (
    couple_in_order,
    draw_matching,
    fill_members,
    mark_available,
    set_members,
    write_couple,
    write_mates,
)
from pairup.compiled.couples.statistics import (
    PHANTOM_MEAN,
    CoupleStatistics,
    new_couple_statistics,
    record,
)
from pairup.compiled.distributions import beta, fill_beta, fill_normal, normal, uniform
from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.logarithm import log
from pairup.compiled.matchings import max_matching
from pairup.compiled.matchings.max_matching import MatchingWorkspace, new_matching_workspace
from pairup.compiled.randomness import MANTISSA, below, mantissa, shuffle, word
from pairup.compiled.state_fields import (
    AVAILABLE,
    MEMBERS,
    ROUND,
    Flags,
    Integers,
    Keys,
    Players,
    Reals,
    new_counters,
    new_state,
)
from pairup.compiled.steps import FULL, OK, STALE, learn_nothing, provide
from pairup.errors import PolicyError
from pairup.policies.contract import Policy, Slots, StartContext, check_integer_option
from pairup.policies.couple_counts import CoupleCounts, pick_counts
from pairup.policies.couple_policies import (
    CouplePolicy,
    ExactMatchingPolicy,
    GreedyLeaderPolicy,
    couples_in_order,
)
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, numbers, require

__all__ = [
    "AVAILABLE",
    "FULL",
    "MANTISSA",
    "MEMBERS",
    "OK",
    "PHANTOM_MEAN",
    "ROUND",
    "STALE",
    "Arrays",
    "CoupleCounts",
    "CouplePolicy",
    "CoupleStatistics",
    "ExactMatchingPolicy",
    "Flags",
    "GreedyLeaderPolicy",
    "Integers",
    "Keys",
    "Leader",
    "MatchingWorkspace",
    "Players",
    "Policy",
    "PolicyError",
    "Reals",
    "Slots",
    "StartContext",
    "below",
    "beta",
    "check_integer_option",
    "couple_in_order",
    "couples_in_order",
    "draw_matching",
    "exploration_level",
    "fill_beta",
    "fill_members",
    "fill_normal",
    "greedy_leader",
    "kernel",
    "kl_index",
    "learn_nothing",
    "log",
    "mantissa",
    "mark_available",
    "max_matching",
    "new_counters",
    "new_couple_statistics",
    "new_leader",
    "new_matching_workspace",
    "new_state",
    "normal",
    "numbers",
    "outlined",
    "pick_counts",
    "provide",
    "record",
    "register",
    "require",
    "set_members",
    "shuffle",
    "slot",
    "uniform",
    "word",
    "write_couple",
    "write_mates",
]
