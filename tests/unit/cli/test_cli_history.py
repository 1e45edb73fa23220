"""Tests the errors of the commands that read the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkfuse.commands.history import runs
from sparkfuse.stack.errors import StartError


def test_error_names_the_configured_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With SPARKFUSE_CLICKHOUSE_URL, the error names the configured store and the setting, not the local stack."""
    monkeypatch.setenv("SPARKFUSE_CLICKHOUSE_URL", "http://user:secret@127.0.0.1:1")

    with pytest.raises(StartError) as caught:
        runs(home=tmp_path)

    assert "127.0.0.1:1" in str(caught.value)
    assert "the address comes from SPARKFUSE_CLICKHOUSE_URL" in str(caught.value)
    assert "sparkfuse up" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_error_without_setting_mentions_the_local_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without SPARKFUSE_CLICKHOUSE_URL, the error asks whether the local stack runs."""
    monkeypatch.delenv("SPARKFUSE_CLICKHOUSE_URL", raising=False)

    with pytest.raises(StartError, match="is `sparkfuse up` running"):
        runs(home=tmp_path)
