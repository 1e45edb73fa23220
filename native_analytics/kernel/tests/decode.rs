//! Tests the decoding of valid, invalid and random records of the contract's messages.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use proptest::prelude::*;
use sparkfuse_kernel::facts::{Decoded, Decoder, MAX_RECORDS};

fn descriptor_set() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/generated/descriptors.binpb");
    std::fs::read(path).expect("contracts/generated/descriptors.binpb is checked in")
}

fn decoder(message: &str) -> Decoder {
    Decoder::new(&descriptor_set(), &format!("sparkfuse.contracts.{message}")).unwrap()
}

fn decode(message: &str, records: &[Vec<u8>]) -> Decoded {
    let records: Vec<_> = records.iter().map(Some).collect();
    decoder(message).decode(&records).unwrap()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

/// A fact with an app_id and the end of task `task_id` in stage 7.
fn task_ended(task_id: u64) -> Vec<u8> {
    [
        bytes(5, b"app"),
        bytes(29, &[number(1, 7), number(3, task_id)].concat()),
    ]
    .concat()
}

fn longs(batch: &RecordBatch, column: &str) -> Vec<Option<i64>> {
    batch[column].as_primitive::<Int64Type>().iter().collect()
}

fn texts(batch: &RecordBatch, column: &str) -> Vec<Option<String>> {
    batch[column]
        .as_string::<i32>()
        .iter()
        .map(|text| text.map(str::to_owned))
        .collect()
}

fn check(decoded: &Decoded, records: usize) {
    assert_eq!(decoded.batch.num_rows() + decoded.rejected.len(), records);
    for column in decoded.batch.columns() {
        column.to_data().validate_full().unwrap();
        assert_eq!(column.len(), decoded.batch.num_rows());
    }
}

#[test]
fn invalid_record_does_not_affect_others() {
    let broken = [task_ended(5), vec![0xff]].concat();
    let decoded = decode("Fact", &[task_ended(1), broken, Vec::new(), task_ended(3)]);

    check(&decoded, 4);
    assert_eq!(
        decoded.rejected.iter().map(|(index, _)| *index).collect::<Vec<_>>(),
        [1]
    );
    assert_eq!(longs(&decoded.batch, "task_ended_task_id"), [Some(1), None, Some(3)]);
    assert_eq!(
        texts(&decoded.batch, "kind"),
        [Some("task_ended".into()), None, Some("task_ended".into())]
    );
}

#[test]
fn last_member_of_a_oneof_wins_and_repeated_ones_merge() {
    let replaced = [task_ended(1), bytes(28, &number(3, 9))].concat();
    let merged = [task_ended(1), bytes(29, &number(16, 250))].concat();
    let decoded = decode("Fact", &[replaced, merged]);

    check(&decoded, 2);
    assert_eq!(
        texts(&decoded.batch, "kind"),
        [Some("task_started".into()), Some("task_ended".into())]
    );
    assert_eq!(longs(&decoded.batch, "task_started_task_id"), [Some(9), None]);
    assert_eq!(longs(&decoded.batch, "task_ended_task_id"), [None, Some(1)]);
    assert_eq!(longs(&decoded.batch, "task_ended_run_ms"), [None, Some(250)]);
}

#[test]
fn packed_and_unpacked_lists_are_equal() {
    let packed = bytes(22, &bytes(3, &[1, 2, 3]));
    let unpacked = bytes(22, &[number(3, 4), number(3, 5)].concat());
    let decoded = decode("Fact", &[packed, task_ended(1), unpacked]);

    check(&decoded, 3);
    let lists = decoded.batch["job_started_stage_ids"].as_list::<i32>();
    let rows: Vec<_> = (0..3)
        .map(|row| lists.value(row).as_primitive::<Int32Type>().values().to_vec())
        .collect();
    assert_eq!(rows, [vec![1, 2, 3], vec![], vec![4, 5]]);
}

#[test]
fn last_value_of_a_repeated_key_wins() {
    let entry = |key: &str, value: &str| bytes(6, &[bytes(1, key.as_bytes()), bytes(2, value.as_bytes())].concat());
    let decoded = decode(
        "Fact",
        &[bytes(20, &[entry("b", "1"), entry("a", "2"), entry("b", "3")].concat())],
    );

    check(&decoded, 1);
    let map = decoded.batch["application_started_properties"].as_map();
    assert_eq!(
        map.keys().as_string::<i32>().iter().flatten().collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(
        map.values().as_string::<i32>().iter().flatten().collect::<Vec<_>>(),
        ["2", "3"]
    );
}

#[test]
fn unknown_fields_and_wrong_wire_types_are_skipped() {
    let unknown = [number(1000, 5), bytes(77_000, b"later"), number(5, 3), task_ended(1)].concat();
    let decoded = decode("Fact", &[unknown]);

    check(&decoded, 1);
    assert_eq!(texts(&decoded.batch, "app_id"), [Some("app".into())]);
}

#[test]
fn text_that_is_not_utf8_is_rejected() {
    let decoded = decode("Fact", &[bytes(5, b"\xff")]);

    assert_eq!(decoded.rejected[0].1.to_string(), "not a Fact: a text is not UTF-8");
}

#[test]
fn batch_over_the_limit_is_an_error() {
    let records: Vec<Option<&[u8]>> = vec![None; MAX_RECORDS + 1];

    assert!(decoder("Fact").decode(&records).is_err());
}

#[test]
fn error_of_an_unknown_message_lists_the_known_ones() {
    let error = Decoder::new(&descriptor_set(), "sparkfuse.contracts.Fat")
        .unwrap_err()
        .to_string();

    assert!(
        error.starts_with("message sparkfuse.contracts.Fat is not in the descriptor set"),
        "{error}"
    );
    assert!(error.contains("sparkfuse.contracts.Fact"), "{error}");
}

proptest! {
    #[test]
    fn random_bytes_never_panic(
        records in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..20),
        message in proptest::sample::select(vec!["Fact", "LiveRow", "Finding", "Baseline", "DeadLetter"]),
    ) {
        check(&decode(message, &records), records.len());
    }

    #[test]
    fn damaged_fact_never_panics(
        task_id in any::<u64>(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut record = task_ended(task_id);
        for (place, value) in damage {
            let place = place.index(record.len());
            record[place] = value;
        }
        record.truncate(cut.index(record.len() + 1));
        let decoded = decode("Fact", &[task_ended(1), record, task_ended(2)]);

        check(&decoded, 3);
        let tasks = longs(&decoded.batch, "task_ended_task_id");
        prop_assert_eq!((tasks[0], tasks[tasks.len() - 1]), (Some(1), Some(2)));
    }

    #[test]
    fn random_descriptor_never_panics(content in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Decoder::new(&content, "sparkfuse.contracts.Fact");
    }
}
