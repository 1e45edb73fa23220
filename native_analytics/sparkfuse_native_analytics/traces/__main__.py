"""``python -m sparkfuse_native_analytics.traces APP_ID --endpoint URL``."""

from __future__ import annotations

import argparse
import sys

from sparkfuse_contracts.settings import SettingError
from sparkfuse_native_analytics.queries import StoreEmptyError
from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect
from sparkfuse_native_analytics.traces.export import TraceExportError, export_trace

USAGE = 2
UNAVAILABLE = 3


def main(arguments: list[str] | None = None) -> int:
    """Send one trace; exit code 2 for invalid settings, 3 if store, application or collector is not available."""
    parser = argparse.ArgumentParser(prog="sparkfuse-trace", description="Send an application as a trace.")
    parser.add_argument("app_id", help="Spark's application id")
    parser.add_argument("--endpoint", default="http://127.0.0.1:4318", help="address of the OpenTelemetry collector")
    options = parser.parse_args(arguments)
    try:
        spans = export_trace(connect(), options.app_id, options.endpoint)
    except (SettingError, StoreUnavailableError, StoreEmptyError, TraceExportError) as error:
        print(f"sparkfuse trace: {error}", file=sys.stderr)
        return USAGE if isinstance(error, SettingError) else UNAVAILABLE
    print(f"{options.app_id}: {spans} spans sent to {options.endpoint}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
