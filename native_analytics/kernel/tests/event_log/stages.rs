//! Tests of the tables of applications, jobs, stages and tasks.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;

use crate::sample_log::{LOG, number, read, table, text};

#[test]
fn stage_sums_its_task_ends() {
    let log = read(LOG.as_bytes());
    let stage = |column| number(&log, "stages", column, 0);
    let counts = [
        "tasks",
        "succeeded",
        "failed",
        "killed",
        "speculative",
        "without_metrics",
        "started_tasks",
    ];
    assert_eq!(counts.map(stage), [2, 1, 1, 0, 1, 1, 2].map(Some));
    let sums = [
        "run_ms",
        "shuffle_read_bytes",
        "input_bytes",
        "disk_spilled_bytes",
        "ended_wall_ms",
        "biggest_task_bytes",
    ];
    assert_eq!(sums.map(stage), [40, 120, 1000, 10, 90, 1120].map(Some));
    let wall = table(&log, "stages").column_by_name("wall_ms").unwrap().as_struct();
    assert_eq!(
        wall.column_by_name("median")
            .unwrap()
            .as_primitive::<Float64Type>()
            .value(0),
        50.0
    );
    assert_eq!(text(&log, "stages", "status", 0), "succeeded");
    assert_eq!(number(&log, "stages", "job_id", 0), Some(0));
}

#[test]
fn sums_saturate_at_the_largest_integer() {
    let line = LOG.lines().find(|line| line.contains("\"Success\"")).unwrap();
    let huge = line.replace("Run Time\":40", "Run Time\":9223372036854775807");
    let log = read(format!("{huge}\n{huge}\n").as_bytes());
    assert_eq!(number(&log, "stages", "run_ms", 0), Some(i64::MAX));
}

#[test]
fn tables_have_the_values_of_the_events() {
    let log = read(LOG.as_bytes());
    assert_eq!(text(&log, "applications", "spark_version", 0), "3.5.1");
    assert_eq!(number(&log, "applications", "ended_ms", 0), Some(1070));
    assert_eq!(text(&log, "jobs", "result", 0), "JobSucceeded");
    assert_eq!(number(&log, "jobs", "sql_execution_id", 0), Some(7));
    assert_eq!(
        [0, 1].map(|row| text(&log, "plan_nodes", "name", row)),
        ["Project", "Scan"]
    );
    assert_eq!(number(&log, "plan_nodes", "parent", 1), Some(0));
    assert_eq!(number(&log, "accumulators", "value", 0), Some(12));
    let scopes = table(&log, "stages")
        .column_by_name("scope_names")
        .unwrap()
        .as_list::<i32>()
        .value(0);
    let scopes: Vec<Option<&str>> = scopes.as_string::<i32>().iter().collect();
    assert_eq!(scopes, [Some("Exchange"), Some("WholeStageCodegen (1)")]);
    assert_eq!(number(&log, "tasks", "run_ms", 1), None);
    assert_eq!(text(&log, "tasks", "failure_reason", 1), "gone");
}

fn ended(task: i64, index: i64, wall_ms: i64, place: &str, reason: &str) -> String {
    format!(
        r#"{{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{reason},"Task Info":{{"Task ID":{task},"Index":{index},"Attempt":0,"Launch Time":1000,"Executor ID":"{place}","Host":"host-{place}","Finish Time":{}}},"Task Metrics":{{"JVM GC Time":{index},"Input Metrics":{{"Bytes Read":{task}}}}}}}"#,
        1000 + wall_ms
    )
}

const SUCCESS: &str = r#"{"Reason":"Success"}"#;

#[test]
fn slowest_task_has_its_executor_and_host() {
    let failed = r#"{"Reason":"TaskKilled","Kill Reason":"stage cancelled"}"#;
    let lines = [
        ended(1, 7, 50, "a", SUCCESS),
        ended(2, 5, 90, "b", SUCCESS),
        ended(3, 4, 90, "c", SUCCESS),
        ended(4, 6, 90, "d", SUCCESS),
        ended(5, 8, 900, "e", failed),
    ];
    let log = read(format!("{}\n", lines.join("\n")).as_bytes());
    let stage = |column| number(&log, "stages", column, 0);
    let numbers = [
        "slowest_task_index",
        "slowest_task_ms",
        "slowest_task_bytes",
        "slowest_task_gc_ms",
    ];
    assert_eq!(numbers.map(stage), [4, 90, 3, 4].map(Some));
    assert_eq!(text(&log, "stages", "slowest_task_executor_id", 0), "c");
    assert_eq!(text(&log, "stages", "slowest_task_host", 0), "host-c");
}

#[test]
fn slowest_task_without_metrics_has_no_bytes() {
    let line = ended(1, 7, 50, "a", SUCCESS).replace("Task Metrics", "No Metrics");
    let log = read(format!("{line}\n").as_bytes());
    let columns = ["slowest_task_ms", "slowest_task_bytes", "slowest_task_gc_ms"];
    assert_eq!(
        columns.map(|column| number(&log, "stages", column, 0)),
        [Some(50), None, None]
    );
}

#[test]
fn failed_attempts_are_grouped_by_class() {
    let error = |text: &str| {
        format!(
            r#"{{"Reason":"ExceptionFailure","Class Name":"java.io.IOException","Description":"{text}","Full Stack Trace":"at x"}}"#
        )
    };
    let fetch = r#"{"Reason":"FetchFailed","Block Manager Address":{"Executor ID":"9","Host":"gone","Port":7337},"Shuffle ID":1,"Map ID":2,"Reduce ID":3,"Message":"connection refused"}"#;
    let lines = [
        ended(1, 0, 10, "a", &error("disk full")),
        ended(2, 0, 10, "b", &error("read-only")),
        ended(3, 1, 10, "b", &error("no space")),
        ended(4, 2, 10, "c", fetch),
        ended(5, 2, 10, "d", r#"{"Reason":"Resubmitted"}"#),
        ended(
            6,
            2,
            10,
            "d",
            r#"{"Reason":"ExecutorLostFailure","Executor ID":"d","Loss Reason":"worker lost"}"#,
        ),
        ended(7, 3, 10, "e", SUCCESS),
        ended(
            8,
            3,
            10,
            "e",
            r#"{"Reason":"TaskKilled","Kill Reason":"another attempt succeeded"}"#,
        ),
    ];
    let log = read(format!("{}\n", lines.join("\n")).as_bytes());
    let stage = |column| number(&log, "stages", column, 0);
    assert_eq!(
        ["failed", "fetch_failed", "lost", "resubmitted"].map(stage),
        [6, 1, 1, 1].map(Some)
    );
    let columns = ["failure_class", "failure_reason", "executor_id", "host"];
    let texts = |row| columns.map(|column| text(&log, "failures", column, row));
    assert_eq!(texts(0), ["java.io.IOException", "no space", "b", "host-b"]);
    // The place of the lost block, not that of the task that requested it.
    assert_eq!(texts(1), ["FetchFailed", "connection refused", "9", "gone"]);
    assert_eq!(texts(2), ["Resubmitted", "", "d", "host-d"]);
    assert_eq!(texts(3), ["ExecutorLostFailure", "worker lost", "d", "host-d"]);
    assert_eq!(table(&log, "failures").num_rows(), 4);
    let numbers = ["failed", "task_index", "hosts", "failing_tasks", "attempts_max"];
    assert_eq!(
        numbers.map(|column| number(&log, "failures", column, 0)),
        [3, 1, 2, 2, 2].map(Some)
    );
}

#[test]
fn failures_are_limited() {
    let lines: Vec<String> = (0..1_500)
        .map(|task| {
            let class = if task < 1_200 { 0 } else { task };
            let reason = format!(r#"{{"Reason":"ExceptionFailure","Class Name":"c{class}","Description":"x"}}"#);
            ended(task, task, 10, &format!("{task}"), &reason)
        })
        .collect();
    let log = read(format!("{}\n", lines.join("\n")).as_bytes());
    assert_eq!(table(&log, "failures").num_rows(), 32);
    let numbers = ["failed", "hosts", "failing_tasks", "attempts_max"];
    assert_eq!(
        numbers.map(|column| number(&log, "failures", column, 0)),
        [1_200, 32, 1_000, 1].map(Some)
    );
    assert_eq!(number(&log, "stages", "failed", 0), Some(1_500));
    assert_eq!(log.evidence.left_out, 300 - 31);
}

#[test]
fn stage_has_the_rows_of_its_busiest_operator() {
    let line = LOG.lines().find(|line| line.contains("StageCompleted")).unwrap();
    let rows = r#""Accumulables":[{"ID":5,"Name":"number of output rows","Value":"99"},{"ID":6,"Name":"number of files","Value":"100"},"#;
    let log = read(format!("{}\n", line.replace("\"Accumulables\":[", rows)).as_bytes());
    assert_eq!(number(&log, "stages", "operator_rows_max", 0), Some(99));
}

/// If the members are in Spark's order, the decoder skips all members after the last one that it needs; other orders
/// work too.
#[test]
fn members_may_have_any_order() {
    let spark = concat!(
        r#"{"Event":"SparkListenerJobStart","Job ID":0,"Stage Infos":["#,
        r#"{"Stage ID":0,"Parent IDs":[],"Details":"}]"},{"Stage ID":1,"Parent IDs":[0],"Details":"x\"}"}],"Stage IDs":[0,1]}"#,
        "\n",
        r#"{"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":1,"RDD Info":["#,
        r#"{"RDD ID":1,"Scope":"{\"name\":\"Scan\"}","Parent IDs":[2]},{"Scope":null,"Name":"}"},{"Scope":"{\"name\":\"Sort\"}"}],"#,
        r#""Accumulables":[{"ID":5,"Name":"number of output rows","Value":"9","Internal":true},"#,
        r#"{"ID":6,"Name":"number of output rows","Value":"7","Metadata":"}"}]}}"#,
        "\n",
    );
    let other = spark
        .replace(r#""Stage ID":1,"Parent IDs":[0],"#, r#""Parent IDs":[0],"Stage ID":1,"#)
        .replace(
            r#""RDD ID":1,"Scope":"{\"name\":\"Scan\"}","#,
            r#""Scope":"{\"name\":\"Scan\"}","RDD ID":1,"#,
        )
        .replace(
            r#""ID":5,"Name":"number of output rows","Value":"9""#,
            r#""Value":"9","Name":"number of output rows","ID":5"#,
        );
    assert_ne!(spark, other);
    for text in [spark, other.as_str()] {
        let log = read(text.as_bytes());
        assert_eq!(log.evidence.malformed, 0, "{text}");
        let stage = |column| number(&log, "stages", column, 0);
        assert_eq!(
            [stage("depth"), stage("operator_rows_max")],
            [Some(1), Some(9)],
            "{text}"
        );
        let scopes = table(&log, "stages")
            .column_by_name("scope_names")
            .unwrap()
            .as_list::<i32>()
            .value(0);
        let names: Vec<_> = scopes.as_string::<i32>().iter().flatten().collect();
        assert_eq!(names, ["Scan", "Sort"], "{text}");
        assert_eq!(
            [0, 1].map(|row| number(&log, "accumulators", "value", row)),
            [9, 7].map(Some),
            "{text}"
        );
    }
}

/// A line is malformed even if only a member that the decoder skips is incomplete.
#[test]
fn incomplete_object_after_the_last_read_member_is_malformed() {
    let log = read(b"{\"Event\":\"SparkListenerJobStart\",\"Job ID\":0,\"Stage Infos\":[{\"Stage ID\":0,\"Parent IDs\":[],\"x\":1]}\n");
    assert_eq!(log.evidence.malformed, 1);
}

#[test]
fn peak_memory_of_old_logs_is_an_accumulable() {
    let line = LOG.lines().find(|line| line.contains("\"Success\"")).unwrap();
    for name in ["internal.metrics.peakExecutionMemory", "peakExecutionMemory"] {
        let old = line.replace("\"Peak Execution Memory\":5,", "").replace(
            "\"Accumulables\":[",
            &format!("\"Accumulables\":[{{\"ID\":3,\"Name\":\"{name}\",\"Update\":\"77\"}},"),
        );
        assert_eq!(
            number(&read(old.as_bytes()), "tasks", "peak_execution_memory_bytes", 0),
            Some(77)
        );
    }
}
