//! Tests of single lines: counted, malformed, truncated, or written by other JSON writers.

use arrow_array::Array;
use arrow_array::cast::AsArray;

use crate::sample_log::{LOG, number, read, table};

#[test]
fn evidence_counts_events_and_bytes() {
    let evidence = read(LOG.as_bytes()).evidence;
    assert_eq!(
        (evidence.events, evidence.malformed, evidence.unknown_events),
        (13, 0, 1)
    );
    assert!(evidence.complete && !evidence.truncated);
    assert_eq!(
        (
            evidence.unfinished_tasks,
            evidence.duplicate_task_ends,
            evidence.odd_values
        ),
        (0, 0, 0)
    );
    assert_eq!(evidence.plain_bytes, LOG.len() as u64);
}

#[test]
fn second_end_of_a_task_is_counted_and_reported() {
    let end = LOG.lines().find(|line| line.contains("TaskEnd")).unwrap();
    let log = read(format!("{end}\n{end}\n").as_bytes());
    assert_eq!(number(&log, "stages", "tasks", 0), Some(2));
    assert_eq!(log.evidence.duplicate_task_ends, 1);
}

#[test]
fn malformed_lines_are_reported_and_others_count() {
    let mut lines: Vec<&[u8]> = LOG.lines().map(str::as_bytes).collect();
    lines.insert(3, b"not json");
    lines.insert(5, br#"{"Event":"SparkListenerTaskEnd","Task Info":{}}"#);
    lines.insert(7, b"\xff\xfe{\"Event\":1}");
    lines.insert(8, b"");
    let log = read(&lines.join(&b'\n'));
    let places: Vec<u64> = log.evidence.bad_lines.iter().map(|bad| bad.line).collect();
    assert_eq!(places, [4, 6, 8]);
    assert_eq!((log.evidence.malformed, log.evidence.events), (3, 13));
    assert_eq!(log.evidence.bad_lines[1].reason, "no readable \"Stage ID\" at byte 0");
    assert_eq!(number(&log, "stages", "tasks", 0), Some(2));
}

#[test]
fn incomplete_last_line_is_truncated_not_malformed() {
    let whole = read(&LOG.as_bytes()[..LOG.len() - 1]).evidence;
    assert_eq!((whole.events, whole.truncated), (13, false));
    let torn = read(&LOG.as_bytes()[..LOG.len() - 2]).evidence;
    assert_eq!(
        (torn.events, torn.malformed, torn.truncated, torn.complete),
        (12, 0, true, false)
    );
}

#[test]
fn json_of_other_writers_is_read() {
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
        assert_eq!(log.evidence.malformed, 0, "{other}");
        for name in ["stages", "tasks"] {
            assert_eq!(table(&log, name), table(&wanted, name), "{other}");
        }
    }
}

#[test]
fn invalid_numbers_are_null_and_counted() {
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
            log.evidence.odd_values,
            u64::from(kept.is_none() && value != "null"),
            "{value}"
        );
        assert_eq!(log.evidence.malformed, 0, "{value}");
    }
}

#[test]
fn joined_lines_are_malformed() {
    let line = LOG.lines().find(|line| line.contains("\"Success\"")).unwrap();
    let cuts = (1..line.len()).step_by(3).filter(|cut| {
        let joined = format!("{}{line}\n", &line[..*cut]);
        let evidence = read(joined.as_bytes()).evidence;
        (evidence.events, evidence.malformed, evidence.odd_values) != (0, 1, 0)
    });
    assert_eq!(cuts.collect::<Vec<usize>>(), Vec::<usize>::new());
}

#[test]
fn flags_are_true_false_or_null() {
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
fn empty_log_has_no_events() {
    let log = read(b"");
    assert_eq!(
        (log.evidence.events, log.evidence.truncated, log.evidence.complete),
        (0, false, false)
    );
    assert_eq!(
        (table(&log, "stages").num_rows(), table(&log, "applications").num_rows()),
        (0, 1)
    );
}
