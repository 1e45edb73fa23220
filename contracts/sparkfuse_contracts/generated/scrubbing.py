"""Generated from contracts/shared/scrubbing.yaml; do not edit."""

from typing import NamedTuple

MOST_BYTES = 2048
MOST_CHARS = 4096
MOST_SEARCHED = 65536
FRAMES_KEPT = 2
FRAME_ALWAYS_KEPT = "PythonRunner"

class Step(NamedTuple):
    name: str
    reason: str
    texts: str
    pattern: str
    replacement: str


STEPS = (
    Step(
        name="private_key",
        reason="A private key in PEM, PGP or SSH2 format.",
        texts="all",
        pattern="-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}[\\s\\S]*?(?:-{4,5} ?END[^\\n]*|(?![\\s\\S]))",
        replacement="***",
    ),
    Step(
        name="user_info",
        reason="User and password in an address: first without slashes, then with them. Spark writes three dots where it cut an address.",
        texts="all",
        pattern="(://)(?:[^/\\s@'\"]{1,2000}+(?:@[^/\\s@'\",;&=?#]{1,200}+(?=@)){0,3}+@|[^/\\s@'\":\\[;?#,]{0,200}+:(?!//|[0-9]{1,5}(?![\\w@%$~+*&=^-]))[^\\s@'\"]{1,4096}+(?:@|(?<=\\.\\.\\.)|(?<=\\.\\.\\.[,;)\\]])))",
        replacement="$1***@",
    ),
    Step(
        name="user_info_cut",
        reason="The last address of a text that was cut, before the missing @. In a complete text the same form is bucket:v1 or registry:latest.",
        texts="cut",
        pattern="(://)[^/\\s@'\":\\[;?#,]{0,200}+:(?!//|[0-9]{1,5}(?![\\w@%$~+*&=^-]))[^\\s@'\"]{1,4096}+(?![\\s\\S])",
        replacement="$1***@",
    ),
    Step(
        name="oracle_user",
        reason="User and password of Oracle's thin and native drivers.",
        texts="all",
        pattern="(?i)(jdbc:oracle:\\w{1,10}:)(?:\"[^\"\\n]{0,200}+\"|[^\\s\"'/@]{0,200}+)/(?:\"[^\"\\n]{0,2000}+\"?|[^\\s\"'@]{0,2000}+(?:@[^\\s@'\",;&=?#/:(]{1,200}+(?=@)){0,3}+)@?",
        replacement="$1***@",
    ),
    Step(
        name="scheme_value",
        reason="An authorization header.",
        texts="all",
        pattern="(?i)(?<!\\w)(bearer|basic)\\s+[A-Za-z0-9._~+/=-]{8,}",
        replacement="$1 ***",
    ),
    Step(
        name="named_value",
        reason="A value after a name of a secret. \"pass\" and \"pw\" match only as whole words, also in DB_PASS, dbPass and dbpass: not passed, bypass, passthrough and \"pass: 2 of 3\", which counts. A keyword of SQL is no value (\"pass = AND grade >\" has lost its literals), nor is the body of a lambda (token -> upper(token)).",
        texts="all",
        pattern="(?i)(((?:passw(?:or)?d|pwd|passphrase|passcode|secret|token|credentials?|api[ _.-]?key|access[ _.-]?key|account[ _.-]?key|(?<!\\w)sig|(?<!\\w)sas|(?:(?<![a-z])|(?-i:(?<=[a-z])(?=P))|(?:admin|cert|db|ftp|http|jdbc|key|ldap|mail|my|mysql|pg|proxy|root|smtp|sql|ssh|ssl|store|user))p(?:ass|w)(?![\\w.-]|\\s{0,3}:\\s{0,3}[0-9]{1,3}(?:/[0-9]{1,3})?[.,;)\\]]?(?:\\s|(?![\\s\\S]))))[\\w.-]{0,40})(?:\\\\{0,4}[\"'])?\\s{0,3}(?:={1,3}+(?!>)|:=?+|[-=]{1,2}>(?!\\s{0,3}(?:\\w{0,40}+\\(){0,4}+\\2(?![\\w-])))\\s{0,3}+(?!(?:and|asc|between|desc|else|end|in|inset|is|isnotnull|like|not|null|or|order|then|when|where)(?:[\\s,;)\\]]|(?![\\s\\S]))))(\\\\{1,4}\"[^\"]*\"?|\\\\{1,4}'[^']*'?|\"(?:[^\"\\\\]|\\\\[\\s\\S]|\"\")*+\"?|'(?:[^'\\\\]|\\\\[\\s\\S]|'')*+'?|[^\\s\"',;&)}]+)",
        replacement="$1***",
    ),
    Step(
        name="aws_secret",
        reason="A secret key of AWS, which has no shape except its length.",
        texts="all",
        pattern="(?i)((?:secret|access[ _.-]?key)[\\w.-]{0,40}\\W{1,6}(?:is\\W{1,3})?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])={0,2}",
        replacement="$1***",
    ),
    Step(
        name="aws_secret_cut",
        reason="A secret key that was cut. It contains a digit and is not part of a path or table name.",
        texts="cut",
        pattern="(?i)((?:secret|access[ _.-]?key)[\\w.-]{0,40}[^\\w./]{1,6}(?:is[^\\w./]{1,3})?)(?=[A-Za-z/+]{0,38}[0-9])[A-Za-z0-9/+]{16,39}(?![\\s\\S])",
        replacement="$1***",
    ),
    Step(
        name="known_shape",
        reason="Key ids of AWS, and JSON Web Tokens.",
        texts="all",
        pattern="(?<!\\w)(?:(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\\w-]{10,}\\.[\\w.-]{10,})",
        replacement="***",
    ),
    Step(
        name="literal",
        reason="A literal as Spark parses it: single or double quotes, backslash escapes except in r'...', doubled quotes. An apostrophe of prose does not open a literal. After a lower-case n or e it can be both (n'est pas, n'text'), so the rest of the text is removed.",
        texts="query",
        pattern="(?i)(?!(?<=[^\\x00-@\\[-`{-\\x7f])(?<!(?<!\\w)r)(?<!(?<!\\w)n)(?<!(?<!\\w)e)(?<!(?<!\\w)and)(?<!(?<!\\w)any)(?<!(?<!\\w)as)(?<!(?<!\\w)between)(?<!(?<!\\w)both)(?<!(?<!\\w)by)(?<!(?<!\\w)collate)(?<!(?<!\\w)distinct)(?<!(?<!\\w)else)(?<!(?<!\\w)escape)(?<!(?<!\\w)for)(?<!(?<!\\w)from)(?<!(?<!\\w)glob)(?<!(?<!\\w)having)(?<!(?<!\\w)if)(?<!(?<!\\w)ilike)(?<!(?<!\\w)in)(?<!(?<!\\w)into)(?<!(?<!\\w)is)(?<!(?<!\\w)leading)(?<!(?<!\\w)like)(?<!(?<!\\w)not)(?<!(?<!\\w)of)(?<!(?<!\\w)on)(?<!(?<!\\w)or)(?<!(?<!\\w)placing)(?<!(?<!\\w)regexp)(?<!(?<!\\w)return)(?<!(?<!\\w)rlike)(?<!(?<!\\w)select)(?<!(?<!\\w)then)(?<!(?<!\\w)to)(?<!(?<!\\w)trailing)(?<!(?<!\\w)using)(?<!(?<!\\w)values)(?<!(?<!\\w)when)(?<!(?<!\\w)where)(?<!(?<!\\w)with)(?<!(?<!\\w)xor)'(?:s(?![\\w'])|(?<!(?<!\\w)b')(?<!(?<!\\w)x')(?<!(?<!\\w)binary')(?<!(?<!\\w)case')(?<!(?<!\\w)comment')(?<!(?<!\\w)date')(?<!(?<!\\w)default')(?<!(?<!\\w)interval')(?<!(?<!\\w)location')(?<!(?<!\\w)time')(?<!(?<!\\w)timestamp')(?<!(?<!\\w)timestamp_ltz')(?<!(?<!\\w)timestamp_ntz')(?<!(?<!\\w)zone')(?:(?=[^\\x00-@\\[-`{-\\x7f])[^\\x00-/:-@\\[-^`{-\\x7f]++(?!')|(?<=s')(?:[\\s,.;:!)]|(?![\\s\\S])))))(['\"])(?:(?<=(?<!\\w)r['\"])(?:(?!\\1)[\\s\\S])*+(?:\\1|(?![\\s\\S]))|(?<=(?<!\\w)(?-i:[en])')(?=[^\\x00-@\\[-`{-\\x7f])[\\s\\S]++|(?:(?<=escape ')|(?<=escape'))\\\\'|(?:[^'\"\\\\]|\\\\[\\s\\S]|\\1\\1|(?!\\1)['\"])*+(?:\\1|\\\\?(?![\\s\\S])))",
        replacement="$1?$1",
    ),
    Step(
        name="long_number",
        reason="A number as long as that of a card.",
        texts="query",
        pattern="(?<!\\w)[0-9][0-9 -]{10,}(?<=[0-9])",
        replacement="?",
    ),
)
