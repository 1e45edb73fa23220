//! Translates events into facts, and checks that each event without a fact is counted. The fuzz target `translation`
//! uses this module too.

use prost::Message;
use sparkfuse_kernel::event_log::fact_translation::contract::Fact;
use sparkfuse_kernel::event_log::fact_translation::texts::{Properties, Redaction, TextError};
use sparkfuse_kernel::event_log::fact_translation::translator::{Collector, SequenceNumbers, Translator};

/// Events that always produce a fact.
const WITH_FACT: [&str; 9] = [
    "TaskStart",
    "TaskEnd",
    "StageSubmitted",
    "StageCompleted",
    "JobStart",
    "JobEnd",
    "ExecutorAdded",
    "ExecutorRemoved",
    "ApplicationEnd",
];

struct Unchanged;

impl Redaction for Unchanged {
    fn scrub(&self, text: &str) -> Result<String, TextError> {
        Ok(text.to_owned())
    }

    fn scrub_query(&self, text: &str) -> Result<String, TextError> {
        Ok(text.to_owned())
    }

    fn select_properties(&self, properties: &Properties) -> Result<(Properties, Properties), TextError> {
        Ok((properties.clone(), properties.clone()))
    }
}

/// Returns the name of an event without the packages of Spark, as the reader of a growing log passes it.
pub fn name(line: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(line.get(..line.len().min(200))?).ok()?;
    let (_, rest) = text.split_once("\"Event\":\"")?;
    let name = rest.split_once('"')?.0;
    let name = name.rsplit_once("SparkListener").map_or(name, |(_, name)| name);
    Some(name.rsplit_once('.').map_or(name, |(_, name)| name))
}

/// Translates events, each with its name; panics if an event is lost but not counted, or if a record is not a fact.
pub fn translate<'l>(events: impl IntoIterator<Item = (&'l str, &'l [u8])>) -> Translator {
    let collector = Collector {
        cluster: "c".to_owned(),
        tenant: String::new(),
        name: "shipper-test".to_owned(),
    };
    let mut translator = Translator::new(collector, Box::new(Unchanged), SequenceNumbers::default());
    for (name, line) in events {
        let (known, malformed) = (translator.identity().is_some(), translator.malformed());
        let before = translator.numbers;
        let mut records = Vec::new();
        // A log that belongs to no application is rejected as a whole.
        if translator.translate(name, line, &mut records).is_err() {
            return translator;
        }
        let lost = translator.malformed() - malformed;
        let numbers = translator.numbers.bulk - before.bulk + translator.numbers.reserved - before.reserved;
        assert_eq!(
            numbers as u64,
            records.len() as u64 + lost,
            "{name}: each number is sent or counted"
        );
        if known && WITH_FACT.contains(&name) {
            assert!(records.len() as u64 + lost > 0, "{name} is lost");
        }
        for record in records {
            let fact = Fact::decode(record.as_slice()).expect("a record is a fact");
            assert!(
                fact.kind.is_some() && !fact.app_id().is_empty(),
                "{name} has no kind or no application"
            );
        }
    }
    translator
}
