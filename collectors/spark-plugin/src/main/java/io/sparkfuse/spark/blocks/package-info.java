/**
 * Enforces the limits of blocks of job code: finds the jobs that carry the tag of a block, counts
 * what they use, and cancels them. This package needs neither a broker nor the fuse controller.
 */
package io.sparkfuse.spark.blocks;
