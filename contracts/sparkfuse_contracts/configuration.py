"""The allow-list of Spark settings that may be recorded; the plugin and the readers of event logs use it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from sparkfuse_contracts.generated import spark_configuration


@dataclass(frozen=True)
class AllowedConfiguration:
    """The allow-list of Spark settings.

    ``keys`` are the allowed keys; a key that ends with ``*`` allows all keys with that prefix. A key that matches the
    pattern ``never`` is never allowed. The job key is computed from the settings in ``identity``.
    """

    keys: tuple[str, ...]
    never: str
    identity: tuple[str, ...] = ()

    def allows(self, key: str) -> bool:
        """Return whether a setting with this key may be recorded."""
        listed = any(key == each or (each.endswith("*") and key.startswith(each[:-1])) for each in self.keys)
        return listed and re.search(self.never, key) is None


@cache
def allowed_configuration() -> AllowedConfiguration:
    """Return the allow-list of contracts/spark_configuration.yaml."""
    return AllowedConfiguration(spark_configuration.KEYS, spark_configuration.NEVER, spark_configuration.IDENTITY)
