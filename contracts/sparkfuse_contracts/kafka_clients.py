"""The configuration of every Kafka client: the file of SPARKFUSE_KAFKA_CONFIG, and the client's own settings."""

from __future__ import annotations

from collections.abc import Mapping

from sparkfuse_contracts.kafka_properties import BOOTSTRAP
from sparkfuse_contracts.settings import Settings, kafka_file_properties


def client_configuration(settings: Settings, own: Mapping[str, object]) -> dict[str, object]:
    """Return the configuration of a confluent_kafka client: security, addresses, and ``own``, which overrides both.

    The file is read for each new client, so that a client that starts later uses a renewed password. Raises
    SettingError if the file has become invalid since the settings were read.
    """
    return {**kafka_file_properties(settings.kafka_config_file), BOOTSTRAP: settings.kafka_bootstrap, **own}


def producer_configuration(settings: Settings, own: Mapping[str, object]) -> dict[str, object]:
    """Return the configuration of a confluent_kafka producer, with the partitioner of Kafka's Java client.

    The plugin and Flink write with the Java client. A record key must have the same partition for every writer.
    Otherwise a compacted topic could keep one record of the key in each of two partitions. The hook would then read a
    partition to which the controller does not write. Raises SettingError like `client_configuration`.
    """
    return client_configuration(settings, {"partitioner": "murmur2_random", **own})
