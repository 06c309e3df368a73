"""What service processes in tests are forked from: all imported, the policies they use compiled."""

from pairup.policies import get_policy

for name in ("rank_one_thompson", "unimodal"):
    learner = get_policy(name).learner("abcd")
    learner.observe(learner.propose(), [True, False])
    learner.observe(learner.propose(), [True, False], accepted={"a": True})
    learner.leave("a")
    learner.leader_among(["b", "c", "d"])
