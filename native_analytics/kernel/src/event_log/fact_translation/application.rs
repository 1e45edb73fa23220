//! Translates the events about the application: its identity, configuration, start and end.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::event_log::fact_translation::contract::fact::Kind;
use crate::event_log::fact_translation::contract::{ApplicationEnded, ApplicationStarted};
use crate::event_log::fact_translation::line::{EventError, parse_flat};
use crate::event_log::fact_translation::record::PendingFact;
use crate::event_log::fact_translation::texts::{Properties, Texts};

const PLUGIN_PACKAGE: &str = "io.sparkfuse.";
const MAX_ATTEMPT_DIGITS: usize = 9;

/// The run of an application: Spark's id, the number of the attempt (0 if there is none), its start in ms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub app_id: String,
    pub attempt: i32,
    pub start_ms: i64,
}

#[derive(Deserialize)]
pub struct ApplicationStart {
    #[serde(rename = "App Name")]
    name: Option<String>,
    #[serde(rename = "App ID")]
    app_id: Option<String>,
    #[serde(rename = "App Attempt ID")]
    attempt_id: Option<String>,
    #[serde(rename = "Timestamp")]
    pub started_ms: i64,
    #[serde(rename = "User")]
    user: Option<String>,
}

impl ApplicationStart {
    pub fn parse(line: &[u8]) -> Result<ApplicationStart, EventError> {
        parse_flat(line)
    }

    /// Returns the identity of the run, or `None` if the application has no id.
    pub fn identity(&self, properties: &Properties) -> Option<Identity> {
        let app_id = self.app_id.as_ref().filter(|id| !id.is_empty());
        let app_id = app_id.or_else(|| properties.get("spark.app.id"))?;
        Some(Identity {
            app_id: app_id.clone(),
            attempt: attempt_number(self.attempt_id.as_deref().unwrap_or_default()),
            start_ms: self.started_ms,
        })
    }

    /// Returns the fact of the application's start.
    pub fn fact(
        &self,
        spark_version: Option<String>,
        properties: &Properties,
        texts: &mut Texts,
    ) -> Result<PendingFact, EventError> {
        let master = properties.get("spark.master").map(String::as_str).unwrap_or_default();
        let (identity_properties, configuration) = texts.select_properties(properties)?;
        let fact = ApplicationStarted {
            name: Some(texts.scrub(self.name.as_deref().unwrap_or_default())?),
            user_name: self.user.clone(),
            spark_version,
            master: Some(texts.scrub(master)?),
            properties: identity_properties,
            configuration,
            ..ApplicationStarted::default()
        };
        Ok(PendingFact::reserved(
            self.started_ms,
            "",
            Kind::ApplicationStarted(fact),
        ))
    }
}

#[derive(Deserialize)]
struct LogStart {
    #[serde(rename = "Spark Version")]
    spark_version: Option<String>,
}

#[derive(Deserialize)]
struct EnvironmentUpdate {
    #[serde(rename = "Spark Properties")]
    properties: Option<SparkProperties>,
}

/// Spark 1.x and other writers use a list of pairs.
#[derive(Deserialize)]
#[serde(untagged)]
enum SparkProperties {
    Map(BTreeMap<String, Option<String>>),
    Pairs(Vec<(String, Option<String>)>),
}

#[derive(Deserialize)]
struct ApplicationEnd {
    #[serde(rename = "Timestamp")]
    ended_ms: i64,
}

/// Returns the Spark version in a SparkListenerLogStart.
pub fn spark_version(line: &[u8]) -> Result<Option<String>, EventError> {
    Ok(parse_flat::<LogStart>(line)?.spark_version)
}

/// Returns the configuration in a SparkListenerEnvironmentUpdate.
pub fn properties(line: &[u8]) -> Result<Properties, EventError> {
    let pairs: Vec<(String, Option<String>)> = match parse_flat::<EnvironmentUpdate>(line)?.properties {
        None => Vec::new(),
        Some(SparkProperties::Map(map)) => map.into_iter().collect(),
        Some(SparkProperties::Pairs(pairs)) => pairs,
    };
    Ok(pairs
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect())
}

/// Returns the fact of a SparkListenerApplicationEnd, and its time.
pub fn application_ended(line: &[u8], succeeded_jobs: i64, failed_jobs: i64) -> Result<(PendingFact, i64), EventError> {
    let ended_ms = parse_flat::<ApplicationEnd>(line)?.ended_ms;
    let fact = ApplicationEnded {
        ended_ms: Some(ended_ms),
        succeeded_jobs: Some(succeeded_jobs),
        failed_jobs: Some(failed_jobs),
    };
    Ok((
        PendingFact::reserved(ended_ms, "", Kind::ApplicationEnded(fact)),
        ended_ms,
    ))
}

/// Whether the plugin was loaded and enabled, according to the application's configuration.
pub fn has_plugin(properties: &Properties) -> bool {
    let plugins = properties.get("spark.plugins").map(String::as_str).unwrap_or_default();
    let enabled = properties.get("spark.sparkfuse.enabled").map(String::as_str);
    plugins
        .split(',')
        .any(|plugin| plugin.trim().starts_with(PLUGIN_PACKAGE))
        && !enabled.is_some_and(|value| value.trim().eq_ignore_ascii_case("false"))
}

/// Returns the number at the end of Spark's attempt id ("1", "appattempt_17_0004_000002"), or 0 if there is none.
fn attempt_number(attempt_id: &str) -> i32 {
    let digits = attempt_id.len() - attempt_id.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    match digits {
        1..=MAX_ATTEMPT_DIGITS => attempt_id[attempt_id.len() - digits..].parse().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempt_numbers_are_the_digits_at_the_end() {
        for (id, expected) in [
            ("", 0),
            ("1", 1),
            ("appattempt_17_0004_000002", 2),
            ("x1y", 0),
            ("12345678901", 0),
        ] {
            assert_eq!(attempt_number(id), expected, "{id}");
        }
    }

    #[test]
    fn properties_may_be_a_list_of_pairs() {
        let line = br#"{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":[["a","1"],["b","2"]]}"#;
        let expected = [("a", "1"), ("b", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(properties(line).unwrap(), Properties::from(expected));
    }
}
