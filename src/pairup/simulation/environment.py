"""The problem as a Gymnasium environment, for third-party agents.

Importing this module registers it. An agent meets the very players that `simulate` lets its
policies meet: episode r after ``reset(seed=s)`` is replication r of seed s, bit for bit.
"""

import bisect
import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "pairup.simulation.environment needs gymnasium, which is not installed: "
        "pip install 'pairup[gym]'",
        name="gymnasium",
    ) from error

from pairup.checks import checked_integer, checked_seed
from pairup.compiled.simulation_loop import Replication, play_couples
from pairup.errors import MatchingError, SimulationError
from pairup.matching import Matching
from pairup.problem import Problem
from pairup.simulation.replication import new_replication, replicated_ground

ID = "pairup/Matching-v0"

Action: TypeAlias = NDArray[np.int64]
Observation: TypeAlias = NDArray[np.int8]


class MatchingEnvironment(gymnasium.Env[Observation, Action]):
    """An agent proposes a matching each round and sees which couples played.

    Make it with ``gymnasium.make("pairup/Matching-v0", problem=..., rounds=...)`` after
    ``import pairup.simulation.environment``, or in one go as
    "pairup.simulation.environment:pairup/Matching-v0".

    **Action**, ``MultiDiscrete([m - 1, m - 3, ..., 1])`` for m players (n, and for odd n a phantom
    more, numbered n, whose partner waits): entry k says whom the lowest player who has no partner
    yet gets, counting the other players without a partner from 0. Each action is a matching and
    each full matching is one action, so that nothing an agent can sample is invalid; `encode` and
    `decode` translate. On two sides it is ``MultiDiscrete([m, m - 1, ...])`` with an entry for each
    player of the smaller side, m the size of the larger one: entry k says whom the k-th of them
    gets, counting the players of the other side without a partner from 0.

    **Observation**, ``MultiBinary(n)``: for each player, whether it played in the last round. Both
    players of a couple show the same; that is all that a policy sees.

    **Reward**: the games played. **Info**: ``regret`` and ``expected_games`` of the round's
    matching, and how many rounds were played, ``round``; after a reset ``seed`` and
    ``replication``, and on two sides ``columns``, which players are columns: labels are shuffled.
    Rounds are truncated after `rounds`, and never terminate.

    Parameters
    ----------
    problem : Problem or sequence of float
        Who plays, or their acceptance rates. By default the paper's ``from_zero(4, 0.1)``. Where
        rates change, regret is that against the best matching of the moment.
    rounds : int
        Rounds of an episode, at least 1.

    Examples
    --------
    >>> import gymnasium, pairup.simulation.environment
    >>> from pairup import Problem, Unimodal
    >>> env = gymnasium.make("pairup/Matching-v0", problem=Problem.from_zero(3, 0.4), rounds=500)
    >>> played, info = env.reset(seed=7)
    >>> learner, truncated, games = Unimodal().learner(range(6), seed=7), False, 0
    >>> while not truncated:
    ...     matching = learner.propose()
    ...     played, reward, _, truncated, info = env.step(env.unwrapped.encode(matching))
    ...     learner.observe(matching, [bool(played[i]) for i, _ in matching])
    ...     games += reward
    >>> from pairup import simulate
    >>> games == simulate(Problem.from_zero(3, 0.4), Unimodal(), 500, 1, seed=7).games[0, -1]
    np.True_
    """

    def __init__(
        self, problem: Problem | Sequence[float] | None = None, rounds: int = 1_000
    ) -> None:
        if problem is None:
            problem = Problem.from_zero(4, 0.1)
        self.problem = problem if isinstance(problem, Problem) else Problem(problem)
        if self.problem.sides is None and not self.problem.is_complete:
            raise SimulationError(
                f"an action of the environment couples all players, but in {self.problem!r} not "
                "all couples may meet, or games differ in worth: play it with simulate"
            )
        self.rounds = checked_integer("rounds", rounds, SimulationError, minimum=1)
        players, sides = self.problem.players, self.problem.sides
        self._actions: OneSidedActions | TwoSidedActions = OneSidedActions(players)
        if sides is not None:
            self._actions = TwoSidedActions(np.arange(players) >= sides[0])
        self.action_space = gymnasium.spaces.MultiDiscrete(self._actions.limits)
        self.observation_space = gymnasium.spaces.MultiBinary(self.problem.players)
        self._round = self.rounds  # nothing is left to play before the first reset
        self._seed = self._next = -1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode: the first replication of a new seed, or the next of the same one.

        Parameters
        ----------
        seed
            Seed of the replications, as in `simulate`; by default the last one given. If none was
            given yet, one is drawn from the system.
        options
            ``{"replication": r}`` starts replication r instead.

        Returns
        -------
        tuple of ndarray and dict
            An observation in which nobody played, and the ``seed`` and the ``replication``.

        Examples
        --------
        >>> environment = MatchingEnvironment([0.9, 0.8, 0.2, 0.1], rounds=10)
        >>> environment.reset(seed=3)[1]
        {'seed': 3, 'replication': 0}
        >>> environment.reset()[1]
        {'seed': 3, 'replication': 1}
        """
        if seed is not None:
            checked_seed(seed)
        wanted = (options or {}).get("replication", 0)
        replication = checked_integer("replication", wanted, SimulationError, minimum=0)
        super().reset(seed=seed)
        if seed is not None or self._seed < 0:
            self._seed = int(self.np_random.integers(2**63) if seed is None else seed)
        elif "replication" not in (options or {}):
            replication = self._next
        self._next = replication + 1
        self._replications = [
            new_replication(piece, self._seed, replication) for piece in self.problem.pieces
        ]
        self._round = 0
        played = np.zeros(self.problem.players, np.int8)
        info: dict[str, Any] = {"seed": self._seed, "replication": replication}
        columns = replicated_ground(self.problem, self._seed, replication).columns
        if columns is not None:
            self._actions = TwoSidedActions(columns)
            info["columns"] = columns
        return played, info

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Propose the matching of `action` for one round.

        `MatchingError`: it is not in the action space. `SimulationError`: no round is left.
        """
        if self._round >= self.rounds:
            raise SimulationError(
                f"no round is left of the episode's {self.rounds}: reset() starts the next episode"
            )
        couples = np.array(self._decoded(action), np.int64).reshape(-1, 2)
        replication = self._replications[bisect.bisect(self.problem.starts, self._round) - 1]
        happened = np.zeros(len(couples), np.bool_)
        accepted = np.zeros(self.problem.players, np.uint8)
        games, _ = play_couples(replication, self._round, couples, happened, accepted)
        self._round += 1
        played = np.zeros(self.problem.players, np.int8)
        played[couples[happened]] = 1
        expected = math.fsum(_expected_games(replication, couples))
        regret = max(0.0, float(replication.best_games[0]) - expected)
        info = {"regret": regret, "expected_games": expected, "round": self._round}
        return played, float(games), False, self._round == self.rounds, info

    def encode(self, matching: Matching | Iterable[Iterable[Hashable]]) -> Action:
        """Turn a full matching of the players 0 to n - 1 into its action, in this episode.

        Examples
        --------
        >>> MatchingEnvironment([0.9, 0.8, 0.3, 0.2]).encode([(1, 2), (0, 3)])
        array([2, 0])
        """
        matching = matching if isinstance(matching, Matching) else Matching(matching)
        self._check_players(matching)
        if len(matching) != self.problem.pairs:
            waiting = "an odd player waits" if self.problem.sides is None else "the rest waits"
            raise MatchingError(
                f"a full matching of {self.problem.players} players has {self.problem.pairs} "
                f"couples, got {len(matching)}: only {waiting}"
            )
        return np.array(self._actions.choices(matching))

    def _check_players(self, matching: Matching) -> None:
        """Refuse players who are unknown, and couples of one side."""
        Problem(np.ones(self.problem.players)).games(matching)
        if isinstance(self._actions, TwoSidedActions):
            self._actions.check_sides(matching)

    def decode(self, action: Action) -> Matching:
        """Turn an action into its matching.

        Examples
        --------
        >>> MatchingEnvironment([0.9, 0.8, 0.3]).decode([1, 0])
        Matching(0-2; waiting 1)
        """
        couples = self._decoded(action)
        coupled = {player for couple in couples for player in couple}
        players = range(self.problem.players)
        return Matching(couples, [player for player in players if player not in coupled])

    def _decoded(self, action: Action) -> list[list[int]]:
        """Check an action; returns its couples, but for the phantom's."""
        limits = self._actions.limits
        if not _is_valid(action, limits):
            raise MatchingError(
                f"an action is {len(limits)} integers, each at least 0 and below "
                f"{limits.tolist()}, got {action!r}: encode(matching) makes one"
            )
        return self._actions.couples(np.asarray(action).tolist())


def _is_valid(action: Action, limits: NDArray[np.int64]) -> bool:
    try:
        choices = np.asarray(action)
    except ValueError:  # ragged
        return False
    whole = choices.dtype.kind in "iu" and choices.shape == limits.shape
    return whole and bool(np.all((choices >= 0) & (choices < limits)))


def _expected_games(replication: Replication, couples: Action) -> NDArray[np.float64]:
    """Return how likely each couple is to play."""
    first, second = couples.T
    if len(replication.couple_rates):
        return np.asarray(replication.couple_rates[first, second])
    return np.asarray(replication.rates[first] * replication.rates[second])


class OneSidedActions:
    """Choice k is the partner of the lowest player who has none yet, counted among the others.

    An odd number of players has a phantom more, the last, whose partner waits.

    Examples
    --------
    >>> OneSidedActions(3).couples([1, 0])
    [[0, 2]]
    """

    def __init__(self, players: int) -> None:
        self._players = players
        self._rows = (players + 1) // 2  # couples, the phantom's included
        self.limits = 2 * np.arange(self._rows, 0, -1) - 1

    def couples(self, choices: Sequence[int]) -> list[list[int]]:
        """Return the couples of an action."""
        couples, alone = [], list(range(2 * self._rows))
        for choice in choices:
            one = alone.pop(0)
            couples.append([one, alone.pop(choice)])
        return [couple for couple in couples if couple[1] < self._players]

    def choices(self, matching: Matching) -> list[int]:
        """Return the action of a full matching."""
        partner = dict(matching) | {other: one for one, other in matching}
        choices, alone = list[int](), list(range(2 * self._rows))
        while alone:
            one = alone.pop(0)
            choices.append(alone.index(partner.get(one, self._players)))
            alone.pop(choices[-1])
        return choices


class TwoSidedActions:
    """Choice k is the partner of the k-th player of the smaller side, of those without one.

    Players are counted by their slots, and of two sides of the same size the rows count as the
    smaller.

    Examples
    --------
    >>> TwoSidedActions(np.array([False, True, False, False])).couples([2])
    [[1, 3]]
    """

    def __init__(self, columns: NDArray[np.bool_]) -> None:
        sides = np.flatnonzero(~columns).tolist(), np.flatnonzero(columns).tolist()
        self._few, self._many = sorted(sides, key=len)
        self.limits = np.arange(len(self._many), len(self._many) - len(self._few), -1)

    def couples(self, choices: Sequence[int]) -> list[list[int]]:
        """Return the couples of an action."""
        alone = list(self._many)
        return [
            sorted((one, alone.pop(choice))) for one, choice in zip(self._few, choices, strict=True)
        ]

    def choices(self, matching: Matching) -> list[int]:
        """Return the action of a full matching."""
        partner = dict(matching) | {other: one for one, other in matching}
        choices, alone = list[int](), list(self._many)
        for one in self._few:
            choices.append(alone.index(partner[one]))
            alone.pop(choices[-1])
        return choices

    def check_sides(self, matching: Matching) -> None:
        """Refuse couples of two players of the same side."""
        few = set(self._few)
        for i, j in matching:
            if (i in few) == (j in few):
                raise MatchingError(
                    f"players {i} and {j} are on the same side: couple rows with columns, of which "
                    "reset() tells the players"
                )


gymnasium.register(ID, entry_point=f"{__name__}:{MatchingEnvironment.__name__}")
