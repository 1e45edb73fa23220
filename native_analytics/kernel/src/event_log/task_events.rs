//! The JSON shapes of task start and task end events, and the row slots that store their values. The keys and their
//! order are those of Spark's org.apache.spark.util.JsonProtocol, versions 1.2 to 4.x.

use crate::event_log::json::shape::{Kind, Member, shape};

macro_rules! slots {
    ($($name:ident = $slot:literal),* $(,)?) => { $(pub const $name: u8 = $slot;)* };
}

slots! {
    STAGE_ID = 0, STAGE_ATTEMPT = 1, TASK_ID = 2, TASK_INDEX = 3, TASK_ATTEMPT = 4, PARTITION_ID = 5,
    LAUNCHED_MS = 6, FINISHED_MS = 7, GETTING_RESULT_MS = 8,
    DESERIALIZE_MS = 9, DESERIALIZE_CPU_NS = 10, RUN_MS = 11, CPU_NS = 12, PEAK_EXECUTION_MEMORY_BYTES = 13,
    RESULT_BYTES = 14, GC_MS = 15, RESULT_SERIALIZATION_MS = 16, MEMORY_SPILLED_BYTES = 17, DISK_SPILLED_BYTES = 18,
    SHUFFLE_REMOTE_BLOCKS = 19, SHUFFLE_LOCAL_BLOCKS = 20, FETCH_WAIT_MS = 21, SHUFFLE_REMOTE_BYTES = 22,
    SHUFFLE_REMOTE_TO_DISK_BYTES = 23, SHUFFLE_LOCAL_BYTES = 24, SHUFFLE_READ_RECORDS = 25,
    SHUFFLE_WRITE_BYTES = 26, SHUFFLE_WRITE_NS = 27, SHUFFLE_WRITE_RECORDS = 28,
    INPUT_BYTES = 29, INPUT_RECORDS = 30, OUTPUT_BYTES = 31, OUTPUT_RECORDS = 32,
    // SHUFFLE_READ_BYTES is computed: the sum of remote and local bytes.
    SHUFFLE_READ_BYTES = 33,
    SPECULATIVE = 34, HAS_METRICS = 35,
}

slots! {
    TASK_TYPE = 0, EXECUTOR_ID = 1, HOST = 2, LOCALITY = 3, REASON = 4, FAILURE_CLASS = 5,
    DESCRIPTION = 6, KILL_REASON = 7, LOSS_REASON = 8, FETCH_MESSAGE = 9, ACCUMULABLES = 10,
    FETCH_EXECUTOR_ID = 11, FETCH_HOST = 12,
}

const TASK_INFO: &[Member] = shape! {
    "Task ID" => Kind::Number(TASK_ID),
    "Index" => Kind::Number(TASK_INDEX),
    "Attempt" => Kind::Number(TASK_ATTEMPT),
    "Partition ID" => Kind::Number(PARTITION_ID),
    "Launch Time" => Kind::Number(LAUNCHED_MS),
    "Executor ID" => Kind::Text(EXECUTOR_ID),
    "Host" => Kind::Text(HOST),
    "Locality" => Kind::Text(LOCALITY),
    "Speculative" => Kind::Flag(SPECULATIVE),
    "Getting Result Time" => Kind::Number(GETTING_RESULT_MS),
    "Finish Time" => Kind::Number(FINISHED_MS),
    "Failed" => Kind::Skip,
    "Killed" => Kind::Skip,
    "Accumulables" => Kind::Span(ACCUMULABLES),
};

/// Executor and host of the block that could not be fetched.
const BLOCK_MANAGER: &[Member] = shape! {
    "Executor ID" => Kind::Text(FETCH_EXECUTOR_ID),
    "Host" => Kind::Text(FETCH_HOST),
    "Port" => Kind::Skip,
};

const END_REASON: &[Member] = shape! {
    "Reason" => Kind::Text(REASON),
    "Class Name" => Kind::Text(FAILURE_CLASS),
    "Description" => Kind::Text(DESCRIPTION),
    "Kill Reason" => Kind::Text(KILL_REASON),
    "Loss Reason" => Kind::Text(LOSS_REASON),
    "Message" => Kind::Text(FETCH_MESSAGE),
    "Block Manager Address" => Kind::Object(BLOCK_MANAGER, None),
};

const SHUFFLE_READ: &[Member] = shape! {
    "Remote Blocks Fetched" => Kind::Number(SHUFFLE_REMOTE_BLOCKS),
    "Local Blocks Fetched" => Kind::Number(SHUFFLE_LOCAL_BLOCKS),
    "Fetch Wait Time" => Kind::Number(FETCH_WAIT_MS),
    "Remote Bytes Read" => Kind::Number(SHUFFLE_REMOTE_BYTES),
    "Remote Bytes Read To Disk" => Kind::Number(SHUFFLE_REMOTE_TO_DISK_BYTES),
    "Local Bytes Read" => Kind::Number(SHUFFLE_LOCAL_BYTES),
    "Total Records Read" => Kind::Number(SHUFFLE_READ_RECORDS),
    "Remote Requests Duration" => Kind::Skip,
    "Push Based Shuffle" => Kind::Skip,
};

const SHUFFLE_WRITE: &[Member] = shape! {
    "Shuffle Bytes Written" => Kind::Number(SHUFFLE_WRITE_BYTES),
    "Shuffle Write Time" => Kind::Number(SHUFFLE_WRITE_NS),
    "Shuffle Records Written" => Kind::Number(SHUFFLE_WRITE_RECORDS),
};

const INPUT: &[Member] = shape! {
    "Bytes Read" => Kind::Number(INPUT_BYTES),
    "Records Read" => Kind::Number(INPUT_RECORDS),
};

const OUTPUT: &[Member] = shape! {
    "Bytes Written" => Kind::Number(OUTPUT_BYTES),
    "Records Written" => Kind::Number(OUTPUT_RECORDS),
};

const METRICS: &[Member] = shape! {
    "Executor Deserialize Time" => Kind::Number(DESERIALIZE_MS),
    "Executor Deserialize CPU Time" => Kind::Number(DESERIALIZE_CPU_NS),
    "Executor Run Time" => Kind::Number(RUN_MS),
    "Executor CPU Time" => Kind::Number(CPU_NS),
    "Peak Execution Memory" => Kind::Number(PEAK_EXECUTION_MEMORY_BYTES),
    "Peak On Heap Execution Memory" => Kind::Skip,
    "Peak Off Heap Execution Memory" => Kind::Skip,
    "Result Size" => Kind::Number(RESULT_BYTES),
    "JVM GC Time" => Kind::Number(GC_MS),
    "Result Serialization Time" => Kind::Number(RESULT_SERIALIZATION_MS),
    "Memory Bytes Spilled" => Kind::Number(MEMORY_SPILLED_BYTES),
    "Disk Bytes Spilled" => Kind::Number(DISK_SPILLED_BYTES),
    "Shuffle Read Metrics" => Kind::Object(SHUFFLE_READ, None),
    "Shuffle Write Metrics" => Kind::Object(SHUFFLE_WRITE, None),
    "Input Metrics" => Kind::Object(INPUT, None),
    "Output Metrics" => Kind::Object(OUTPUT, None),
    "Updated Blocks" => Kind::Skip,
};

pub const TASK_END: &[Member] = shape! {
    "Stage ID" => Kind::Number(STAGE_ID),
    "Stage Attempt ID" => Kind::Number(STAGE_ATTEMPT),
    "Task Type" => Kind::Text(TASK_TYPE),
    "Task End Reason" => Kind::Object(END_REASON, None),
    "Task Info" => Kind::Object(TASK_INFO, None),
    "Task Executor Metrics" => Kind::Skip,
    "Task Metrics" => Kind::Object(METRICS, Some(HAS_METRICS)),
};

pub const TASK_START: &[Member] = shape! {
    "Stage ID" => Kind::Number(STAGE_ID),
    "Stage Attempt ID" => Kind::Number(STAGE_ATTEMPT),
    "Task Info" => Kind::Object(TASK_INFO, None),
};

/// How a task attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Success,
    Killed,
    Failed,
}

impl Outcome {
    /// Returns the outcome for Spark's end reason. Any reason except Success and TaskKilled is a failure, and so is a
    /// missing reason.
    pub fn of(reason: Option<&[u8]>) -> Outcome {
        match reason {
            Some(b"Success") => Outcome::Success,
            Some(b"TaskKilled") => Outcome::Killed,
            _ => Outcome::Failed,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::Killed => "killed",
            Outcome::Failed => "failed",
        }
    }
}
