"""What service processes in tests are forked from: all imported, the policies they use compiled."""

from pairup.policies import get_policy
from pairup.service import server  # noqa: F401
from pairup.service.app import freeze_imports
from pairup.service.domain.version import current_version
from pairup.service.pools.warmup import warm_up
from tests.support.service import processes  # noqa: F401  # what each of them begins with

for name in ("rank_one_thompson", "unimodal"):
    warm_up(get_policy(name))
    current_version(get_policy(name))
freeze_imports()
