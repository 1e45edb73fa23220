//! Names of the Spark events that produce facts, without the package and the prefix `SparkListener`.

/// The task events that produce facts.
pub const TASK_EVENTS: [&str; 2] = ["TaskStart", "TaskEnd"];
/// The events other than task starts and ends; a translator that resumes must read these events again.
pub const INFREQUENT_EVENTS: [&str; 38] = [
    "ApplicationEnd",
    "ApplicationStart",
    "BlockManagerAdded",
    "BlockManagerRemoved",
    "DriverAccumUpdates",
    "EnvironmentUpdate",
    "ExecutorAdded",
    "ExecutorBlacklisted",
    "ExecutorBlacklistedForStage",
    "ExecutorExcluded",
    "ExecutorExcludedForStage",
    "ExecutorRemoved",
    "ExecutorUnblacklisted",
    "ExecutorUnblacklistedForStage",
    "ExecutorUnexcluded",
    "ExecutorUnexcludedForStage",
    "JobEnd",
    "JobStart",
    "LogStart",
    "NodeBlacklisted",
    "NodeBlacklistedForStage",
    "NodeExcluded",
    "NodeExcludedForStage",
    "NodeUnblacklisted",
    "NodeUnblacklistedForStage",
    "NodeUnexcluded",
    "NodeUnexcludedForStage",
    "ResourceProfileAdded",
    "SQLAdaptiveExecutionUpdate",
    "SQLAdaptiveSQLMetricUpdates",
    "SQLExecutionEnd",
    "SQLExecutionStart",
    "StageCompleted",
    "StageSubmitted",
    "StreamingQueryListener$QueryIdleEvent",
    "StreamingQueryListener$QueryProgressEvent",
    "StreamingQueryListener$QueryStartedEvent",
    "StreamingQueryListener$QueryTerminatedEvent",
];

/// Whether Spark writes this event before the application is known.
pub fn is_header(name: &str) -> bool {
    matches!(
        name,
        "LogStart"
            | "ResourceProfileAdded"
            | "BlockManagerAdded"
            | "EnvironmentUpdate"
            | "ExecutorAdded"
            | "ApplicationStart"
    )
}
