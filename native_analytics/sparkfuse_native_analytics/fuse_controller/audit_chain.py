"""The chain of audit records. Each record contains the hash of the previous one, so that a change or gap is visible."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.wire import RecordError, from_json, to_json


@dataclass(frozen=True)
class ChainTip:
    """The end of the chain: sequence, hash and epoch of the last record, all empty before the first one."""

    sequence: int = 0
    record_hash: str = ""
    epoch: int = 0

    def after(self, content: bytes, record: AuditRecord) -> ChainTip:
        """Return the end of the chain after ``record``, whose bytes are ``content``."""
        return ChainTip(record.sequence, record_hash(content), max(self.epoch, record.epoch))

    def next_sequence(self) -> int:
        """Return the sequence number of the next record."""
        return self.sequence + 1

    def append(self, record: AuditRecord, epoch: int) -> tuple[bytes, ChainTip]:
        """Link a copy of ``record`` to the chain; return its bytes and the new end of the chain."""
        linked = AuditRecord()
        linked.CopyFrom(record)
        linked.sequence, linked.previous_hash, linked.epoch = self.next_sequence(), self.record_hash, epoch
        content = to_json(linked)
        return content, self.after(content, linked)


def record_hash(content: bytes) -> str:
    """Return the SHA-256 of the bytes of a record in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def chain_errors(contents: Iterable[bytes]) -> Iterator[str]:
    """Yield a sentence for each place where the chain is broken; the first record may be any record of the chain.

    Missing records at the beginning are not an error, because retention deletes old records.
    """
    tip: ChainTip | None = None
    for content in contents:
        try:
            record = from_json(AuditRecord, content)
        except RecordError as error:
            yield f"after record {tip.sequence if tip else 0}: {error}"
            continue
        if tip is not None:
            yield from _link_errors(tip, record)
        tip = (tip or ChainTip()).after(content, record)


def _link_errors(tip: ChainTip, record: AuditRecord) -> Iterator[str]:
    if record.sequence != tip.next_sequence():
        yield f"record {record.sequence} follows record {tip.sequence}"
    elif record.previous_hash != tip.record_hash:
        yield f"record {record.sequence} contains another hash than that of record {tip.sequence}"
    if record.epoch < tip.epoch:
        yield f"record {record.sequence} is of epoch {record.epoch}, after epoch {tip.epoch}"
