//! Generated from contracts/shared/*.yaml; do not edit.
#![allow(dead_code)]

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
