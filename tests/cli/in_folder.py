"""Base classes of tests that use a temporary folder."""
import os
import tempfile
import unittest
from pathlib import Path


class InFolder(unittest.TestCase):
    """Provides self.place, an empty temporary folder."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)


class WithStore(InFolder):
    """Also provides self.store, the path of a store that does not exist yet, and an environment that selects it."""

    def setUp(self):
        super().setUp()
        self.use_store("store")

    def use_store(self, name):
        """Selects an empty store for the following processes."""
        self.store = self.place / name
        self.environment = dict(os.environ, TENON_CACHE="1", TENON_CACHE_DIR=str(self.store))
