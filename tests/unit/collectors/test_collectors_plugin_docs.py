from __future__ import annotations

import re
from pathlib import Path

from sparkfuse_contracts.generated.fact_pb2 import Fact

ROOT = Path(__file__).parents[3]
JAVA = ROOT / "collectors/spark-plugin/src/main/java/io/sparkfuse/spark"
NOT_FROM_THE_PLUGIN = {"pod_changed", "tick", "undecodable"}


def test_docs_list_exactly_the_settings_of_the_plugin():
    """docs/plugin.md has one row for each key that the plugin reads, and no other rows."""
    keys = re.findall(r'PREFIX \+ "([^"]+)"', (JAVA / "settings/SettingKeys.java").read_text())
    rows = re.findall(r"^\| `spark\.sparkfuse\.([^`]+)`", (ROOT / "docs/plugin.md").read_text(), re.MULTILINE)

    assert sorted(rows) == sorted(keys)


def test_docs_describe_the_event_id_of_each_kind():
    """docs/plugin.md lists the key of the event id for each kind of fact."""
    kinds = {field.name for field in Fact.DESCRIPTOR.oneofs_by_name["kind"].fields} - NOT_FROM_THE_PLUGIN
    section = (ROOT / "docs/plugin.md").read_text().partition("## Event ids")[2].partition("\n## ")[0]
    rows = {
        kind for row in re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE) for kind in re.findall(r"`(\w+)`", row)
    }

    assert rows == kinds


def test_plugin_uses_the_shared_list_of_configuration_keys():
    """The plugin's code lists no configuration keys; a generated class lists the keys that may leave the driver."""
    source = (JAVA / "listener/ApplicationFacts.java").read_text()

    assert "SparkConfiguration.identifies(" in source
    assert "SparkConfiguration.allows(" in source
    assert set(re.findall(r'"(spark\.[^"]+)"', source)) == {"spark.master"}


def test_job_code_recognises_the_mark_of_the_plugin():
    """The Python code for jobs searches error texts for the mark that the plugin's class ReasonText writes."""
    mark = re.search(r'MARK = "([^"]+)"', (JAVA / "hook/ReasonText.java").read_text())[1]

    assert re.escape(mark) in (ROOT / "cli/sparkfuse/hook_errors.py").read_text()
