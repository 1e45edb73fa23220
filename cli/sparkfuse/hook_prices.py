"""The list price of a core-hour; generated from rules/prices.yaml by `make generate`."""

CORE_HOUR = 0.04048
CURRENCY = "USD"
