"""Files of a room that are not Python: found in the checkout and in an installed wheel alike."""

from __future__ import annotations

import importlib.util
from pathlib import Path


class AssetMissingError(FileNotFoundError):
    """A file that the installation should hold is not there."""


def asset(package: str, *parts: str) -> Path:
    """Find a file or folder of the room that ``package`` belongs to.

    An installed wheel keeps a room's files in ``<package>/assets/``, the checkout in the folder above the package.
    Raises AssetMissingError with both places when neither holds it.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise AssetMissingError(f"package {package} is not installed, so its file {'/'.join(parts)} cannot be found")
    package_folder = Path(spec.origin).parent
    places = [package_folder.joinpath("assets", *parts), package_folder.parent.joinpath(*parts)]
    for place in places:
        if place.exists():
            return place
    raise AssetMissingError(f"{'/'.join(parts)} of {package} is in neither {places[0]} nor {places[1]}")
