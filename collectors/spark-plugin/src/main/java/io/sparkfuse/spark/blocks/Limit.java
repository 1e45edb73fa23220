package io.sparkfuse.spark.blocks;

/** What a block may use. */
enum Limit {
  SECONDS('t', "max_seconds", "ms since the block began"),
  SPILL('s', "max_spill", "bytes spilled to disk"),
  OUTPUT_ROWS('r', "max_output_rows", "rows written"),
  COST('c', "max_cost", "core-ms used");

  /** Name of the limit in job code. */
  final String text;

  final String unit;
  private final char letter;

  Limit(char letter, String text, String unit) {
    this.letter = letter;
    this.text = text;
    this.unit = unit;
  }

  static Limit of(char letter) {
    for (Limit each : values()) {
      if (each.letter == letter) {
        return each;
      }
    }
    throw new IllegalArgumentException("there is no limit " + letter);
  }
}
