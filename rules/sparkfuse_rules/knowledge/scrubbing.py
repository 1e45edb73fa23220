"""Remove secrets from free text, with the same result as the plugin's SecretScrubber.

Spark's own redaction leaves most of these secrets in its event log.
"""

from __future__ import annotations

import re

MOST_BYTES = 2048
# Texts are truncated to this length first, so that time and memory are bounded.
MOST_CHARS = 2 * MOST_BYTES
# The part of a longer text that is searched for stack frames to drop.
MOST_SEARCHED = 65_536
# The first frames of a stack show where it happened; the others are Spark's own.
FRAMES_KEPT = 2
# One frame of this class is kept too: it shows that the other end of the socket is a Python worker, not the network.
PYTHON_RUNNER = "PythonRunner"
MASK = "***"
# The patterns are the same as in the plugin. An unterminated secret extends to the end of the text, because long texts
# are truncated first. Quantifiers are bounded or possessive, so that a hostile text cannot cause backtracking.
_PRIVATE_KEY = re.compile(
    r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}[\s\S]*?(?:-{4,5} ?END[^\n]*|\Z)", re.ASCII
)
# A user and a password with slashes, where the text after the colon is not a port.
_LONG_USER_INFO = r"[^/\s@'\":\[;?#,]{0,200}+:(?!//|[0-9]{1,5}(?![\w@%$~+*&=^-]))[^\s@'\"]{1,4096}+"
# A valid user and password first, then one with slashes. Spark writes three dots where it truncated an address.
_USER_INFO = re.compile(
    r"(://)(?:[^/\s@'\"]{1,2000}+(?:@[^/\s@'\",;&=?#]{1,200}+(?=@)){0,3}+@"
    r"|" + _LONG_USER_INFO + r"(?:@|(?<=\.\.\.)|(?<=\.\.\.[,;)\]])))",
    re.ASCII,
)
# The last address of a truncated text, before the @. In a complete text it may be bucket:v1 or registry:latest.
_USER_INFO_CUT = re.compile(r"(://)" + _LONG_USER_INFO + r"\Z", re.ASCII)
_ORACLE_USER = re.compile(
    r"(?i)(jdbc:oracle:\w{1,10}:)(?:\"[^\"\n]{0,200}+\"|[^\s\"'/@]{0,200}+)/"
    r"(?:\"[^\"\n]{0,2000}+\"?|[^\s\"'@]{0,2000}+(?:@[^\s@'\",;&=?#/:(]{1,200}+(?=@)){0,3}+)@?",
    re.ASCII,
)
_SCHEME_VALUE = re.compile(r"(?i)(?<!\w)(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.ASCII)
# "pass" and "pw" count only as whole words, also in DB_PASS, dbPass and dbpass: passed, bypass and passthrough are no
# secrets, and "pass: 2 of 3" is a count. A SQL keyword is not a value (the condition "pass = AND grade >" has no
# literals), and neither is a lambda of its parameter (token -> upper(token)).
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
# Secret keys of AWS can only be recognised by their length.
_AWS_SECRET = re.compile(
    _AWS_NAME + r"\W{1,6}(?:is\W{1,3})?)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])={0,2}",
    re.ASCII,
)
# A truncated key has at least one digit, and is not part of a path or a table name.
_AWS_SECRET_CUT = re.compile(
    _AWS_NAME + r"[^\w./]{1,6}(?:is[^\w./]{1,3})?)"
    r"(?=[A-Za-z/+]{0,38}[0-9])[A-Za-z0-9/+]{16,39}\Z",
    re.ASCII,
)
_KNOWN_SHAPE = re.compile(r"(?<!\w)(?:(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\w-]{10,}\.[\w.-]{10,})", re.ASCII)
# SQL keywords and letters that a literal may follow without a space: LIKE's%', N'text'.
_OPENING = (
    "r n e and any as between both by collate distinct else escape for from glob having if ilike in into is leading "
    "like not of on or placing regexp return rlike select then to trailing using values when where with xor"
)
# Keywords that also occur with an s in prose (the date's orders); no literal of a date begins with an s.
_OPENING_BUT_S = (
    "b x binary case comment date default interval location time timestamp timestamp_ltz timestamp_ntz zone"
)


def _not_behind(words: str, mark: str = "") -> str:
    return "".join(rf"(?<!(?<!\w){word}{mark})" for word in words.split())


# A letter of any language, and a letter, digit or underscore of any language.
_LETTER, _OF_WORD = r"[^\x00-@\[-`{-\x7f]", r"[^\x00-/:-@\[-^`{-\x7f]"
# An apostrophe in prose: after a letter and before one (Bob's, l'import, O'Brien), or after a plural (users' orders).
# If a second apostrophe follows the first word, it is a literal.
_APOSTROPHE = (
    rf"(?<={_LETTER}){_not_behind(_OPENING)}'(?:s(?![\w'])"
    rf"|{_not_behind(_OPENING_BUT_S, chr(39))}(?:(?={_LETTER}){_OF_WORD}++(?!')|(?<=s')(?:[\s,.;:!)]|\Z)))"
)
# Literals as Spark reads them: single or double quotes, a backslash escapes except in r'...', and a doubled quote is
# one quote. An apostrophe does not open a literal. After a lower-case n or e it may be either (n'est pas, n'text'),
# so the rest of the text is removed.
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
    """Return free text (exception, reason, URL) without obvious secrets, at most 2,048 bytes of UTF-8."""
    start = condensed(text)[:MOST_CHARS]
    out = _PRIVATE_KEY.sub(MASK, start)
    out = _USER_INFO.sub(rf"\1{MASK}@", out)
    is_cut = len(start) == MOST_CHARS
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
    """Drop most stack frames of a text that is too long, so that the causes still fit.

    Spark writes the outermost exception first and the cause last, with some fifty frames each.
    """
    if len(text) <= MOST_BYTES:
        return text
    lines, frames, has_runner = [], 0, False
    for line in _beginning(text).split("\n"):
        bare = line.lstrip("\t ")
        indented = len(bare) < len(line)
        if indented and bare.startswith("... "):  # the number of omitted frames
            continue
        frames = frames + 1 if indented and bare.startswith("at ") else 0
        is_runner = frames > FRAMES_KEPT and not has_runner and PYTHON_RUNNER in bare
        if frames <= FRAMES_KEPT or is_runner:
            lines.append(line)
        has_runner = frames > 0 and (has_runner or is_runner)
    return "\n".join(lines)


def _beginning(text: str) -> str:
    """Return the beginning of a text up to a space, because half a word may be a truncated secret."""
    if len(text) <= MOST_SEARCHED:
        return text
    blank = max(text.rfind(" ", 0, MOST_SEARCHED), text.rfind("\n", 0, MOST_SEARCHED))
    return text[: blank if blank > 0 else MOST_SEARCHED]


def scrub_query(text: str) -> str:
    """Return SQL text without secrets, quoted literals and numbers as long as card numbers.

    Names in double quotes are removed too, because Spark reads them as literals by default. Use it for plans and
    descriptions, not for failures.
    """
    # Truncate again, because an empty literal becomes longer.
    return capped(_LONG_NUMBER.sub("?", _LITERAL.sub(r"\1?\1", scrub(text))))


def shortened(text: str, most_chars: int) -> str:
    """Truncate a text, scrubbing it first: truncation may separate a secret from the word that identifies it."""
    return text if len(text) <= most_chars else scrub(text)[:most_chars]


def capped(text: str, most_bytes: int = MOST_BYTES) -> str:
    """Truncate a text to whole characters of UTF-8; lone surrogates become question marks."""
    content = text.encode("utf-8", "replace")
    return content[:most_bytes].decode("utf-8", "ignore")
