"""Writes the allow-list of Spark settings as a Java class and a Python module."""

from __future__ import annotations

import json
from collections.abc import Iterator

import yaml

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.configuration import AllowedConfiguration
from sparkfuse_contracts.generate.flink import JAVA_PACKAGE

_ALLOWS = """
  /** Returns whether the job key is computed from a setting of this name. */
  public static boolean identifies(String key) {
    return IDENTITY.contains(key);
  }

  /** Returns whether a setting of this name may contain a secret. */
  public static boolean isSecret(String key) {
    return NEVER.matcher(key).find();
  }

  /** Returns whether a setting of this name may be recorded. */
  public static boolean allows(String key) {
    for (String each : KEYS) {
      boolean listed =
          each.endsWith("*") ? key.startsWith(each.substring(0, each.length() - 1)) : key.equals(each);
      if (listed) {
        return !isSecret(key);
      }
    }
    return false;
  }
"""


def read_list() -> AllowedConfiguration:
    """Return the allow-list of contracts/spark_configuration.yaml."""
    entries = yaml.safe_load(asset("sparkfuse_contracts", "spark_configuration.yaml").read_text())
    return AllowedConfiguration(tuple(entries["keys"]), str(entries["never"]), tuple(entries["identity"]))


def python_module(allowed: AllowedConfiguration) -> str:
    """Return the allow-list as a Python module of constants."""
    lines = ['"""Generated from contracts/spark_configuration.yaml; do not edit."""', ""]
    for name, keys in (("KEYS", allowed.keys), ("IDENTITY", allowed.identity)):
        lines += [f"{name} = (", *(f"    {json.dumps(key)}," for key in keys), ")"]
    return "\n".join([*lines, f"NEVER = {json.dumps(allowed.never)}", ""])


def java_class(allowed: AllowedConfiguration) -> str:
    """Return the Java class SparkConfiguration, whose ``allows`` equals ``AllowedConfiguration.allows``."""
    return "\n".join(_lines(allowed))


def _lines(allowed: AllowedConfiguration) -> Iterator[str]:
    yield "// Generated from contracts/spark_configuration.yaml; do not edit."
    yield f"package {JAVA_PACKAGE};"
    yield ""
    yield "import java.util.Arrays;"
    yield "import java.util.HashSet;"
    yield "import java.util.Set;"
    yield "import java.util.regex.Pattern;"
    yield ""
    yield "/** The Spark settings that may be recorded, because they explain a run and contain no secret. */"
    yield "public final class SparkConfiguration {"
    yield "  private static final String[] KEYS = {"
    yield from (f"    {json.dumps(key)}," for key in allowed.keys)
    yield "  };"
    yield "  private static final Set<String> IDENTITY ="
    yield "      new HashSet<>("
    yield "          Arrays.asList("
    yield ",\n".join(f"              {json.dumps(key)}" for key in allowed.identity) + "));"
    yield f"  private static final Pattern NEVER = Pattern.compile({json.dumps(allowed.never)});"
    yield ""
    yield "  private SparkConfiguration() {}"
    yield f"{_ALLOWS}}}"
    yield ""
