from __future__ import annotations

import re
from pathlib import Path

from sparkfuse_contracts.generated.fact_pb2 import Fact

ROOT = Path(__file__).parents[3]
JAVA = ROOT / "collectors/spark-plugin/src/main/java/io/sparkfuse/spark"
MADE_ELSEWHERE = {"tick", "undecodable"}


def test_every_setting_of_the_plugin_is_documented_and_none_else():
    """docs/plugin.md has one row for each key that the plugin reads."""
    keys = re.findall(r'PREFIX \+ "([^"]+)"', (JAVA / "settings/SettingKeys.java").read_text())
    rows = re.findall(r"^\| `spark\.sparkfuse\.([^`]+)`", (ROOT / "docs/plugin.md").read_text(), re.MULTILINE)

    assert sorted(rows) == sorted(keys)


def test_the_event_id_of_every_kind_is_documented():
    """docs/plugin.md says what makes an event of each kind one."""
    kinds = {field.name for field in Fact.DESCRIPTOR.oneofs_by_name["kind"].fields} - MADE_ELSEWHERE
    section = (ROOT / "docs/plugin.md").read_text().partition("## Event ids")[2].partition("\n## ")[0]
    rows = {
        kind for row in re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE) for kind in re.findall(r"`(\w+)`", row)
    }

    assert rows == kinds


def test_the_plugin_has_no_list_of_settings_of_its_own():
    """What may leave the driver is asked of the generated class, which contracts holds to the one list."""
    source = (JAVA / "listener/ApplicationFacts.java").read_text()

    assert "SparkConfiguration.identifies(" in source
    assert "SparkConfiguration.allows(" in source
    assert set(re.findall(r'"(spark\.[^"]+)"', source)) == {"spark.master"}


def test_the_reason_of_a_cancelled_action_is_read_as_it_is_written():
    """The mark that ReasonText writes is the mark that the hook in job code looks for."""
    mark = re.search(r'MARK = "([^"]+)"', (JAVA / "hook/ReasonText.java").read_text())[1]

    assert re.escape(mark) in (ROOT / "cli/sparkfuse/hook.py").read_text()
