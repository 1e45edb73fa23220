"""Masks secrets in the text and settings of facts; the kernel calls this module while it translates events."""

from __future__ import annotations

from collections.abc import Mapping

from sparkfuse_contracts.configuration import allowed_configuration
from sparkfuse_rules.knowledge.identity import PROPERTY_KEYS
from sparkfuse_rules.knowledge.scrubbing import scrub, scrub_query, shortened

Properties = Mapping[str, str]
MAX_CHARS = 512
MAX_SETTINGS = 300
# If an application does not set this property, Spark itself writes the property into the log.
_DEFAULT_SETTING = ("spark.scheduler.mode", "FIFO")


class Redaction:
    """The functions that the kernel calls for text that users wrote."""

    scrub = staticmethod(scrub)
    scrub_query = staticmethod(scrub_query)

    @staticmethod
    def select_properties(properties: Properties) -> tuple[dict[str, str], dict[str, str]]:
        """Return the identity properties and the allowed configuration of an application, scrubbed and capped."""
        return identity_properties(properties), configuration(properties)


def identity_properties(properties: Properties) -> dict[str, str]:
    """Return the properties that determine the job key."""
    keys = ("spark.app.name", *PROPERTY_KEYS)
    return {key: scrub(shortened(properties[key], MAX_CHARS)) for key in keys if key in properties}


def configuration(properties: Properties) -> dict[str, str]:
    """Return the settings on the allow-list; any other setting may be a secret."""
    allows = allowed_configuration().allows
    allowed = sorted(key for key in properties if allows(key) and (key, properties[key]) != _DEFAULT_SETTING)
    return {key: scrub(shortened(properties[key], MAX_CHARS)) for key in allowed[:MAX_SETTINGS]}
