"""`sparkfuse watch-pods`: reports the nodes of executors on Kubernetes, and why their pods ended."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home
from sparkfuse.commands.options import settings_of_stack
from sparkfuse.commands.ship import Cluster, Tenant
from sparkfuse.stack.errors import MISSING, USAGE, StartError
from sparkfuse_contracts.kafka_access import KafkaUnavailableError

# A token must not be sent without encryption, except to a proxy on the same host (`kubectl proxy`).
LOCAL = ("http://127.0.0.1:", "http://localhost:", "http://[::1]:")
Namespaces = Annotated[
    list[str] | None, typer.Option("--namespace", help="Namespace of Spark jobs; repeat it for several; default: all.")
]
Api = Annotated[
    str, typer.Option("--api-server", help="Address of the API server; in a pod, the default is its own cluster.")
]
Token = Annotated[Path | None, typer.Option("--token-file", help="File with the token for --api-server.")]
Ca = Annotated[Path | None, typer.Option("--ca-file", help="Certificates that verify --api-server.")]


def watch_pods(
    home: Home = DEFAULT_HOME,
    cluster: Cluster = "default",
    tenant: Tenant = "default",
    namespaces: Namespaces = None,
    api_server: Api = "",
    token_file: Token = None,
    ca_file: Ca = None,
) -> None:
    """Watch the pods of Spark on Kubernetes, and report their nodes and why they ended.

    Run one for each cluster of Kubernetes, until SIGTERM or Ctrl-C. --cluster must be the value of
    spark.sparkfuse.cluster of the jobs. docs/kubernetes.md has the permissions that it needs.
    """
    from sparkfuse_collectors.pods.api import ApiAddress
    from sparkfuse_collectors.pods.process import Options
    from sparkfuse_collectors.pods.process import watch_pods as watch
    from sparkfuse_collectors.ship.errors import InvalidOptionError, UnavailableError

    if not api_server and (token_file or ca_file):
        raise StartError("--token-file and --ca-file belong to --api-server", USAGE)
    api = ApiAddress(api_server.rstrip("/"), token_file, ca_file) if api_server else ApiAddress.of_pod()
    if api is None or not api.url.startswith(("https://", *LOCAL)):
        raise StartError("watch-pods needs --api-server with an address such as https://10.0.0.1:6443", USAGE)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        watch(Options(cluster, api, tuple(namespaces or ()), tenant), settings_of_stack(home), stop)
    except InvalidOptionError as error:
        raise StartError(str(error), USAGE) from error
    except (UnavailableError, KafkaUnavailableError) as error:
        raise StartError(str(error), MISSING) from error
