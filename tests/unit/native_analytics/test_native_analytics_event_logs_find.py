import os
import sys

import pytest

from sparkfuse_native_analytics.event_logs.find import find_logs
from sparkfuse_native_analytics.event_logs.log import LogUnreadable, OpenedLater
from sparkfuse_native_analytics.event_logs.places import without_credentials


def fill(folder, *names, content="{}\n"):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def named(found, folder):
    return [(os.path.relpath(log.name, folder), len(log.pieces)) for log in found.logs]


def refusal(path):
    with pytest.raises(LogUnreadable) as caught:
        find_logs(str(path))
    return str(caught.value)


def test_a_folder_holds_logs_of_every_layout(tmp_path):
    """Files, rolling folders, folders of Spark 1.x and deliveries of Databricks, each one log."""
    fill(tmp_path, "app-1", "app-2.lz4.inprogress", "_SUCCESS", ".hidden")
    fill(tmp_path, "eventlog_v2_app-3/events_1_app-3", "eventlog_v2_app-3/events_2_app-3")
    fill(tmp_path, "old-1422/EVENT_LOG_1", "old-1422/SPARK_VERSION_1.2.0")
    fill(tmp_path, "cluster/eventlog/host/77/eventlog", "cluster/eventlog/host/77/eventlog-2026-11-21--03-00.gz")

    assert named(find_logs(str(tmp_path)), tmp_path) == [
        ("app-1", 1),
        ("app-2.lz4.inprogress", 1),
        ("cluster/eventlog/host/77", 2),
        ("eventlog_v2_app-3", 2),
        ("old-1422", 1),
    ]


def test_a_log_folder_is_one_log_when_it_is_named_itself(tmp_path):
    """Its size is what its files take, and what is missing of it is told."""
    log = fill(tmp_path / "eventlog_v2_a", "events_1_a", "events_3_a", "appstatus_a")
    (found,) = find_logs(str(log)).logs

    assert (len(found.pieces), found.size_bytes, found.missing) == (2, 6, ("events_2",))


def test_what_cannot_be_read_is_one_sentence_with_the_path(tmp_path):
    """Missing, empty, or nothing in it: never a trace."""
    empty = tmp_path / "empty"
    empty.touch()
    (tmp_path / "folder").mkdir()
    rolling = fill(tmp_path / "eventlog_v2_a", "appstatus_a", content="")

    assert refusal(tmp_path / "nothing") == f"{tmp_path}/nothing: there is no such file or folder"
    assert refusal(empty) == f"{empty}: it is empty"
    assert refusal(tmp_path / "folder") == f"{tmp_path}/folder: there is no event log in this folder"
    assert refusal(rolling) == f"{rolling}: it is empty"
    assert refusal(f"{empty}/below") == f"{empty}/below: cannot be read: not a directory"


def test_a_link_to_a_folder_above_is_searched_once(tmp_path):
    """A folder that leads back to itself does not show its logs twice."""
    fill(tmp_path, "app-1", "below/app-2")
    (tmp_path / "below" / "loop").symlink_to(tmp_path)

    assert named(find_logs(str(tmp_path)), tmp_path) == [("app-1", 1), ("below/app-2", 1)]


def test_an_empty_child_is_passed_over_and_told(tmp_path):
    """An application that has just begun does not hide the others."""
    fill(tmp_path, "app-1")
    (tmp_path / "app-2.inprogress").touch()
    found = find_logs(str(tmp_path))

    assert named(found, tmp_path) == [("app-1", 1)]
    assert found.passed_over == [f"{tmp_path}/app-2.inprogress: it is empty"]


def test_a_pipe_is_read_as_it_comes(tmp_path):
    """`sparkfuse analyze <(zcat log.gz)` works: a pipe has no size and can be read only once."""
    os.mkfifo(tmp_path / "pipe")
    (log,) = find_logs(str(tmp_path / "pipe")).logs

    assert isinstance(log.pieces[0][1], OpenedLater)


@pytest.fixture
def store():
    """A store that fsspec keeps in memory, with its content taken away afterwards."""
    import fsspec

    files = fsspec.filesystem("memory")
    yield files
    files.rm("/", recursive=True)


def test_a_url_is_searched_like_a_folder_and_streamed(store):
    """The same layouts, and a reader for each file that is opened when it is read."""
    store.pipe(
        {"/logs/app-1.zstd": b"one", "/logs/eventlog_v2_b/events_2_b": b"two", "/logs/eventlog_v2_b/events_1_b": b"1"}
    )
    found = find_logs("memory://logs")
    (name, reader), _ = found.logs[1].pieces

    assert [log.name for log in found.logs] == ["memory://logs/app-1.zstd", "memory://logs/eventlog_v2_b"]
    assert name == "memory://logs/eventlog_v2_b/events_1_b"
    assert [reader.read(10), reader.read(10), reader.read(10)] == [b"1", b"", b""]


def test_a_url_that_leads_nowhere_is_one_sentence(store):
    """As a path that does."""
    assert refusal("memory://nowhere/app") == "memory://nowhere/app: there is no such file or folder"


def test_a_missing_package_is_named(monkeypatch):
    """Who reads s3:// without s3fs is told what to install, and never sees a key of the URL."""
    monkeypatch.setitem(sys.modules, "s3fs", None)

    assert refusal("s3a://key:secret@bucket/logs") == "s3a://bucket/logs: cannot read s3a:// here: install s3fs"


def test_an_unknown_protocol_is_named():
    """A typing error in the protocol is told as one."""
    assert "protocol" in refusal("s4://bucket/logs").lower()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://key:secret@bucket/log", "s3://bucket/log"),
        ("https://token@host/log?sig=secret#x", "https://host/log"),
        ("abfs://container@account.dfs.core.windows.net/a", "abfs://container@account.dfs.core.windows.net/a"),
        ("abfs://user:secret@host/container/log?sig=secret", "abfs://host/container/log"),
    ],
)
def test_credentials_are_not_shown(url, shown):
    """Neither user and password nor an access signature gets into what is printed or written."""
    assert without_credentials(url) == shown
