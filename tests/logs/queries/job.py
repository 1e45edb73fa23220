"""A PySpark job of about 30 queries over small tables in the style of TPC-H, for the tests of display names.

Run by ``make.py`` as ``spark-submit job.py FOLDER``. Each function below is one unit of work of a user's job: joins,
aggregates, windows, unions, subqueries, UDFs, writes, cached tables, streams and RDDs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window, functions
from pyspark.sql.types import LongType, StringType


def create_tables(spark: SparkSession, folder: Path) -> None:
    lineitem = spark.range(4000, numPartitions=3).select(
        (functions.col("id") % 1000).alias("l_orderkey"),
        (functions.col("id") % 50).alias("l_partkey"),
        (functions.col("id") % 50).cast("double").alias("l_quantity"),
        (functions.col("id") * 1.5).alias("l_extendedprice"),
        functions.when(functions.col("id") % 2 == 0, "A").otherwise("R").alias("l_returnflag"),
    )
    lineitem.write.mode("overwrite").parquet(f"{folder}/data/lineitem")
    spark.range(1000).selectExpr("id AS o_orderkey", "id % 100 AS o_custkey", "id * 10.0 AS o_totalprice").write.mode(
        "overwrite"
    ).saveAsTable("orders")
    spark.range(50).selectExpr("id AS p_partkey", "concat('part ', id) AS p_name").write.mode("overwrite").saveAsTable(
        "part"
    )
    spark.range(100).selectExpr(
        "id AS c_custkey", "concat('customer ', id) AS c_name", "id % 5 AS c_nationkey"
    ).write.mode("overwrite").option("header", True).csv(f"{folder}/data/customer")
    spark.read.parquet(f"{folder}/data/lineitem").createOrReplaceTempView("lineitem")
    spark.read.csv(f"{folder}/data/customer", header=True).createOrReplaceTempView("customer")


def pricing_summary(spark: SparkSession) -> None:
    spark.sql(
        "SELECT l_returnflag, sum(l_quantity), avg(l_extendedprice), count(*) FROM lineitem "
        "WHERE l_quantity < 45 GROUP BY l_returnflag ORDER BY l_returnflag"
    ).collect()


def join_parts(spark: SparkSession) -> None:
    spark.sql(
        "SELECT p_name, sum(l_quantity) FROM lineitem JOIN part ON l_partkey = p_partkey GROUP BY p_name"
    ).collect()


def sort_merge_join(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.sql(
        "SELECT o_custkey, sum(l_quantity) q FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY o_custkey"
    ).collect()
    spark.sql(
        "SELECT c_name, sum(l_extendedprice) FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
        "JOIN customer ON o_custkey = c_custkey JOIN part ON l_partkey = p_partkey "
        "GROUP BY c_name ORDER BY 2 DESC LIMIT 10"
    ).collect()
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10485760")


def five_tables(spark: SparkSession) -> None:
    spark.sql(
        "SELECT c_name, p_name, count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
        "JOIN customer ON o_custkey = c_custkey JOIN part ON l_partkey = p_partkey "
        "JOIN (SELECT 3 AS n UNION ALL SELECT 4) nation ON c_nationkey = n GROUP BY c_name, p_name"
    ).count()


def windows(spark: SparkSession) -> None:
    latest = Window.partitionBy("o_custkey").orderBy(functions.desc("o_totalprice"))
    ranked = spark.table("orders").withColumn("rank", functions.row_number().over(latest)).where("rank <= 3")
    ranked.agg(functions.sum("o_totalprice")).collect()


def union_and_distinct(spark: SparkSession) -> None:
    spark.sql("SELECT o_custkey FROM orders UNION SELECT CAST(c_custkey AS BIGINT) FROM customer").count()


def scalar_subquery(spark: SparkSession) -> None:
    spark.sql("SELECT count(*) FROM orders WHERE o_totalprice > (SELECT avg(o_totalprice) FROM orders)").collect()


def semi_and_anti_join(spark: SparkSession) -> None:
    spark.sql(
        "SELECT count(*) FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem WHERE l_quantity > 40)"
    ).collect()
    spark.sql(
        "SELECT count(*) FROM customer WHERE NOT EXISTS "
        "(SELECT 1 FROM orders WHERE o_custkey = c_custkey AND o_totalprice > 500)"
    ).collect()


def cross_join(spark: SparkSession) -> None:
    spark.table("part").crossJoin(spark.table("customer").limit(5)).count()


def python_udf(spark: SparkSession) -> None:
    upper = functions.udf(lambda text: text.upper(), StringType())
    spark.table("customer").select(upper("c_name").alias("name")).groupBy("name").count().collect()


def pandas_functions(spark: SparkSession) -> None:
    import pandas as pd

    def plus_one(values):
        return values + 1

    plus_one.__annotations__ = {"values": pd.Series, "return": pd.Series}
    plus_one = functions.pandas_udf(plus_one, LongType())

    def keep(frames):
        yield from frames

    orders = spark.table("orders")
    orders.select(plus_one("o_orderkey")).agg(functions.max("plus_one(o_orderkey)")).collect()
    orders.mapInPandas(keep, orders.schema).count()
    orders.groupBy("o_custkey").applyInPandas(lambda frame: frame, orders.schema).count()


def cached_table(spark: SparkSession) -> None:
    busy = spark.sql("SELECT o_custkey, count(*) n FROM orders GROUP BY o_custkey").cache()
    busy.count()
    busy.where("n > 5").join(spark.table("customer"), functions.col("o_custkey") == functions.col("c_custkey")).count()
    busy.unpersist()


def write_files(spark: SparkSession, folder: Path) -> None:
    joined = spark.table("orders").join(spark.table("customer"), functions.expr("o_custkey = c_custkey"))
    joined.write.mode("overwrite").partitionBy("c_nationkey").parquet(f"{folder}/out/orders")
    joined.repartition(2, "c_name").sortWithinPartitions("o_orderkey").write.mode("overwrite").json(
        f"{folder}/out/nightly"
    )
    spark.sql("CREATE TABLE IF NOT EXISTS busy_customers (o_custkey BIGINT, n BIGINT) USING parquet")
    spark.sql("INSERT INTO busy_customers SELECT o_custkey, count(*) FROM orders GROUP BY o_custkey")
    joined.write.format("noop").mode("overwrite").save()


def view_and_show(spark: SparkSession) -> None:
    spark.sql("SELECT 1 AS one").createOrReplaceTempView("one")
    spark.table("orders").orderBy(functions.desc("o_totalprice")).show(3)
    spark.sql("SHOW TABLES").collect()
    spark.sql("ANALYZE TABLE orders COMPUTE STATISTICS")


def described(spark: SparkSession) -> None:
    spark.sparkContext.setJobDescription("nightly reconciliation of orders")
    spark.sql("SELECT max(o_totalprice) FROM orders").collect()
    spark.sparkContext.setJobDescription(None)


def generated_rows(spark: SparkSession) -> None:
    spark.range(100_000).selectExpr("id % 7 AS k").groupBy("k").count().collect()
    spark.createDataFrame([(1, "a"), (2, "b")], "id INT, name STRING").repartition(2).count()


def exploded(spark: SparkSession) -> None:
    spark.table("part").select(functions.explode(functions.split("p_name", " ")).alias("word")).groupBy(
        "word"
    ).count().collect()
    spark.table("lineitem").groupBy().pivot("l_returnflag").sum("l_quantity").collect()  # noqa: PD010  no pandas
    spark.table("lineitem").rollup("l_returnflag", "l_partkey").agg(functions.countDistinct("l_orderkey")).collect()


def rdd_jobs(spark: SparkSession, folder: Path) -> None:
    context = spark.sparkContext
    context.textFile(f"{folder}/data/customer").flatMap(lambda line: line.split(",")).map(
        lambda word: (word, 1)
    ).reduceByKey(lambda a, b: a + b).count()
    pairs = context.parallelize(range(1000), 3).map(lambda n: (n % 10, n))
    pairs.groupByKey().mapValues(len).sortByKey().collect()
    spark.table("orders").rdd.map(lambda row: row.o_custkey).distinct().count()


def stream(spark: SparkSession, folder: Path) -> None:
    rates = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).load()
    counts = rates.groupBy((functions.col("value") % 3).alias("k")).count()
    query = (
        counts.writeStream.outputMode("complete")
        .format("memory")
        .queryName("counted")
        .trigger(processingTime="1 second")
        .start()
    )
    while not query.lastProgress or query.lastProgress["batchId"] < 1:
        query.awaitTermination(1)
    query.stop()
    schema = spark.read.parquet(f"{folder}/data/lineitem").schema
    files = spark.readStream.schema(schema).parquet(f"{folder}/data/lineitem")
    files.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint").trigger(
        availableNow=True
    ).start(f"{folder}/out/streamed").awaitTermination()


def each_batch(spark: SparkSession, folder: Path) -> None:
    def save(batch: DataFrame, number: int) -> None:
        batch.write.mode("append").parquet(f"{folder}/out/batches")

    schema = spark.read.parquet(f"{folder}/data/lineitem").schema
    files = spark.readStream.schema(schema).parquet(f"{folder}/data/lineitem")
    files.writeStream.foreachBatch(save).option("checkpointLocation", f"{folder}/checkpoint-each").trigger(
        availableNow=True
    ).start().awaitTermination()


def main(folder: Path) -> None:
    spark = SparkSession.builder.appName("named-queries").getOrCreate()
    create_tables(spark, folder)
    pricing_summary(spark)
    join_parts(spark)
    sort_merge_join(spark)
    five_tables(spark)
    windows(spark)
    union_and_distinct(spark)
    scalar_subquery(spark)
    semi_and_anti_join(spark)
    cross_join(spark)
    python_udf(spark)
    try:
        pandas_functions(spark)
    except ImportError:
        print("pandas is not installed: the log has no pandas functions", file=sys.stderr)
    cached_table(spark)
    write_files(spark, folder)
    view_and_show(spark)
    described(spark)
    generated_rows(spark)
    exploded(spark)
    rdd_jobs(spark, folder)
    stream(spark, folder)
    each_batch(spark, folder)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
