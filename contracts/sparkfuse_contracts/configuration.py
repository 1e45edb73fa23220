"""Which of Spark's own settings explain how an application ran: the one list that plugin and readers share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from sparkfuse_contracts.generated import spark_configuration


@dataclass(frozen=True)
class AllowedConfiguration:
    """``keys`` may pass, one that ends in ``*`` with all that begin like it; what ``never`` finds in may not.

    ``identity`` are the keys that say whose run it is.
    """

    keys: tuple[str, ...]
    never: str
    identity: tuple[str, ...] = ()

    def allows(self, key: str) -> bool:
        """Whether a setting of this name may leave the place where it was found."""
        listed = any(key == each or (each.endswith("*") and key.startswith(each[:-1])) for each in self.keys)
        return listed and re.search(self.never, key) is None


@cache
def allowed_configuration() -> AllowedConfiguration:
    """The list of contracts/spark_configuration.yaml."""
    made = spark_configuration
    return AllowedConfiguration(made.KEYS, made.NEVER, made.IDENTITY)
