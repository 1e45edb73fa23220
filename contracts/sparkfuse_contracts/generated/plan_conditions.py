"""Generated from contracts/shared/plan_conditions.yaml; do not edit."""

MOST_CHARS = 400
MOST_TEXT_CHARS = 20000
WORDS = (
    "AND",
    "Cross",
    "FullOuter",
    "IN",
    "INSET",
    "Inner",
    "LIKE",
    "LeftAnti",
    "LeftOuter",
    "LeftSemi",
    "NOT",
    "OR",
    "RightOuter",
    "isnotnull",
)
