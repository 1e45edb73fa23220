"""A PySpark job of about 30 reports over tables in the style of TPC-H, for the tests of display names.

Run by ``make.py`` as ``spark-submit reports.py FOLDER`` on Spark 3.3 to 4.x, and with ``SPARK_REMOTE`` as a client of
Spark Connect. Reports that an environment cannot run (Python functions, RDDs) are skipped and named on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession, functions
from pyspark.sql.types import StringType

REPORTS = {
    "cte": "WITH revenue AS (SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS amount FROM lineitem "
    "GROUP BY l_orderkey) SELECT o_orderpriority, avg(amount) FROM revenue JOIN orders ON l_orderkey = o_orderkey "
    "GROUP BY o_orderpriority",
    "merge join": "SELECT /*+ MERGE(orders) */ c_name, sum(o_totalprice) AS total FROM customer "
    "JOIN orders ON c_custkey = o_custkey GROUP BY c_name ORDER BY total DESC LIMIT 10",
    "broadcast join": "SELECT /*+ BROADCAST(nation) */ n_name, count(*) FROM customer "
    "JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name",
    "outer join": "SELECT c_custkey, count(o_orderkey) FROM customer LEFT JOIN orders ON c_custkey = o_custkey "
    "AND o_totalprice > 100 GROUP BY c_custkey",
    "self join": "SELECT a.o_custkey, count(*) FROM orders a JOIN orders b ON a.o_custkey = b.o_custkey "
    "AND a.o_orderkey < b.o_orderkey GROUP BY a.o_custkey",
    "union": "SELECT o_custkey AS key FROM orders UNION ALL SELECT l_suppkey FROM lineitem WHERE l_quantity > 45",
    "union distinct": "SELECT c_nationkey FROM customer UNION SELECT n_nationkey FROM nation",
    "distinct": "SELECT DISTINCT l_returnflag, l_linestatus FROM lineitem",
    "rollup": "SELECT n_name, c_segment, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey "
    "GROUP BY ROLLUP (n_name, c_segment)",
    "exists": "SELECT o_orderpriority, count(*) FROM orders WHERE EXISTS (SELECT 1 FROM lineitem "
    "WHERE l_orderkey = o_orderkey AND l_quantity > 40) GROUP BY o_orderpriority",
    "not exists": "SELECT count(*) FROM customer WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)",
    "not in": "SELECT count(*) FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders)",
    "intersect": "SELECT c_custkey FROM customer INTERSECT SELECT o_custkey FROM orders",
    "except": "SELECT c_custkey FROM customer EXCEPT SELECT o_custkey FROM orders",
    "count distinct": "SELECT o_orderpriority, count(DISTINCT o_custkey) FROM orders GROUP BY o_orderpriority",
    "window": "SELECT o_custkey, o_orderkey, sum(o_totalprice) OVER (PARTITION BY o_custkey ORDER BY o_orderkey) "
    "FROM orders",
    "explode": "SELECT word, count(*) FROM (SELECT explode(split(c_name, ' ')) AS word FROM customer) GROUP BY word",
    "sort": "SELECT * FROM lineitem ORDER BY l_extendedprice DESC",
    "sort limit": "SELECT * FROM lineitem ORDER BY l_extendedprice DESC LIMIT 5",
    "scalar subquery": "SELECT count(*) FROM orders WHERE o_totalprice > (SELECT avg(o_totalprice) FROM orders)",
    "range join": "SELECT count(*) FROM nation a JOIN nation b ON a.n_nationkey < b.n_nationkey",
}


def create_tables(spark: SparkSession, folder: Path) -> None:
    rows: dict[str, tuple[int, list[str]]] = {
        "customer": (60, ["id AS c_custkey", "concat('customer ', id) AS c_name", "id % 5 AS c_nationkey",
                          "if(id % 2 = 0, 'retail', 'trade') AS c_segment"]),
        "nation": (5, ["id AS n_nationkey", "concat('nation ', id) AS n_name"]),
        "orders": (300, ["id AS o_orderkey", "if(id < 200, 7, id % 50) AS o_custkey", "id * 10.0D AS o_totalprice",
                         "concat(id % 3, '-URGENT') AS o_orderpriority"]),
        "lineitem": (900, ["id % 300 AS l_orderkey", "id % 20 AS l_suppkey", "id % 50 AS l_quantity",
                           "id * 1.5D AS l_extendedprice", "0.1D AS l_discount",
                           "if(id % 2 = 0, 'A', 'R') AS l_returnflag", "'F' AS l_linestatus"]),
    }  # fmt: skip
    for table, (number, columns) in rows.items():
        writer = spark.range(0, number, 1, 2).selectExpr(*columns).write.mode("overwrite")
        if table in ("customer", "nation"):
            writer.parquet(f"{folder}/data/{table}")
            spark.read.parquet(f"{folder}/data/{table}").createOrReplaceTempView(table)
        else:
            writer.saveAsTable(table)


def reports(spark: SparkSession, folder: Path) -> None:
    for report in REPORTS.values():
        spark.sql(report).collect()


def skewed_join(spark: SparkSession, folder: Path) -> None:
    """Join with a skewed key: adaptive execution splits the partition of customer 7 and merges the small ones."""
    settings = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1k",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1k",
        "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "2",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    orders = spark.table("orders").repartition(4)
    orders.join(spark.table("customer"), functions.expr("o_custkey = c_custkey")).selectExpr("c_name").count()
    for key in settings:
        spark.conf.unset(key)


def cached_table(spark: SparkSession, folder: Path) -> None:
    spark.sql("CACHE TABLE busy AS SELECT o_custkey, count(*) AS n FROM orders GROUP BY o_custkey")
    spark.sql("SELECT max(n) FROM busy").collect()
    spark.sql("SELECT c_name, n FROM busy JOIN customer ON o_custkey = c_custkey").collect()
    spark.sql("UNCACHE TABLE busy")
    recent = spark.table("lineitem").where("l_quantity > 10").cache()
    recent.count()
    recent.groupBy("l_suppkey").count().collect()
    recent.unpersist()


def writes(spark: SparkSession, folder: Path) -> None:
    spark.sql("CREATE TABLE sales (amount DOUBLE, priority STRING) USING parquet PARTITIONED BY (priority)")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.sql(
        "INSERT OVERWRITE TABLE sales PARTITION (priority) "
        "SELECT sum(l_extendedprice), o_orderpriority FROM lineitem JOIN orders ON l_orderkey = o_orderkey "
        "GROUP BY o_orderpriority"
    )
    spark.sql("CREATE TABLE top_orders USING parquet AS SELECT * FROM orders WHERE o_totalprice > 2000")
    sales = spark.table("sales")
    sales.write.mode("overwrite").partitionBy("priority").parquet(f"{folder}/out/sales_by_priority")
    sales.repartition(2).write.mode("overwrite").option("header", True).csv(f"{folder}/out/sales.csv")
    spark.table("lineitem").orderBy("l_orderkey").write.format("noop").mode("overwrite").save()
    spark.read.option("header", True).option("inferSchema", True).csv(f"{folder}/out/sales.csv").count()


def actions(spark: SparkSession, folder: Path) -> None:
    spark.table("orders").show(3)
    spark.table("orders").head()
    spark.table("orders").describe("o_totalprice").collect()
    spark.createDataFrame([(1, "a"), (2, "b")], "id INT, name STRING").count()
    spark.range(1000).selectExpr("id % 7 AS k").groupBy("k").count().collect()


def python_function(spark: SparkSession, folder: Path) -> None:
    initial = functions.udf(lambda name: name[:1], StringType())
    spark.table("customer").select(initial("c_name").alias("initial")).groupBy("initial").count().collect()


def pandas_function(spark: SparkSession, folder: Path) -> None:
    import pandas as pd

    def with_tax(price):
        return price * 1.2

    with_tax.__annotations__ = {"price": pd.Series, "return": pd.Series}
    taxed = functions.pandas_udf(with_tax, "double")
    spark.table("lineitem").select(taxed("l_extendedprice").alias("taxed")).agg(functions.sum("taxed")).collect()


def rdds(spark: SparkSession, folder: Path) -> None:
    context = spark.sparkContext
    words = context.textFile(f"{folder}/out/sales.csv").flatMap(lambda line: line.split(","))
    words.map(lambda word: (word, 1)).reduceByKey(lambda a, b: a + b).sortByKey().collect()
    spark.table("orders").rdd.map(lambda row: row.o_custkey).distinct().count()


def streams(spark: SparkSession, folder: Path) -> None:
    schema = spark.read.parquet(f"{folder}/data/customer").schema
    customers = spark.readStream.schema(schema).parquet(f"{folder}/data/customer")
    for sink in ("parquet", "memory", "console", "noop"):
        stream = customers.writeStream.format(sink).trigger(availableNow=True)
        stream = stream.option("checkpointLocation", f"{folder}/checkpoint/{sink}")
        if sink == "memory":
            stream = stream.queryName("customers_in_memory")
        (stream.start(f"{folder}/out/streamed") if sink == "parquet" else stream.start()).awaitTermination()


def failed_query(spark: SparkSession, folder: Path) -> None:
    try:
        spark.sql("SELECT o_custkey, sum(assert_true(o_totalprice < 1000)) FROM orders GROUP BY o_custkey").collect()
    except Exception as error:  # the class differs between versions and between classic and Connect
        print("the query failed as it should:", str(error)[:60], file=sys.stderr)


def main(folder: Path) -> None:
    spark = SparkSession.builder.appName("reports").getOrCreate()
    create_tables(spark, folder)
    parts: list[Callable[[SparkSession, Path], None]] = [
        reports, skewed_join, cached_table, writes, actions, python_function, pandas_function, rdds, streams,
        failed_query,
    ]  # fmt: skip
    for part in parts:
        try:
            part(spark, folder)
        except Exception as error:
            print(f"skipped the rest of {part.__name__}: {error!r:.200}", file=sys.stderr)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
