//! Parses one event from the JSON of its line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::event_log::fact_translation::texts::TextError;

/// Maximum nesting of a line, because each level of a plan costs stack memory while the plan is parsed.
const MAX_DEPTH: usize = 1_024;

/// Why an event produced no facts.
#[derive(Debug)]
pub enum EventError {
    /// The line cannot be parsed as the event that it names.
    Malformed(String),
    /// The log does not belong to an application; the text states the reason in one sentence.
    NoApplication(&'static str),
    /// A text could not be scrubbed.
    Text(TextError),
}

impl From<TextError> for EventError {
    fn from(error: TextError) -> EventError {
        EventError::Text(error)
    }
}

/// Parses a line; fails if its strings are not UTF-8 or its nesting is too deep.
pub fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, EventError> {
    let text = std::str::from_utf8(line).map_err(|_| EventError::Malformed("not UTF-8".to_owned()))?;
    if depth(line) > MAX_DEPTH {
        return Err(EventError::Malformed("nested too deeply".to_owned()));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let event = T::deserialize(&mut deserializer).map_err(|error| EventError::Malformed(error.to_string()))?;
    deserializer
        .end()
        .map_err(|error| EventError::Malformed(error.to_string()))?;
    Ok(event)
}

/// Parses a line as a type that is not recursive, so the nesting of the line needs no check.
pub fn parse_flat<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, EventError> {
    let text = std::str::from_utf8(line).map_err(|_| EventError::Malformed("not UTF-8".to_owned()))?;
    serde_json::from_str(text).map_err(|error| EventError::Malformed(error.to_string()))
}

/// Returns the sum of two numbers of an event, or an error if the sum does not fit.
pub fn add(left: i64, right: i64) -> Result<i64, EventError> {
    left.checked_add(right).ok_or_else(too_large)
}

/// Returns the difference of two times in ms, at least 0.
pub fn elapsed(start_ms: i64, end_ms: i64) -> Result<i64, EventError> {
    end_ms
        .checked_sub(start_ms)
        .map(|elapsed| elapsed.max(0))
        .ok_or_else(too_large)
}

pub fn too_large() -> EventError {
    EventError::Malformed("a number is too large".to_owned())
}

fn depth(line: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut at) = (0usize, 0, false, 0);
    while at < line.len() {
        match line[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// An integer, even if the log contains it as a string; `None` for any other value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WholeNumber(pub Option<i64>);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeNumberVisitor)
    }
}

struct WholeNumberVisitor;

impl<'de> Visitor<'de> for WholeNumberVisitor {
    type Value = WholeNumber;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_i64<E>(self, value: i64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(Some(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(i64::try_from(value).ok()))
    }

    fn visit_str<E>(self, value: &str) -> Result<WholeNumber, E> {
        let is_number = !value.starts_with('+');
        Ok(WholeNumber(value.parse().ok().filter(|_| is_number)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<WholeNumber, E> {
        Ok(WholeNumber(None))
    }

    fn visit_unit<E>(self) -> Result<WholeNumber, E> {
        Ok(WholeNumber(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<WholeNumber, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(WholeNumber(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WholeNumber, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(WholeNumber(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_from_any_value() {
        let read = parse::<Vec<WholeNumber>>(br#"[1, "-2", "x", "+3", 1.5, true, null, [4], {"a": 5}, 1e30]"#);
        let expected = [Some(1), Some(-2), None, None, None, None, None, None, None, None];
        assert_eq!(read.unwrap(), expected.map(WholeNumber));
    }

    #[test]
    fn deep_nesting_is_malformed() {
        let line = format!("{}1{}", "[".repeat(2_000), "]".repeat(2_000));
        assert!(matches!(
            parse::<serde_json::Value>(line.as_bytes()),
            Err(EventError::Malformed(_))
        ));
    }

    #[test]
    fn brackets_in_strings_do_not_count_as_depth() {
        assert_eq!(depth(br#"{"a\"[[[": "[\\"}"#), 1);
    }
}
