"""The allow-list of Spark's settings as a Java class, so that the plugin has no list of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sparkfuse_contracts.configuration import AllowedConfiguration
from sparkfuse_contracts.generate.flink import JAVA_PACKAGE

_ALLOWS = """
  /** Whether a setting of this name may leave the driver. */
  public static boolean allows(String key) {
    for (String each : KEYS) {
      boolean listed =
          each.endsWith("*") ? key.startsWith(each.substring(0, each.length() - 1)) : key.equals(each);
      if (listed) {
        return !NEVER.matcher(key).find();
      }
    }
    return false;
  }
"""


def java_class(allowed: AllowedConfiguration) -> str:
    """The class SparkConfiguration, which answers for a key as ``AllowedConfiguration.allows`` does."""
    return "\n".join(_lines(allowed))


def _lines(allowed: AllowedConfiguration) -> Iterator[str]:
    yield "// Generated from contracts/spark_configuration.yaml; do not edit."
    yield f"package {JAVA_PACKAGE};"
    yield ""
    yield "import java.util.regex.Pattern;"
    yield ""
    yield "/** The settings of Spark that explain how an application ran, and hold no secret. */"
    yield "public final class SparkConfiguration {"
    yield "  private static final String[] KEYS = {"
    yield from (f"    {json.dumps(key)}," for key in allowed.keys)
    yield "  };"
    yield f"  private static final Pattern NEVER = Pattern.compile({json.dumps(allowed.never)});"
    yield ""
    yield "  private SparkConfiguration() {}"
    yield f"{_ALLOWS}}}"
    yield ""
