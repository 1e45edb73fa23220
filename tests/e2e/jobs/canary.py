"""A job with a secret in every place where users put secrets. Some of its tasks fail, and the last one hangs.

Usage: canary.py SECRETS.json. The secrets are read from a file, so that only the job contains them.
"""

import contextlib
import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession, functions

secret = json.loads(Path(sys.argv[1]).read_text())
spark = SparkSession.builder.appName(f"refresh orders token={secret['application name']}").getOrCreate()
context = spark.sparkContext


@functions.udf("int")
def fails(number):
    raise RuntimeError(
        f"cannot connect to https://reader:{secret['user info of an address']}@db.example/orders"
        f" with Authorization: Bearer {secret['bearer in an exception']}, key {secret['AWS key in an exception']},"
        f" jwt {secret['JWT in an exception']}, -----BEGIN PRIVATE KEY-----\n{secret['PEM in an exception']}\n"
        f"-----END PRIVATE KEY-----, password={secret['password in an exception']}"
    )


@functions.udf("int")
def fails_in_other_words(number):
    raise RuntimeError(
        f"login failed: user=etl pass={secret['pass in an exception']}, pwd: {secret['pwd in an exception']},"
        f' body {{\\"password\\": \\"{secret["JSON in an exception"]}\\"}},'
        f" Map(user -> etl, password -> {secret['map in an exception']}),"
        f" at jdbc:oracle:thin:scott/{secret['Oracle password']}@db.example:1521:orcl,"
        f" https://reader:{secret['password with a slash']}@db.example/orders,"
        f" the secret access key is {secret['AWS secret key']},"
        f" -----BEGIN PRIVATE KEY-----\n{secret['PEM without an end']}"
    )


@contextlib.contextmanager
def failing():
    try:
        yield
    except Exception as error:  # the test needs each failure; the job continues
        print("failed as it should:", type(error).__name__, flush=True)


context.setJobDescription(f"nightly refresh with password={secret['job description']}")
context.setJobGroup(f"orders api_key={secret['job group']}", "group")
spark.range(1000).repartition(4).count()

context.setLocalProperty("callSite.short", f"load secret={secret['call site']}")
context.parallelize(range(8), 2).count()
context.setLocalProperty("callSite.short", None)

spark.range(100).createOrReplaceTempView("orders")
spark.sql(
    f"SELECT count(*) FROM orders WHERE cast(id AS string) IN ('{secret['SQL literal']}', '{secret['card in SQL']}')"
).collect()
quoted = f"""SELECT count(*) FROM orders WHERE cast(id AS string) IN (
    "{secret["SQL literal in double quotes"]}", 'it\\'s {secret["SQL literal behind an escaped quote"]}',
    'a''{secret["SQL literal behind a doubled quote"]}', r'{secret["raw SQL literal"]}\\')"""
context.setJobDescription(quoted)  # as the Thrift server does with each statement
spark.sql(quoted).collect()
context.setJobDescription(f"Bob's SELECT * FROM orders WHERE name = '{secret['literal in a description that is cut']}")
spark.range(10).repartition(2).count()
context.setJobDescription(f"SELECT * FROM cards WHERE number = {secret['card number in a description']}")
spark.sql("SELECT sum(id) FROM orders GROUP BY id % 7").collect()

with failing():
    spark.range(4).select(fails("id")).collect()
with failing():
    spark.range(4).select(fails_in_other_words("id")).collect()
with failing():
    address = f"jdbc:postgresql://db.example/orders?user=etl&password={secret['JDBC address']}"
    spark.read.format("jdbc").options(url=address, dbtable="orders", password=secret["JDBC option"]).load().count()

context.setJobDescription(f"export access_key={secret['description of a job that hangs']}")


def hang(number):
    if number == 3:
        time.sleep(600)
    return number


context.parallelize(range(8), 2).map(hang).count()
