import pytest

from pairup import ObservationError, PlayerError, RankOneThompson, Unimodal
from pairup.learning import Learner

COUPLES = [("ann", "bob"), ("cyd", "dan")]


def proposed(policy=None):
    """Make a learner that proposed `COUPLES` and has seen no outcome yet."""
    learner = (policy or RankOneThompson()).learner(["ann", "bob", "cyd", "dan"])
    for couple in COUPLES:
        learner.propose(couple)
    return learner


def known(learner):
    return {
        estimate.couple: (estimate.proposed, estimate.played) for estimate in learner.estimates()
    }


@pytest.mark.parametrize("policy", [RankOneThompson(), Unimodal()], ids=str)
def test_answers_decide_which_couples_played(policy):
    learner = proposed(policy)
    learner.observe(COUPLES, accepted={"ann": True, "bob": True, "cyd": False})
    assert known(learner) == {("ann", "bob"): (1, 1), ("cyd", "dan"): (1, 0)}
    assert learner.pending == {}


@pytest.mark.parametrize("policy", [RankOneThompson(), Unimodal()], ids=str)
def test_a_missing_answer_is_not_a_decline(policy):
    learner = proposed(policy)
    learner.observe(COUPLES, accepted={"ann": True})
    assert known(learner) == {}
    assert learner.pending == {("ann", "bob"): 1, ("cyd", "dan"): 1}


def test_answers_decide_couples_that_are_missing_in_a_mapping_of_outcomes():
    learner = proposed()
    learner.observe(COUPLES, {COUPLES[0]: True}, accepted={"cyd": False})
    assert known(learner) == {("ann", "bob"): (1, 1), ("cyd", "dan"): (1, 0)}


def test_a_player_who_accepted_is_not_blamed_for_the_decline_of_the_partner():
    learner = RankOneThompson().learner(["ann", "bob", "cyd"])
    for _ in range(30):
        learner.observe(learner.propose(["ann", "bob"]), accepted={"ann": True, "bob": False})
    for _ in range(100):
        learner.propose()
    rate = {known.player: known.rate for known in learner.rates()}
    assert rate["ann"] == pytest.approx(31 / 32, abs=0.03)
    assert rate["bob"] == pytest.approx(1 / 32, abs=0.03)
    assert rate["cyd"] == pytest.approx(0.5, abs=0.2)
    assert [known.player for known in learner.rates()] == ["ann", "cyd", "bob"]


def test_the_partner_of_a_player_who_accepted_declined_if_they_did_not_play():
    told, inferred = proposed(), proposed()
    told.observe(COUPLES[:1], accepted={"ann": True, "bob": False})
    inferred.observe(COUPLES[:1], [False], accepted={"ann": True})
    assert told.to_bytes() == inferred.to_bytes()


def test_a_decline_says_nothing_about_the_partner():
    """The prior of the partner stays as it was; without the answer, both would be blamed."""
    learner, blamed = (RankOneThompson(period=1).learner(["ann", "bob"]) for _ in range(2))
    for _ in range(20):
        learner.observe(learner.propose(), accepted={"ann": False})
        blamed.observe(blamed.propose(), [False])
    draws = []
    for each in (learner, blamed):
        rates = []
        for _ in range(400):
            each.propose()
            rates.append({known.player: known.rate for known in each.rates()}["bob"])
        draws.append(sum(rates) / len(rates))
    assert draws[0] == pytest.approx(0.5, abs=0.05)
    assert draws[1] < 0.35


def test_answers_are_saved():
    learner = proposed()
    learner.observe(COUPLES, accepted={"ann": False, "cyd": True, "dan": True})
    copy = Learner.from_bytes(learner.to_bytes())
    assert copy.to_bytes() == learner.to_bytes()
    assert [copy.propose() for _ in range(9)] == [learner.propose() for _ in range(9)]


@pytest.mark.parametrize(("rate", "accepted"), [(None, 10), ("estimated", 20), (0.5, 20)])
def test_answers_of_others_stay_when_a_player_leaves(rate, accepted):
    learner = RankOneThompson().learner(["ann", "bob", "cyd"])
    for _ in range(10):
        learner.observe(learner.propose(["ann", "bob"]), accepted={"ann": True, "bob": True})
        learner.observe(learner.propose(["ann", "cyd"]), [True])
    learner.leave("bob", rate=rate)
    learner.leave("cyd", rate=rate)
    # Of bob it was told who accepted; of cyd only the couple was known, which goes without a rate.
    assert learner._running.state.accepted[0] == accepted


def test_the_rate_of_a_player_who_leaves_decides_what_partners_keep():
    """A game missed with a player who always accepts was declined by the partner."""
    rates = []
    for rate in (0.99, 0.01):
        learner = RankOneThompson().learner(["ann", "bob", "cyd"])
        for _ in range(20):
            learner.observe(learner.propose(["ann", "bob"]), [False])
        learner.leave("bob", rate=rate)
        for _ in range(200):
            learner.propose()
        rates.append(learner.rates(["ann"])[0].rate)
    assert rates[0] < 0.15 < 0.25 < rates[1]


@pytest.mark.parametrize(
    ("played", "accepted", "says"),
    [
        (
            [True, True],
            {"ann": False},
            "'bob' played although one of them did not accept",
        ),
        ([False, True], {"ann": True, "bob": True}, "did not play although both accepted"),
        (None, {"ann": 1}, "the answer of player 'ann' must be True or False, got 1"),
        (None, ["ann"], r"answers are a mapping from players to True or False, got \['ann'\]"),
        (None, None, "outcomes are a list of True or False"),
    ],
)
def test_bad_observations_are_refused_and_change_nothing(played, accepted, says):
    learner = proposed()
    before = learner.to_bytes()
    with pytest.raises(ObservationError, match=says):
        learner.observe(COUPLES, played, accepted=accepted)
    assert learner.to_bytes() == before


def test_answers_of_players_who_were_not_asked_are_refused():
    learner = proposed()
    with pytest.raises(ObservationError, match="'cyd' answered but is in no couple"):
        learner.observe(COUPLES[:1], accepted={"cyd": True})
    with pytest.raises(PlayerError, match="'eve' is not present"):
        learner.observe(COUPLES, accepted={"eve": True})
