#!/usr/bin/env bash
# Runs a Flink job in application mode, with the Flink distribution of the Python package.
#   flink.sh jobmanager windows        the job manager, which also runs the Python program of the job
#   flink.sh taskmanager HOST          a task manager of the job manager at HOST
# Environment: FLINK_MEMORY (process size, default 1600m), FLINK_SLOTS (default 1), FLINK_RPC_PORT (default 6123),
# FLINK_REST_PORT (default 8081), FLINK_HOST (address of this process for the others, default: the host name),
# FLINK_METRICS_PORT (for Prometheus, default 9249), SPARKFUSE_HOME (a folder that all processes share),
# SPARKFUSE_CHECKPOINT_MS, SPARKFUSE_FLINK_LIBS.
set -euo pipefail
role=$1
subject=$2
python=$(command -v python)
own_host=${FLINK_HOST:-$(hostname)}
memory=${FLINK_MEMORY:-1600m}
work=$(mktemp -d)

# Flink writes its effective options to its configuration folder.
PYTHON=$python "$(dirname "$0")/flink_home.sh" "$work"
"$python" -c 'from sparkfuse_contracts.assets import asset; print(asset("sparkfuse_stream_jobs", "flink.yaml").read_text())' \
  >>"$work/conf/config.yaml"
export FLINK_HOME=$work FLINK_CONF_DIR=$work/conf FLINK_LOG_DIR=$work/log

options=(
  -D metrics.reporters=prometheus
  -D metrics.reporter.prometheus.factory.class=org.apache.flink.metrics.prometheus.PrometheusReporterFactory
  -D "metrics.reporter.prometheus.port=${FLINK_METRICS_PORT:-9249}"
  -D "jobmanager.rpc.port=${FLINK_RPC_PORT:-6123}"
  -D "python.executable=$python"
  -D "python.client.executable=$python"
)
case "$role" in
  jobmanager)
    checkpoints=$(realpath -m "${SPARKFUSE_HOME:?}/checkpoints/$subject")
    latest=$("$python" -m sparkfuse_stream_jobs.checkpoints "$checkpoints")
    restored=()
    # Without high availability, Flink does not find the newest checkpoint itself.
    [[ -z $latest ]] || restored=(-D "execution.state-recovery.path=$latest" -D execution.state-recovery.claim-mode=CLAIM)
    exec "$FLINK_HOME/bin/standalone-job.sh" start-foreground "${options[@]}" ${restored[@]+"${restored[@]}"} \
      -D "execution.checkpointing.dir=file://$checkpoints" \
      -D "execution.checkpointing.interval=${SPARKFUSE_CHECKPOINT_MS:-5000} ms" \
      -D "jobmanager.rpc.address=$own_host" -D jobmanager.bind-host=0.0.0.0 \
      -D "jobmanager.memory.process.size=$memory" \
      -D "rest.port=${FLINK_REST_PORT:-8081}" -D rest.bind-address=0.0.0.0 \
      --job-classname org.apache.flink.client.python.PythonDriver --pyModule "sparkfuse_stream_jobs.$subject"
    ;;
  taskmanager)
    exec "$FLINK_HOME/bin/taskmanager.sh" start-foreground "${options[@]}" \
      -D "jobmanager.rpc.address=$subject" \
      -D "taskmanager.host=$own_host" -D taskmanager.bind-host=0.0.0.0 \
      -D "taskmanager.numberOfTaskSlots=${FLINK_SLOTS:-1}" -D "taskmanager.memory.process.size=$memory"
    ;;
  *)
    echo "usage: flink.sh jobmanager JOB | taskmanager HOST" >&2
    exit 2
    ;;
esac
