//! Collects events as raw JSON in the order of the log. The shipper translates these events into facts, which must have
//! the order of the log.

use crate::event_log::json::error::LineError;
use crate::event_log::json::reader::Reader;

const NOTHING: &[u8] = b"null";

/// Collects the events with some names as whole lines.
pub struct RawEvents {
    /// Names without package and without the prefix `SparkListener`.
    wanted: Vec<String>,
    lines: Vec<(usize, Vec<u8>)>,
}

impl RawEvents {
    pub fn new(wanted: Vec<String>) -> RawEvents {
        RawEvents {
            wanted,
            lines: Vec::new(),
        }
    }

    /// Stores the line if its event has one of the wanted names. Returns an error if the line is not a whole object,
    /// even if its event is not wanted.
    pub fn collect(&mut self, line: &[u8], name: &[u8]) -> Result<(), LineError> {
        let start = line.iter().position(|byte| *byte == b'{').unwrap_or(0);
        let mut reader = Reader { line, at: start };
        reader.skip_line()?;
        if let Some(place) = self.wanted.iter().position(|wanted| wanted.as_bytes() == name) {
            let output = match name {
                b"TaskEnd" => without(line, start, &task_details(line, start)?),
                _ => line[start..reader.at].to_vec(),
            };
            self.lines.push((place, output));
        }
        Ok(())
    }

    /// Returns the events that were collected since the last call.
    pub fn take(&mut self) -> Vec<(&str, Vec<u8>)> {
        let lines = std::mem::take(&mut self.lines);
        let wanted = &self.wanted;
        lines
            .into_iter()
            .map(|(place, line)| (wanted[place].as_str(), line))
            .collect()
    }
}

/// Returns the byte ranges of the long lists in a TaskEnd. No fact needs these lists, which are most of the event's
/// bytes.
fn task_details(line: &[u8], start: usize) -> Result<Vec<(usize, usize)>, LineError> {
    let mut ranges = Vec::new();
    let mut reader = Reader { line, at: start };
    reader.each_member(|value, key| {
        let list: &[u8] = match key {
            b"Task Info" => b"Accumulables",
            b"Task Metrics" => b"Updated Blocks",
            b"Task Executor Metrics" => {
                let from = value.at;
                value.skip()?;
                ranges.push((from, value.at));
                return Ok(());
            }
            b"Task End Reason" => b"Accumulator Updates",
            _ => return Ok(()),
        };
        value.each_member(|value, key| {
            if key == list {
                let from = value.at;
                value.skip()?;
                ranges.push((from, value.at));
            }
            Ok(())
        })
    })?;
    Ok(ranges)
}

/// Returns the line, in which `null` replaces the given byte ranges.
fn without(line: &[u8], start: usize, ranges: &[(usize, usize)]) -> Vec<u8> {
    let mut output = Vec::with_capacity(line.len());
    let mut from = start;
    for (start, end) in ranges {
        output.extend_from_slice(&line[from..*start]);
        output.extend_from_slice(NOTHING);
        from = *end;
    }
    output.extend_from_slice(&line[from..]);
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw_events(wanted: &[&str], name: &str, line: &str) -> Result<Vec<String>, String> {
        let mut raw_events = RawEvents::new(wanted.iter().map(|name| (*name).to_owned()).collect());
        raw_events
            .collect(line.as_bytes(), name.as_bytes())
            .map_err(|error| error.to_string())?;
        Ok(raw_events
            .take()
            .into_iter()
            .map(|(name, line)| format!("{name} {}", String::from_utf8_lossy(&line)))
            .collect())
    }

    #[test]
    fn only_wanted_events_are_collected() {
        let line = r#"{"Event":"SparkListenerJobEnd","Job ID":1}"#;
        assert_eq!(
            raw_events(&["JobStart", "JobEnd"], "JobEnd", line),
            Ok(vec![format!("JobEnd {line}")])
        );
        assert_eq!(raw_events(&["JobStart"], "JobEnd", line), Ok(vec![]));
    }

    #[test]
    fn long_lists_of_a_task_end_are_removed() {
        let line = r#"{"Event":"SparkListenerTaskEnd","Stage ID":1,"Task Info":{"Task ID":3,"Accumulables":[{"ID":1,"Value":"]"}]},"Task Executor Metrics":{"a":1},"Task Metrics":{"JVM GC Time":2,"Updated Blocks":[]}}"#;
        let shortened = r#"{"Event":"SparkListenerTaskEnd","Stage ID":1,"Task Info":{"Task ID":3,"Accumulables":null},"Task Executor Metrics":null,"Task Metrics":{"JVM GC Time":2,"Updated Blocks":null}}"#;
        assert_eq!(
            raw_events(&["TaskEnd"], "TaskEnd", line),
            Ok(vec![format!("TaskEnd {shortened}")])
        );
    }

    #[test]
    fn incomplete_line_is_an_error() {
        assert!(raw_events(&["JobEnd"], "JobEnd", r#"{"Event":"SparkListenerJobEnd","Job ID":"#).is_err());
        assert!(raw_events(&[], "JobEnd", r#"{"Event":"SparkListenerJobEnd"}{"#).is_err());
    }
}
