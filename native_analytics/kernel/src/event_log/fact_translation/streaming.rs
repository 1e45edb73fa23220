//! Translates starts, progress and ends of streaming queries.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

use crate::event_log::fact_translation::contract::fact::Kind;
use crate::event_log::fact_translation::contract::{StreamingEnded, StreamingProgress, StreamingStarted};
use crate::event_log::fact_translation::line::{EventError, add, parse_flat, too_large};
use crate::event_log::fact_translation::record::PendingFact;
use crate::event_log::fact_translation::texts::Texts;
use crate::event_log::timestamp;

const MAX_SOURCES: usize = 64;
const MAX_SOURCE_CHARS: usize = 512;
const MAX_NAME_CHARS: usize = 256;
const LAG_RECORDS: [&str; 1] = ["maxOffsetsBehindLatest"];
const LAG_BYTES: [&str; 2] = ["estimatedTotalBytesBehindLatest", "numBytesOutstanding"];

#[derive(Deserialize)]
struct QueryEvent {
    id: String,
    #[serde(rename = "runId")]
    run_id: String,
    name: Option<String>,
    timestamp: Option<String>,
    exception: Option<String>,
}

impl QueryEvent {
    fn at_ms(&self) -> Result<i64, EventError> {
        moment(self.timestamp.as_deref().unwrap_or_default())
    }
}

#[derive(Deserialize)]
struct QueryProgressEvent {
    progress: Progress,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progress {
    id: String,
    run_id: String,
    name: Option<String>,
    timestamp: String,
    batch_id: i64,
    batch_duration: Option<i64>,
    duration_ms: Option<Durations>,
    event_time: Option<EventTime>,
    sources: Option<Vec<Source>>,
    state_operators: Option<Vec<StateOperator>>,
    input_rows_per_second: Option<f64>,
    processed_rows_per_second: Option<f64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Durations {
    trigger_execution: Option<i64>,
    add_batch: Option<i64>,
    latest_offset: Option<i64>,
}

#[derive(Deserialize)]
struct EventTime {
    watermark: Option<String>,
    max: Option<String>,
}

impl EventTime {
    fn ms(text: Option<String>) -> Result<Option<i64>, EventError> {
        text.filter(|time| !time.is_empty())
            .map(|time| moment(&time))
            .transpose()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Source {
    description: Option<String>,
    num_input_rows: Option<i64>,
    input_rows_per_second: Option<f64>,
    processed_rows_per_second: Option<f64>,
    metrics: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StateOperator {
    num_rows_total: Option<i64>,
    memory_used_bytes: Option<i64>,
    num_rows_dropped_by_watermark: Option<i64>,
}

/// Returns the fact of a QueryStartedEvent.
pub fn query_started(line: &[u8], texts: &mut Texts) -> Result<PendingFact, EventError> {
    let event: QueryEvent = parse_flat(line)?;
    let started_ms = event.at_ms()?;
    let fact = StreamingStarted {
        name: scrub_name(event.name, texts)?,
        query_id: Some(event.id),
        run_id: Some(event.run_id.clone()),
        started_ms: Some(started_ms),
        // The event log does not contain the trigger.
        trigger_interval_ms: None,
    };
    Ok(PendingFact::reserved(
        started_ms,
        event.run_id,
        Kind::StreamingStarted(fact),
    ))
}

/// Returns the fact of a QueryTerminatedEvent, which has no time of its own.
pub fn query_ended(line: &[u8], at_ms: i64, texts: &mut Texts) -> Result<PendingFact, EventError> {
    let event: QueryEvent = parse_flat(line)?;
    let fact = StreamingEnded {
        query_id: Some(event.id),
        run_id: Some(event.run_id.clone()),
        ended_ms: Some(at_ms),
        failure_reason: event.exception.map(|reason| texts.scrub(&reason)).transpose()?,
    };
    Ok(PendingFact::reserved(at_ms, event.run_id, Kind::StreamingEnded(fact)))
}

/// Returns the fact of a QueryIdleEvent (Spark 3.5 and later), which reports no batch.
pub fn query_idle(line: &[u8]) -> Result<PendingFact, EventError> {
    let event: QueryEvent = parse_flat(line)?;
    let triggered_ms = event.at_ms()?;
    let key = format!("{}||{triggered_ms}", event.run_id);
    let fact = StreamingProgress {
        query_id: Some(event.id),
        run_id: Some(event.run_id),
        triggered_ms: Some(triggered_ms),
        ..StreamingProgress::default()
    };
    Ok(PendingFact::bulk(triggered_ms, key, Kind::StreamingProgress(fact)))
}

/// Returns the fact of a QueryProgressEvent; its time is the end of the batch.
pub fn query_progressed(line: &[u8], texts: &mut Texts) -> Result<PendingFact, EventError> {
    let progress = parse_flat::<QueryProgressEvent>(line)?.progress;
    let triggered_ms = moment(&progress.timestamp)?;
    let durations = progress.duration_ms.unwrap_or_default();
    let sources = progress.sources.unwrap_or_default();
    let states = progress.state_operators.unwrap_or_default();
    let (watermark, newest) = progress
        .event_time
        .map_or((None, None), |time| (time.watermark, time.max));
    let batch_duration_ms = progress.batch_duration.or(durations.trigger_execution);
    let state_sum = |value: fn(&StateOperator) -> Option<i64>| match states.is_empty() {
        true => Ok(None),
        false => sum(states.iter().map(value)).map(Some),
    };
    let arrived = rate(progress.input_rows_per_second, &sources, |source| {
        source.input_rows_per_second
    });
    let processed = rate(progress.processed_rows_per_second, &sources, |source| {
        source.processed_rows_per_second
    });
    let key = format!("{}|{}|{triggered_ms}", progress.run_id, progress.batch_id);
    let fact = StreamingProgress {
        query_id: Some(progress.id),
        run_id: Some(progress.run_id),
        name: scrub_name(progress.name, texts)?,
        batch_id: Some(progress.batch_id),
        triggered_ms: Some(triggered_ms),
        batch_duration_ms,
        add_batch_ms: durations.add_batch,
        latest_offset_ms: durations.latest_offset,
        input_rows: Some(sum(sources.iter().map(|source| source.num_input_rows))?),
        input_rows_per_second: arrived,
        processed_rows_per_second: processed,
        state_rows: state_sum(|state| state.num_rows_total)?,
        state_memory_bytes: state_sum(|state| state.memory_used_bytes)?,
        dropped_by_watermark_rows: state_sum(|state| state.num_rows_dropped_by_watermark)?,
        watermark_ms: EventTime::ms(watermark)?,
        event_time_max_ms: EventTime::ms(newest)?,
        source_lag_records: lag(&sources, &LAG_RECORDS)?,
        source_lag_bytes: lag(&sources, &LAG_BYTES)?,
        sources: sources
            .iter()
            .take(MAX_SOURCES)
            .map(|source| {
                let description = source.description.as_deref().unwrap_or_default();
                let description = texts.shortened(description, MAX_SOURCE_CHARS)?;
                texts.scrub(&description)
            })
            .collect::<Result<_, _>>()?,
    };
    let ended_ms = add(triggered_ms, batch_duration_ms.unwrap_or(0))?;
    Ok(PendingFact::bulk(ended_ms, key, Kind::StreamingProgress(fact)))
}

fn moment(text: &str) -> Result<i64, EventError> {
    timestamp::milliseconds(text).ok_or_else(|| EventError::Malformed("no time".to_owned()))
}

fn scrub_name(name: Option<String>, texts: &mut Texts) -> Result<Option<String>, EventError> {
    let Some(name) = name else { return Ok(None) };
    let name = texts.shortened(&name, MAX_NAME_CHARS)?;
    Ok(Some(texts.scrub(&name)?))
}

fn sum(values: impl Iterator<Item = Option<i64>>) -> Result<i64, EventError> {
    values.flatten().try_fold(0, add)
}

/// Returns the rate of the query, or the sum of its sources' rates; `None` unless all rates are finite.
fn rate(total: Option<f64>, sources: &[Source], of_source: fn(&Source) -> Option<f64>) -> Option<f64> {
    let rates: Vec<f64> = match total {
        Some(rate) => vec![rate],
        None => sources.iter().filter_map(of_source).collect(),
    };
    let all_valid = rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0);
    (!rates.is_empty() && all_valid).then(|| rates.iter().sum())
}

/// Returns the sum of the sources' lags; the lag of a source is the first of the metrics in `names` that it reports.
fn lag(sources: &[Source], names: &[&str]) -> Result<Option<i64>, EventError> {
    let mut total = None;
    for metrics in sources.iter().filter_map(|source| source.metrics.as_ref()) {
        if let Some(value) = names.iter().find_map(|name| metrics.get(*name)) {
            total = Some(add(total.unwrap_or(0), lag_value(value)?)?);
        }
    }
    Ok(total)
}

fn lag_value(value: &Value) -> Result<i64, EventError> {
    let number = match value {
        Value::String(text) => text.trim().parse::<f64>().ok(),
        Value::Number(number) => number.as_f64(),
        _ => None,
    };
    match number {
        Some(number) if number.abs() < 9.2e18 => Ok(number as i64),
        _ => Err(too_large()),
    }
}
