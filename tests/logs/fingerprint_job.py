"""Runs one small query in several applications: ``fingerprint_job.py FOLDER [VARIANT…]``.

Each application has the name of its variant; ``VARIANTS`` lists what each variant changes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the tests import the variants in an environment without Spark
    from pyspark.sql import DataFrame, SparkSession

ORDERS, CUSTOMERS, PRODUCTS = 20_000, 50, 400
# A limit between the shuffled sizes of the two tables: only the first join becomes a broadcast join.
ONE_BROADCAST = {"spark.sql.adaptive.autoBroadcastJoinThreshold": "4k"}
VARIANTS: dict[str, dict[str, str]] = {
    # Variants with the same fingerprints.
    "first": {},
    "again": {},
    "other-ids": {"jobs before": "3"},
    "more-partitions": {"spark.sql.shuffle.partitions": "7"},
    "fewer-partitions": {"spark.sql.shuffle.partitions": "2"},
    "coalesced": {"spark.sql.adaptive.coalescePartitions.enabled": "true"},
    "replanned": ONE_BROADCAST,
    "other-date": {"day": "2024-06-17"},
    "other-literal": {"least": "7"},
    "other-text": {"segment": "office"},
    # Variants with other fingerprints.
    "other-join": {"how": "left"},
    "other-key": {"key": "second_product"},
    "other-filter": {"filtered": "product"},
    "one-filter-more": {"more": "1"},
    "hinted": {"hint": "1"},
}
SAME = tuple(VARIANTS)[: tuple(VARIANTS).index("other-join")]


def inputs(spark: SparkSession, folder: Path) -> None:
    """Write the tables; there is one table of orders for each day."""
    from pyspark.sql import functions as F  # noqa: N812  Spark's own name for it

    for day in {settings.get("day", "2024-05-01") for settings in VARIANTS.values()}:
        orders = spark.range(ORDERS).select(
            (F.col("id") % CUSTOMERS).alias("customer"),
            (F.col("id") % PRODUCTS).alias("product"),
            (F.col("id") % 7).alias("second_product"),
            (F.col("id") % 31).alias("amount"),
            F.lit(day).alias("day"),
        )
        orders.write.parquet(str(folder / day / "orders"))
    customers = spark.range(CUSTOMERS).select(
        F.col("id").alias("customer"), F.when(F.col("id") % 3 == 0, "office").otherwise("home").alias("segment")
    )
    customers.write.parquet(str(folder / "customers"))
    products = spark.range(PRODUCTS).select(F.col("id").alias("product"), F.sha2(F.col("id").cast("string"), 512))
    products.toDF("product", "label").write.parquet(str(folder / "products"))


def query(spark: SparkSession, folder: Path, settings: dict[str, str]) -> DataFrame:
    """Return a query that counts the orders of a day by customer segment."""
    from pyspark.sql import functions as F  # noqa: N812

    day, least = settings.get("day", "2024-05-01"), int(settings.get("least", "5"))
    orders = spark.read.parquet(str(folder / day / "orders")).where(F.col("day") == day)
    orders = orders.where(F.col(settings.get("filtered", "amount")) > least)
    if "more" in settings:
        orders = orders.where(F.col("product") < 390)
    customers = spark.read.parquet(str(folder / "customers"))
    customers = customers.where(F.col("segment") != settings.get("segment", "garden"))
    products = spark.read.parquet(str(folder / "products"))
    if "hint" in settings:
        products = F.broadcast(products)
    key = settings.get("key", "product")
    joined = orders.join(customers, "customer").join(
        products.withColumnRenamed("product", "listed"), F.col(key) == F.col("listed"), settings.get("how", "inner")
    )
    return joined.groupBy("segment").agg(F.max("label"), F.count("*")).orderBy("segment")


def main() -> None:
    """Run the variants, each as an application."""
    from pyspark.sql import SparkSession

    folder = Path(sys.argv[1])
    for place, name in enumerate(sys.argv[2:] or VARIANTS):
        settings = VARIANTS[name]
        builder = SparkSession.builder.appName(name)
        for key, value in settings.items():
            if key.startswith("spark."):
                builder = builder.config(key, value)
        spark = builder.getOrCreate()
        if place == 0:
            inputs(spark, folder)
        for number in range(int(settings.get("jobs before", "0"))):
            spark.range(10 + number).count()
        query(spark, folder, settings).collect()
        spark.stop()


if __name__ == "__main__":
    main()
