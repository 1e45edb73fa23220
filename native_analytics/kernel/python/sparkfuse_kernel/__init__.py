"""Fast readers: Protobuf records to Arrow, without a Python loop over rows."""

from sparkfuse_kernel._kernel import Batches, Decoded, Decoder, __version__, decode

__all__ = ["Batches", "Decoded", "Decoder", "__version__", "decode"]
