#!/usr/bin/env bash
# Builds all artifacts of a release into dist/: wheels, jars, chart, lists of their parts (CycloneDX), checksums.
# Two runs at one commit give equal bytes, because every time stamp is that of the commit.
set -euo pipefail
cd "$(dirname "$0")/.."
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
moment=$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
python=$PWD/.venv/bin/python
sbom=build/envs/sbom/bin/cyclonedx-py
maven=(mvn -q -B -ntp "-Dproject.build.outputTimestamp=$moment")
cyclonedx_maven=org.cyclonedx:cyclonedx-maven-plugin:2.9.1

if [ -n "$(git status --porcelain)" ]; then
  echo "release: the checkout has changes or untracked files; commit or remove them first" >&2
  exit 2
fi
rm -rf dist build/release
mkdir -p dist build/release

echo "building the wheels"
build/tools/bin/uv build --quiet --wheel --no-build-isolation --python "$python" --out-dir dist .
# The paths of this machine must not be part of the library.
RUSTFLAGS="--remap-path-prefix=$PWD=/sparkfuse --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
  CARGO_TARGET_DIR=$PWD/build/release/kernel .venv/bin/maturin build --quiet --release --locked \
  --manifest-path native_analytics/kernel/Cargo.toml --out dist

echo "building the jars"
for name in collectors/spark-plugin stream_jobs/flink-functions; do
  "${maven[@]}" -f "$name/pom.xml" clean package -DskipTests
done
cp collectors/spark-plugin/target/sparkfuse-spark-plugin.jar "dist/sparkfuse-spark-plugin-$version.jar"
cp collectors/spark-plugin/target/dependency-reduced-pom.xml "dist/sparkfuse-spark-plugin-$version.pom"
cp stream_jobs/flink-functions/target/sparkfuse-flink-functions.jar "dist/sparkfuse-flink-functions-$version.jar"

echo "packing the chart"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw \
  --directory deploy/kubernetes --create sparkfuse | gzip --no-name --best > "dist/sparkfuse-chart-$version.tgz"

echo "listing the parts of each artifact"
"$sbom" requirements requirements/runtime.txt --output-reproducible --of JSON -o "dist/sparkfuse-$version.cdx.json"
for name in collectors/spark-plugin stream_jobs/flink-functions; do
  "${maven[@]}" -f "$name/pom.xml" "$cyclonedx_maven:makeBom" -DoutputDirectory="$PWD/build/release" \
    -DoutputName="$(basename "$name")" -DoutputFormat=json -DincludeProvidedScope=false -DincludeTestScope=false \
    -DincludeBomSerialNumber=false
  cp "build/release/$(basename "$name").json" "dist/$(basename "$name")-$version.cdx.json"
done
PATH="$PWD/build/release-tools/bin:$PATH" cargo cyclonedx --quiet --manifest-path native_analytics/kernel/Cargo.toml \
  --format json --override-filename kernel-parts
mv native_analytics/kernel/kernel-parts.json "dist/sparkfuse-kernel-$version.cdx.json"

if docker info > /dev/null 2>&1; then
  echo "building the image"
  docker build --file deploy/Dockerfile --tag "sparkfuse:$version" .
else
  echo "no Docker daemon: the image was not built (docker build --file deploy/Dockerfile --tag sparkfuse:$version .)"
fi

(cd dist && sha256sum -- * > SHA256SUMS)
cat dist/SHA256SUMS
