#!/usr/bin/env bash
# Writes a Flink home to a folder: the Flink distribution of the Python package with our jars on its class path.
#   flink_home.sh FOLDER
# Environment: SPARKFUSE_FLINK_LIBS (folder of the connectors and of our functions), PYTHON (default python).
set -euo pipefail
home=$1
package=$("${PYTHON:-python}" -c 'import pathlib, pyflink; print(pathlib.Path(pyflink.__file__).parent)')

mkdir -p "$home/lib" "$home/opt" "$home/log"
cp -R "$package/bin" "$package/conf" "$package/plugins" "$home/"
# Flink searches the Python driver in the folder opt, and does not follow a link to this folder.
ln -s "$package"/opt/flink-python-*.jar "$home/opt/"
# The class path contains the Python driver, the connectors and our functions.
ln -s "$package"/lib/*.jar "$package"/opt/flink-python-*.jar "${SPARKFUSE_FLINK_LIBS:?}"/*.jar "$home/lib/"
