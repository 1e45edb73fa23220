//! Generated from contracts/shared/*.yaml; do not edit.
#![allow(dead_code)]

#[rustfmt::skip]
pub mod framework_frames {
    pub const MOST_CHARS: usize = 200;
    pub const MOST_LONG_FORM_CHARS: usize = 20000;
    pub const MOST_FRAMES: usize = 200;
    pub const PREFIXES: [&str; 30] = [
        "ammonite.",
        "com.databricks.backend.",
        "com.databricks.logging.",
        "com.databricks.spark.",
        "com.databricks.sql.",
        "com.fasterxml.jackson.",
        "com.google.common.",
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
        "sbt.",
        "scala.",
        "sun.",
    ];
    pub const EXCEPTIONS: [&str; 1] = [
        "org.apache.spark.examples.",
    ];
    pub const FILES: [&str; 24] = [
        "AccessController.java",
        "CallSite.scala",
        "CompletableFuture.java",
        "DelegatingConstructorAccessorImpl.java",
        "DelegatingMethodAccessorImpl.java",
        "DirectConstructorHandleAccessor.java",
        "DirectMethodHandleAccessor.java",
        "ExecuteThreadRunner.scala",
        "Executors.java",
        "ForkJoinPool.java",
        "ForkJoinTask.java",
        "ForkJoinWorkerThread.java",
        "FutureTask.java",
        "Method.java",
        "NativeConstructorAccessorImpl.java",
        "NativeMethodAccessorImpl.java",
        "Promise.scala",
        "SQLExecution.scala",
        "ScheduledThreadPoolExecutor.java",
        "Subject.java",
        "Thread.java",
        "ThreadPoolExecutor.java",
        "Unknown Source",
        "<unknown>",
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
        Case { name: "python line in the short form", short: Some("collect at /home/etl/jobs/orders.py:44"), long: "org.apache.spark.sql.Dataset.collectToPython(Dataset.scala:4146)\njava.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)", call_site: Some("collect at orders.py:44") },
        Case { name: "py4j hides the python line", short: Some("parquet at NativeMethodAccessorImpl.java:0"), long: "org.apache.spark.sql.DataFrameWriter.parquet(DataFrameWriter.scala:802)\njava.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\njava.base/java.lang.reflect.Method.invoke(Method.java:569)\npy4j.reflection.MethodInvoker.invoke(MethodInvoker.java:244)\npy4j.ClientServerConnection.run(ClientServerConnection.java:106)\njava.base/java.lang.Thread.run(Thread.java:840)", call_site: None },
        Case { name: "thread pool of a broadcast", short: Some("$anonfun$withThreadLocalCaptured$1 at FutureTask.java:264"), long: "org.apache.spark.sql.execution.SQLExecution$.$anonfun$withThreadLocalCaptured$1(SQLExecution.scala:219)\njava.base/java.util.concurrent.FutureTask.run(FutureTask.java:264)\njava.base/java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1136)", call_site: None },
        Case { name: "completable future of Spark 4", short: Some("$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768"), long: "", call_site: None },
        Case { name: "reflection of Java 21", short: Some("count at DirectMethodHandleAccessor.java:103"), long: "", call_site: None },
        Case { name: "line 0 is never the user's", short: Some("count at Generated.java:0"), long: "", call_site: None },
        Case { name: "scala line in the short form", short: Some("count at Orders.scala:12"), long: "org.apache.spark.sql.Dataset.count(Dataset.scala:3615)\ncom.example.Orders$.main(Orders.scala:12)\ncom.example.Orders.main(Orders.scala)", call_site: Some("count at Orders.scala:12") },
        Case { name: "description of the user and a scala stack", short: Some("nightly orders"), long: "org.apache.spark.sql.Dataset.count(Dataset.scala:3615)\ncom.example.Orders$.load(Orders.scala:31)\ncom.example.Orders$.main(Orders.scala:12)", call_site: Some("load at Orders.scala:31") },
        Case { name: "lambda of the user", short: None, long: "org.apache.spark.rdd.RDD.foreach(RDD.scala:1)\ncom.example.Orders$.$anonfun$load$2(Orders.scala:33)\ncom.example.Orders$.main(Orders.scala:12)", call_site: Some("load at Orders.scala:33") },
        Case { name: "constructor of the user", short: None, long: "org.apache.spark.SparkContext.runJob(SparkContext.scala:2398)\ncom.example.Orders.<init>(Orders.java:8)", call_site: Some("Orders.java:8") },
        Case { name: "shell", short: Some("count at <console>:25"), long: "", call_site: Some("count at <console>:25") },
        Case { name: "shell in the long form", short: None, long: "org.apache.spark.sql.Dataset.count(Dataset.scala:3615)\n$line14.$read$$iw$$iw.<init>(<console>:25)", call_site: Some("<console>:25") },
        Case { name: "examples of Spark are user code", short: None, long: "org.apache.spark.rdd.RDD.reduce(RDD.scala:1119)\norg.apache.spark.examples.SparkPi$.main(SparkPi.scala:38)", call_site: Some("main at SparkPi.scala:38") },
        Case { name: "module before the user's class", short: None, long: "app//com.example.Orders.main(Orders.java:5)", call_site: Some("main at Orders.java:5") },
        Case { name: "windows path", short: Some("collect at C:\\jobs\\orders.py:7"), long: "", call_site: Some("collect at orders.py:7") },
        Case { name: "frame without a line", short: None, long: "com.example.Orders.main(Orders.java)\ncom.example.Job.start(Job.java:9)", call_site: Some("start at Job.java:9") },
        Case { name: "description with at and a colon", short: Some("load orders at noon"), long: "", call_site: None },
        Case { name: "file with blanks", short: Some("collect at /data/my jobs/load orders.py:3"), long: "", call_site: Some("collect at load orders.py:3") },
        Case { name: "secrets of a path are dropped with the folders", short: Some("collect at /data/password=hunter2/orders.py:3"), long: "", call_site: Some("collect at orders.py:3") },
        Case { name: "notebook cell", short: Some("count at /tmp/ipykernel_71/1844.py:2"), long: "", call_site: Some("count at 1844.py:2") },
        Case { name: "Spark Connect", short: Some("execute at ExecuteThreadRunner.scala:171"), long: "org.apache.spark.sql.connect.execution.ExecuteThreadRunner.executeInternal(ExecuteThreadRunner.scala:171)", call_site: None },
        Case { name: "nothing", short: Some(""), long: "", call_site: None },
    ];
}

#[rustfmt::skip]
pub mod node_details {
    pub const MOST_CHARS: usize = 200;
    pub const MOST_TEXT_CHARS: usize = 20000;
    pub const MOST_COLUMNS: usize = 8;
    pub const NODES_WITHOUT_DETAIL: [&str; 4] = [
        "InMemoryTableScan",
        "LocalTableScan",
        "Scan ExistingRDD",
        "Scan OneRowRelation",
    ];
    pub const WRITE_NODES: [&str; 9] = [
        "AppendData",
        "AsSelect",
        "InsertInto",
        "OverwriteByExpression",
        "OverwritePartitionsDynamic",
        "ReplaceData",
        "SaveIntoDataSource",
        "WriteDelta",
        "WriteToDataSourceV2",
    ];
    pub const FUNCTION_NODES: [&str; 19] = [
        "AggregateInPandas",
        "ArrowAggregatePython",
        "ArrowEvalPython",
        "ArrowEvalPythonUDTF",
        "ArrowWindowPython",
        "BatchEvalPython",
        "BatchEvalPythonUDTF",
        "FlatMapCoGroupsInArrow",
        "FlatMapCoGroupsInPandas",
        "FlatMapGroupsInArrow",
        "FlatMapGroupsInPandas",
        "FlatMapGroupsInPandasWithState",
        "Generate",
        "MapInArrow",
        "MapInPandas",
        "PythonMapInArrow",
        "TransformWithStateInPandas",
        "TransformWithStateInPySpark",
        "WindowInPandas",
    ];
    pub const JOIN_TYPES: [&str; 8] = [
        "Cross",
        "ExistenceJoin",
        "FullOuter",
        "Inner",
        "LeftAnti",
        "LeftOuter",
        "LeftSemi",
        "RightOuter",
    ];
    pub const PARTITIONINGS: [&str; 5] = [
        "RebalancePartitioning",
        "RoundRobinPartitioning",
        "SinglePartition",
        "hashpartitioning",
        "rangepartitioning",
    ];
    pub const NO_FORMATS: [&str; 6] = [
        "Append",
        "ErrorIfExists",
        "Ignore",
        "Overwrite",
        "false",
        "true",
    ];

    #[cfg(test)]
    pub struct Case {
        pub name: &'static str,
        pub node: &'static str,
        pub text: &'static str,
        pub location: &'static str,
        pub detail: &'static str,
    }
    #[cfg(test)]
    pub const CASES: &[Case] = &[
        Case { name: "scan of a table", node: "Scan parquet spark_catalog.default.orders", text: "FileScan parquet spark_catalog.default.orders[o_orderkey#123L,o_custkey#124L] Batched: true, DataFilters: [isnotnull(o_orderkey#123L)], Format: Parquet, Location: InMemoryFileIndex(1 paths)[file:/tmp/spark-logs/named/warehouse/orders], PartitionFilters: [], PushedFilters: [IsNotNull(o_orderkey)], ReadSchema: struct<o_orderkey:bigint>", location: "InMemoryFileIndex(1 paths)[file:/tmp/spark-logs/named/warehouse/orders]", detail: "default.orders parquet" },
        Case { name: "scan of a path", node: "Scan csv ", text: "FileScan csv [c_custkey#74,c_name#75] Batched: false, DataFilters: [isnotnull(c_custkey#74)], Format: CSV, Location: InMemoryFileIndex(1 paths)[file:/tmp/spark-logs/named/data/customer], PartitionFilters: []", location: "InMemoryFileIndex(1 paths)[file:/tmp/spark-logs/named/data/customer]", detail: "data/customer csv" },
        Case { name: "scan of a path without metadata", node: "Scan parquet ", text: "FileScan parquet [id#185L] Batched: true, Location: InMemoryFileIndex(1 paths)[s3a://lake/raw/events/day=2024-05-01], PartitionFilters: []", location: "", detail: "raw/events parquet" },
        Case { name: "scan of files", node: "Scan text ", text: "FileScan text [value#57] Batched: false, Location: InMemoryFileIndex(2 paths)[file:/tmp/spark-logs/named/data/customer/part-00001-98206d12-03b1-46fc..., PartitionFilters: []", location: "InMemoryFileIndex(2 paths)[file:/tmp/spark-logs/named/data/customer/part-00001-98206d12-c000.csv, ...]", detail: "data/customer text" },
        Case { name: "scan of a path with a password", node: "Scan csv ", text: "", location: "InMemoryFileIndex(1 paths)[s3a://key:hunter2@lake/orders]", detail: "lake/orders csv" },
        Case { name: "scan of a hive table", node: "Scan hive default.orders", text: "Scan hive default.orders [o_orderkey#1L], HiveTableRelation [`default`.`orders`, ...]", location: "", detail: "default.orders hive" },
        Case { name: "scan over JDBC", node: "Scan JDBCRelation(shop.orders) [numPartitions=4]", text: "Scan JDBCRelation(shop.orders) [numPartitions=4] [id#1] PushedFilters: [], ReadSchema: struct<id:int>", location: "", detail: "shop.orders jdbc" },
        Case { name: "scan of a query over JDBC", node: "Scan JDBCRelation((SELECT * FROM orders WHERE card = '4111111111111111') t) [numPartitions=1]", text: "", location: "", detail: "query jdbc" },
        Case { name: "batch scan of an Iceberg table", node: "BatchScan lake.sales.orders", text: "BatchScan lake.sales.orders[o_orderkey#1L] lake.sales.orders (branch=null) [filters=, groupedBy=] RuntimeFilters: []", location: "", detail: "sales.orders" },
        Case { name: "batch scan of a path", node: "BatchScan parquet file:/data/lake/orders", text: "BatchScan parquet file:/data/lake/orders[id#1L] ParquetScan DataFilters: [], Format: parquet, Location: InMemoryFileIndex(1 paths)[file:/data/lake/orders]", location: "", detail: "lake/orders parquet" },
        Case { name: "micro-batch scan", node: "MicroBatchScan", text: "MicroBatchScan[timestamp#0, value#1L] class org.apache.spark.sql.execution.streaming.sources.RateStreamTable$$anon$1", location: "", detail: "RateStreamTable" },
        Case { name: "scan of a cached table", node: "Scan In-memory table orders", text: "Scan In-memory table orders[o_orderkey#1L]", location: "", detail: "orders" },
        Case { name: "scan of cached rows", node: "InMemoryTableScan", text: "InMemoryTableScan [n#273L, o_custkey#124L], [(n#273L > 5)]", location: "", detail: "" },
        Case { name: "scan of rows of an RDD", node: "Scan ExistingRDD", text: "Scan ExistingRDD[id#543,name#544]", location: "", detail: "" },
        Case { name: "hash exchange", node: "Exchange", text: "Exchange hashpartitioning(l_returnflag#51, l_partkey#48L, 3), ENSURE_REQUIREMENTS, [plan_id=129]", location: "", detail: "hashpartitioning l_returnflag, l_partkey" },
        Case { name: "range exchange", node: "Exchange", text: "Exchange rangepartitioning(l_returnflag#51 ASC NULLS FIRST, 3), ENSURE_REQUIREMENTS, [plan_id=132]", location: "", detail: "rangepartitioning l_returnflag" },
        Case { name: "exchange to one partition", node: "Exchange", text: "Exchange SinglePartition, ENSURE_REQUIREMENTS, [plan_id=40]", location: "", detail: "SinglePartition" },
        Case { name: "round robin exchange", node: "Exchange", text: "Exchange RoundRobinPartitioning(2), REPARTITION_BY_NUM, [plan_id=16]", location: "", detail: "RoundRobinPartitioning" },
        Case { name: "broadcast exchange", node: "BroadcastExchange", text: "BroadcastExchange HashedRelationBroadcastMode(List(input[0, bigint, false]),false), [plan_id=84]", location: "", detail: "" },
        Case { name: "exchange of another engine", node: "CometExchange", text: "CometExchange hashpartitioning(o_custkey#2L, 200), ENSURE_REQUIREMENTS, CometNativeShuffle, [plan_id=9]", location: "", detail: "hashpartitioning o_custkey" },
        Case { name: "join", node: "SortMergeJoin", text: "SortMergeJoin [l_orderkey#47L, cast(l_partkey#48L as int)], [o_orderkey#123L, o_partkey#5], LeftOuter", location: "", detail: "LeftOuter l_orderkey, l_partkey" },
        Case { name: "join without keys", node: "BroadcastNestedLoopJoin", text: "BroadcastNestedLoopJoin BuildRight, Cross", location: "", detail: "Cross" },
        Case { name: "join with a condition that holds a literal", node: "BroadcastHashJoin", text: "BroadcastHashJoin [key#7L], [id#0L], Inner, BuildRight, (name#3 = secret word), false", location: "", detail: "Inner key" },
        Case { name: "aggregate", node: "HashAggregate", text: "HashAggregate(keys=[l_returnflag#51, substring(p_name#2, 0, 3)#9], functions=[sum(l_quantity#49), count(1)])", location: "", detail: "l_returnflag, p_name" },
        Case { name: "aggregate of all rows", node: "HashAggregate", text: "HashAggregate(keys=[], functions=[partial_count(1)])", location: "", detail: "" },
        Case { name: "window", node: "Window", text: "Window [row_number() windowspecdefinition(o_custkey#124L, o_totalprice#125 DESC NULLS LAST, specifiedwindowframe(RowFrame, unboundedpreceding$(), currentrow$())) AS rank#170], [o_custkey#124L], [o_totalprice#125 DESC NULLS LAST]", location: "", detail: "o_custkey" },
        Case { name: "window group limit", node: "WindowGroupLimit", text: "WindowGroupLimit [o_custkey#124L], [o_totalprice#125 DESC NULLS LAST], row_number(), 3, Final", location: "", detail: "o_custkey" },
        Case { name: "sort", node: "Sort", text: "Sort [l_returnflag#51 ASC NULLS FIRST, l_partkey#48L DESC NULLS LAST], true, 0", location: "", detail: "l_returnflag, l_partkey" },
        Case { name: "top rows", node: "TakeOrderedAndProject", text: "TakeOrderedAndProject(limit=4, orderBy=[o_totalprice#125 DESC NULLS LAST], output=[toprettystring(o_orderkey)#481])", location: "", detail: "o_totalprice" },
        Case { name: "python function", node: "BatchEvalPython", text: "BatchEvalPython [to_upper(c_name#75)#261], [pythonUDF0#269]", location: "", detail: "to_upper" },
        Case { name: "python lambda", node: "ArrowEvalPython", text: "ArrowEvalPython [<lambda>(cast(c_name#75 as int))#261], [pythonUDF0#269], 101", location: "", detail: "" },
        Case { name: "map in pandas", node: "MapInPandas", text: "MapInPandas keep(o_orderkey#79L, o_custkey#80L)#201, [o_orderkey#202L, o_custkey#203L], false", location: "", detail: "keep" },
        Case { name: "grouped pandas function", node: "FlatMapGroupsInPandas", text: "FlatMapGroupsInPandas [o_custkey#80L], fill_gaps(o_orderkey#79L, o_custkey#80L)#212, [o_orderkey#213L]", location: "", detail: "fill_gaps" },
        Case { name: "generate", node: "Generate", text: "Generate explode(split(p_name#111,  , -1)), false, [word#557]", location: "", detail: "explode" },
        Case { name: "write of files", node: "Execute InsertIntoHadoopFsRelationCommand", text: "Execute InsertIntoHadoopFsRelationCommand file:/tmp/spark-logs/named/out/orders, false, [c_nationkey#353], Parquet, [__partition_columns=[\"c_nationkey\"], path=/tmp/spark-logs/named/out/orders], Overwrite, [o_orderkey, o_custkey]", location: "", detail: "out/orders parquet" },
        Case { name: "write of a table", node: "Execute InsertIntoHadoopFsRelationCommand", text: "Execute InsertIntoHadoopFsRelationCommand file:/tmp/spark-logs/named/warehouse/busy_customers, false, Parquet, [path=file:/tmp/spark-logs/named/warehouse/busy_customers], Append, `spark_catalog`.`default`.`busy_customers`, org.apache.spark.sql.execution.datasources.InMemoryFileIndex(file:/tmp/spark-logs/named/warehouse/busy_customers), [o_custkey, n]", location: "", detail: "default.busy_customers parquet" },
        Case { name: "write of a hive table", node: "Execute InsertIntoHiveTable", text: "Execute InsertIntoHiveTable `default`.`orders`, org.apache.hadoop.hive.ql.io.orc.OrcSerde, true, false, [id]", location: "", detail: "default.orders" },
        Case { name: "write of a Delta table", node: "Execute SaveIntoDataSourceCommand", text: "Execute SaveIntoDataSourceCommand org.apache.spark.sql.delta.sources.DeltaDataSource@6f1c, [path=s3a://lake/gold/orders], Overwrite", location: "", detail: "gold/orders" },
        Case { name: "write over JDBC", node: "Execute SaveIntoDataSourceCommand", text: "Execute SaveIntoDataSourceCommand org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider@1b, Map(url -> *********(redacted), dbtable -> shop.orders, password -> *********(redacted)), Append", location: "", detail: "shop.orders" },
        Case { name: "write of an Iceberg table", node: "AppendData", text: "AppendData org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$$Lambda$3/0x1@2b, IcebergWrite(table=lake.sales.orders, format=PARQUET)", location: "", detail: "sales.orders parquet" },
        Case { name: "write of a named table of Spark 4", node: "OverwriteByExpression noop-table", text: "OverwriteByExpression noop-table NoopWrite", location: "", detail: "noop-table" },
        Case { name: "write to nowhere", node: "OverwriteByExpression", text: "OverwriteByExpression org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$$Lambda$1863/0x00007f9b7cb99b38@2b57562f, org.apache.spark.sql.execution.datasources.noop.NoopWrite$@161aaf7d", location: "", detail: "NoopWrite" },
        Case { name: "write of a stream", node: "WriteToDataSourceV2", text: "WriteToDataSourceV2 MicroBatchWrite[epoch: 0, writer: org.apache.spark.sql.execution.streaming.sources.MemoryStreamingWrite@13db73c0]", location: "", detail: "MemoryStreamingWrite" },
        Case { name: "command that writes nothing", node: "Execute CreateViewCommand", text: "Execute CreateViewCommand", location: "", detail: "" },
        Case { name: "filter", node: "Filter", text: "Filter (isnotnull(key#186L) AND (key#186L = 7))", location: "", detail: "" },
        Case { name: "text of a hostile plan", node: "Exchange", text: "Exchange hashpartitioning((((((((((a#1", location: "", detail: "hashpartitioning a" },
    ];
}
