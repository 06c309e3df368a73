"""Two processes, two pools, one database, and everything that can come between them.

A state machine: requests of both processes, with keys that collide, at the same moment or one after
the other; refusals, failures, expiry, snapshots, kills, stops, restores of older states, erasure
and archives. After every step, what each process has in memory, the log and each snapshot agree.
"""

import copy
import hashlib
import itertools
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pairup.service.domain.imports import PastGames
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import digest_of, read_snapshot
from pairup.service.maintenance.archive import archive, drop_archives
from pairup.service.maintenance.verify import verify
from pairup.service.pools import players
from pairup.service.pools.idempotency import KeyedRequest
from pairup.service.pools.reports import GameReport
from pairup.service.problems import RefusalError
from pairup.service.store.archive_files import read_archive
from tests.support.service.older_states import OlderState
from tests.support.service.rule_book import RuleBook
from tests.support.service.services import TickingClock, memory_of, open_service

BLOCK = {"kind": "block", "attribute": "blocked", "relax": [{"after_s": 40}]}
RULES = {
    "one": {"constraints": [BLOCK]},
    "two": {"policy": "unimodal", "unreported": "cancelled", "keep_records": True},
}
POOLS = st.sampled_from(sorted(RULES))
WHO = st.sampled_from([0, 1])
NAMES = st.sampled_from(["ann", "bob", "cyd", "dan", "eve", "fay"])
WISHES = st.lists(
    st.tuples(NAMES, st.sampled_from(["waiting", "waiting", "away", "left"])),
    min_size=1,
    max_size=4,
    unique_by=lambda wish: wish[0],
)
KEYS = st.sampled_from([None, "k1", "k2", "k3"])
# Rules that the first pool gets; block lists stay what they are, so that their names are numbers.
RATING = {"kind": "distance", "attribute": "rating", "at_most": 100}
CONSTRAINTS = [
    [{**RATING, "relax": [{"after_s": 10, "at_most": 200}, {"after_s": 50}]}],
    [{"kind": "equal", "attribute": "region", "relax": [{"after_s": 25}]}],
    [
        {"kind": "cooldown", "games": 2, "relax": [{"after_s": 20, "games": 1}]},
        {"kind": "cooldown", "within_s": 30},
    ],
]
CHANGES = st.one_of(
    st.lists(st.sampled_from(CONSTRAINTS), max_size=3, unique_by=str).map(
        lambda some: {"constraints": [BLOCK, *itertools.chain(*some)]}
    ),
    st.sampled_from(
        [
            {"worth": [{"kind": "distance", "attribute": "rating", "half_at": 50}]},
            {"worth": [{"kind": "waiting", "double_after_s": 10}]},
            {"worth": []},
            {"fairness": {"floor": 0.5}},
            {"fairness": {"floor": 0.0}},
            {"max_wait_s": 30},
            {"max_wait_s": None},
        ]
    ),
)
OUTCOMES = st.sampled_from(["played", "cancelled"])
KINDS = [  # what can happen; some of it more often
    *("put", "put", "propose", "propose", "propose", "report", "report", "repeat", "remove"),
    *("play", "play", "play", "play", "play"),
    *("erase", "import_games", "load_own_learner", "configure", "refuse", "fail"),
    *("collide", "collide", "collide", "overtake", "overtake", "wait", "wait", "restart"),
    *("keep_state", "put_back", "archive", "delete_and_create"),
]


class _DiedError(BaseException):
    """A process that is killed in the middle of a request."""


class ModelOfPool:
    """What was acknowledged of a pool."""

    def __init__(self):
        self.players = set()
        self.names = set()  # of all players who ever joined, but those erased
        self.games = {}  # by id: whether an outcome was learnt
        self.rows = 0  # of the import
        self.keys = set()  # of requests about it

    def put(self, wishes):
        for name, wish, *attributes in wishes:
            if wish == "left":
                self.players.discard(name)
            else:
                self.players.add(name)
                self.names.add(name)
                self.names |= {each for known in attributes for each in known["blocked"]}


class Model:
    """What was acknowledged, and the answers that are kept."""

    def __init__(self):
        self.pools = {name: ModelOfPool() for name in RULES}
        self.answers = {}  # by key: the request, and its answer


def _put_players(work, wishes):
    """Let players join, wait, be away or leave, as a command that the service runs."""
    return players.put_players(work, [players.Wish(*each) for each in wishes])


def _with_attributes(pool, wishes, change=0):
    """Give players what the rules of their pool look at; `change` makes it another each time."""
    if "constraints" not in RULES[pool]:
        return wishes
    return [
        (name, wish)
        if wish == "left"
        else (
            name,
            wish,
            {
                "rating": 80.0 * (ord(name[0]) - 97) + 90.0 * change,
                "region": "eu" if (len(name) + ord(name[-1]) + change) % 3 else "us",
                "blocked": [[], ["dan", "stranger"], ["bob"]][(ord(name[0]) + change) % 3],
            },
        )
        for name, wish in wishes
    ]


class Machine(RuleBasedStateMachine):
    """The state machine; `counted` counts what it has done, over all runs."""

    def __init__(self, database, archives, counted=None):
        super().__init__()
        self.database, self.archives = database, Path(archives)
        self.counted = Counter() if counted is None else counted
        self.clock, self.model, self.ghosts = TickingClock(), Model(), itertools.count()
        self.services = [self._opened(who) for who in (0, 1)]
        self._replays, self._compared, self._digests = {}, set(), {}
        self._rule_books = {}  # of the pools, None where the beginning of a log is gone
        for name in RULES:
            self.services[0].create_pool(name, RULES[name])
            self._put(0, name, [("ann", "waiting"), ("bob", "waiting"), ("cyd", "away")])
        self.older = None
        self.keep_state()

    def _opened(self, who):
        # One of them has room for both pools, the other reads a pool again all the time.
        options = {"cached_pools": 2 - who, "snapshot_every": 3, "wait_s": 5.0}
        return open_service(self.database, self.clock, **options)

    def teardown(self):
        self._check_all()
        for service in self.services:
            service.close()
        self.older[0].close()

    # One rule for all kinds: Hypothesis would leave some of many rules out of each run.

    @rule(who=WHO, pool=POOLS, kind=st.sampled_from(KINDS), data=st.data())
    def happen(self, who, pool, kind, data):
        """Let something happen."""
        getattr(self, kind)(who, pool, data.draw)

    # Requests, one at a time

    def put(self, who, pool, draw):
        """Let players join, move or leave."""
        wishes = _with_attributes(pool, draw(WISHES), draw(st.integers(0, 2)))
        self._send_players(who, pool, wishes, draw(KEYS))

    def _put(self, who, pool, wishes, key=None):
        self._send_players(who, pool, _with_attributes(pool, wishes), key)

    def _send_players(self, who, pool, wishes, key=None):
        done = partial(self.services[who].put_players, pool, wishes)
        self._send(done, key, ("put", pool, wishes), lambda _: self.model.pools[pool].put(wishes))

    def _send(self, done, key, request, note):
        """Send a request, which may have been sent before; `note` what it did if it did it."""
        known = self.model.answers.get(key)
        sent = _keyed(key, request) if key else None
        if known and known[0] != request:
            assert _refusal(partial(done, request=sent)) == "key-reused"
            self.counted["key reused"] += 1
            return
        if known and not known[1].text:  # it named a player who was erased
            assert _refusal(partial(done, request=sent)) == "reply-erased"
            self.counted["erased replies"] += 1
            return
        reply = done(request=sent)
        assert reply.replayed == (known is not None)
        if known:
            assert reply.text == known[1].text
            self.counted["replayed"] += 1
            return
        note(reply.view)
        if key:
            self.model.answers[key] = request, reply
            self.model.pools[request[1]].keys.add(key)

    def repeat(self, who, pool, draw):
        """Send a request again, to the same process or to the other."""
        if self.model.answers:
            key = draw(st.sampled_from(sorted(self.model.answers)))
            kind, its, said = self.model.answers[key][0]
            send = self._send_players if kind == "put" else self._propose
            send(who, its, said, key)

    def propose(self, who, pool, draw):
        """Propose, and keep players apart who may not be there; the other process may report."""
        before, stale = set(self.model.pools[pool].games), draw(st.lists(NAMES, max_size=2))
        self._propose(who, pool, [stale] if len(set(stale)) == 2 else [], draw(KEYS))
        new = sorted(self.model.pools[pool].games.keys() - before)
        outcomes = draw(st.lists(OUTCOMES, max_size=1))
        self._report(1 - who, pool, list(zip(new, outcomes, strict=False)))

    def _propose(self, who, pool, apart, key=None):
        done = partial(self.services[who].propose, pool, None, apart, "skip")
        note = partial(self._note_matching, pool)
        send = partial(self._send, done, key, ("propose", pool, apart), note)
        assert _refusal(send) in (None, "too-few-players")

    def _note_matching(self, pool, matching):
        for game in matching["games"]:
            assert set(game["players"]) <= self.model.pools[pool].players
            self.model.pools[pool].games[game["id"]] = False

    def report(self, who, pool, draw):
        """Report outcomes of games: open, decided, expired or archived."""
        if games := sorted(self.model.pools[pool].games):
            reports = st.lists(st.tuples(st.sampled_from(games), OUTCOMES), max_size=3)
            self._report(who, pool, draw(reports))

    def _report(self, who, pool, outcomes):
        games = self.model.pools[pool].games
        sent = [GameReport(game, outcome, {}) for game, outcome in outcomes]
        told = self.services[who].report_outcomes(pool, sent).view["results"]
        for one, result in zip(sent, told, strict=True):
            if result["result"] == "learnt":
                assert not games[one.game], "an outcome was learnt twice"
                games[one.game] = True
                self.counted["learnt"] += 1

    def play(self, who, pool, draw):
        """Let everybody wait, change a rule, and let games be proposed and played, twice."""
        change = draw(st.integers(0, 2))
        everybody = [(name, "waiting") for name in ("ann", "bob", "cyd", "dan", "eve", "fay")]
        self._send_players(who, pool, _with_attributes(pool, everybody, change))
        self.configure(1 - who, pool, draw)
        for proposer in (who, 1 - who):
            self.clock.advance(draw(st.sampled_from([0, 12, 25])))
            before = set(self.model.pools[pool].games)
            self._propose(proposer, pool, [])
            new = sorted(self.model.pools[pool].games.keys() - before)
            self._report(1 - proposer, pool, [(game, draw(OUTCOMES)) for game in new])

    def remove(self, who, pool, draw):
        """Let a player leave, who may have left."""
        player = draw(NAMES)
        self.services[who].remove_player(pool, player, draw(st.sampled_from([None, True, False])))
        self.model.pools[pool].players.discard(player)

    def erase(self, who, pool, draw):
        """Erase a player, who may be there, or have left, or never have been there."""
        player, model = draw(NAMES), self.model.pools[pool]
        self.services[who].erase_player(pool, player)
        self.counted["erased"] += player in model.names
        model.players.discard(player)
        model.names.discard(player)
        for key in model.keys:  # whose answers have lost the name
            answer = self._stored_answer(key)
            assert player not in answer
            self.model.answers[key] = self.model.answers[key][0], _Answer(answer)

    def _stored_answer(self, key):
        with self.services[0].store.reading() as transaction:
            return transaction.reply("me", key)[1]

    def import_games(self, who, pool, draw):
        """Import the next game, or one after it, which is refused."""
        model, gap = self.model.pools[pool], draw(st.booleans())
        one, other, *_ = draw(st.permutations(["ann", "bob", "gil", "hal"]))
        games = PastGames([one, other], [0], [1], [True], None, None)
        done = partial(self.services[who].import_games, pool, "source", model.rows + gap, 1, games)
        if gap:
            assert _refusal(done) == "rows-missing"
            return
        assert done()["next"] == model.rows + 1
        model.rows += 1
        model.put([(one, "away"), (other, "away")])

    def load_own_learner(self, who, pool, draw):
        """Let the learner be replaced by itself."""
        service = self.services[who]
        service.load_learner(pool, service.save_learner(pool))

    def configure(self, who, pool, draw):
        """Change a rule of a pool; all who wait have the attributes that rules need."""
        changes = {"lifetime_s": draw(st.sampled_from([0.5, 30]))}
        if "constraints" in RULES[pool]:
            changes |= draw(CHANGES)
        self.services[who].configure_pool(pool, changes)

    def refuse(self, who, pool, draw):
        """Send what is refused: nothing of it is stored."""
        ghost = f"ghost-{next(self.ghosts)}"
        done = partial(self.services[who].propose, pool, [ghost], [["ann", ghost]])
        assert _refusal(done) == "no-such-player"

    # Requests at the same moment

    def collide(self, who, mine, draw):
        """Let both processes use a key at the same moment; the second to begin is first."""
        its, same, key = draw(POOLS), draw(st.booleans()), f"new-{next(self.ghosts)}"
        ghost = [(f"ghost-{next(self.ghosts)}", "waiting")]
        wishes = _with_attributes(its, [("eve", "waiting")])
        first = _once(lambda: self._send_players(1 - who, its, wishes, key))

        def decide(work):
            done = _put_players(work, ghost)
            first()
            return done

        sent = _keyed(key, ("put", its, wishes) if same else ("put", mine, ghost))
        done = partial(self.services[who].pools.change_once, mine, decide, sent)
        if same:
            reply = done()
            assert reply.replayed
            assert reply.text == self.model.answers[key][1].text
        else:
            assert _refusal(done) == "key-reused"
        self.counted["collisions"] += 1

    def overtake(self, who, pool, draw):
        """Let the other process change the pool while this one decides, once or twice."""
        times, tries, there = draw(st.integers(1, 2)), [], "zoe" in self.model.pools[pool].players
        wishes = [*draw(WISHES), ("zoe", "left" if there else "away")]  # something changes
        wishes = _with_attributes(pool, wishes)

        def decide(work):
            tries.append(None)
            if len(tries) <= times:
                seconds = 20 + next(self.ghosts) / 1_000  # another one each time
                self.services[1 - who].configure_pool(pool, {"lifetime_s": seconds})
            return _put_players(work, wishes)

        self.services[who].pools.change_once(pool, decide, None)
        self.model.pools[pool].put(wishes)
        assert len(tries) == times + 1
        self.counted["overtaken"] += times

    # Time, ends and beginnings

    def wait(self, who, pool, draw):
        """Move the clock; games that are due expire by the sweep, or when somebody looks."""
        self.clock.advance(draw(st.sampled_from([-30, 1, 31, 61])))
        if draw(st.booleans()):
            self.services[who].expire_games()

    def restart(self, who, pool, draw):
        """End a process, in order or by a kill, and start it again."""
        self._end(who, crash=draw(st.booleans()))

    def _end(self, who, crash):
        service = self.services[who]
        (service.store if crash else service).close()
        self.services[who] = self._opened(who)
        self.counted["kills" if crash else "stops"] += 1

    def fail(self, who, pool, draw):
        """Let a request fail when all is decided; after it the process may die."""
        ghost, how = f"ghost-{next(self.ghosts)}", draw(st.sampled_from([MemoryError, _DiedError]))

        def decide(work):
            _put_players(work, [(ghost, "waiting")])
            raise how

        with suppress(how):
            self.services[who].pools.change(pool, decide)
        if how is _DiedError:
            self._end(who, crash=True)

    def delete_and_create(self, who, pool, draw):
        """Delete a pool, and let the other process create another one of this name."""
        self.services[who].delete_pool(pool)
        self.services[1 - who].create_pool(pool, RULES[pool])
        self.model.pools[pool] = ModelOfPool()
        self.counted["created again"] += 1

    def archive(self, who, pool, draw):
        """Move what has happened out of the database, and perhaps drop it."""
        store = self.services[who].store
        done = archive(store, self.clock.now(), self.archives)
        assert {each.error for each in done} <= {""}
        if draw(st.booleans()):
            drop_archives(store, self.clock.now(), self.clock.now())
        read_archive.cache_clear()
        self.counted["archives"] += sum(each.files for each in done)
        self._check_all()

    def keep_state(self, *_):
        """Keep the database as it is, for a restore."""
        if self.older:
            self.older[0].close()
        self.older = OlderState(self.database, self.archives), copy.deepcopy(self.model)

    def put_back(self, who, pool, draw):
        """Restore the state that was kept; one process goes on, then the other touches it."""
        (state, model), refill = self.older, draw(st.lists(NAMES, max_size=3))
        touch = draw(st.sampled_from(["read", "write", "stop", "kill", "sweep", "propose"]))
        state.put_back()
        read_archive.cache_clear()
        self.model = copy.deepcopy(model)
        for name in refill:
            self._put(1 - who, pool, [(name, "waiting")])
        match touch:
            case "write":
                self._put(who, pool, [("fay", "away")])
            case "stop" | "kill":
                self._end(who, crash=touch == "kill")
            case "sweep":
                self.services[who].expire_games()
            case "propose":
                self._propose(who, pool, [])
        self.counted["restores"] += 1

    # What must hold

    @invariant()
    def agree(self):
        """Memory, log and snapshots of both pools are the same for both processes."""
        for pool in RULES:
            replayed = self._check_memory(pool)
            for service in self.services:
                replayed = self._check_shown(service, pool, replayed)
            self._compare_snapshots(pool, replayed)
        self.counted["steps"] += 1

    def _check_memory(self, pool):
        """Whatever is in memory is, or was, the log: nothing is ahead of it."""
        replayed = self._replayed(pool)
        for service in self.services:
            memory = memory_of(service, pool)
            if memory is not None:
                assert digest_of(memory) == self._digests.get(memory.head), (
                    "memory was never the log"
                )
                self.counted["behind"] += memory.head != replayed.head
        return replayed

    def _replayed(self, pool):
        """Return the pool as its log leads to it, replayed event by event as the log grows."""
        with self.services[0].store.reading(still=True) as transaction:
            row = transaction.pool_named(pool)
            replayed = self._replays.get(pool)
            known = replayed is not None and replayed.number == row.number
            if not known or not self._goes_on(replayed, row, transaction):
                replayed = self._begin(pool, row, transaction)
                self._go_on(replayed, row, transaction)
        assert replayed.head == row.head, "the log is not what the row of its pool says"
        if rules := self._rule_books[pool]:
            assert not rules.forbidden, "a forbidden couple was proposed"
        self._replays[pool] = replayed
        return replayed

    def _goes_on(self, replayed, row, transaction):
        """Bring a replay up to the log; returns whether it was one of this log."""
        if replayed.seq > row.seq or self._digests.get(replayed.head) is None:
            return False
        with suppress(Exception):
            self._go_on(replayed, row, transaction)
        return replayed.head == row.head

    def _begin(self, name, row, transaction):
        self._rule_books[name] = None
        for each in transaction.snapshots(row.number):
            if each.base:
                pool = read_snapshot(row.number, each.head, each.body)
                self._digests.setdefault(pool.head, digest_of(pool))
                return pool
        self._rule_books[name] = RuleBook()
        return Pool(row.number)

    def _go_on(self, replayed, row, transaction):
        rules = self._rule_books[row.name]
        for recorded in transaction.events(row.number, replayed.seq):
            replayed.replay(recorded)
            if rules:
                self.counted["couples checked"] -= rules.checked
                rules.add(recorded)
                self.counted["couples checked"] += rules.checked
            self._digests[replayed.head] = digest_of(replayed)

    def _check_shown(self, service, pool, replayed):
        model = self.model.pools[pool]

        def look(found, transaction):
            assert {found.names[player] for player in found.players} == model.players
            # The table has the names of all who joined, and of nobody else.
            names = transaction.names(found.number, range(1, found.players.last + 9)).values()
            assert set(names) == model.names
            learnt = sum(model.games.values())
            if "unreported" in RULES[pool]:
                learnt += found.counters.expired
            assert found.counters.learnt == learnt, "an outcome is lost, or was learnt twice"
            assert found.imported == model.rows
            return found.head, digest_of(found)

        shown = service.read(pool, look)
        if shown[0] != replayed.head:  # games have expired as it looked
            replayed = self._replayed(pool)
        assert shown == (replayed.head, digest_of(replayed)), "memory is not the log"
        return replayed

    def _compare_snapshots(self, pool, replayed):
        """Compare each snapshot once."""
        with self.services[0].store.reading(still=True) as transaction:
            number = replayed.number
            found = [(each.head, each.body) for each in transaction.snapshots(number)]
        for head, body in found:
            if (number, head, body) in self._compared:
                continue
            saved = read_snapshot(number, head, body)
            assert saved.head == head
            assert self._digests[head] == digest_of(saved), "a snapshot is not what the log was"
            self._compared.add((number, head, body))
            self.counted["snapshots"] += 1

    def _check_all(self):
        found = verify(self.services[0].store)
        assert {each.pool: each.error for each in found if each.error} == {}
        self.counted["verified"] += len(found)


class _Answer:
    """An answer as it is stored."""

    def __init__(self, text):
        self.text = text


def _once(act):
    """Return a function that acts when it is first called."""
    left = [act]
    return lambda: left.pop()() if left else None


def _keyed(key, request):
    return KeyedRequest("me", key, hashlib.sha256(repr(request).encode()).hexdigest())


def _refusal(act):
    """Return why a request was refused."""
    try:
        act()
    except RefusalError as refusal:
        return refusal.slug
    return None


def machine_settings(examples, steps, derandomize=True):
    """Return settings for `run_state_machine_as_test`."""
    return settings(
        max_examples=examples,
        phases=[Phase.generate],
        stateful_step_count=steps,
        deadline=None,
        derandomize=derandomize,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
