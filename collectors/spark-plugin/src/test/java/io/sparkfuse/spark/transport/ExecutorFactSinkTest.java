package io.sparkfuse.spark.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.ExecutorSample;
import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.Application;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.settings.PluginSettings;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class ExecutorFactSinkTest {
  private static final String LINE = new Application("c", "t", "app-1", 0, 1).toLine();

  private final List<Fact> byDriver = Collections.synchronizedList(new ArrayList<>());
  private final List<Fact> direct = Collections.synchronizedList(new ArrayList<>());
  private final CountDownLatch driverIsBack = new CountDownLatch(1);
  private volatile boolean driverHangs;

  private Object ask(Object message) throws Exception {
    if (driverHangs) {
      driverIsBack.await();
    }
    for (byte[] fact : (byte[][]) message) {
      byDriver.add(Fact.parseFrom(fact));
    }
    return LINE;
  }

  private RecordSink sink(DeliveryCounters deliveries) {
    return new RecordSink() {
      @Override
      public boolean send(String topic, String key, byte[] value) {
        try {
          return direct.add(Fact.parseFrom(value));
        } catch (Exception broken) {
          throw new IllegalStateException(broken);
        }
      }

      @Override
      public void close(long budgetMs) {}
    };
  }

  private static void await(String what, BooleanSupplier condition) throws Exception {
    long until = System.currentTimeMillis() + 60_000;
    while (!condition.getAsBoolean()) {
      assertTrue(System.currentTimeMillis() < until, "still waiting for " + what);
      Thread.sleep(5);
    }
  }

  private static List<Fact.Builder> sample() {
    return Collections.singletonList(
        Fact.newBuilder().setEventTimeMs(1).setExecutorSample(ExecutorSample.newBuilder()));
  }

  @Test
  void hangingDriverDoesNotSilenceExecutor() throws Exception {
    SparkConf conf = new SparkConf(false).set("spark.sparkfuse.executor.patience", "4s");
    FaultCounter faults = new FaultCounter("test");
    DriverRpcClient driverRpc = new DriverRpcClient(this::ask, faults);
    ExecutorFactSink sink =
        new ExecutorFactSink(
            PluginSettings.of(conf),
            "executor-1-x",
            driverRpc,
            Collections.singletonList(this::sink),
            faults);
    driverRpc.start();
    await("the application", sink::ready);
    sink.send(sample());
    await("the driver to take a fact", () -> byDriver.size() == 1);

    driverHangs = true;
    sink.send(sample());
    await("patience and its jitter to be over", () -> driverRpc.silentMs() > 6_100);
    sink.send(sample());
    sink.send(sample());
    await("facts to go directly", () -> direct.size() >= 2);
    driverHangs = false;
    driverIsBack.countDown();
    await("the driver's answer", () -> driverRpc.silentMs() < 2_000);
    int before = byDriver.size();
    sink.send(sample());
    await("the driver to take facts again", () -> byDriver.size() > before);
    sink.close(1_000);

    List<Fact> all = new ArrayList<>(byDriver);
    all.addAll(direct);
    List<Long> seen =
        all.stream().map(Fact::getSeq).distinct().sorted().collect(Collectors.toList());
    assertEquals(LongStream.range(0, 5).boxed().collect(Collectors.toList()), seen);
  }

  @Test
  void threadEndsWhileStoppingDriverDoesNotReply() throws Exception {
    FaultCounter faults = new FaultCounter("test");
    AtomicReference<Thread> asking = new AtomicReference<>();
    DriverRpcClient driverRpc =
        new DriverRpcClient(
            message -> {
              asking.set(Thread.currentThread());
              new CountDownLatch(1).await();
              return LINE;
            },
            faults);
    driverRpc.start();
    await("a call", () -> asking.get() != null);

    driverRpc.stop();

    asking.get().join(60_000);
    assertFalse(asking.get().isAlive());
  }
}
