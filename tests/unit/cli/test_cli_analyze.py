import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from sparkfuse.analysis import analysis_text
from sparkfuse.analysis.terminal_text import readable
from sparkfuse.commands.analyze import spread_history
from tests.unit.native_analytics.event_log_lines import Executor, Run, Stage, Task, even, nightly

HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]red[/]\u202egnp.exe\nFAILED  \u0000"


def ask(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a terminal of 100 columns without colours."""
    return subprocess.run(
        [sys.executable, "-m", "sparkfuse.main", "analyze", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100", **environment},
    )


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    return nightly(0, 1_000).write(tmp_path / "healthy")


@pytest.fixture
def skewed(tmp_path: Path) -> Path:
    return Run([Stage(0, [*even(1_000, 15), Task(31_000, 90_000_000)])], app_id="app-7").write(tmp_path / "skewed")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a b", "a b"),
        ("a --history h", "a --history h"),
        ("a --history h i --json", "a --history h --history i --json"),
        ("a --history h i --history j", "a --history h --history i --history j"),
        ("--history h a", "--history h a"),
        ("--history h a --history i j", "--history h a --history i --history j"),
        ("--json a --html out --history h i", "--json a --html out --history h --history i"),
        ("a --history=h i", "a --history=h --history i"),
        ("a --history h --fail-on never b", "a --history h --fail-on never b"),
        ("a --history h -- --b", "a --history h -- --b"),
        ("", ""),
    ],
)
def test_history_option_takes_all_following_paths(given: str, expected: str):
    """A shell expands a pattern to several paths, so all paths up to the next option belong to --history."""
    assert spread_history(given.split()) == expected.split()


def test_healthy_log_exits_with_0_and_lists_unevaluated_rules(healthy: Path):
    """Without findings the exit code is 0, and the output names the rules that were not evaluated."""
    done = ask(healthy)

    assert (done.returncode, done.stderr) == (0, "")
    assert "No rule matches. Durations were not checked: that needs earlier runs (--history)." in done.stdout
    assert "Not evaluated, because they need a running job" in " ".join(done.stdout.split())


def test_finding_has_evidence_and_first_step(skewed: Path):
    """A finding prints its summary, the evidence and the first step of its runbook."""
    done = ask(skewed)
    text = " ".join(done.stdout.split())

    assert done.returncode == 1
    assert " WARNING stage_skew One task of the stage" in text
    assert "reads 85.8 MiB, 90.0 times the median task" in text
    assert "Do: Find the key" in text
    assert "Most expensive stages" in text


def test_findings_are_grouped_with_symptoms_below_cause(tmp_path: Path):
    """Forty lost executors and the stage that failed because of them are printed as one finding."""
    killed = "Container killed by YARN for exceeding memory limits. 9.1 GB of 9 GB physical memory used."
    lost = [Executor(str(number), 5_000 + number, killed) for number in range(40)]
    stages = [Stage(0, even(9_000, 4), status="failed"), Stage(0, even(30_000, 4), attempt=1, after_ms=9_000)]
    done = ask(Run(stages, executors=lost).write(tmp_path / "log"))
    findings = [line for line in done.stdout.splitlines() if " CRITICAL " in line or " WARNING " in line]

    assert done.returncode == 1
    assert findings == [
        " CRITICAL  executor_churn  Executors are lost and replaced repeatedly (21 times, worst shown)."
    ]
    assert "  Symptom: executor_lost (40 times, worst shown): Executor 39 on node-39 was lost" in done.stdout
    assert "  Symptom: stage_retried, stage 0: Stage save at orders.py:88 is in attempt 1" in done.stdout


def test_failed_job_is_printed_once(tmp_path: Path):
    """A failed job appears only in its finding; a cancelled job appears as one line."""
    reason = "Job aborted due to stage failure: Task 0 failed 4 times, most recent failure: java.io.IOException: full"
    failed = ask(Run([Stage(0, even(9))], failed=True, failure=reason).write(tmp_path / "failed"))
    cancelled = ask(Run([Stage(0, even(9))], failed=True, failure="Job 0 cancelled").write(tmp_path / "cancelled"))

    assert (failed.returncode, failed.stdout.count("java.io.IOException: full")) == (1, 1)
    assert " FAILED " not in failed.stdout
    assert (cancelled.returncode, " FAILED  job 0 (benign: cancelled)" in cancelled.stdout) == (0, True)


def test_json_prints_one_object_per_line(healthy: Path, skewed: Path):
    """Several applications are printed as JSON Lines, in the order of the command line."""
    done = ask("--json", skewed, healthy)
    objects = [json.loads(line) for line in done.stdout.splitlines()]

    assert [each["application"]["app_id"] for each in objects] == ["app-7", "app-0"]
    assert [len(each["findings"]) for each in objects] == [1, 0]


@pytest.mark.parametrize(("level", "code"), [("info", 1), ("warning", 1), ("critical", 0), ("never", 0)])
def test_fail_on_sets_the_lowest_failing_severity(skewed: Path, level: str, code: int):
    """--fail-on sets the lowest severity that makes the exit code 1."""
    assert ask(skewed, "--fail-on", level).returncode == code


def test_unreadable_path_exits_with_3_and_shows_other_logs(tmp_path: Path, skewed: Path):
    """Each unreadable path is reported in one sentence on standard error; readable logs are still shown."""
    (tmp_path / "text").write_text("no event\n")
    done = ask(tmp_path / "nothing", tmp_path / "text", skewed)
    missing, no_log = done.stderr.splitlines()

    assert done.returncode == 3
    assert missing == f"sparkfuse: {tmp_path}/nothing: there is no such file or folder"
    assert no_log.startswith(f"sparkfuse: {tmp_path}/text: not a Spark event log: ")
    assert "stage_skew" in done.stdout


def test_other_files_in_a_log_folder_are_skipped(tmp_path: Path, healthy: Path):
    """A file that is not a log is reported and skipped; a folder without any log is an error."""
    notes = tmp_path / "folder" / "notes.md"
    notes.parent.mkdir()
    notes.write_text("no event\n")
    alone = ask(notes.parent)
    (notes.parent / "log").write_bytes(healthy.read_bytes())
    beside = ask(notes.parent)

    assert (alone.returncode, alone.stdout) == (3, "")
    assert beside.returncode == 0
    assert f"{notes}: not a Spark event log" in beside.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: PATH"),
        (["log", "--fail-on", "bad"], "invalid choice: 'bad'"),
        (["log", "--jsonn"], "unrecognized arguments: --jsonn"),
    ],
)
def test_invalid_command_line_exits_with_2(arguments: list[str], message: str):
    """An invalid command line prints one sentence and exits with 2."""
    done = ask(*arguments)

    assert done.returncode == 2
    assert message in done.stderr


def test_report_of_several_logs_is_refused(tmp_path: Path, healthy: Path, skewed: Path):
    """An HTML report contains one application; for two logs no report is written."""
    done = ask(healthy, skewed, "--html", tmp_path / "report.html")

    assert done.returncode == 2
    assert "2 logs were found" in done.stderr
    assert not (tmp_path / "report.html").exists()


def test_report_is_written_beside_the_text(tmp_path: Path, skewed: Path):
    """--html writes the HTML report in addition to the text output."""
    done = ask(skewed, "--html", tmp_path / "report.html")

    assert done.returncode == 1
    assert "stage_skew" in (tmp_path / "report.html").read_text()


def test_sparkfuse_yaml_applies_to_analyze(tmp_path: Path, skewed: Path):
    """sparkfuse.yaml can disable a rule; a misspelled rule in the file gives an error of one sentence."""
    config = tmp_path / "sparkfuse.yaml"
    config.write_text("rules: {stage_skew: {enabled: false}}")
    quiet = ask(skewed, SPARKFUSE_CONFIG=str(config))
    config.write_text("rules: {stage_skw: {enabled: false}}")
    refused = ask(skewed, SPARKFUSE_CONFIG=str(config))

    assert quiet.returncode == 0
    assert (refused.returncode, "did you mean 'stage_skew'?" in refused.stderr) == (2, True)


def test_help_lists_exit_codes():
    """A build script can look up the exit codes in --help."""
    done = ask("--help")

    assert done.returncode == 0
    assert "exit codes:" in done.stdout


def test_text_of_a_log_cannot_control_the_terminal(tmp_path: Path):
    """Escape sequences, markup and text direction marks in names and reasons are neutralised."""
    stage = Stage(0, [Task(1_000), Task(9, reason=HOSTILE)], name=HOSTILE, status="failed")
    log = Run([stage], app_id=HOSTILE, job=HOSTILE, failed=True).write(tmp_path / "log")
    for arguments in ([], ["--json"]):
        done = ask(log, *arguments)

        assert not {"\x1b", "\x07", "\x00", "\u202e"} & set(done.stdout + done.stderr)


def test_heavy_packages_are_not_imported():
    """`analyze` does not import packages that it does not need, because these imports would slow its start."""
    heavy = ("chdb", "confluent_kafka", "pandas", "pyflink", "sqlglot", "typer", "yaml", "google.protobuf", "fsspec")
    code = (
        "import sys; from sparkfuse.commands.analyze import analyze\n"
        "try: analyze(['nothing-there'])\n"
        "finally: print(*[name for name in sys.argv[1:] if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""


def test_missing_package_is_one_sentence(healthy: Path):
    """Without the extra `cli`, the error names the missing package and the extra."""
    code = (
        "import sys; sys.modules['sparkfuse_kernel'] = None\n"
        f"sys.argv = ['sparkfuse', 'analyze', {str(healthy)!r}]\n"
        "from sparkfuse.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 3
    assert "sparkfuse_kernel is not installed; the extra `sparkfuse[cli]` contains it" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("two\n\tlines\r\n", "two lines"),
        ("\x1b[31mred", "\N{REPLACEMENT CHARACTER}[31mred"),
        ("a\u202eb\u2028c", "a\N{REPLACEMENT CHARACTER}b c"),
        ("é 日本 ∑", "é 日本 ∑"),
        ("x" * 50, "x" * 9 + "…"),
        ("", ""),
    ],
)
def test_readable_text_is_one_safe_line(text: str, expected: str):
    """Visible text is kept, and control characters are replaced."""
    assert readable(text, 10 if len(text) > 20 else 1_000) == expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("Job aborted\nmore", "Job aborted"),
        (
            'X: PythonException: Traceback (most recent call last):\n  File "a.py"\n    f()\nValueError: no\n\nat b',
            "X: PythonException: ValueError: no",
        ),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
    ],
)
def test_cause_is_first_line_and_python_error(reason: str, expected: str):
    """Only the error line of a Python traceback is shown, not the frames above this line."""
    assert analysis_text.cause(reason) == expected


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_text_fits_the_terminal_width(tmp_path: Path, width: int):
    """On a narrow terminal columns are dropped, so that no line is wider than the terminal."""
    from sparkfuse_kernel.event_logs.find import find_logs
    from sparkfuse_native_analytics.offline.analysis import analyze
    from sparkfuse_native_analytics.offline.application import read_application
    from sparkfuse_rules.compiled import rules_offline

    spilled = even(20_000, 4, disk_spilled_bytes=200_000_000)
    log = Run([Stage(0, spilled, name="x" * 200), Stage(1, even(9), status="failed")], failed=True)
    (found,) = find_logs(str(log.write(tmp_path / "log"))).logs
    console = Console(width=width, record=True, file=(tmp_path / "out").open("w"), markup=False, emoji=False)
    analysis_text.show(analyze(read_application(found), rules_offline()), console=console)
    lines = console.export_text().splitlines()

    assert max(map(len, lines)) <= width
    assert len(lines) < 45


@pytest.mark.parametrize("options", [["--json"], []])
def test_full_disk_is_one_sentence(options):
    """If the output cannot be written, the exit code is 3 and there is no traceback."""
    log = next((Path(__file__).parents[2] / "logs" / "runs").glob("skewed*"))
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "sparkfuse.main", "analyze", str(log), *options],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=150, check=False,
        )  # fmt: skip

    assert (ended.returncode, ended.stderr) == (3, "sparkfuse: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize("options", [["--json"], []])
def test_closed_pipe_exits_with_141(options):
    """`analyze LOG | head` exits with 141 and without a traceback, as other commands do."""
    log = next((Path(__file__).parents[2] / "logs" / "runs").glob("skewed*"))
    with subprocess.Popen(
        [sys.executable, "-m", "sparkfuse.main", "analyze", str(log), *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as command:  # fmt: skip
        command.stdout.close()
        said = command.stderr.read()
        code = command.wait(150)

    assert (code, said) == (141, "")
