//! Tests the details of plan nodes with the cases that all implementations share.

use proptest::prelude::*;
use sparkfuse_kernel::event_log::json::reader::Reader;
use sparkfuse_kernel::event_log::plan_text::{NodeText, detail};

const CASES: &str = include_str!("../../../contracts/shared/node_details.json");

#[derive(Debug, Default)]
struct Case {
    name: String,
    simple_string: String,
    location: Option<String>,
    format: Option<String>,
    detail: String,
}

fn cases() -> Vec<Case> {
    let text = CASES.replace('\n', " ");
    let mut found = Vec::new();
    let mut reader = Reader {
        line: text.as_bytes(),
        at: 0,
    };
    reader
        .each_member(|value, key| {
            if key != b"cases" {
                return Ok(());
            }
            value.each_element(|value| {
                let mut case = Case::default();
                value.each_member(|value, key| {
                    match key {
                        b"node_name" => case.name = value.text_value()?.unwrap_or_default(),
                        b"simple_string" => case.simple_string = value.text_value()?.unwrap_or_default(),
                        b"metadata" => value.each_member(|value, key| {
                            match key {
                                b"Location" => case.location = value.text_value()?,
                                b"Format" => case.format = value.text_value()?,
                                _ => {}
                            }
                            Ok(())
                        })?,
                        b"detail" => case.detail = value.text_value()?.unwrap_or_default(),
                        _ => {}
                    }
                    Ok(())
                })?;
                found.push(case);
                Ok(())
            })
        })
        .unwrap();
    found
}

#[test]
fn details_match_the_shared_cases() {
    let cases = cases();
    assert!(cases.len() > 30);
    for case in cases {
        let text = NodeText {
            name: &case.name,
            simple_string: &case.simple_string,
            location: case.location.as_deref(),
            format: case.format.as_deref(),
        };
        assert_eq!(detail(text), case.detail, "{case:?}");
    }
}

proptest! {
    /// For any text of a node, the detail has at most 200 characters and the function does not panic.
    #[test]
    fn any_text_gives_a_bounded_detail(
        name in prop::sample::select(vec![
            "Scan parquet ", "Scan parquet a.b", "BatchScan x y", "MicroBatchScan", "Scan JDBCRelation((", "Exchange",
            "SortMergeJoin", "HashAggregate", "Execute InsertIntoHadoopFsRelationCommand", "AppendData t", "Other",
        ]),
        text in r"[a-zé#0-9 ,/:\[\](){}=.`@$?-]{0,400}",
        location in prop::option::of(r"Index\[[a-zé/:=@?, .-]{0,300}\]?"),
    ) {
        let simple_string = format!("{name}{text}");
        let node = NodeText { name, simple_string: &simple_string, location: location.as_deref(), format: None };
        prop_assert!(detail(node).chars().count() <= 200);
    }
}
