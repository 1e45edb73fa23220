//! Tests of the limits that the decoder enforces on any input, such as nesting, line length and memory.

use std::sync::Arc;

use sparkfuse_kernel::event_log::decoder::Decoder;

use crate::sample_log::{options, read, read_with_options, table};

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
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
    assert_eq!((log.evidence.events, log.evidence.malformed), (2, 1));
    assert_eq!(table(&log, "plan_nodes").num_rows(), 401);
}

#[test]
fn line_over_the_limit_is_malformed() {
    let mut options = options();
    options.limits.line_bytes = 1000;
    let long = format!("{{\"Event\":\"X\",\"a\":\"{}\"}}", "x".repeat(5000));
    let log = read_with_options(format!("{long}\n{{\"Event\":\"Y\"}}\n").as_bytes(), options.clone());
    assert_eq!((log.evidence.events, log.evidence.malformed), (1, 1));
    assert_eq!(
        log.evidence.bad_lines[0].reason,
        "the line is longer than the limit at byte 0"
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
fn tables_of_infrequent_events_are_limited() {
    let mut options = options();
    options.limits.table_bytes = 2000;
    let jobs: String = (0..1000)
        .map(|id| format!("{{\"Event\":\"SparkListenerJobStart\",\"Job ID\":{id},\"Stage IDs\":[1,2,3]}}\n"))
        .collect();
    let log = read_with_options(jobs.as_bytes(), options);
    let rows = table(&log, "jobs").num_rows() as u64;
    assert!(rows > 0 && rows < 20, "{rows}");
    assert_eq!((log.evidence.left_out, log.evidence.events), (1000 - rows, 1000));
}

#[test]
fn details_are_limited_separately_from_stages() {
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
    let log = read_with_options(stages.as_bytes(), options);
    let rows = table(&log, "accumulators").num_rows() as u64;
    assert_eq!(table(&log, "stages").num_rows(), 300);
    assert!(rows > 0 && rows < 300 * 51, "{rows}");
    assert_eq!(log.evidence.left_out, 300 * 51 - rows);
}
