from collections.abc import Sequence
from typing import Self

__version__: str

class Batches:
    """Arrow record batches; `pyarrow.table(x)` and DataFusion's `from_arrow(x)` take it without a copy."""

    @property
    def num_rows(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Decoded:
    """What became of a list of records."""

    @property
    def batches(self) -> Batches:
        """One row for each record that decoded, in their order."""

    @property
    def rejected(self) -> list[tuple[int, str]]:
        """Index and reason of each record that did not decode."""

class Decoder:
    """Decodes lists of records of one message; made once, safe to share between threads.

    Columns: the message's fields; `<member>_<field>` for the members of a oneof; a column with the oneof's name that
    holds the member's name. Scalars are null when absent; lists, maps of strings and lists of messages (structs) are
    empty; single nested messages are passed over.

    Raises ValueError when the descriptor set or the message's shape cannot be used.
    """

    def __new__(cls, descriptor_set: bytes, message: str) -> Self: ...
    @property
    def columns(self) -> list[str]:
        """Names of the columns, in their order."""

    def decode(self, records: Sequence[bytes | None]) -> Decoded:
        """Decodes records (at most 4,194,304 and 1 GiB); bad ones are set aside, never raised."""

def decode(descriptor_set: bytes, message: str, records: Sequence[bytes | None]) -> Decoded:
    """Decodes records with a decoder made for this one call."""
