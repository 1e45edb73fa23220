/**
 * Blocks of job code with limits: which jobs carry the tag of a block, what they used, and what was
 * stopped. It needs no broker and no controller.
 */
package io.sparkfuse.spark.blocks;
