"""A cache of decoded query plans, because decoding and cutting a plan into stages takes milliseconds."""

from __future__ import annotations

from collections import OrderedDict

from sparkfuse_rules.knowledge.query_plan import QueryPlan

# Maximum number of nodes of all cached plans; one node takes about 500 bytes.
MAX_NODES = 100_000


class PlanCache:
    """Plans by run, query and version; the least recently used queries are evicted first."""

    def __init__(self, limit: int = MAX_NODES) -> None:
        self._limit = limit
        self._plans: OrderedDict[tuple[str, int], dict[int, QueryPlan]] = OrderedDict()
        self._nodes = 0

    def __len__(self) -> int:
        return self._nodes

    def get(self, run_key: str, query_id: int, version: int) -> QueryPlan | None:
        """Return a plan; None if it is not cached."""
        plans = self._plans.get((run_key, query_id))
        if plans is None:
            return None
        self._plans.move_to_end((run_key, query_id))
        return plans.get(version)

    def put(self, run_key: str, query_id: int, version: int, plan: QueryPlan) -> None:
        """Cache a plan."""
        key = (run_key, query_id)
        plans = self._plans.setdefault(key, {})
        self._plans.move_to_end(key)
        if version not in plans:
            self._nodes += len(plan.node_names)
            plans[version] = plan
        while self._nodes > self._limit and len(self._plans) > 1:
            self._evict()

    def remove(self, run_key: str, query_id: int, version: int) -> None:
        """Remove a plan, if it is cached."""
        plans = self._plans.get((run_key, query_id), {})
        if plan := plans.pop(version, None):
            self._nodes -= len(plan.node_names)
            if not plans:
                del self._plans[(run_key, query_id)]

    def _evict(self) -> None:
        _, plans = self._plans.popitem(last=False)
        self._nodes -= sum(len(plan.node_names) for plan in plans.values())
