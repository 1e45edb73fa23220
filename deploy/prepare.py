"""Runs once before the pipeline in containers: creates the topics and the key pairs of the fuse."""

from __future__ import annotations

import os
import sys

from sparkfuse.stack.errors import StartError
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.keys import ensure_key_pairs


def main() -> int:
    """Create what is missing, print what was created and the public keys, and return the exit code."""
    settings = Settings.from_environment(os.environ)
    try:
        created = ensure_topics(settings)
    except StartError as failure:
        print(failure, file=sys.stderr)
        return failure.exit_code
    public = ensure_key_pairs(settings.home / "keys")
    print(f"topics created: {', '.join(created) or 'none, all exist'}")
    print(f"spark.sparkfuse.fuse.publicKeys {public}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
