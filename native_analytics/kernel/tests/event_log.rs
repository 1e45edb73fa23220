//! Event logs whole, torn, packed and hostile.

use std::io::{Cursor, Read, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use proptest::prelude::*;
use sparkfuse_kernel::event_log::decoder::Decoder;
use sparkfuse_kernel::event_log::log_tables::LogTables;
use sparkfuse_kernel::event_log::options::{Limits, Options};
use sparkfuse_kernel::event_log::read::{Kept, Source, read_log};

const LOG: &str = concat!(
    r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}"#,
    "\n",
    r#"{"Event":"SparkListenerApplicationStart","App Name":"orders","App ID":"app-1","Timestamp":1000,"User":"u"}"#,
    "\n",
    r#"{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":1001,"Stage Infos":[{"Stage ID":0}],"Stage IDs":[0],"Properties":{"spark.job.description":"load","spark.sql.execution.id":"7"}}"#,
    "\n",
    r#"{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":0,"Stage Attempt ID":0,"Stage Name":"count at a.py:1","Number of Tasks":2,"RDD Info":[{"RDD ID":1,"Scope":"{\"id\":\"2\",\"name\":\"Exchange\"}"},{"RDD ID":2,"Scope":"{\"id\":\"3\",\"name\":\"WholeStageCodegen (1)\"}"}],"Parent IDs":[],"Submission Time":1002},"Properties":{"spark.job.description":"load"}}"#,
    "\n",
    r#"{"Event":"SparkListenerTaskStart","Stage ID":0,"Stage Attempt ID":0,"Task Info":{"Task ID":0,"Index":0,"Attempt":0,"Launch Time":1003,"Executor ID":"1","Host":"h","Locality":"ANY","Speculative":false}}"#,
    "\n",
    r#"{"Event":"SparkListenerTaskStart","Stage ID":0,"Stage Attempt ID":0,"Task Info":{"Task ID":1,"Index":1,"Attempt":0,"Launch Time":1003,"Executor ID":"1","Host":"h","Locality":"ANY","Speculative":false}}"#,
    "\n",
    r#"{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":0,"Index":0,"Attempt":0,"Partition ID":0,"Launch Time":1003,"Executor ID":"1","Host":"h","Locality":"ANY","Speculative":false,"Getting Result Time":0,"Finish Time":1053,"Failed":false,"Killed":false,"Accumulables":[{"ID":1,"Name":"x]}\"{","Update":"3"}]},"Task Executor Metrics":{"JVMHeapMemory":0},"Task Metrics":{"Executor Deserialize Time":2,"Executor Deserialize CPU Time":1,"Executor Run Time":40,"Executor CPU Time":30000000,"Peak Execution Memory":5,"Result Size":900,"JVM GC Time":1,"Result Serialization Time":0,"Memory Bytes Spilled":0,"Disk Bytes Spilled":10,"Shuffle Read Metrics":{"Remote Blocks Fetched":1,"Local Blocks Fetched":1,"Fetch Wait Time":4,"Remote Bytes Read":100,"Remote Bytes Read To Disk":0,"Local Bytes Read":20,"Total Records Read":12},"Shuffle Write Metrics":{"Shuffle Bytes Written":7,"Shuffle Write Time":9,"Shuffle Records Written":3},"Input Metrics":{"Bytes Read":1000,"Records Read":10},"Output Metrics":{"Bytes Written":0,"Records Written":0},"Updated Blocks":[]}}"#,
    "\n",
    r#"{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{"Reason":"ExecutorLostFailure","Executor ID":"2","Exit Caused By App":false,"Loss Reason":"gone"},"Task Info":{"Task ID":1,"Index":1,"Attempt":0,"Launch Time":1003,"Executor ID":"1","Host":"h","Locality":"ANY","Speculative":true,"Getting Result Time":0,"Finish Time":1043,"Failed":true,"Killed":false,"Accumulables":[]}}"#,
    "\n",
    r#"{"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":0,"Stage Attempt ID":0,"Stage Name":"count at a.py:1","Number of Tasks":2,"RDD Info":[],"Parent IDs":[],"Submission Time":1002,"Completion Time":1060,"Accumulables":[{"ID":4,"Name":"number of output rows","Value":"12"}]}}"#,
    "\n",
    r#"{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":7,"description":"d","time":1000,"sparkPlanInfo":{"nodeName":"Project","simpleString":"Project [secret]","children":[{"nodeName":"Scan","children":[],"metrics":[{"name":"rows","accumulatorId":4,"metricType":"sum"}]}],"metrics":[]}}"#,
    "\n",
    r#"{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":1061,"Job Result":{"Result":"JobSucceeded"}}"#,
    "\n",
    r#"{"Event":"SparkListenerSomethingNew","x":[1,2]}"#,
    "\n",
    r#"{"Event":"SparkListenerApplicationEnd","Timestamp":1070}"#,
    "\n",
);

fn options() -> Options {
    Options {
        tasks: true,
        task_starts: true,
        ..Options::default()
    }
}

fn read_with(bytes: &[u8], options: Options) -> LogTables {
    let source = Source::Reader("log".to_owned(), Box::new(Cursor::new(bytes.to_vec())));
    let mut kept = Kept::default();
    let log = read_log(vec![source], &Arc::new(options), 1, &mut kept).unwrap();
    LogTables::of(log, kept, true, true)
}

fn read(bytes: &[u8]) -> LogTables {
    read_with(bytes, options())
}

fn table<'l>(log: &'l LogTables, name: &str) -> &'l RecordBatch {
    let (_, table) = log.tables.iter().find(|(known, _)| *known == name).unwrap();
    &table.batches[0]
}

fn number(log: &LogTables, name: &str, column: &str, row: usize) -> Option<i64> {
    let column = table(log, name)
        .column_by_name(column)
        .unwrap()
        .as_primitive::<Int64Type>();
    column.is_valid(row).then(|| column.value(row))
}

fn text(log: &LogTables, name: &str, column: &str, row: usize) -> String {
    table(log, name)
        .column_by_name(column)
        .unwrap()
        .as_string::<i32>()
        .value(row)
        .to_owned()
}

fn batches(log: &LogTables) -> Vec<RecordBatch> {
    log.tables.iter().flat_map(|(_, table)| table.batches.clone()).collect()
}

#[test]
fn a_stage_is_the_sum_of_its_task_ends() {
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
fn the_tables_hold_what_the_events_say() {
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
    assert_eq!(scopes, [Some("Exchange"), Some("WholeStageCodegen")]);
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
fn the_slowest_task_is_told_with_its_place() {
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
fn without_metrics_nobody_knows_what_the_slowest_task_read() {
    let line = ended(1, 7, 50, "a", SUCCESS).replace("Task Metrics", "No Metrics");
    let log = read(format!("{line}\n").as_bytes());
    let columns = ["slowest_task_ms", "slowest_task_bytes", "slowest_task_gc_ms"];
    assert_eq!(
        columns.map(|column| number(&log, "stages", column, 0)),
        [Some(50), None, None]
    );
}

#[test]
fn failed_attempts_are_told_by_class() {
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
    // Where the lost block is, not who asked for it.
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
fn failures_stay_within_their_room() {
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
    assert_eq!(log.report.left_out, 300 - 31);
}

#[test]
fn a_stage_tells_its_busiest_operator() {
    let line = LOG.lines().find(|line| line.contains("StageCompleted")).unwrap();
    let rows = r#""Accumulables":[{"ID":5,"Name":"number of output rows","Value":"99"},{"ID":6,"Name":"number of files","Value":"100"},"#;
    let log = read(format!("{}\n", line.replace("\"Accumulables\":[", rows)).as_bytes());
    assert_eq!(number(&log, "stages", "operator_rows_max", 0), Some(99));
}

#[test]
fn the_evidence_counts_everything() {
    let report = read(LOG.as_bytes()).report;
    assert_eq!((report.events, report.malformed, report.unknown_events), (13, 0, 1));
    assert!(report.complete && !report.truncated);
    assert_eq!(
        (report.unfinished_tasks, report.duplicate_task_ends, report.odd_values),
        (0, 0, 0)
    );
    assert_eq!(report.plain_bytes, LOG.len() as u64);
}

#[test]
fn a_task_that_ends_twice_is_counted_twice_and_told() {
    let end = LOG.lines().find(|line| line.contains("TaskEnd")).unwrap();
    let log = read(format!("{end}\n{end}\n").as_bytes());
    assert_eq!(number(&log, "stages", "tasks", 0), Some(2));
    assert_eq!(log.report.duplicate_task_ends, 1);
}

#[test]
fn bad_lines_are_told_and_the_rest_counts() {
    let mut lines: Vec<&[u8]> = LOG.lines().map(str::as_bytes).collect();
    lines.insert(3, b"not json");
    lines.insert(5, br#"{"Event":"SparkListenerTaskEnd","Task Info":{}}"#);
    lines.insert(7, b"\xff\xfe{\"Event\":1}");
    lines.insert(8, b"");
    let log = read(&lines.join(&b'\n'));
    let places: Vec<u64> = log.report.bad_lines.iter().map(|bad| bad.line).collect();
    assert_eq!(places, [4, 6, 8]);
    assert_eq!((log.report.malformed, log.report.events), (3, 13));
    assert_eq!(log.report.bad_lines[1].reason, "no readable \"Stage ID\" at byte 0");
    assert_eq!(number(&log, "stages", "tasks", 0), Some(2));
}

#[test]
fn a_torn_last_line_is_torn_and_not_malformed() {
    let whole = read(&LOG.as_bytes()[..LOG.len() - 1]).report;
    assert_eq!((whole.events, whole.truncated), (13, false));
    let torn = read(&LOG.as_bytes()[..LOG.len() - 2]).report;
    assert_eq!(
        (torn.events, torn.malformed, torn.truncated, torn.complete),
        (12, 0, true, false)
    );
}

#[test]
fn other_writers_are_read() {
    let line = LOG.lines().find(|line| line.contains("\"Success\"")).unwrap();
    let spaced = line.replace("\":", "\" : ").replace(",\"", " ,\t\"");
    let renamed = line
        .replace("Run Time\":40", "Run Time\":\"40\"")
        .replace(":1000,", ":1e3,")
        .replace("Task Type", "T\\u0061sk Type");
    let (event, rest) = line.split_at(line.find(",\"Stage ID\"").unwrap());
    let reordered = format!("{{{},{}}}\r", &rest[1..rest.len() - 1], &event[1..]);
    let wanted = read(format!("{line}\n").as_bytes());
    for other in [spaced, renamed, reordered] {
        let log = read(format!("{other}\n").as_bytes());
        assert_eq!(log.report.malformed, 0, "{other}");
        for name in ["stages", "tasks"] {
            assert_eq!(table(&log, name), table(&wanted, name), "{other}");
        }
    }
}

#[test]
fn numbers_that_are_none_are_null_and_counted() {
    let line = LOG.lines().find(|line| line.contains("\"Success\"")).unwrap();
    for (value, kept) in [
        ("NaN", None),
        ("1e30", None),
        ("99999999999999999999999", None),
        ("\"x\"", None),
        ("-5", Some(-5)),
        ("9223372036854775807", Some(i64::MAX)),
        ("40.9", Some(40)),
        ("null", None),
    ] {
        let log = read(line.replace("Run Time\":40", &format!("Run Time\":{value}")).as_bytes());
        assert_eq!(number(&log, "tasks", "run_ms", 0), kept, "{value}");
        assert_eq!(
            log.report.odd_values,
            u64::from(kept.is_none() && value != "null"),
            "{value}"
        );
        assert_eq!(log.report.malformed, 0, "{value}");
    }
}

#[test]
fn lines_that_ran_into_each_other_are_no_event() {
    let line = LOG.lines().find(|line| line.contains("\"Success\"")).unwrap();
    let cuts = (1..line.len()).step_by(3).filter(|cut| {
        let joined = format!("{}{line}\n", &line[..*cut]);
        let report = read(joined.as_bytes()).report;
        (report.events, report.malformed, report.odd_values) != (0, 1, 0)
    });
    assert_eq!(cuts.collect::<Vec<usize>>(), Vec::<usize>::new());
}

#[test]
fn flags_are_what_the_log_says() {
    for (value, speculative) in [("true", Some(true)), ("false", Some(false)), ("null", None)] {
        let log = read(
            LOG.replace("Speculative\":false", &format!("Speculative\":{value}"))
                .as_bytes(),
        );
        for name in ["tasks", "task_starts"] {
            let column = table(&log, name).column_by_name("speculative").unwrap().as_boolean();
            assert_eq!(
                column.is_valid(0).then(|| column.value(0)),
                speculative,
                "{name} {value}"
            );
        }
        let has_metrics = table(&log, "tasks").column_by_name("has_metrics").unwrap().as_boolean();
        assert_eq!([has_metrics.value(0), has_metrics.value(1)], [true, false]);
    }
}

#[test]
fn an_old_log_has_its_peak_memory_among_the_accumulables() {
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

#[test]
fn a_container_cut_in_its_first_block_still_has_its_name() {
    for (name, pack) in PACKS {
        let packed = pack(LOG.as_bytes());
        let file = &read(&packed[..17]).report.files[0];
        assert!(name.starts_with(&file.codec) && file.truncated, "{name} {file:?}");
    }
}

#[test]
fn sums_stay_at_the_largest_number() {
    let line = LOG.lines().find(|line| line.contains("\"Success\"")).unwrap();
    let huge = line.replace("Run Time\":40", "Run Time\":9223372036854775807");
    let log = read(format!("{huge}\n{huge}\n").as_bytes());
    assert_eq!(number(&log, "stages", "run_ms", 0), Some(i64::MAX));
}

#[test]
fn deep_nesting_costs_no_stack() {
    let deep = format!(
        "{{\"Event\":\"X\",\"a\":{}{}}}",
        "[".repeat(1_000_000),
        "]".repeat(1_000_000)
    );
    let open = format!("{{\"Event\":\"X\",\"a\":{}}}", "[{".repeat(1_000_000));
    let plan = format!(
        "{{\"Event\":\"SparkListenerSQLExecutionStart\",\"executionId\":1,\"sparkPlanInfo\":{}{}}}",
        "{\"nodeName\":\"n\",\"children\":[".repeat(100_000),
        "]}".repeat(100_000)
    );
    let log = read(format!("{deep}\n{open}\n{plan}\n").as_bytes());
    assert_eq!((log.report.events, log.report.malformed), (2, 1));
    assert_eq!(table(&log, "plan_nodes").num_rows(), 401);
}

#[test]
fn a_line_over_the_limit_is_passed_over() {
    let mut options = options();
    options.limits.line_bytes = 1000;
    let long = format!("{{\"Event\":\"X\",\"a\":\"{}\"}}", "x".repeat(5000));
    let log = read_with(format!("{long}\n{{\"Event\":\"Y\"}}\n").as_bytes(), options.clone());
    assert_eq!((log.report.events, log.report.malformed), (1, 1));
    assert_eq!(
        log.report.bad_lines[0].reason,
        "longer than the limit for a line at byte 0"
    );
    let mut decoder = Decoder::new(Arc::new(options), 0);
    for piece in long.as_bytes().chunks(100) {
        decoder.feed(piece);
    }
    assert_eq!((decoder.pending(), decoder.resume_at()), (long.len() as u64, 0));
    decoder.feed(b"\n{\"Event\":\"Y\"}\n");
    assert_eq!(
        (decoder.resume_at(), decoder.evidence.events),
        (long.len() as u64 + 15, 1)
    );
}

#[test]
fn tables_of_rare_events_stay_within_their_room() {
    let mut options = options();
    options.limits.table_bytes = 2000;
    let jobs: String = (0..1000)
        .map(|id| format!("{{\"Event\":\"SparkListenerJobStart\",\"Job ID\":{id},\"Stage IDs\":[1,2,3]}}\n"))
        .collect();
    let log = read_with(jobs.as_bytes(), options);
    let rows = table(&log, "jobs").num_rows() as u64;
    assert!(rows > 0 && rows < 20, "{rows}");
    assert_eq!((log.report.left_out, log.report.events), (1000 - rows, 1000));
}

#[test]
fn details_never_take_the_room_of_stages() {
    let accumulables = format!("[{}{{}}]", "{\"ID\":1,\"Name\":\"rows\",\"Value\":2},".repeat(50));
    let stages: String = (0..300)
        .map(|id| {
            format!(
                "{{\"Event\":\"SparkListenerStageCompleted\",\"Stage Info\":{{\"Stage ID\":{id},\"Accumulables\":{accumulables}}}}}\n"
            )
        })
        .collect();
    let mut options = options();
    options.limits.detail_bytes = 100_000;
    let log = read_with(stages.as_bytes(), options);
    let rows = table(&log, "accumulators").num_rows() as u64;
    assert_eq!(table(&log, "stages").num_rows(), 300);
    assert!(rows > 0 && rows < 300 * 51, "{rows}");
    assert_eq!(log.report.left_out, 300 * 51 - rows);
}

#[test]
fn an_empty_log_says_nothing() {
    let log = read(b"");
    assert_eq!(
        (log.report.events, log.report.truncated, log.report.complete),
        (0, false, false)
    );
    assert_eq!(
        (table(&log, "stages").num_rows(), table(&log, "applications").num_rows()),
        (0, 1)
    );
}

#[test]
fn a_path_that_cannot_be_opened_is_an_error() {
    for path in ["/does/not/exist", env!("CARGO_MANIFEST_DIR")] {
        let read = read_log(
            vec![Source::Path(path.into())],
            &Arc::new(options()),
            2,
            &mut Kept::default(),
        );
        assert!(read.err().unwrap().to_string().starts_with(path), "{path}");
    }
}

#[test]
fn many_parts_are_one_log() {
    let lines: Vec<&str> = LOG.lines().collect();
    let (head, tasks, tail) = (lines[..4].join("\n"), lines[4..8].join("\n"), lines[8..].join("\n"));
    let text = format!("{head}\n{}bad\n{tail}", format!("{tasks}\n").repeat(8000));
    let path = std::env::temp_dir().join(format!("sparkfuse-{}.log", std::process::id()));
    std::fs::write(&path, &text).unwrap();
    let logs: Vec<LogTables> = [1, 2, 5]
        .map(|threads| {
            let mut kept = Kept::default();
            let log = read_log(
                vec![Source::Path(path.clone())],
                &Arc::new(options()),
                threads,
                &mut kept,
            )
            .unwrap();
            LogTables::of(log, kept, false, false)
        })
        .into();
    std::fs::remove_file(&path).unwrap();
    let whole = read(text.as_bytes());
    assert!(text.len() > 12 << 20, "long enough to be read in parts");
    for log in logs {
        assert_eq!(table(&log, "stages"), table(&whole, "stages"));
        assert_eq!(log.report.bad_lines[0].line, whole.report.bad_lines[0].line);
        assert_eq!(log.report.bad_lines[0].offset, whole.report.bad_lines[0].offset);
        assert_eq!(
            (log.report.events, log.report.duplicate_task_ends),
            (whole.report.events, 15998)
        );
    }
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    zstd::encode_all(plain, 1).unwrap()
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn lz4(plain: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    for block in plain.chunks(1 << 15).chain([&[][..]]) {
        let (method, body) = match block.len() {
            0 => (0x10, Vec::new()),
            length if length % 2 == 0 => (0x20, lz4_flex::block::compress(block)),
            _ => (0x10, block.to_vec()),
        };
        let hash = if block.is_empty() {
            0
        } else {
            xxhash_rust::xxh32::xxh32(block, 0x9747_b28c) & 0x0fff_ffff
        };
        packed.extend_from_slice(b"LZ4Block");
        packed.push(method | 5);
        for number in [body.len() as u32, block.len() as u32, hash] {
            packed.extend_from_slice(&number.to_le_bytes());
        }
        packed.extend_from_slice(&body);
    }
    packed
}

fn snappy(plain: &[u8]) -> Vec<u8> {
    let mut packed = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".to_vec();
    for block in plain.chunks(1 << 15) {
        let body = snap::raw::Encoder::new().compress_vec(block).unwrap();
        packed.extend_from_slice(&(body.len() as u32).to_be_bytes());
        packed.extend_from_slice(&body);
    }
    packed
}

fn lzf(plain: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    for chunk in plain.chunks(0xffff) {
        packed.extend_from_slice(b"ZV\0");
        packed.extend_from_slice(&(chunk.len() as u16).to_be_bytes());
        packed.extend_from_slice(chunk);
    }
    packed
}

fn zip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    let body = encoder.finish().unwrap();
    let member = |name: &[u8], method: u16, body: &[u8]| {
        let mut head = b"PK\x03\x04\x14\0\0\0".to_vec();
        head.extend_from_slice(&method.to_le_bytes());
        head.extend_from_slice(&[0; 8]);
        head.extend_from_slice(&(body.len() as u32).to_le_bytes());
        head.extend_from_slice(&[0; 4]);
        head.extend_from_slice(&(name.len() as u16).to_le_bytes());
        head.extend_from_slice(&[0; 2]);
        [&head[..], name, body].concat()
    };
    [
        member(b"logs/", 0, b""),
        member(b"logs/app-1", 8, &body),
        b"PK\x01\x02 the central directory".to_vec(),
    ]
    .concat()
}

type Pack = fn(&[u8]) -> Vec<u8>;
const PACKS: [(&str, Pack); 7] = [
    ("zstd", zstd),
    ("gzip", gzip),
    ("lz4", lz4),
    ("snappy", snappy),
    ("lzf", lzf),
    ("zip", zip),
    ("gzip+zip", |plain| gzip(&zip(plain))),
];

#[test]
fn every_container_holds_the_same_log() {
    let plain = LOG.repeat(40);
    let wanted = batches(&read(plain.as_bytes()));
    for (name, pack) in PACKS {
        let packed = pack(plain.as_bytes());
        let log = read(&packed);
        assert_eq!(batches(&log), wanted, "{name}");
        assert_eq!(
            (log.report.files[0].codec.as_str(), log.report.truncated),
            (name, false)
        );
        assert_eq!(log.report.plain_bytes, plain.len() as u64, "{name}");
    }
}

#[test]
fn joined_streams_are_one_log() {
    for (name, pack) in &PACKS[..5] {
        let (first, second) = LOG.as_bytes().split_at(500);
        let log = read(&[pack(first), pack(second)].concat());
        assert_eq!((log.report.events, log.report.truncated), (13, false), "{name}");
    }
}

#[test]
fn a_container_that_is_cut_anywhere_gives_what_is_before_the_cut() {
    for (name, pack) in PACKS {
        let packed = pack(LOG.repeat(3).as_bytes());
        let mut before = 0;
        for cut in (17..packed.len()).step_by(13) {
            let log = read(&packed[..cut]);
            assert!(log.report.events >= before, "{name} at {cut}");
            before = log.report.events;
        }
    }
}

#[test]
fn a_broken_block_is_told() {
    let mut packed = lz4(LOG.repeat(40).as_bytes());
    let place = packed.len() - 60;
    packed[place] ^= 1;
    let file = &read(&packed).report.files[0];
    assert!(file.truncated);
    assert_eq!(file.error.as_deref(), Some("lz4: wrong checksum"));
}

#[test]
fn a_bomb_ends_at_its_bounds() {
    let mut bounded = options();
    bounded.limits = Limits {
        ratio: 50,
        ratio_from: 1 << 20,
        ..Limits::default()
    };
    for pack in [zstd as Pack, gzip, lz4] {
        let bomb = pack(&vec![b'\n'; 8 << 20]);
        let file = &read_with(&bomb, bounded.clone()).report.files[0];
        assert!(file.truncated && file.plain_bytes < 6 << 20, "{file:?}");
        assert_eq!(file.error.as_deref(), Some("unpacks to more than 50 times its size"));
    }
    bounded.limits = Limits {
        plain_bytes: 1 << 20,
        ..Limits::default()
    };
    let file = &read_with(&zstd(LOG.repeat(1000).as_bytes()), bounded).report.files[0];
    assert_eq!(file.error.as_deref(), Some("unpacks to more than 1048576 bytes"));
}

#[test]
fn a_block_that_lies_about_its_length_allocates_nothing() {
    let lies = [
        [
            &b"LZ4Block\x25"[..],
            &[0xff, 0xff, 0xff, 0x03, 0xff, 0xff, 0xff, 0x03, 0, 0, 0, 0],
        ]
        .concat(),
        [
            &b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"[..],
            &[0x03, 0xff, 0xff, 0xff],
            b"xx",
        ]
        .concat(),
        [
            &b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01"[..],
            &[0, 0, 0, 5],
            &[0xff, 0xff, 0xff, 0x7f, 0],
        ]
        .concat(),
        vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0, 0, 0],
    ];
    for lie in lies {
        let file = &read(&lie).report.files[0];
        assert!(file.truncated && file.error.is_some(), "{file:?}");
    }
}

struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(std::io::Error::other("the network went away")),
            count => Ok(count),
        }
    }
}

#[test]
fn a_source_that_fails_is_told() {
    let source = Source::Reader(
        "s3://bucket/log".into(),
        Box::new(Failing(Cursor::new(LOG.as_bytes().to_vec()))),
    );
    let log = read_log(vec![source], &Arc::new(options()), 2, &mut Kept::default()).unwrap();
    assert_eq!(log.evidence.files[0].error.as_deref(), Some("the network went away"));
    assert_eq!(log.evidence.events, 13);
}

fn fed(bytes: &[u8], pieces: &[usize]) -> (Vec<RecordBatch>, u64, u64, bool) {
    let mut decoder = Decoder::new(Arc::new(options()), 0);
    let mut from = 0;
    for piece in pieces.iter().cycle() {
        let to = bytes.len().min(from + piece.max(&1));
        decoder.feed(&bytes[from..to]);
        from = to;
        if from == bytes.len() {
            break;
        }
    }
    decoder.finish();
    let resume_at = decoder.resume_at();
    let log = decoder.take(true, true);
    let torn = log.report.truncated;
    (batches(&log), log.report.malformed, resume_at, torn)
}

proptest! {
    /// However a log is cut into pieces, it says the same.
    #[test]
    fn pieces_do_not_matter(pieces in prop::collection::vec(1usize..3000, 1..8), cut in 0usize..LOG.len()) {
        let bytes = &LOG.as_bytes()[..cut];
        prop_assert_eq!(fed(bytes, &pieces), fed(bytes, &[usize::MAX >> 1]));
    }

    /// A reader that stopped anywhere goes on at `resume_at` and loses and doubles nothing.
    #[test]
    fn goes_on_where_it_stopped(cut in 0usize..LOG.len()) {
        let mut decoder = Decoder::new(Arc::new(options()), 0);
        decoder.feed(&LOG.as_bytes()[..cut]);
        let mut later = Decoder::new(Arc::new(options()), decoder.resume_at());
        later.feed(&LOG.as_bytes()[decoder.resume_at() as usize..]);
        later.finish();
        prop_assert_eq!(decoder.evidence.events + later.evidence.events, 13);
        prop_assert_eq!(later.resume_at(), LOG.len() as u64);
    }

    /// Whatever was done to the bytes, nothing panics and every line is counted.
    #[test]
    fn damage_is_counted(
        changes in prop::collection::vec((0usize..LOG.len(), any::<u8>()), 1..40),
        pack in 0usize..=PACKS.len(),
    ) {
        let mut bytes = match PACKS.get(pack) {
            Some((_, pack)) => pack(LOG.as_bytes()),
            None => LOG.as_bytes().to_vec(),
        };
        let length = bytes.len();
        for (place, value) in changes {
            bytes[place % length] = value;
        }
        let log = read(&bytes);
        if pack == PACKS.len() {
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.iter().all(u8::is_ascii_whitespace)).count();
            let told = log.report.events + log.report.malformed + u64::from(log.report.truncated);
            prop_assert_eq!(told, lines as u64);
        }
    }
}
