"""Takes secrets out of free text, as the plugin's SecretScrubber does: the one scrubber of all that is Python.

Spark's own redaction leaves most of them in its event log. What is named here is masked whoever wrote the text.
"""

from __future__ import annotations

import re

MOST_BYTES = 2048
# Texts are cut to this before anything else is done with them, so that time and memory stay bounded.
MOST_CHARS = 2 * MOST_BYTES
# Of a longer text this much is looked at to leave out what explains least.
MOST_LOOKED_AT = 65_536
# Where it happened is in the first frames of a stack; the rest is Spark's own.
FRAMES_KEPT = 2
# And one that says who was at the other end of a socket: the cause is the worker's end, and not the network's.
PYTHON_RUNNER = "PythonRunner"
MASK = "***"
# The patterns are the plugin's, letter by letter. A secret without an end goes to the end of the text, because long
# texts are cut first. Repeats are bounded or give nothing back, so that a hostile text takes no time.
_PRIVATE_KEY = re.compile(
    r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}[\s\S]*?(?:-{4,5} ?END[^\n]*|\Z)", re.ASCII
)
# A user and a password that may have slashes: what follows the colon is no port then.
_LONG_USER_INFO = r"[^/\s@'\":\[;?#,]{0,200}+:(?!//|[0-9]{1,5}(?![\w@%$~+*&=^-]))[^\s@'\"]{1,4096}+"
# First a user and password as they should be, then those. Spark writes three dots where it cut an address.
_USER_INFO = re.compile(
    r"(://)(?:[^/\s@'\"]{1,2000}+(?:@[^/\s@'\",;&=?#]{1,200}+(?=@)){0,3}+@"
    r"|" + _LONG_USER_INFO + r"(?:@|(?<=\.\.\.)|(?<=\.\.\.[,;)\]])))",
    re.ASCII,
)
# The last address of a text that was cut, in front of the @: of a whole text it would be bucket:v1 or registry:latest.
_USER_INFO_CUT = re.compile(r"(://)" + _LONG_USER_INFO + r"\Z", re.ASCII)
_ORACLE_USER = re.compile(
    r"(?i)(jdbc:oracle:\w{1,10}:)(?:\"[^\"\n]{0,200}+\"|[^\s\"'/@]{0,200}+)/"
    r"(?:\"[^\"\n]{0,2000}+\"?|[^\s\"'@]{0,2000}+(?:@[^\s@'\",;&=?#/:(]{1,200}+(?=@)){0,3}+)@?",
    re.ASCII,
)
_SCHEME_VALUE = re.compile(r"(?i)(?<!\w)(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.ASCII)
# "pass" and "pw" tell only as whole words, also in DB_PASS, dbPass and dbpass: passed, bypass and passthrough hold no
# secret, and "pass: 2 of 3" counts. A word of SQL is no value (the condition "pass = AND grade >" has lost its
# literals), and neither is what a lambda makes of its parameter (token -> upper(token)).
_NAMED_VALUE = re.compile(
    r"(?i)(((?:passw(?:or)?d|pwd|passphrase|passcode|secret|token|credentials?"
    r"|api[ _.-]?key|access[ _.-]?key|account[ _.-]?key|(?<!\w)sig|(?<!\w)sas"
    r"|(?:(?<![a-z])|(?-i:(?<=[a-z])(?=P))"
    r"|(?:admin|cert|db|ftp|http|jdbc|key|ldap|mail|my|mysql|pg|proxy|root|smtp|sql|ssh|ssl|store|user))"
    r"p(?:ass|w)(?![\w.-]|\s{0,3}:\s{0,3}[0-9]{1,3}(?:/[0-9]{1,3})?[.,;)\]]?(?:\s|\Z)))"
    r"[\w.-]{0,40})(?:\\{0,4}[\"'])?\s{0,3}"
    r"(?:={1,3}+(?!>)|:=?+|[-=]{1,2}>(?!\s{0,3}(?:\w{0,40}+\(){0,4}+\2(?![\w-])))\s{0,3}+"
    r"(?!(?:and|asc|between|desc|else|end|in|inset|is|isnotnull|like|not|null|or|order|then|when|where)"
    r"(?:[\s,;)\]]|\Z)))"
    r"(\\{1,4}\"[^\"]*\"?|\\{1,4}'[^']*'?"
    r"|\"(?:[^\"\\]|\\[\s\S]|\"\")*+\"?|'(?:[^'\\]|\\[\s\S]|'')*+'?|[^\s\"',;&)}]+)",
    re.ASCII,
)
_AWS_NAME = r"(?i)((?:secret|access[ _.-]?key)[\w.-]{0,40}"
# AWS's secret keys have no shape but their length.
_AWS_SECRET = re.compile(
    _AWS_NAME + r"\W{1,6}(?:is\W{1,3})?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])={0,2}",
    re.ASCII,
)
# One that the text's cut left shorter shows a digit at least, and is no part of a path or of a table's name.
_AWS_SECRET_CUT = re.compile(
    _AWS_NAME + r"[^\w./]{1,6}(?:is[^\w./]{1,3})?)"
    r"(?=[A-Za-z/+]{0,38}[0-9])[A-Za-z0-9/+]{16,39}\Z",
    re.ASCII,
)
_KNOWN_SHAPE = re.compile(r"(?<!\w)(?:(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\w-]{10,}\.[\w.-]{10,})", re.ASCII)
# Words of SQL, and letters, that a literal may follow without a blank: LIKE's%', N'text'.
_OPENING = (
    "r n e and any as between both by collate distinct else escape for from glob having if ilike in into is leading "
    "like not of on or placing regexp return rlike select then to trailing using values when where with xor"
)
# And those that a person may also write with an s: the date's orders. No literal of a date begins with an s.
_OPENING_BUT_S = (
    "b x binary case comment date default interval location time timestamp timestamp_ltz timestamp_ntz zone"
)


def _not_behind(words: str, mark: str = "") -> str:
    return "".join(rf"(?<!(?<!\w){word}{mark})" for word in words.split())


# A letter of any language, and a letter, digit or underscore of any language.
_LETTER, _OF_WORD = r"[^\x00-@\[-`{-\x7f]", r"[^\x00-/:-@\[-^`{-\x7f]"
# An apostrophe of prose: behind a letter, in front of one (Bob's, l'import, O'Brien), or of a plural (users' orders).
# What has a second apostrophe behind its first word is a literal.
_APOSTROPHE = (
    rf"(?<={_LETTER}){_not_behind(_OPENING)}'(?:s(?![\w'])"
    rf"|{_not_behind(_OPENING_BUT_S, chr(39))}(?:(?={_LETTER}){_OF_WORD}++(?!')|(?<=s')(?:[\s,.;:!)]|\Z)))"
)
# As Spark reads them: text in single and in double quotes alike, a backslash escapes but for r'...', a doubled quote is
# one. An apostrophe opens nothing, else the next literal would be taken for its outside. Behind a small n or e it may
# be either (n'est pas, n'text'), so that all behind it goes.
_LITERAL = re.compile(
    rf"(?i)(?!{_APOSTROPHE})(['\"])"
    r"(?:(?<=(?<!\w)r['\"])(?:(?!\1)[\s\S])*+(?:\1|\Z)"
    rf"|(?<=(?<!\w)(?-i:[en])')(?={_LETTER})[\s\S]++"
    r"|(?:(?<=escape ')|(?<=escape'))\\'"
    r"|(?:[^'\"\\]|\\[\s\S]|\1\1|(?!\1)['\"])*+(?:\1|\\?\Z))",
    re.ASCII,
)
_LONG_NUMBER = re.compile(r"(?<!\w)[0-9][0-9 -]{10,}(?<=[0-9])", re.ASCII)


def scrub(text: str) -> str:
    """Free text (exception, reason, URL) without obvious secrets, at most 2,048 bytes of UTF-8."""
    looked_at = condensed(text)[:MOST_CHARS]
    out = _PRIVATE_KEY.sub(MASK, looked_at)
    out = _USER_INFO.sub(rf"\1{MASK}@", out)
    is_cut = len(looked_at) == MOST_CHARS
    if is_cut:
        out = _USER_INFO_CUT.sub(rf"\1{MASK}@", out)
    out = _ORACLE_USER.sub(rf"\1{MASK}@", out)
    out = _SCHEME_VALUE.sub(rf"\1 {MASK}", out)
    out = _NAMED_VALUE.sub(rf"\1{MASK}", out)
    out = _AWS_SECRET.sub(rf"\1{MASK}", out)
    if is_cut:
        out = _AWS_SECRET_CUT.sub(rf"\1{MASK}", out)
    return capped(_KNOWN_SHAPE.sub(MASK, out))


def condensed(text: str) -> str:
    """A text that is too long without most frames of its stacks, so that the causes behind them still fit.

    Spark writes the outermost exception first and the cause last, behind some fifty frames each.
    """
    if len(text) <= MOST_BYTES:
        return text
    kept, frames, runner_told = [], 0, False
    for line in _looked_at(text).split("\n"):
        bare = line.lstrip("\t ")
        indented = len(bare) < len(line)
        if indented and bare.startswith("... "):  # and so many more frames
            continue
        frames = frames + 1 if indented and bare.startswith("at ") else 0
        tells_runner = frames > FRAMES_KEPT and not runner_told and PYTHON_RUNNER in bare
        if frames <= FRAMES_KEPT or tells_runner:
            kept.append(line)
        runner_told = frames > 0 and (runner_told or tells_runner)
    return "\n".join(kept)


def _looked_at(text: str) -> str:
    """The beginning of a text, up to a blank: half a word might be a secret without its end."""
    if len(text) <= MOST_LOOKED_AT:
        return text
    blank = max(text.rfind(" ", 0, MOST_LOOKED_AT), text.rfind("\n", 0, MOST_LOOKED_AT))
    return text[: blank if blank > 0 else MOST_LOOKED_AT]


def scrub_query(text: str) -> str:
    """The same for SQL text, and without quoted literals and numbers as long as those of cards.

    Names in double quotes go too: Spark reads these as literals unless it is told otherwise, and a query that is pushed
    down to another database is shown by its table anyhow. So this is for plans and descriptions, never for failures.
    """
    # Capped again, because an empty literal becomes longer.
    return capped(_LONG_NUMBER.sub("?", _LITERAL.sub(r"\1?\1", scrub(text))))


def shortened(text: str, most_chars: int) -> str:
    """The beginning of a text, scrubbed first if it is cut: a cut may part a secret from what tells that it is one."""
    return text if len(text) <= most_chars else scrub(text)[:most_chars]


def capped(text: str, most_bytes: int = MOST_BYTES) -> str:
    """The beginning of the text that fits, never half a character; lone surrogates become question marks."""
    content = text.encode("utf-8", "replace")
    return content[:most_bytes].decode("utf-8", "ignore")
