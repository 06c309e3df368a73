"""The rules of a pool and what they look at, kept by hand from its log, couple by couple.

A bookkeeper that shares no code with the service: it knows who waited since when, with which
attributes, who blocked and met whom, and which constraints held, at each moment of the log. So it
can tell of every proposed couple whether it was allowed then.
"""

from tests.support.service.constraints import may_meet


class RuleBook:
    """What the events of a log say, the next one each time; `forbidden` lists what must not be.

    It takes cooldowns to be as long as they were before, or longer: what a shorter one forgot
    cannot be known.
    """

    def __init__(self):
        self.constraints, self.after_game = [], "waiting"
        self.wishes, self.since, self.attributes = {}, {}, {}
        self.meetings, self.games = [], {}
        self.checked, self.forbidden = 0, []

    def add(self, recorded):
        """Take in the next event."""
        note = getattr(self, f"_{recorded.event.kind}", None)
        if note:
            note(recorded.event, recorded.at)

    def _created(self, event, at):
        self._set(event.rules)

    def _configured(self, event, at):
        self._set(event.changes)
        if not any(each["kind"] == "cooldown" for each in self.constraints):
            self.meetings = []

    def _set(self, rules):
        self.constraints = rules.get("constraints", self.constraints)
        self.after_game = rules.get("after_game", self.after_game)

    def _joined(self, event, at):
        for player in event.players:
            self._wish(player, event.status, at)

    _moved = _joined

    def _wish(self, player, status, at):
        self.wishes[player] = status
        self.since[player] = at if status == "waiting" else None

    def _imported(self, event, at):
        for player in event.players:
            if player not in self.wishes:
                self._wish(player, "away", at)

    def _left(self, event, at):
        for player in event.players:
            del self.wishes[player], self.since[player]
        if event.forget:
            self._forgotten(event, at)

    def _forgotten(self, event, at):
        for player in event.players:
            self.attributes.pop(player, None)
        gone = set(event.players)
        self.meetings = [each for each in self.meetings if not gone & set(each[0])]

    def _attributed(self, event, at):
        for player, changes in zip(event.players, event.attributes, strict=True):
            known = {**self.attributes.get(player, {}), **changes}
            self.attributes[player] = {key: each for key, each in known.items() if each is not None}
        for each in event.lists:
            self.attributes.setdefault(each["player"], {})[each["attribute"]] = each["players"]

    def _erased(self, event, at):
        for known in self.attributes.values():
            for name, value in known.items():
                if isinstance(value, list):
                    known[name] = [each for each in value if each not in event.players]

    def _proposed(self, event, at):
        apart = {frozenset(couple) for couple in event.apart}
        for place, game in enumerate(event.games):
            one, other = game["players"]
            self.games[event.matching, place] = one, other
            players = {
                each: {"since": self.since[each], **self.attributes.get(each, {})}
                for each in (one, other)
            }
            fine = all(
                may_meet(each, one, other, players, self.meetings, at) for each in self.constraints
            )
            self.checked += bool(self.constraints)
            if not fine or {one, other} in apart:
                self.forbidden.append((event.matching, one, other, players, self.constraints))

    def _decided(self, event, at):
        for game, played in zip(event.games, event.played, strict=True):
            if played:
                players = self.games[tuple(game)]
                if any(each["kind"] == "cooldown" for each in self.constraints):
                    self.meetings.append((players, at))
                for player in players:
                    if self.wishes[player] == "waiting":
                        self._wish(player, self.after_game, at)
