"""Read the prices of cores, memory and Databricks units: the defaults of prices.yaml, and those of sparkfuse.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkfuse_contracts.assets import asset
from sparkfuse_rules import strict_yaml
from sparkfuse_rules.errors import RuleError, unknown_name
from sparkfuse_rules.overrides import SECTIONS

SECTION = "prices"
_AMOUNTS = ("core_hour", "gib_hour", "spot_factor", "dbu", "dbu_per_core_hour")
_FLAGS = ("spot", "databricks")
_KEYS = ("cloud", "currency", *_FLAGS, *_AMOUNTS)


@dataclass(frozen=True)
class Prices:
    """What an hour of one core and of one GiB costs, with the spot factor and the Databricks units applied.

    ``currency`` is a code of ISO 4217. ``source`` names the origin of the prices for people.
    """

    currency: str
    core_hour: float
    gib_hour: float
    source: str


def read_prices(path: Path | None) -> Prices | None:
    """Return the prices that apply; None if ``prices: off`` is set in the sparkfuse.yaml. Raises RuleError."""
    defaults = strict_yaml.read_mapping(asset("sparkfuse_rules", "prices.yaml"))
    section = strict_yaml.mapping(str(path), strict_yaml.read_mapping(path), SECTIONS).get(SECTION) if path else None
    if section is False:  # YAML reads off as false
        return None
    place = f"{path}: {SECTION}"
    own = strict_yaml.mapping(place, section or {}, _KEYS)
    cloud = str(own.get("cloud") or defaults["cloud"])
    if cloud not in defaults["clouds"]:
        raise unknown_name(f"{place}.cloud", "cloud", cloud, list(defaults["clouds"]))
    amounts = {**defaults["clouds"][cloud], **{name: own[name] for name in _AMOUNTS if name in own}}
    checked = {name: _amount(f"{place}.{name}", value) for name, value in amounts.items()}
    factor = checked["spot_factor"] if _flag(place, own, "spot") else 1.0
    units = _units_per_core_hour(place, checked) if _flag(place, own, "databricks") else 0.0
    overridden = any(name in own for name in _AMOUNTS)
    return Prices(
        currency=strict_yaml.text(f"{place}.currency", own.get("currency", defaults["currency"])),
        core_hour=checked["core_hour"] * factor + units,
        gib_hour=checked["gib_hour"] * factor,
        source="prices of sparkfuse.yaml" if overridden else f"list prices of {cloud}",
    )


def _units_per_core_hour(place: str, amounts: Mapping[str, float]) -> float:
    if "dbu_per_core_hour" not in amounts:
        raise RuleError(f"{place}.dbu_per_core_hour: must be set for Databricks; it depends on the machine type")
    return amounts["dbu"] * amounts["dbu_per_core_hour"]


def _flag(place: str, own: Mapping[str, Any], name: str) -> bool:
    value = own.get(name, False)
    if not isinstance(value, bool):
        raise RuleError(f"{place}.{name}: must be true or false, but is {value!r}")
    return value


def _amount(place: str, value: object) -> float:
    found = float(strict_yaml.number(place, value))
    if found < 0:
        raise RuleError(f"{place}: must be 0 or more, but is {value!r}")
    return found
