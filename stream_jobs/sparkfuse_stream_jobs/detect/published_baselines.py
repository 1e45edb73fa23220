"""Stores the newest published baseline of each stage, and finds records of the topic that are no longer needed."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import threading
from dataclasses import astuple
from pathlib import Path
from typing import NamedTuple

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey, key_of_baseline

_TABLE = """
CREATE TABLE baselines (
    key TEXT PRIMARY KEY, kafka_partition INT, record_key BLOB, updated_ms INT, written_ms INT, baseline BLOB
)
"""


class Place(NamedTuple):
    """The partition and key under which a compacted topic keeps one record."""

    partition: int
    record_key: bytes


class PublishedBaselines:
    """The newest published baseline of each stage, in a temporary file.

    A file is used because the baselines of all jobs may not fit into memory.

    One thread may call ``put`` and ``remove_expired`` while another thread reads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # This set contains hashes instead of keys, to save memory. If two keys have the same hash, the file is searched
        # in vain, without error.
        self._unread: set[int] = set()
        self._folder = tempfile.TemporaryDirectory(prefix="sparkfuse-baselines-")
        # Flink opens and calls an operator from different threads, one at a time.
        self._store = sqlite3.connect(Path(self._folder.name, "baselines.db"), check_same_thread=False)
        self._store.execute("PRAGMA synchronous=OFF")
        self._store.execute(_TABLE)

    def put(self, baseline: Baseline, place: Place, written_ms: int) -> Place | None:
        """Store ``baseline``, which was written at ``written_ms``, unless a newer one of the same stage is known.

        Older versions of Sparkfuse wrote with another partitioner, or with a record key without a cluster. So the topic
        may keep several records about one stage. If the topic has records about the stage at two places, returns the
        place of the older record.
        """
        key = key_of_baseline(baseline)
        with self._lock:
            known = self._store.execute(
                "SELECT kafka_partition, record_key, updated_ms FROM baselines WHERE key = ?", (_text(key),)
            ).fetchone()
            other = Place(*known[:2]) if known and Place(*known[:2]) != place else None
            if known and baseline.updated_ms < known[2]:
                return place if other else None
            values = (_text(key), *place, baseline.updated_ms, written_ms, baseline.SerializeToString())
            self._store.execute("INSERT OR REPLACE INTO baselines VALUES (?, ?, ?, ?, ?, ?)", values)
            # The set of hashes is updated last, because the reader checks the set without the lock.
            self._unread.add(hash(key))
            return other

    def remove_expired(self, before_ms: int) -> list[Place]:
        """Remove the baselines that were last written before ``before_ms``, and return their places."""
        with self._lock:
            found = self._store.execute(
                "DELETE FROM baselines WHERE written_ms < ? RETURNING kafka_partition, record_key", (before_ms,)
            ).fetchall()
        return [Place(*each) for each in found]

    def __call__(self, key: BaselineKey) -> Baseline | None:
        """Return the newest baseline of the stage; None if the stage has none or if it was returned before."""
        if hash(key) not in self._unread:  # this check runs for each row of a stage
            return None
        with self._lock:
            self._unread.discard(hash(key))
            found = self._store.execute("SELECT baseline FROM baselines WHERE key = ?", (_text(key),)).fetchone()
        return Baseline.FromString(found[0]) if found else None

    def __len__(self) -> int:
        with self._lock:
            found = self._store.execute("SELECT COUNT(*) FROM baselines").fetchone()
        return int(found[0])

    def close(self) -> None:
        """Delete the file."""
        with self._lock:
            self._store.close()
        self._folder.cleanup()


def _text(key: BaselineKey) -> str:
    return json.dumps(astuple(key))
