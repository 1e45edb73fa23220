//! Generated from contracts/shared/*.yaml; do not edit.
#![allow(dead_code)]

#[rustfmt::skip]
pub mod event_ids {
    pub const ID_BYTES: usize = 16;
    pub const KEYS: [&str; 25] = [
        "application_started: ",
        "application_ended: ",
        "job_started: job_id",
        "job_ended: job_id",
        "sql_started: sql_execution_id",
        "sql_ended: sql_execution_id",
        "sql_plan: sql_execution_id|plan_version",
        "sql_metrics: sql_execution_id",
        "stage_started: stage_id|stage_attempt",
        "stage_ended: stage_id|stage_attempt",
        "task_started: task_id",
        "task_ended: task_id|outcome|failure_class|finished_ms",
        "task_progress: task_id|fact.event_time_ms",
        "executor_added: executor_id|added_ms",
        "executor_removed: executor_id|removed_ms",
        "executor_sample: executor_id|fact.event_time_ms",
        "collector_health: fact.collector|fact.event_time_ms",
        "block_manager_added: executor_id|added_ms",
        "block_manager_removed: executor_id|removed_ms",
        "streaming_started: run_id",
        "streaming_ended: run_id",
        "streaming_progress: run_id|batch_id|triggered_ms",
        "resource_profile_added: profile_id",
        "node_event: event|host|executor_id|stage_id|happened_ms",
        "pod_changed: executor_id|pod|cause|changed_ms",
    ];
}

#[rustfmt::skip]
pub mod executor_exit_codes {
    pub const PATTERN: &str = "(?i)\\bexit(?:ed)?(?: +with)?(?: +exit)?[ _]?(?:code|status|value)(?: +is)? *[:=(]? *(-?[0-9]{1,9})\\b";
    pub const MOST_CHARS: usize = 4096;

    #[cfg(test)]
    pub struct Case {
        pub name: &'static str,
        pub reason: &'static str,
        pub exit_code: Option<i64>,
        pub failure: Option<&'static str>,
    }
    #[cfg(test)]
    pub const CASES: &[Case] = &[
        Case { name: "Spark and a signal", reason: "Unknown executor exit code (137) (died from signal 9?)", exit_code: Some(137), failure: Some("process_killed") },
        Case { name: "Spark", reason: "Unknown executor exit code (56)", exit_code: Some(56), failure: Some("heartbeat_lost") },
        Case { name: "standalone", reason: "Command exited with code 1", exit_code: Some(1), failure: None },
        Case { name: "local", reason: "Unable to create executor due to null. exit code 137", exit_code: Some(137), failure: None },
        Case { name: "YARN", reason: "Container from a bad node: container_e1_000003 on host: h2. Exit status: 143. Diagnostics: x", exit_code: Some(143), failure: None },
        Case { name: "YARN with a negative code", reason: "Container marked as failed: container_1. Exit status: -104. Diagnostics: 4.5 GB of 4 GB", exit_code: Some(-104), failure: None },
        Case { name: "YARN kill", reason: "Container killed on request. Exit code is 137", exit_code: Some(137), failure: None },
        Case { name: "Kubernetes", reason: "The executor with id 3 exited with exit code 137(SIGKILL, possible container OOM).", exit_code: Some(137), failure: None },
        Case { name: "the first of two codes", reason: "The executor with id 7 exited with exit code 52(OutOfMemory). exit code: 0", exit_code: Some(52), failure: None },
        Case { name: "one word", reason: "Executor finished with exitCode 255", exit_code: Some(255), failure: None },
        Case { name: "underscore", reason: "finished: exit_status=9", exit_code: Some(9), failure: None },
        Case { name: "heartbeat", reason: "Executor heartbeat timed out after 126000 ms", exit_code: None, failure: None },
        Case { name: "connection", reason: "Remote RPC client disassociated", exit_code: None, failure: None },
        Case { name: "worker", reason: "worker lost: 10.0.0.5:7078", exit_code: None, failure: None },
        Case { name: "deleted", reason: "The executor with id 4 was deleted by a user or the framework.", exit_code: None, failure: None },
        Case { name: "no number", reason: "exit code unknown", exit_code: None, failure: None },
        Case { name: "too long a number", reason: "exit code 12345678901", exit_code: None, failure: None },
    ];
}

#[rustfmt::skip]
pub mod failure_limits {
    pub const MOST_CLASSES: usize = 32;
    pub const MOST_HOSTS: usize = 32;
    pub const MOST_TASKS: usize = 1000;

    #[cfg(test)]
    pub struct Case {
        pub name: &'static str,
        pub failures: &'static [&'static str],
        pub kept: &'static [&'static str],
    }
    #[cfg(test)]
    pub const CASES: &[Case] = &[
        Case { name: "few classes", failures: &["b", "a", "b"], kept: &["a", "b"] },
        Case { name: "too many classes in ascending order", failures: &["E00", "E01", "E02", "E03", "E04", "E05", "E06", "E07", "E08", "E09", "E10", "E11", "E12", "E13", "E14", "E15", "E16", "E17", "E18", "E19", "E20", "E21", "E22", "E23", "E24", "E25", "E26", "E27", "E28", "E29", "E30", "E31", "E32", "E33", "E34", "E35", "E36", "E37", "E38", "E39"], kept: &["E00", "E01", "E02", "E03", "E04", "E05", "E06", "E07", "E08", "E09", "E10", "E11", "E12", "E13", "E14", "E15", "E16", "E17", "E18", "E19", "E20", "E21", "E22", "E23", "E24", "E25", "E26", "E27", "E28", "E29", "E30", "E31"] },
        Case { name: "too many classes in descending order", failures: &["E39", "E38", "E37", "E36", "E35", "E34", "E33", "E32", "E31", "E30", "E29", "E28", "E27", "E26", "E25", "E24", "E23", "E22", "E21", "E20", "E19", "E18", "E17", "E16", "E15", "E14", "E13", "E12", "E11", "E10", "E09", "E08", "E07", "E06", "E05", "E04", "E03", "E02", "E01", "E00"], kept: &["E00", "E01", "E02", "E03", "E04", "E05", "E06", "E07", "E08", "E09", "E10", "E11", "E12", "E13", "E14", "E15", "E16", "E17", "E18", "E19", "E20", "E21", "E22", "E23", "E24", "E25", "E26", "E27", "E28", "E29", "E30", "E31"] },
        Case { name: "too many classes in another order, some again", failures: &["E20", "E21", "E22", "E23", "E24", "E25", "E26", "E27", "E28", "E29", "E30", "E31", "E32", "E33", "E34", "E35", "E36", "E37", "E38", "E39", "E00", "E01", "E02", "E03", "E04", "E05", "E06", "E07", "E08", "E09", "E10", "E11", "E12", "E13", "E14", "E15", "E16", "E17", "E18", "E19", "E39", "E00", "E39"], kept: &["E00", "E01", "E02", "E03", "E04", "E05", "E06", "E07", "E08", "E09", "E10", "E11", "E12", "E13", "E14", "E15", "E16", "E17", "E18", "E19", "E20", "E21", "E22", "E23", "E24", "E25", "E26", "E27", "E28", "E29", "E30", "E31"] },
    ];
}

#[rustfmt::skip]
pub mod framework_frames {
    pub const MOST_CHARS: usize = 200;
    pub const MOST_FRAMES: usize = 200;
    pub const PREFIXES: [&str; 27] = [
        "akka.",
        "almond.",
        "ammonite.",
        "com.databricks.",
        "com.google.",
        "com.sun.",
        "io.delta.",
        "io.grpc.",
        "io.netty.",
        "io.sparkfuse.",
        "java.",
        "javax.",
        "jdk.",
        "kotlin.",
        "org.apache.hadoop.",
        "org.apache.hive.",
        "org.apache.hudi.",
        "org.apache.iceberg.",
        "org.apache.kyuubi.",
        "org.apache.livy.",
        "org.apache.spark.",
        "org.apache.toree.",
        "org.apache.zeppelin.",
        "org.sparkproject.",
        "py4j.",
        "scala.",
        "sun.",
    ];

    #[cfg(test)]
    pub struct Case {
        pub name: &'static str,
        pub short: Option<&'static str>,
        pub long: &'static str,
        pub call_site: Option<&'static str>,
    }
    #[cfg(test)]
    pub const CASES: &[Case] = &[
        Case { name: "Python action", short: Some("collect at /tmp/jobs/orders.py:12"), long: "org.apache.spark.sql.classic.Dataset.collectToPython(Dataset.scala:2139)\njava.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\njava.base/java.lang.reflect.Method.invoke(Method.java:569)\npy4j.reflection.MethodInvoker.invoke(MethodInvoker.java:244)\npy4j.Gateway.invoke(Gateway.java:282)\njava.base/java.lang.Thread.run(Thread.java:840)", call_site: Some("collect at orders.py:12") },
        Case { name: "Python write has no line", short: Some("saveAsTable at NativeMethodAccessorImpl.java:0"), long: "org.apache.spark.sql.classic.Dataset.collectToPython(Dataset.scala:2139)\njava.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\njava.base/java.lang.reflect.Method.invoke(Method.java:569)\npy4j.reflection.MethodInvoker.invoke(MethodInvoker.java:244)\npy4j.Gateway.invoke(Gateway.java:282)\njava.base/java.lang.Thread.run(Thread.java:840)", call_site: None },
        Case { name: "thread pool", short: Some("$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768"), long: "org.apache.spark.sql.execution.SQLExecution$.$anonfun$withThreadLocalCaptured$1(SQLExecution.scala:401)\njava.base/java.util.concurrent.CompletableFuture$AsyncSupply.run(CompletableFuture.java:1768)\njava.base/java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1136)\njava.base/java.lang.Thread.run(Thread.java:840)", call_site: None },
        Case { name: "Connect server", short: Some("collect at SparkConnectPlanExecution.scala:71"), long: "org.apache.spark.sql.connect.execution.SparkConnectPlanExecution.handlePlan(SparkConnectPlanExecution.scala:71)\norg.sparkproject.connect.grpc.stub.ServerCalls$UnaryServerCallHandler.onHalfClose(ServerCalls.java:182)\nio.grpc.internal.ServerImpl.run(ServerImpl.java:10)\nio.netty.channel.nio.NioEventLoop.run(NioEventLoop.java:562)", call_site: None },
        Case { name: "Scala method", short: Some("count at Orders.scala:42"), long: "org.apache.spark.sql.Dataset.count(Dataset.scala:3615)\ncom.acme.Orders$.writeOrders(Orders.scala:42)\ncom.acme.Orders.main(Orders.scala)", call_site: Some("writeOrders at Orders.scala:42") },
        Case { name: "Java method", short: Some("count at Orders.java:42"), long: "org.apache.spark.sql.Dataset.count(Dataset.scala:3615)\napp//com.acme.Orders.writeOrders(Orders.java:42)", call_site: Some("writeOrders at Orders.java:42") },
        Case { name: "Scala lambda", short: Some("foreach at Orders.scala:7"), long: "org.apache.spark.sql.Dataset.count(Dataset.scala:3615)\ncom.acme.Orders$.$anonfun$main$1(Orders.scala:7)\nscala.collection.immutable.List.foreach(List.scala:431)\ncom.acme.Orders$.main(Orders.scala:6)", call_site: Some("main at Orders.scala:7") },
        Case { name: "Java lambda", short: Some("foreach at Orders.java:7"), long: "org.apache.spark.sql.Dataset.count(Dataset.scala:3615)\ncom.acme.Orders.lambda$main$0(Orders.java:7)", call_site: Some("main at Orders.java:7") },
        Case { name: "constructor", short: Some("count at Orders.scala:9"), long: "org.apache.spark.sql.Dataset.count(Dataset.scala:3615)\ncom.acme.Orders$delayedInit$body.<init>(Orders.scala:9)", call_site: Some("Orders at Orders.scala:9") },
        Case { name: "Scala shell", short: Some("count at <console>:23"), long: "org.apache.spark.sql.Dataset.count(Dataset.scala:3615)\n$line14.$read$$iw$$iw.<init>(<console>:23)\n$line14.$eval$.$print(<console>:4)", call_site: Some("<console>:23") },
        Case { name: "frame without a line", short: Some("count at Unknown"), long: "org.apache.spark.sql.Dataset.count(Dataset.scala:3615)\ncom.acme.Native.call(Native Method)\ncom.acme.Generated.call(Unknown Source)\ncom.acme.Orders.main(Orders.java:3)", call_site: Some("main at Orders.java:3") },
        Case { name: "notebook", short: Some("collect at <ipython-input-3-1f2e>:4"), long: "org.apache.spark.sql.classic.Dataset.collectToPython(Dataset.scala:2139)\njava.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\njava.base/java.lang.reflect.Method.invoke(Method.java:569)\npy4j.reflection.MethodInvoker.invoke(MethodInvoker.java:244)\npy4j.Gateway.invoke(Gateway.java:282)\njava.base/java.lang.Thread.run(Thread.java:840)", call_site: Some("collect at <ipython-input-3-1f2e>:4") },
        Case { name: "Databricks notebook", short: Some("collect at /root/.ipykernel/1/command-2384-99:4"), long: "org.apache.spark.sql.classic.Dataset.collectToPython(Dataset.scala:2139)\njava.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\njava.base/java.lang.reflect.Method.invoke(Method.java:569)\npy4j.reflection.MethodInvoker.invoke(MethodInvoker.java:244)\npy4j.Gateway.invoke(Gateway.java:282)\njava.base/java.lang.Thread.run(Thread.java:840)", call_site: Some("collect at command-2384-99:4") },
        Case { name: "Python shell", short: Some("collect at <stdin>:1"), long: "org.apache.spark.sql.classic.Dataset.collectToPython(Dataset.scala:2139)\njava.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\njava.base/java.lang.reflect.Method.invoke(Method.java:569)\npy4j.reflection.MethodInvoker.invoke(MethodInvoker.java:244)\npy4j.Gateway.invoke(Gateway.java:282)\njava.base/java.lang.Thread.run(Thread.java:840)", call_site: Some("collect at <stdin>:1") },
        Case { name: "description of the user", short: Some("Load the orders at 12:30"), long: "org.apache.spark.sql.classic.Dataset.collectToPython(Dataset.scala:2139)\njava.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\njava.base/java.lang.reflect.Method.invoke(Method.java:569)\npy4j.reflection.MethodInvoker.invoke(MethodInvoker.java:244)\npy4j.Gateway.invoke(Gateway.java:282)\njava.base/java.lang.Thread.run(Thread.java:840)", call_site: None },
        Case { name: "description that contains a file", short: Some("see notes at home.py:3 please"), long: "org.apache.spark.sql.classic.Dataset.collectToPython(Dataset.scala:2139)\njava.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\njava.base/java.lang.reflect.Method.invoke(Method.java:569)\npy4j.reflection.MethodInvoker.invoke(MethodInvoker.java:244)\npy4j.Gateway.invoke(Gateway.java:282)\njava.base/java.lang.Thread.run(Thread.java:840)", call_site: None },
        Case { name: "nothing known", short: Some(""), long: "", call_site: None },
        Case { name: "broken stack", short: None, long: "(((\n)\nat\ncom.acme.(x:1)\n.a(b:2)\ncom.acme.Orders.main(Orders.java:)\n", call_site: None },
        Case { name: "file of PySpark", short: Some("collect at /opt/venv/lib/python3.11/site-packages/pyspark/pandas/frame.py:512"), long: "", call_site: None },
        Case { name: "reflection of Java 21", short: Some("count at DirectMethodHandleAccessor.java:103"), long: "", call_site: None },
        Case { name: "folders may hold secrets", short: Some("collect at /data/password=hunter2/orders.py:3"), long: "", call_site: Some("collect at orders.py:3") },
        Case { name: "Windows path", short: Some("collect at C:\\jobs\\orders.py:7"), long: "", call_site: Some("collect at orders.py:7") },
    ];
}

#[rustfmt::skip]
pub mod limits {
    pub const MOST_STAGES: usize = 4096;
    pub const MOST_METRICS: usize = 4096;
    pub const DEAD_LETTER_PAYLOAD_BYTES: usize = 65536;
    pub const MOVING_TASK_ROW_MS: usize = 30000;
}

#[rustfmt::skip]
pub mod plan_conditions {
    pub const MOST_CHARS: usize = 400;
    pub const MOST_TEXT_CHARS: usize = 20000;
    pub const WORDS: [&str; 14] = [
        "AND",
        "Cross",
        "FullOuter",
        "IN",
        "INSET",
        "Inner",
        "LIKE",
        "LeftAnti",
        "LeftOuter",
        "LeftSemi",
        "NOT",
        "OR",
        "RightOuter",
        "isnotnull",
    ];

    #[cfg(test)]
    pub struct Case {
        pub name: &'static str,
        pub text: &'static str,
        pub condition: &'static str,
    }
    #[cfg(test)]
    pub const CASES: &[Case] = &[
        Case { name: "join", text: "SortMergeJoin [l_orderkey#47L], [o_orderkey#123L], Inner", condition: "l_orderkey o_orderkey Inner" },
        Case { name: "number", text: "Filter (isnotnull(key#186L) AND (key#186L = 7))", condition: "isnotnull key AND key =" },
        Case { name: "text", text: "Filter (name#3 = secret42)", condition: "name =" },
        Case { name: "set", text: "Filter id#1L INSET 1, 2, 3", condition: "id INSET" },
        Case { name: "range", text: "Filter ((a#1 >= 10) AND NOT (b#2 <=> null))", condition: "a >= AND NOT b <=>" },
        Case { name: "like", text: "Filter (name#3 LIKE %a%)", condition: "name LIKE" },
        Case { name: "join with a condition", text: "BroadcastNestedLoopJoin BuildRight, LeftOuter, (a#1 > b#2)", condition: "LeftOuter a > b" },
        Case { name: "letters of other languages end a word", text: "Filter (größe#3 = 1)", condition: "e =" },
        Case { name: "no condition", text: "CartesianProduct", condition: "" },
        Case { name: "date", text: "Filter (isnotnull(day#5) AND (day#5 = 2024-05-01))", condition: "isnotnull day AND day =" },
        Case { name: "word of a literal", text: "Filter (name#12 = AND secret)", condition: "name = AND" },
        Case { name: "marks of a literal", text: "Filter (note#3 = straße <b>)", condition: "note = < >" },
    ];
}
