//! With randomly changed recorded events, the translation into facts neither panics nor loses an event silently.

mod checked;

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use checked::{name, translate};
use proptest::prelude::*;

/// Values that replace values of events; Spark does not write them in these places.
const OTHER_VALUES: [&str; 8] = ["null", "-1", "1e308", "9223372036854775808", "\"\"", "[]", "{}", "true"];
const HEADER: [&str; 4] = [
    "LogStart",
    "ResourceProfileAdded",
    "EnvironmentUpdate",
    "ApplicationStart",
];
const LONGEST_LINE: usize = 60_000;

/// Returns the lines of all uncompressed real logs, without the incomplete last line of a killed driver.
static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logs/real");
    let logs = fs::read_dir(real).unwrap().map(|log| log.unwrap().path());
    let mut files: Vec<_> = logs
        .filter(|log| log.is_dir())
        .flat_map(|log| fs::read_dir(log).unwrap())
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let texts: Vec<String> = files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
    texts
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| line.len() < LONGEST_LINE && line.ends_with('}') && name(line.as_bytes()).is_some())
        .map(str::to_owned)
        .collect()
});

#[derive(Debug, Clone)]
enum Change {
    Byte(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize),
    Truncate(usize),
    /// Replaces the value after a colon with one of `OTHER_VALUES`.
    Value(usize, usize),
}

impl Change {
    fn apply(&self, line: &mut Vec<u8>) {
        if line.is_empty() {
            return;
        }
        let length = line.len();
        let range = |from: usize, count: usize| from % length..(from % length + count).min(length);
        match *self {
            Change::Byte(at, byte) => line[at % length] = byte,
            Change::Remove(from, count) => drop(line.drain(range(from, count))),
            Change::Repeat(from, count) => {
                let part = line[range(from, count)].to_vec();
                let at = from % length;
                line.splice(at..at, part);
            }
            Change::Truncate(at) => line.truncate(1 + at % length),
            Change::Value(at, other) => {
                let colons: Vec<usize> = (0..line.len()).filter(|&place| line[place] == b':').collect();
                let Some(&colon) = colons.get(at % colons.len().max(1)) else {
                    return;
                };
                let end = (colon + 1..line.len()).find(|&place| b",}]".contains(&line[place]));
                line.splice(colon + 1..end.unwrap_or(line.len()), OTHER_VALUES[other].bytes());
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let place = any::<u32>().prop_map(|place| place as usize);
    prop_oneof![
        1 => (place.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => (place.clone(), 1usize..40).prop_map(|(from, count)| Change::Remove(from, count)),
        1 => (place.clone(), 1usize..40).prop_map(|(from, count)| Change::Repeat(from, count)),
        1 => place.clone().prop_map(Change::Truncate),
        4 => (place, 0..OTHER_VALUES.len()).prop_map(|(at, other)| Change::Value(at, other)),
    ]
}

fn header<'l>() -> impl Iterator<Item = (&'l str, &'l [u8])> {
    HEADER.iter().filter_map(|wanted| {
        let line = LINES.iter().find(|line| name(line.as_bytes()) == Some(wanted))?;
        Some((*wanted, line.as_bytes()))
    })
}

#[test]
fn recorded_events_are_translated_whole() {
    let events = LINES
        .iter()
        .map(|line| (name(line.as_bytes()).unwrap(), line.as_bytes()));
    let translator = translate(header().chain(events));
    assert!(LINES.len() > 100, "{} lines", LINES.len());
    assert_eq!(translator.malformed(), 0);
    let facts = translator.numbers.bulk + translator.numbers.reserved;
    assert!(
        2 * facts as usize > LINES.len(),
        "{facts} facts of {} lines",
        LINES.len()
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn changed_events_are_counted_or_translated(
        picked in prop::collection::vec((any::<u32>(), prop::collection::vec(change(), 0..3)), 1..12),
    ) {
        let changed: Vec<(&str, Vec<u8>)> = picked
            .into_iter()
            .map(|(place, changes)| {
                let line = &LINES[place as usize % LINES.len()];
                let mut bytes = line.clone().into_bytes();
                changes.iter().for_each(|change| change.apply(&mut bytes));
                (name(line.as_bytes()).unwrap(), bytes)
            })
            .collect();
        translate(header().chain(changed.iter().map(|(name, line)| (*name, line.as_slice()))));
    }
}
