package io.sparkfuse.windows;

/**
 * Refuses state whose meaning this release does not know.
 *
 * <p>A new optional field needs no new format. If an older release would compute wrong results from
 * the state of a newer one, the newer release increases {@link #NEWEST} and writes it into the
 * field {@code state_format}. State without the field has format 1.
 */
public final class StateFormat {
  static final int NEWEST = 1;

  private StateFormat() {}

  /** Throws IllegalStateException if a newer release wrote the state. */
  public static void require(int format) {
    if (format > NEWEST) {
      throw new IllegalStateException(
          "The saved state has format "
              + format
              + ", which is newer than this release, whose newest format is "
              + NEWEST);
    }
  }
}
