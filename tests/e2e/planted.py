"""The secrets that the canary carries, each where people put them."""

import re
from collections.abc import Mapping

# Where the job's own code has them; what its configuration holds stands in CONFIGURATION.
IN_CODE = {
    "application name": "cnryAppName8f3K2",
    "job description": "cnryJobDescr7Qx1",
    "job group": "cnryJobGroup4Zt9",
    "call site": "cnryCallSite2Wm6",
    "SQL literal": "cnrySqlLiteral5Rb3",
    "card in SQL": "4111-1111-1111-1111",
    "card number in a description": "4012888888881881",
    "user info of an address": "cnryUserInfo9Lp4",
    "bearer in an exception": "cnryBearerText3Jh7",
    "AWS key in an exception": "AKIACNRYAWSKEY123456",
    "JWT in an exception": "eyJjbnJ5SldUaGVhZGVy.eyJjbnJ5SldUYm9keTEy.c2lnbmF0dXJl",
    "PEM in an exception": "cnryPemBody6Vd8MIIEvQIBADANBg",
    "password in an exception": "cnryExcPassword1Ng5",
    "JDBC address": "cnryJdbcAddress0Ks2",
    "JDBC option": "cnryJdbcOption8Fy6",
    "description of a job that hangs": "cnryHangDescr3Uc9",
}
CONFIGURATION = {
    "spark.hadoop.fs.s3a.secret.key": "cnryS3aSecret2Bx7",
    "spark.hadoop.fs.azure.account.key.acct.dfs.core.windows.net": "cnryAzureKey5Tq1==",
    "spark.my.service.api_key": "cnryApiKey9Mw3",
    "spark.my.service.apikey": "cnryApikey4Hs8",
    "spark.ssl.keyPassword": "cnryKeyPassword6Ea2",
    "spark.my.passphrase": "cnryPassphrase1Dk5",
    "spark.my.pwd": "cnryPwd7Yr4",
    "spark.my.credential.value": "cnryCredential3Pz6",
    "spark.my.jaas": 'ScramLoginModule required username="u" password="cnryJaas8Cn9";',
    "spark.my.jdbc": "jdbc:sqlserver://db;user=u;pwd=cnryJdbcPwd2Xv1",
    "spark.executorEnv.AUTHORIZATION": "Bearer cnryExecutorEnv5Gt7",
    # Keys that pass by name, with a secret in their value all the same.
    "spark.openlineage.parentJobName": "dag?token=cnryParentJob4Lf3",
    "spark.sparkfuse.owner": "ask me, password=cnryOwner6Rj8",
    "spark.yarn.queue": "etl secret=cnryQueue1Ok2",
}
IN_CONFIGURATION = {key: re.findall(r"cnry\w+", value)[0] for key, value in CONFIGURATION.items()}
PLANTED: Mapping[str, str] = {**IN_CODE, **IN_CONFIGURATION}
