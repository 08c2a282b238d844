"""Exactly once into files: numbered manifests that hold positions, and a file that grows under them. Standard library only."""

from rocketconnect_sdk.files.appended import AppendedFile, StagedFile
from rocketconnect_sdk.files.manifest import ManifestLog
from rocketconnect_sdk.targets.manifests import Manifest, Owner

__all__ = ["AppendedFile", "Manifest", "ManifestLog", "Owner", "StagedFile"]
