"""Finds the files of a component that are not Python code, both in a checkout and in an installed wheel."""

from __future__ import annotations

import importlib.util
from pathlib import Path


class AssetMissingError(FileNotFoundError):
    """A file that belongs to the installation is missing."""


def asset(package: str, *parts: str) -> Path:
    """Return the path of a file or folder of the component to which ``package`` belongs.

    In an installed wheel, the files are in ``<package>/assets/``; in a checkout, they are in the folder above the
    package. Raises AssetMissingError with both paths if the file is in neither folder.
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
