//! A small log for most tests, and functions that read a log and look up values.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use sparkfuse_kernel::event_log::log::{Source, TaskBatches};
use sparkfuse_kernel::event_log::log_tables::LogTables;
use sparkfuse_kernel::event_log::options::Options;
use sparkfuse_kernel::event_log::read::read_log;

pub const LOG: &str = concat!(
    r#"{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}"#,
    "\n",
    r#"{"Event":"SparkListenerApplicationStart","App Name":"orders","App ID":"app-1","Timestamp":1000,"User":"u"}"#,
    "\n",
    r#"{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":1001,"Stage Infos":[{"Stage ID":0}],"Stage IDs":[0],"Properties":{"spark.job.description":"load","spark.sql.execution.id":"7"}}"#,
    "\n",
    r#"{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":0,"Stage Attempt ID":0,"Stage Name":"count at a.py:1","Number of Tasks":2,"RDD Info":[{"RDD ID":1,"Scope":"{\"id\":\"2\",\"name\":\"Exchange\"}"},{"RDD ID":2,"Scope":"{\"id\":\"3\",\"name\":\"WholeStageCodegen (1)\"}"}],"Parent IDs":[],"Submission Time":1002},"Properties":{"spark.job.description":"load"}}"#,
    "\n",
    r#"{"Event":"SparkListenerTaskStart","Stage ID":0,"Stage Attempt ID":0,"Task Info":{"Task ID":0,"Index":0,"Attempt":0,"Launch Time":1003,"Executor ID":"1","Host":"h","Locality":"ANY","Speculative":false}}"#,
    "\n",
    r#"{"Event":"SparkListenerTaskStart","Stage ID":0,"Stage Attempt ID":0,"Task Info":{"Task ID":1,"Index":1,"Attempt":0,"Launch Time":1003,"Executor ID":"1","Host":"h","Locality":"ANY","Speculative":false}}"#,
    "\n",
    r#"{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":0,"Index":0,"Attempt":0,"Partition ID":0,"Launch Time":1003,"Executor ID":"1","Host":"h","Locality":"ANY","Speculative":false,"Getting Result Time":0,"Finish Time":1053,"Failed":false,"Killed":false,"Accumulables":[{"ID":1,"Name":"x]}\"{","Update":"3"}]},"Task Executor Metrics":{"JVMHeapMemory":0},"Task Metrics":{"Executor Deserialize Time":2,"Executor Deserialize CPU Time":1,"Executor Run Time":40,"Executor CPU Time":30000000,"Peak Execution Memory":5,"Result Size":900,"JVM GC Time":1,"Result Serialization Time":0,"Memory Bytes Spilled":0,"Disk Bytes Spilled":10,"Shuffle Read Metrics":{"Remote Blocks Fetched":1,"Local Blocks Fetched":1,"Fetch Wait Time":4,"Remote Bytes Read":100,"Remote Bytes Read To Disk":0,"Local Bytes Read":20,"Total Records Read":12},"Shuffle Write Metrics":{"Shuffle Bytes Written":7,"Shuffle Write Time":9,"Shuffle Records Written":3},"Input Metrics":{"Bytes Read":1000,"Records Read":10},"Output Metrics":{"Bytes Written":0,"Records Written":0},"Updated Blocks":[]}}"#,
    "\n",
    r#"{"Event":"SparkListenerTaskEnd","Stage ID":0,"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{"Reason":"ExecutorLostFailure","Executor ID":"2","Exit Caused By App":false,"Loss Reason":"gone"},"Task Info":{"Task ID":1,"Index":1,"Attempt":0,"Launch Time":1003,"Executor ID":"1","Host":"h","Locality":"ANY","Speculative":true,"Getting Result Time":0,"Finish Time":1043,"Failed":true,"Killed":false,"Accumulables":[]}}"#,
    "\n",
    r#"{"Event":"SparkListenerStageCompleted","Stage Info":{"Stage ID":0,"Stage Attempt ID":0,"Stage Name":"count at a.py:1","Number of Tasks":2,"RDD Info":[],"Parent IDs":[],"Submission Time":1002,"Completion Time":1060,"Accumulables":[{"ID":4,"Name":"number of output rows","Value":"12"}]}}"#,
    "\n",
    r#"{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":7,"description":"d","time":1000,"sparkPlanInfo":{"nodeName":"Project","simpleString":"Project [secret]","children":[{"nodeName":"Scan","children":[],"metrics":[{"name":"rows","accumulatorId":4,"metricType":"sum"}]}],"metrics":[]}}"#,
    "\n",
    r#"{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":1061,"Job Result":{"Result":"JobSucceeded"}}"#,
    "\n",
    r#"{"Event":"SparkListenerSomethingNew","x":[1,2]}"#,
    "\n",
    r#"{"Event":"SparkListenerApplicationEnd","Timestamp":1070}"#,
    "\n",
);

pub fn options() -> Options {
    Options {
        tasks: true,
        task_starts: true,
        ..Options::default()
    }
}

pub fn read_with_options(bytes: &[u8], options: Options) -> LogTables {
    read_with_threads(bytes, options, 1)
}

/// With two threads, one thread decompresses the log while the other one reads it.
pub fn read_with_threads(bytes: &[u8], options: Options, threads: usize) -> LogTables {
    let source = Source::Reader("log".to_owned(), Box::new(Cursor::new(bytes.to_vec())));
    let mut task_batches = TaskBatches::default();
    let log = read_log(vec![source], &Arc::new(options), threads, &mut task_batches).unwrap();
    LogTables::of(log, task_batches, true, true)
}

pub fn read(bytes: &[u8]) -> LogTables {
    read_with_options(bytes, options())
}

pub fn table<'l>(log: &'l LogTables, name: &str) -> &'l RecordBatch {
    let (_, table) = log.tables.iter().find(|(known, _)| *known == name).unwrap();
    &table.batches[0]
}

pub fn number(log: &LogTables, name: &str, column: &str, row: usize) -> Option<i64> {
    let column = table(log, name)
        .column_by_name(column)
        .unwrap()
        .as_primitive::<Int64Type>();
    column.is_valid(row).then(|| column.value(row))
}

pub fn text(log: &LogTables, name: &str, column: &str, row: usize) -> String {
    table(log, name)
        .column_by_name(column)
        .unwrap()
        .as_string::<i32>()
        .value(row)
        .to_owned()
}

pub fn batches(log: &LogTables) -> Vec<RecordBatch> {
    log.tables.iter().flat_map(|(_, table)| table.batches.clone()).collect()
}
