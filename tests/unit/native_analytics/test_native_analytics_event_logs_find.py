import os
import sys

import pytest

from sparkfuse_kernel.event_logs.file_systems import without_credentials
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_kernel.event_logs.log import LazyFile, UnreadableLogError


def fill(folder, *names, content="{}\n"):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def named(found, folder):
    return [(os.path.relpath(log.name, folder), len(log.pieces)) for log in found.logs]


def error_of(path):
    with pytest.raises(UnreadableLogError) as caught:
        find_logs(str(path))
    return str(caught.value)


def test_folder_with_logs_of_every_layout(tmp_path):
    """Each log in a folder is found once, whatever its layout.

    The layouts are a file, a rolling folder, a Spark 1.x folder and a Databricks delivery.
    """
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


def test_path_of_a_rolling_folder_is_one_log(tmp_path):
    """A rolling folder is one log whose size is the sum of its files, and its missing files are listed."""
    log = fill(tmp_path / "eventlog_v2_a", "events_1_a", "events_3_a", "appstatus_a")
    (found,) = find_logs(str(log)).logs

    assert (len(found.pieces), found.size_bytes, found.missing) == (2, 6, ("events_2",))


def test_unreadable_path_raises_one_sentence(tmp_path):
    """A missing file, an empty file and an empty folder each raise a sentence that begins with the path."""
    empty = tmp_path / "empty"
    empty.touch()
    (tmp_path / "folder").mkdir()
    rolling = fill(tmp_path / "eventlog_v2_a", "appstatus_a", content="")

    assert error_of(tmp_path / "nothing") == f"{tmp_path}/nothing: there is no such file or folder"
    assert error_of(empty) == f"{empty}: it is empty"
    assert error_of(tmp_path / "folder") == f"{tmp_path}/folder: there is no event log in this folder"
    assert error_of(rolling) == f"{rolling}: it is empty"
    assert error_of(f"{empty}/below") == f"{empty}/below: cannot be read: not a directory"


def test_folder_with_a_link_to_its_parent_is_searched_once(tmp_path):
    """If a folder contains a link to its parent, each log is still listed once."""
    fill(tmp_path, "app-1", "below/app-2")
    (tmp_path / "below" / "loop").symlink_to(tmp_path)

    assert named(find_logs(str(tmp_path)), tmp_path) == [("app-1", 1), ("below/app-2", 1)]


def test_empty_child_is_skipped_with_a_sentence(tmp_path):
    """The empty log of an application that has just started does not hide other logs."""
    fill(tmp_path, "app-1")
    (tmp_path / "app-2.inprogress").touch()
    found = find_logs(str(tmp_path))

    assert named(found, tmp_path) == [("app-1", 1)]
    assert found.skipped == [f"{tmp_path}/app-2.inprogress: it is empty"]


def test_pipe_is_read_as_a_stream(tmp_path):
    """A pipe, as in `sparkfuse analyze <(zcat log.gz)`, is read as one log.

    A pipe has no size and can be read only once.
    """
    os.mkfifo(tmp_path / "pipe")
    (log,) = find_logs(str(tmp_path / "pipe")).logs

    assert isinstance(log.pieces[0][1], LazyFile)


@pytest.fixture
def store():
    """Return the in-memory store of fsspec, which is emptied after the test."""
    import fsspec

    files = fsspec.filesystem("memory")
    yield files
    files.rm("/", recursive=True)


def test_url_is_searched_like_a_folder(store):
    """A URL is searched for the same layouts as a folder; each file is opened at the first read."""
    store.pipe(
        {"/logs/app-1.zstd": b"one", "/logs/eventlog_v2_b/events_2_b": b"two", "/logs/eventlog_v2_b/events_1_b": b"1"}
    )
    found = find_logs("memory://logs")
    first, _ = found.logs[1].pieces
    assert isinstance(first, tuple)
    name, reader = first

    assert [log.name for log in found.logs] == ["memory://logs/app-1.zstd", "memory://logs/eventlog_v2_b"]
    assert name == "memory://logs/eventlog_v2_b/events_1_b"
    assert [reader.read(10), reader.read(10), reader.read(10)] == [b"1", b"", b""]


def test_url_of_a_missing_file_raises_one_sentence(store):
    """The error for the URL of a missing file is the same as the error for a missing local path."""
    assert error_of("memory://nowhere/app") == "memory://nowhere/app: there is no such file or folder"


def test_missing_package_is_named(monkeypatch):
    """The error for s3:// without s3fs names the package to install and hides the URL's credentials."""
    monkeypatch.setitem(sys.modules, "s3fs", None)

    assert error_of("s3a://key:secret@bucket/logs") == "s3a://bucket/logs: cannot read s3a:// here: install s3fs"


def test_unknown_protocol_is_reported():
    """If no package supports the protocol of a URL, the error names the protocol as the cause."""
    assert "protocol" in error_of("s4://bucket/logs").lower()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://key:secret@bucket/log", "s3://bucket/log"),
        ("https://token@host/log?sig=secret#x", "https://host/log"),
        ("abfs://container@account.dfs.core.windows.net/a", "abfs://container@account.dfs.core.windows.net/a"),
        ("abfs://user:secret@host/container/log?sig=secret", "abfs://host/container/log"),
    ],
)
def test_credentials_are_removed_from_urls(url, shown):
    """The user, password and access signature of a URL do not appear in messages."""
    assert without_credentials(url) == shown
