package io.sparkfuse.spark.hook;

import io.sparkfuse.spark.counters.StageRegistry;
import io.sparkfuse.spark.listener.StreamingQueries;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkConf;

/**
 * Recognises a driver that runs work of several users or queries: a Connect or Thrift server, jobs
 * of several owners, or running streaming queries.
 *
 * <p>A server stays a server, and a driver that once ran jobs of several owners stays shared: the
 * other owner may have data in the driver and may come back. Used by one thread.
 */
final class SharedDriver {
  private static final String[] SERVERS = {
    "org.apache.spark.sql.connect.service.SparkConnectServer",
    "org.apache.spark.sql.connect.service.SparkConnectService",
    "org.apache.spark.sql.connect.execution.ExecuteThreadRunner",
    "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
    "org.apache.spark.sql.hive.thriftserver.SparkExecuteStatementOperation",
    "org.apache.hive.service.server.HiveServer2"
  };

  private final SparkConf conf;
  private final StageRegistry registry;
  private final StreamingQueries streaming;
  private String server;

  SharedDriver(SparkConf conf, StageRegistry registry, StreamingQueries streaming) {
    this.conf = conf;
    this.registry = registry;
    this.streaming = streaming;
  }

  /** Returns why the driver is shared, or null. */
  String reason() {
    if (server == null) {
      server = server(conf.get("spark.plugins", ""), System.getProperty("sun.java.command"));
    }
    if (server != null) {
      return "it is a server, " + server;
    }
    Set<Integer> jobs = registry.runningJobs();
    Set<String> owners = registry.owners(jobs);
    if (owners.size() > 1) {
      return "its running jobs belong to " + owners.size() + " users, sessions or job groups";
    }
    if (registry.hadSeveralOwners()) {
      return "it has run jobs of several users, sessions or job groups";
    }
    int queries = streaming.running();
    if (queries > 0 || registry.streams(jobs)) {
      return "it runs " + Math.max(1, queries) + " streaming queries";
    }
    return null;
  }

  private static String server(String plugins, String command) {
    if (plugins.contains("SparkConnectPlugin")) {
      return "spark.plugins=" + plugins;
    }
    for (String name : SERVERS) {
      if (command != null && command.contains(name)) {
        return name;
      }
    }
    return serverOnStack();
  }

  /** Returns the name of a server whose code is on the stack of any thread, or null. */
  private static String serverOnStack() {
    for (Map.Entry<Thread, StackTraceElement[]> each : Thread.getAllStackTraces().entrySet()) {
      for (StackTraceElement frame : each.getValue()) {
        for (String name : SERVERS) {
          if (frame.getClassName().startsWith(name)) {
            return name;
          }
        }
      }
    }
    return null;
  }
}
