//! Fuzzes the translation of events to facts. Checks that there is no panic, that each record is a fact, and that each
//! event without a fact is counted.
#![no_main]

#[path = "../../tests/fact_translation/checked.rs"]
mod checked;

use libfuzzer_sys::fuzz_target;

const START: &[u8] =
    br#"{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"app-1","Timestamp":1000,"User":"u"}"#;

fuzz_target!(|bytes: &[u8]| {
    let lines = bytes.split(|byte| *byte == b'\n');
    let events = lines.filter_map(|line| Some((checked::name(line)?, line)));
    let start = [("ApplicationStart", START), ("EnvironmentUpdate", br#"{"Spark Properties":{}}"#.as_slice())];
    checked::translate(start.into_iter().chain(events));
});
