"""Defines the secrets of the canary job, each in a place where users put secrets."""

import re
from collections.abc import Mapping

# Secrets in the code of the job; those of its configuration are in CONFIGURATION.
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
    "SQL literal in double quotes": "cnryDoubleQuotes7Hd2",
    "SQL literal behind an escaped quote": "cnryEscapedQuote4Mv8",
    "SQL literal behind a doubled quote": "cnryTwiceQuoted6Xs3",
    "raw SQL literal": "cnryRawLiteral9Bt5",
    "literal in a description that is cut": "cnryCutLiteral3Ge6",
    "pass in an exception": "cnryExcPass3Lw7",
    "pwd in an exception": "cnryExcPwd8Ce1Ty4",
    "JSON in an exception": "cnryExcJson6Dn2",
    "map in an exception": "cnryExcMap1Fp9Kc3",
    "Oracle password": "cnryOraclePw5Jm9",
    "password with a slash": "cnrySlashPw2Tp/6Vn4",
    "AWS secret key": "cnryAwsSecret7HqK/9mPz3RtVx5Yb1Nc8LdFgJw",
    "PEM without an end": "cnryPemCut0Kr8MIIEvQIBADANBg",
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
    # Keys with an allowed name whose value contains a secret.
    "spark.openlineage.parentJobName": "dag?token=cnryParentJob4Lf3",
    "spark.sparkfuse.owner": "ask me, password=cnryOwner6Rj8",
    "spark.yarn.queue": "etl secret=cnryQueue1Ok2",
    # Settings are truncated at 512 characters, which is inside this password.
    "spark.openlineage.rootParentJobName": f"{'dag ' * 120}https://me:cnryCutUser4Yb{'0' * 40}@db.example",
}
IN_CONFIGURATION = {key: re.findall(r"cnry\w+", value)[0] for key, value in CONFIGURATION.items()}
PLANTED: Mapping[str, str] = {**IN_CODE, **IN_CONFIGURATION}
DISTINCT_CHARS = 12
# The first characters of a secret must not be found either, because a pattern may stop too early.
SOUGHT = {name: secret if secret[0].isdigit() else secret[:DISTINCT_CHARS] for name, secret in PLANTED.items()}
