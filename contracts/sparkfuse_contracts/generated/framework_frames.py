"""Generated from contracts/shared/framework_frames.yaml; do not edit."""

MOST_CHARS = 200
MOST_FRAMES = 200
PREFIXES = (
    "akka.",
    "almond.",
    "ammonite.",
    "com.databricks.",
    "com.google.",
    "com.sun.",
    "io.delta.",
    "io.grpc.",
    "io.netty.",
    "io.sparkfuse.",
    "java.",
    "javax.",
    "jdk.",
    "kotlin.",
    "org.apache.hadoop.",
    "org.apache.hive.",
    "org.apache.hudi.",
    "org.apache.iceberg.",
    "org.apache.kyuubi.",
    "org.apache.livy.",
    "org.apache.spark.",
    "org.apache.toree.",
    "org.apache.zeppelin.",
    "org.sparkproject.",
    "py4j.",
    "scala.",
    "sun.",
)
