"""What service processes in tests are forked from: all imported, the policies they use compiled."""

import processes  # noqa: F401  # what each of them begins with
from pairup.policies import get_policy
from pairup.service import server  # noqa: F401
from pairup.service.warming import warm

for name in ("rank_one_thompson", "unimodal"):
    warm(get_policy(name))
