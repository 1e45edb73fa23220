package io.sparkfuse.spark.sampler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.sparkfuse.contracts.Fact;
import io.sparkfuse.spark.facts.FactSink;
import io.sparkfuse.spark.safety.FaultCounter;
import io.sparkfuse.spark.settings.PluginSettings;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class SamplerTest {
  private final AtomicReference<Sampler> sampler = new AtomicReference<>();
  private final CountDownLatch asked = new CountDownLatch(1);
  private final AtomicReference<Thread> thread = new AtomicReference<>();

  @Test
  void stopDuringSampleIsNotFault() throws Exception {
    FaultCounter faults = new FaultCounter("test");
    sampler.set(new Sampler(settings(), "1", this::stopWhileAsked, new Nowhere(), faults));

    sampler.get().start();

    assertTrue(asked.await(30, TimeUnit.SECONDS));
    thread.get().join(30_000);
    assertEquals(0, faults.count());
  }

  @Test
  void interruptWithoutStopIsFault() throws Exception {
    FaultCounter faults = new FaultCounter("test");
    CountDownLatch again = new CountDownLatch(3);
    sampler.set(
        new Sampler(
            settings(),
            "1",
            () -> {
              if (again.getCount() == 3) {
                Thread.currentThread().interrupt();
              }
              again.countDown();
              return "host";
            },
            new Nowhere(),
            faults));

    sampler.get().start();

    assertTrue(again.await(30, TimeUnit.SECONDS));
    sampler.get().stop();
    assertEquals(1, faults.count());
  }

  /**
   * Stops the sampler on the sampler's own thread, which is interrupted as if another thread had
   * called stop().
   */
  private String stopWhileAsked() {
    thread.set(Thread.currentThread());
    sampler.get().stop();
    asked.countDown();
    return "host";
  }

  private static PluginSettings settings() {
    return PluginSettings.of(
        new SparkConf(false)
            .set("spark.sparkfuse.kafka.bootstrap", "127.0.0.1:1")
            .set("spark.sparkfuse.sample.interval", "100ms"));
  }

  private static final class Nowhere implements FactSink {
    @Override
    public boolean ready() {
      return true;
    }

    @Override
    public void send(List<Fact.Builder> facts) {}
  }
}
