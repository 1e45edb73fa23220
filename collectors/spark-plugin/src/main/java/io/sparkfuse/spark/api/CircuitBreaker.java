package io.sparkfuse.spark.api;

import io.sparkfuse.spark.Fuse;
import io.sparkfuse.spark.blocks.BlockLimits;
import io.sparkfuse.spark.safety.PluginLog;
import java.time.Duration;
import java.util.UUID;

/**
 * A block of job code with limits. If a limit is exceeded, Sparkfuse cancels the jobs that this
 * thread started in the block; Spark's exception then contains the reason.
 *
 * <pre>{@code
 * try (CircuitBreaker block =
 *     CircuitBreaker.named("orders").maxTime(Duration.ofMinutes(5)).maxSpillBytes(1L << 30).open()) {
 *   orders.write().parquet(path);
 * }
 * }</pre>
 *
 * <p>Without the plugin the block has no limits and nothing fails.
 */
public final class CircuitBreaker implements AutoCloseable {
  /** The limits of a block that is not open yet. */
  public static final class Builder {
    private static final double CORE_MS_PER_HOUR = 3_600_000;
    private final StringBuilder tag;

    private Builder(String name) {
      String id = UUID.randomUUID().toString().replace("-", "").substring(0, 16);
      String plain = name.replaceAll("[^A-Za-z0-9_-]", "_");
      tag = new StringBuilder("sparkfuse-block.").append(id).append('.');
      tag.append(plain.isEmpty() ? "block" : plain.substring(0, Math.min(40, plain.length())));
    }

    /** Limits the time since the block was opened. */
    public Builder maxTime(Duration limit) {
      return add('t', limit.toMillis());
    }

    /** Limits the bytes spilled to disk. */
    public Builder maxSpillBytes(long limit) {
      return add('s', limit);
    }

    /** Limits the rows that Spark counts as written. */
    public Builder maxOutputRows(long limit) {
      return add('r', limit);
    }

    /**
     * Limits the cost, which is computed from the price of one core for an hour. Both arguments
     * have the same currency.
     */
    public Builder maxCost(double limit, double pricePerCoreHour) {
      if (!(pricePerCoreHour > 0)) {
        throw new IllegalArgumentException("the price must be positive: " + pricePerCoreHour);
      }
      return add('c', (long) (limit / pricePerCoreHour * CORE_MS_PER_HOUR));
    }

    private Builder add(char letter, long limit) {
      if (limit < 0) {
        throw new IllegalArgumentException("a limit must not be negative: " + limit);
      }
      tag.append('.').append(letter).append(limit);
      return this;
    }

    /** Begins the block on the calling thread. */
    public CircuitBreaker open() {
      return new CircuitBreaker(tag.toString());
    }
  }

  private final String tag;
  private final BlockLimits limits;

  private CircuitBreaker(String tag) {
    this.tag = tag;
    this.limits = Fuse.limits();
    if (limits == null) {
      PluginLog.warn("Sparkfuse: the plugin is absent or off, so a block has no limits");
    } else {
      limits.begin(tag);
    }
  }

  /**
   * Returns a builder for a block with this name. If the block is stopped, the reason contains the
   * name.
   */
  public static Builder named(String name) {
    return new Builder(name);
  }

  /** Returns the tag that the jobs of the block carry. */
  public String tag() {
    return tag;
  }

  /**
   * Begins a safe point. Sparkfuse does not stop the block until the safe point is closed or a time
   * limit has passed.
   */
  public SafePoint safePoint() {
    if (limits == null) {
      return () -> {};
    }
    limits.safePoint(tag, true);
    return () -> limits.safePoint(tag, false);
  }

  /** A part of a block that must not be stopped, such as a commit. */
  public interface SafePoint extends AutoCloseable {
    @Override
    void close();
  }

  /** Ends the block on the thread that opened it. */
  @Override
  public void close() {
    if (limits != null) {
      limits.end(tag);
    }
  }
}
