import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * An application that ends in one way: {@code Deaths SCENARIO MARKER}. Settings come from system
 * properties. A task creates the file MARKER once its job runs, so that nothing waits for a fixed
 * time.
 */
public final class Deaths {
  private static final int MOST_SECONDS = 120;
  private static final List<Object> HELD = new ArrayList<>();

  private Deaths() {}

  public static void main(String[] arguments) throws Exception {
    String scenario = arguments[0];
    Path marker = Path.of(arguments[1]);
    SparkSession spark = SparkSession.builder().config(new SparkConf()).getOrCreate();
    JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
    context.parallelize(Arrays.asList(1, 2, 3, 4), 2).map(value -> value * 2).count();
    switch (scenario) {
      case "clean" -> context.stop();
      case "no_stop" -> {
        // The main thread ends; a shutdown hook of Spark stops the context.
      }
      case "heap", "metaspace", "direct" -> fill(context, scenario);
      case "skewed_heap" -> skewed(spark);
      case "exit_between_jobs" -> System.exit(1);
      case "exit" -> {
        inBackground(context, marker);
        System.exit(1);
      }
      case "stop" -> {
        inBackground(context, marker);
        context.stop();
      }
      case "wait" -> {
        inBackground(context, marker);
        TimeUnit.SECONDS.sleep(MOST_SECONDS);
      }
      default -> throw new IllegalArgumentException(scenario);
    }
  }

  /** Fills one kind of memory of the JVM in a task. */
  private static void fill(JavaSparkContext context, String memory) {
    context
        .parallelize(Arrays.asList(1, 2, 3, 4), 2)
        .map(
            value -> {
              while (true) {
                HELD.add(
                    switch (memory) {
                      case "heap" -> new byte[8 << 20];
                      case "direct" -> ByteBuffer.allocateDirect(8 << 20);
                      default -> new OneClass().defined();
                    });
              }
            })
        .count();
  }

  /** One task of the join collects nearly all rows, until its JVM has no heap left. */
  private static void skewed(SparkSession spark) {
    spark
        .range(0, 6_000_000, 1, 4)
        .selectExpr("if(id % 100 < 97, 7, id % 16) AS key", "uuid() AS text")
        .createOrReplaceTempView("skewed");
    spark
        .sql("SELECT key, count(*), max(size(texts)) FROM (SELECT key, collect_list(text) AS texts FROM skewed GROUP BY key) GROUP BY key")
        .collectAsList();
  }

  /** Starts a job in another thread, and returns once one of its tasks runs. */
  private static void inBackground(JavaSparkContext context, Path marker) throws Exception {
    String file = marker.toString();
    Thread job =
        new Thread(
            () ->
                context
                    .parallelize(Arrays.asList(1, 2, 3, 4), 2)
                    .map(
                        value -> {
                          Files.writeString(Path.of(file), "runs");
                          new CountDownLatch(1).await(MOST_SECONDS, TimeUnit.SECONDS);
                          return value;
                        })
                    .count());
    job.setDaemon(true);
    job.start();
    for (int tenths = 0; !Files.exists(marker) && tenths < MOST_SECONDS * 10; tenths++) {
      TimeUnit.MILLISECONDS.sleep(100);
    }
  }

  /** Defines this class again, in a class loader of its own. */
  private static final class OneClass extends ClassLoader {
    Class<?> defined() throws Exception {
      try (var code = Deaths.class.getResourceAsStream("Deaths.class")) {
        byte[] bytes = code.readAllBytes();
        return defineClass("Deaths", bytes, 0, bytes.length);
      }
    }
  }
}
