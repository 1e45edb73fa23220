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
    """Run the command as a person does, in a terminal of the usual width that knows no colours."""
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
def test_history_takes_every_path_behind_it(given: str, expected: str):
    """A shell's pattern makes many paths of one: all of them are history, up to the next option."""
    assert spread_history(given.split()) == expected.split()


def test_a_healthy_log_exits_with_0_and_says_what_it_cannot_know(healthy: Path):
    """Nothing was found; rules that need a running job and history are named as such."""
    done = ask(healthy)

    assert (done.returncode, done.stderr) == (0, "")
    assert "No rule found anything. Without --history nothing is judged slow." in done.stdout
    assert "Not decidable from an event log" in " ".join(done.stdout.split())


def test_a_finding_comes_first_with_its_evidence_and_what_to_do(skewed: Path):
    """The screen of a skewed run, word for word."""
    done = ask(skewed)

    assert done.returncode == 1
    assert [line.rstrip() for line in done.stdout.splitlines()] == [
        "nightly_orders 2026-11-21  app-7, Spark 3.5.8, took 32.5 s, succeeded; 1 stage, 16 task ends",
        " WARNING  stage_skew  One task of the stage has far more data than the median task.",
        "  Task 15 of stage 0 reads 85.8 MiB, 90.0 times the median task, and takes 31.0 s. That is 30.0 s",
        "  longer than the median task; the stage takes 31.0 s. One key with very many rows is the usual",
        "  cause.",
        "  Do: Find the key: count the rows of the join or group-by key in the input of the last run and read",
        "  the top ten. Usually it is null, an empty text or one large customer.",
        "Stages that cost most",
        "stage  name                    took  task time  share  tasks       read",
        "  0.0  save at orders.py:88  31.0 s     46.0 s   100%     16  100.1 MiB",
        "Note: Not decidable from an event log, only while a job runs: application_stalled,",
        "application_zombie, deadline_at_risk and 9 more (--json says why).",
        "",
    ]


def test_what_is_alike_is_told_once_and_symptoms_stand_below_their_cause(tmp_path: Path):
    """Forty lost executors and the stage that they broke: one finding on the screen."""
    killed = "Container killed by YARN for exceeding memory limits. 9.1 GB of 9 GB physical memory used."
    lost = [Executor(str(number), 5_000 + number, killed) for number in range(40)]
    stages = [Stage(0, even(9_000, 4), status="failed"), Stage(0, even(30_000, 4), attempt=1, after_ms=9_000)]
    done = ask(Run(stages, executors=lost).write(tmp_path / "log"))
    findings = [line for line in done.stdout.splitlines() if " CRITICAL " in line or " WARNING " in line]

    assert done.returncode == 1
    assert findings == [
        " CRITICAL  executor_churn  Executors are lost and replaced repeatedly (21 times, here the worst)."
    ]
    assert "  With it: executor_lost (40 times, here the worst): Executor 39 on node-39 was lost" in done.stdout
    assert "  With it: stage_retried, stage 0: Stage 0 is in attempt 1" in done.stdout


def test_a_job_that_failed_is_told_once(tmp_path: Path):
    """By the finding, with its first cause and what to do; a cancelled one by its line alone."""
    reason = "Job aborted due to stage failure: Task 0 failed 4 times, most recent failure: java.io.IOException: full"
    failed = ask(Run([Stage(0, even(9))], failed=True, failure=reason).write(tmp_path / "failed"))
    cancelled = ask(Run([Stage(0, even(9))], failed=True, failure="Job 0 cancelled").write(tmp_path / "cancelled"))

    assert (failed.returncode, failed.stdout.count("java.io.IOException: full")) == (1, 1)
    assert " FAILED " not in failed.stdout
    assert (cancelled.returncode, " FAILED  job 0 (benign: cancelled)" in cancelled.stdout) == (0, True)


def test_json_is_one_object_a_line(healthy: Path, skewed: Path):
    """Several applications are JSON Lines, in the order of the command line."""
    done = ask("--json", skewed, healthy)
    objects = [json.loads(line) for line in done.stdout.splitlines()]

    assert [each["application"]["app_id"] for each in objects] == ["app-7", "app-0"]
    assert [len(each["findings"]) for each in objects] == [1, 0]


@pytest.mark.parametrize(("level", "code"), [("info", 1), ("warning", 1), ("critical", 0), ("never", 0)])
def test_the_severity_that_fails_is_the_user_s_choice(skewed: Path, level: str, code: int):
    """A build that must not fail on warnings says so."""
    assert ask(skewed, "--fail-on", level).returncode == code


def test_what_cannot_be_read_is_another_exit_code_and_hides_nothing(tmp_path: Path, skewed: Path):
    """Exit code 3 and a sentence a path on standard error; the logs that can be read are shown."""
    (tmp_path / "text").write_text("no event\n")
    done = ask(tmp_path / "nothing", tmp_path / "text", skewed)
    missing, no_log = done.stderr.splitlines()

    assert done.returncode == 3
    assert missing == f"sparkfuse: {tmp_path}/nothing: there is no such file or folder"
    assert no_log.startswith(f"sparkfuse: {tmp_path}/text: it is no event log of Spark: ")
    assert "stage_skew" in done.stdout


def test_what_is_no_log_in_a_folder_of_logs_is_passed_over(tmp_path: Path, healthy: Path):
    """Somebody's notes beside the logs are named and are no failure; a folder of nothing else is one."""
    notes = tmp_path / "folder" / "notes.md"
    notes.parent.mkdir()
    notes.write_text("no event\n")
    alone = ask(notes.parent)
    (notes.parent / "log").write_bytes(healthy.read_bytes())
    beside = ask(notes.parent)

    assert (alone.returncode, alone.stdout) == (3, "")
    assert beside.returncode == 0
    assert f"{notes}: it is no event log of Spark" in beside.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: PATH"),
        (["log", "--fail-on", "bad"], "invalid choice: 'bad'"),
        (["log", "--jsonn"], "unrecognized arguments: --jsonn"),
    ],
)
def test_a_wrong_command_line_is_a_sentence_and_exit_code_2(arguments: list[str], said: str):
    """As for all commands."""
    done = ask(*arguments)

    assert done.returncode == 2
    assert said in done.stderr


def test_a_report_holds_one_application(tmp_path: Path, healthy: Path, skewed: Path):
    """Two logs cannot go into one file: nothing is written."""
    done = ask(healthy, skewed, "--html", tmp_path / "report.html")

    assert done.returncode == 2
    assert "2 logs were found" in done.stderr
    assert not (tmp_path / "report.html").exists()


def test_a_report_is_written_beside_the_screen(tmp_path: Path, skewed: Path):
    """One file, for people who were not at the terminal."""
    done = ask(skewed, "--html", tmp_path / "report.html")

    assert done.returncode == 1
    assert "stage_skew" in (tmp_path / "report.html").read_text()


def test_rules_of_a_team_hold_here_too(tmp_path: Path, skewed: Path):
    """sparkfuse.yaml switches a rule off; a typing error in it is a sentence."""
    config = tmp_path / "sparkfuse.yaml"
    config.write_text("rules: {stage_skew: {enabled: false}}")
    quiet = ask(skewed, SPARKFUSE_CONFIG=str(config))
    config.write_text("rules: {stage_skw: {enabled: false}}")
    refused = ask(skewed, SPARKFUSE_CONFIG=str(config))

    assert quiet.returncode == 0
    assert (refused.returncode, "did you mean 'stage_skew'?" in refused.stderr) == (2, True)


def test_the_help_tells_the_exit_codes():
    """Whoever calls it from a build finds them."""
    done = ask("--help")

    assert done.returncode == 0
    assert "exit codes:" in done.stdout


def test_a_log_cannot_speak_to_the_terminal(tmp_path: Path):
    """Escape sequences, markup and turned text of names and reasons are shown as nothing that a terminal obeys."""
    stage = Stage(0, [Task(1_000), Task(9, reason=HOSTILE)], name=HOSTILE, status="failed")
    log = Run([stage], app_id=HOSTILE, job=HOSTILE, failed=True).write(tmp_path / "log")
    for arguments in ([], ["--json"]):
        done = ask(log, *arguments)

        assert not {"\x1b", "\x07", "\x00", "\u202e"} & set(done.stdout + done.stderr)


def test_nothing_heavy_is_imported():
    """What a log of a megabyte does not need is not waited for."""
    heavy = ("chdb", "confluent_kafka", "pandas", "pyflink", "sqlglot", "typer", "yaml", "google.protobuf", "fsspec")
    code = (
        "import sys; from sparkfuse.commands.analyze import analyze\n"
        "try: analyze(['nothing-there'])\n"
        "finally: print(*[name for name in sys.argv[1:] if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == ""


def test_a_missing_package_is_one_sentence(healthy: Path):
    """Who installed the base only is told what brings the rest."""
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
def test_text_of_a_log_is_one_line_that_fits(text: str, expected: str):
    """What people read of it stays, what a terminal obeys goes."""
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
def test_the_cause_of_a_failure_is_named(reason: str, expected: str):
    """Of a Python trace the line that names the error, not the files above it."""
    assert analysis_text.cause(reason) == expected


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_screen_fits_its_width(tmp_path: Path, width: int):
    """On a narrow terminal columns give way; no line is longer than the screen."""
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
def test_a_full_disk_is_one_sentence(options):
    """Output that finds no room is no finding: code 3, and no trace."""
    log = next((Path(__file__).parents[2] / "logs" / "runs").glob("skewed*"))
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "sparkfuse.main", "analyze", str(log), *options],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=150, check=False,
        )  # fmt: skip

    assert (ended.returncode, ended.stderr) == (3, "sparkfuse: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize("options", [["--json"], []])
def test_a_reader_that_went_away_is_no_finding(options):
    """`analyze LOG | head` ends as other commands do whose reader left: 141, and no trace."""
    log = next((Path(__file__).parents[2] / "logs" / "runs").glob("skewed*"))
    with subprocess.Popen(
        [sys.executable, "-m", "sparkfuse.main", "analyze", str(log), *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as command:  # fmt: skip
        command.stdout.close()
        said = command.stderr.read()
        code = command.wait(150)

    assert (code, said) == (141, "")
