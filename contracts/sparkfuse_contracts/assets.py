"""Finds the files of a component that are not Python, in a checkout and in an installed wheel."""

from __future__ import annotations

import importlib.util
from pathlib import Path


class AssetMissingError(FileNotFoundError):
    """A file of the installation is missing."""


def asset(package: str, *parts: str) -> Path:
    """Return the path of a file or folder of the component to which ``package`` belongs.

    An installed wheel has the files in ``<package>/assets/``, a checkout in the folder above the package.
    Raises AssetMissingError with both paths if the file is in neither.
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
