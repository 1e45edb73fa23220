import io.sparkfuse.contracts.Fact;
import io.sparkfuse.contracts.SqlStarted;
import io.sparkfuse.shaded.kafka.clients.consumer.ConsumerRecord;
import io.sparkfuse.shaded.kafka.clients.consumer.KafkaConsumer;
import io.sparkfuse.shaded.kafka.common.TopicPartition;
import io.sparkfuse.shaded.kafka.common.serialization.ByteArrayDeserializer;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.facts.FactEncoder;
import io.sparkfuse.spark.facts.Lane;
import io.sparkfuse.spark.facts.WarmUp;
import io.sparkfuse.spark.settings.PluginSettings;
import io.sparkfuse.spark.transport.DeliveryCounters;
import io.sparkfuse.spark.transport.KafkaClientSettings;
import io.sparkfuse.spark.transport.KafkaRecordSink;
import io.sparkfuse.spark.transport.RecordSink;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;

/**
 * Encodes facts, sends records and reads committed records with the classes of the plugin's jar, the
 * last two once for each properties file. Prints a line for each file: its name, the acknowledged records, the failed
 * records, and the values that it read from the topic of signals.
 */
public final class PluginClient {
  private static final int RECORDS = 200;
  private static final long LIMIT_NS = 60_000_000_000L;

  public static void main(String[] arguments) throws Exception {
    encodeFacts();
    for (int i = 1; i < arguments.length; i++) {
      SparkConf conf =
          new SparkConf(false)
              .set("spark.sparkfuse.topic.prefix", arguments[0])
              .set("spark.sparkfuse.kafka.configFile", arguments[i]);
      PluginSettings settings = PluginSettings.of(conf);
      DeliveryCounters sent = send(settings);
      System.out.println(
          String.join(
              "\t",
              Paths.get(arguments[i]).getFileName().toString(),
              Long.toString(sent.acknowledged()),
              Long.toString(sent.failed()),
              String.join(",", signals(settings))));
    }
  }

  /** Encodes a fact of each kind and a fact that must be truncated; both use reflection. */
  private static void encodeFacts() {
    WarmUp.run();
    SqlStarted.Builder query = SqlStarted.newBuilder();
    query.addAllPlanNodes(Collections.nCopies(100_000, "SortMergeJoin"));
    Application application = new Application("", "", "", 0, 0);
    FactEncoder encoder = new FactEncoder("test");
    encoder.encode(Fact.newBuilder().setSqlStarted(query), application, Lane.BULK, 0);
    if (encoder.cutFacts() != 1) {
      throw new AssertionError("the fact was not truncated");
    }
  }

  private static DeliveryCounters send(PluginSettings settings) throws Exception {
    DeliveryCounters deliveries = new DeliveryCounters();
    RecordSink sink = KafkaRecordSink.factories(settings, "test", 4 << 20).get(0).open(deliveries);
    byte[] value = new byte[1_000];
    long startNs = System.nanoTime();
    for (int sent = 0; sent < RECORDS && System.nanoTime() - startNs < LIMIT_NS; ) {
      sent += sink.send("facts", "key", value) ? 1 : 0;
    }
    while (deliveries.pending() > 0 && System.nanoTime() - startNs < LIMIT_NS) {
      Thread.onSpinWait();
    }
    sink.close(1_000);
    return deliveries;
  }

  private static TreeSet<String> signals(PluginSettings settings) {
    TreeSet<String> values = new TreeSet<>();
    Properties properties = KafkaClientSettings.consumer(settings, "test");
    try (KafkaConsumer<byte[], byte[]> consumer =
        KafkaClientSettings.withOwnLoader(
            () ->
                new KafkaConsumer<>(
                    properties, new ByteArrayDeserializer(), new ByteArrayDeserializer()))) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(settings.topic("signals")).stream()
              .map(each -> new TopicPartition(each.topic(), each.partition()))
              .collect(Collectors.toList());
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      long startNs = System.nanoTime();
      while (System.nanoTime() - startNs < LIMIT_NS && !atEnd(consumer, partitions)) {
        for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofMillis(100))) {
          values.add(new String(each.value(), StandardCharsets.UTF_8));
        }
      }
    }
    return values;
  }

  private static boolean atEnd(KafkaConsumer<?, ?> consumer, List<TopicPartition> partitions) {
    return partitions.stream()
        .allMatch(
            each ->
                consumer.position(each)
                    >= consumer.endOffsets(List.of(each), Duration.ofSeconds(10)).get(each));
  }
}
