//! Aggregates over the task ends of one stage attempt: counts, sums and exact distributions.

use crate::event_log::json::row::Row;
use crate::event_log::json::text::text;
use crate::event_log::task_events::*;

/// Names and slots of the sums over all task ends with task metrics.
pub const SUMS: [(&str, u8); 16] = [
    ("run_ms", RUN_MS),
    ("cpu_ns", CPU_NS),
    ("gc_ms", GC_MS),
    ("deserialize_ms", DESERIALIZE_MS),
    ("result_bytes", RESULT_BYTES),
    ("memory_spilled_bytes", MEMORY_SPILLED_BYTES),
    ("disk_spilled_bytes", DISK_SPILLED_BYTES),
    ("shuffle_read_bytes", SHUFFLE_READ_BYTES),
    ("shuffle_read_records", SHUFFLE_READ_RECORDS),
    ("fetch_wait_ms", FETCH_WAIT_MS),
    ("shuffle_write_bytes", SHUFFLE_WRITE_BYTES),
    ("shuffle_write_records", SHUFFLE_WRITE_RECORDS),
    ("input_bytes", INPUT_BYTES),
    ("input_records", INPUT_RECORDS),
    ("output_bytes", OUTPUT_BYTES),
    ("output_records", OUTPUT_RECORDS),
];

/// Names of the distributions over succeeded attempts.
pub const DISTRIBUTIONS: [&str; 5] = [
    "wall_ms",
    "task_run_ms",
    "task_shuffle_read_bytes",
    "task_input_bytes",
    "task_bytes",
];

/// Values of one distribution. Each value takes four bytes, into which durations and most sizes fit; as soon as one
/// value does not fit, all values are stored in eight bytes.
#[derive(Debug, Clone)]
pub enum Values {
    Small(Vec<u32>),
    Large(Vec<i64>),
}

impl Default for Values {
    fn default() -> Values {
        Values::Small(Vec::new())
    }
}

impl Values {
    #[inline]
    pub fn push(&mut self, value: i64) {
        match self {
            Values::Small(values) => match u32::try_from(value) {
                Ok(value) => values.push(value),
                Err(_) => self.widen().push(value),
            },
            Values::Large(values) => values.push(value),
        }
    }

    pub fn append(&mut self, other: Values) {
        match (&mut *self, other) {
            (Values::Small(ours), Values::Small(theirs)) => ours.extend(theirs),
            (Values::Large(ours), Values::Small(theirs)) => ours.extend(theirs.into_iter().map(i64::from)),
            (_, Values::Large(theirs)) => self.widen().extend(theirs),
        }
    }

    #[cold]
    fn widen(&mut self) -> &mut Vec<i64> {
        if let Values::Small(values) = self {
            *self = Values::Large(values.iter().map(|value| i64::from(*value)).collect());
        }
        match self {
            Values::Large(values) => values,
            Values::Small(_) => unreachable!("converted to large values above"),
        }
    }

    /// Returns the summary of the values, and reorders them.
    pub fn summary(&mut self) -> Summary {
        match self {
            Values::Small(values) => Summary::of(values),
            Values::Large(values) => Summary::of(values),
        }
    }
}

/// Count, sum and order statistics of a distribution.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Summary {
    pub count: i64,
    pub sum: i64,
    /// Minimum, median, nearest-rank 95th percentile and maximum; `None` if there are no values.
    pub order: Option<(i64, f64, i64, i64)>,
}

impl Summary {
    fn of<T: Copy + Ord + Into<i64>>(values: &mut [T]) -> Summary {
        let count = values.len();
        if count == 0 {
            return Summary::default();
        }
        let sum: i128 = values.iter().map(|value| i128::from((*value).into())).sum();
        // index of the 95th percentile, ceil(0.95 n) - 1, computed with integers to avoid rounding errors
        let rank = (count * 95).div_ceil(100) - 1;
        let middle = count / 2;
        let (lower, upper_middle, above) = values.select_nth_unstable(middle);
        let upper_middle: i64 = (*upper_middle).into();
        let lower_middle = match count % 2 {
            0 => lower.iter().max().map_or(upper_middle, |value| (*value).into()),
            _ => upper_middle,
        };
        let least = lower.iter().min().map_or(upper_middle, |value| (*value).into());
        let greatest = above.iter().max().map_or(upper_middle, |value| (*value).into());
        let p95 = match rank.checked_sub(middle + 1) {
            Some(place) => (*above.select_nth_unstable(place).1).into(),
            None if rank == middle => upper_middle,
            None => lower_middle,
        };
        let median = (i128::from(lower_middle) + i128::from(upper_middle)) as f64 / 2.0;
        Summary {
            count: count as i64,
            sum: clamped(sum),
            order: Some((least, median, p95, greatest)),
        }
    }
}

fn clamped(sum: i128) -> i64 {
    sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// Aggregates over the task ends of one stage attempt.
#[derive(Debug, Clone, Default)]
pub struct StageAggregates {
    pub tasks: i64,
    pub succeeded: i64,
    pub failed: i64,
    pub killed: i64,
    pub speculative: i64,
    pub without_metrics: i64,
    /// The sums, in the order of `SUMS`.
    pub sums: [i64; SUMS.len()],
    /// The distributions, in the order of `DISTRIBUTIONS`.
    pub values: [Values; DISTRIBUTIONS.len()],
    pub spilled_tasks: i64,
    pub spilled_wall_ms: i64,
    pub ended_wall_ms: i64,
    pub first_launched_ms: Option<i64>,
    pub last_finished_ms: Option<i64>,
    /// Bytes, wall time and index of the succeeded attempt that read the most; the first one if several are equal.
    pub biggest: Option<(i64, Option<i64>, Option<i64>)>,
    /// The succeeded attempt with the longest wall time.
    pub slowest: Option<Box<SlowestTask>>,
    /// Number of attempts that failed because a shuffle block could not be fetched.
    pub fetch_failed: i64,
    /// Number of attempts that failed because the executor was lost.
    pub lost: i64,
    /// Number of attempts that succeeded and then failed, because Spark lost the executor that held their output.
    pub resubmitted: i64,
}

/// One succeeded attempt: its index, duration, bytes read, GC time, executor and host. Bytes and GC time are unknown if
/// the attempt has no metrics.
#[derive(Debug, Clone)]
pub struct SlowestTask {
    pub wall_ms: i64,
    pub index: Option<i64>,
    pub bytes: Option<i64>,
    pub gc_ms: Option<i64>,
    pub executor_id: Option<String>,
    pub host: Option<String>,
}

impl SlowestTask {
    /// Whether an attempt of this duration and index replaces this task: the attempt is longer, or equally long with a
    /// lower index.
    #[inline]
    fn is_replaced_by(&self, wall_ms: i64, index: Option<i64>) -> bool {
        wall_ms > self.wall_ms || (wall_ms == self.wall_ms && is_lower(index, self.index))
    }
}

fn is_lower(one: Option<i64>, other: Option<i64>) -> bool {
    one.is_some_and(|one| other.is_none_or(|other| one < other))
}

impl StageAggregates {
    #[inline]
    pub fn add(&mut self, row: &Row, line: &[u8], outcome: Outcome) {
        self.tasks += 1;
        match outcome {
            Outcome::Success => self.succeeded += 1,
            Outcome::Killed => self.killed += 1,
            Outcome::Failed => self.fail(row.text(line, REASON)),
        }
        self.speculative += row.number_or_zero(SPECULATIVE);
        let has_metrics = row.has(HAS_METRICS);
        if has_metrics {
            for (sum, (_, slot)) in self.sums.iter_mut().zip(SUMS) {
                *sum = sum.saturating_add(row.number_or_zero(slot));
            }
        } else {
            self.without_metrics += 1;
        }
        let (launched, finished) = (row.number(LAUNCHED_MS), row.number(FINISHED_MS));
        self.first_launched_ms = least(self.first_launched_ms, launched);
        self.last_finished_ms = greatest(self.last_finished_ms, finished);
        let wall = launched.zip(finished).map(|(from, to)| to.saturating_sub(from));
        self.ended_wall_ms = self.ended_wall_ms.saturating_add(wall.unwrap_or(0));
        if row.number_or_zero(DISK_SPILLED_BYTES) > 0 {
            self.spilled_tasks += 1;
            self.spilled_wall_ms = self.spilled_wall_ms.saturating_add(wall.unwrap_or(0));
        }
        if outcome == Outcome::Success {
            self.succeed(row, line, wall, has_metrics);
        }
    }

    fn fail(&mut self, reason: Option<&[u8]>) {
        self.failed += 1;
        match reason {
            Some(b"FetchFailed") => self.fetch_failed += 1,
            Some(b"ExecutorLostFailure") => self.lost += 1,
            Some(b"Resubmitted") => self.resubmitted += 1,
            _ => {}
        }
    }

    #[inline]
    fn succeed(&mut self, row: &Row, line: &[u8], wall: Option<i64>, has_metrics: bool) {
        let [walls, runs, shuffles, inputs, all] = &mut self.values;
        if let Some(wall) = wall {
            walls.push(wall);
            let index = row.number(TASK_INDEX);
            if self
                .slowest
                .as_ref()
                .is_none_or(|slowest| slowest.is_replaced_by(wall, index))
            {
                self.slowest = Some(slowest(row, line, wall, has_metrics));
            }
        }
        if !has_metrics {
            return;
        }
        let (shuffle, input) = (row.number_or_zero(SHUFFLE_READ_BYTES), row.number_or_zero(INPUT_BYTES));
        let bytes = shuffle.saturating_add(input);
        runs.push(row.number_or_zero(RUN_MS));
        shuffles.push(shuffle);
        inputs.push(input);
        all.push(bytes);
        if self.biggest.is_none_or(|(most, ..)| bytes > most) {
            self.biggest = Some((bytes, wall, row.number(TASK_INDEX)));
        }
    }

    /// Adds the aggregates of a later part of the log for the same stage attempt.
    pub fn append(&mut self, later: StageAggregates) {
        self.tasks += later.tasks;
        self.succeeded += later.succeeded;
        self.failed += later.failed;
        self.killed += later.killed;
        self.speculative += later.speculative;
        self.without_metrics += later.without_metrics;
        for (ours, theirs) in self.sums.iter_mut().zip(later.sums) {
            *ours = ours.saturating_add(theirs);
        }
        for (ours, theirs) in self.values.iter_mut().zip(later.values) {
            ours.append(theirs);
        }
        self.spilled_tasks += later.spilled_tasks;
        self.spilled_wall_ms = self.spilled_wall_ms.saturating_add(later.spilled_wall_ms);
        self.ended_wall_ms = self.ended_wall_ms.saturating_add(later.ended_wall_ms);
        self.first_launched_ms = least(self.first_launched_ms, later.first_launched_ms);
        self.last_finished_ms = greatest(self.last_finished_ms, later.last_finished_ms);
        if let Some(theirs) = later.biggest
            && self.biggest.is_none_or(|ours| theirs.0 > ours.0)
        {
            self.biggest = Some(theirs);
        }
        if let Some(theirs) = later.slowest
            && self
                .slowest
                .as_ref()
                .is_none_or(|ours| ours.is_replaced_by(theirs.wall_ms, theirs.index))
        {
            self.slowest = Some(theirs);
        }
        self.fetch_failed += later.fetch_failed;
        self.lost += later.lost;
        self.resubmitted += later.resubmitted;
    }
}

/// Copies the values of an attempt that is the longest so far. This is rarely needed: of n attempts in random order,
/// only about ln n are the longest so far.
#[cold]
fn slowest(row: &Row, line: &[u8], wall_ms: i64, has_metrics: bool) -> Box<SlowestTask> {
    let bytes = row
        .number_or_zero(SHUFFLE_READ_BYTES)
        .saturating_add(row.number_or_zero(INPUT_BYTES));
    Box::new(SlowestTask {
        wall_ms,
        index: row.number(TASK_INDEX),
        bytes: has_metrics.then_some(bytes),
        gc_ms: has_metrics.then(|| row.number_or_zero(GC_MS)),
        executor_id: row.text(line, EXECUTOR_ID).map(text),
        host: row.text(line, HOST).map(text),
    })
}

fn least(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn greatest(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.max(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn summary_of(values: &[i64]) -> Summary {
        let mut distribution = Values::default();
        values.iter().for_each(|value| distribution.push(*value));
        distribution.summary()
    }

    #[test]
    fn summary_of_no_values_has_no_order() {
        assert_eq!(summary_of(&[]), Summary::default());
    }

    #[test]
    fn p95_is_the_nearest_rank() {
        let values: Vec<i64> = (1..=20).collect();
        assert_eq!(summary_of(&values).order, Some((1, 10.5, 19, 20)));
        let values: Vec<i64> = (1..=21).collect();
        assert_eq!(summary_of(&values).order, Some((1, 11.0, 20, 21)));
    }

    proptest! {
        /// The summary equals the summary of the sorted values, in any order and any number of parts.
        #[test]
        fn summary_equals_that_of_sorted_values(values in prop::collection::vec(prop_oneof![0i64..50, any::<i64>()], 1..200), cut in 0usize..200) {
            let (first, second) = values.split_at(cut.min(values.len()));
            let mut distribution = Values::default();
            first.iter().for_each(|value| distribution.push(*value));
            let mut later = Values::default();
            second.iter().for_each(|value| later.push(*value));
            distribution.append(later);
            let found = distribution.summary();
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let n = sorted.len();
            let median = (i128::from(sorted[(n - 1) / 2]) + i128::from(sorted[n / 2])) as f64 / 2.0;
            let rank = (n * 95).div_ceil(100) - 1;
            prop_assert_eq!(found.count, n as i64);
            prop_assert_eq!(found.sum, clamped(sorted.iter().map(|value| i128::from(*value)).sum()));
            prop_assert_eq!(found.order, Some((sorted[0], median, sorted[rank], sorted[n - 1])));
        }
    }
}
