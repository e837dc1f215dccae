"""An interpreter that ends while a plan is made in the background does not record a crash of the kernel being checked
at that moment. A preloaded library holds the launch given in a file.
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIMIT = 300  # seconds to wait for events that must occur

SCRIPT = """
import atexit, pathlib, sys, time
import tenon
folder, end = pathlib.Path(sys.argv[1]), sys.argv[2]
context = tenon.Context()
with context.prepare():
    plans = [tenon.gemm_plan(*[tenon.empty((size, size), "f4", context=context)] * 2)
             for size in (64, 128)]
while not (folder / "held").exists():
    time.sleep(0.01)
atexit.register((folder / "go").touch)
if end == "exit":
    sys.exit(0)
if end == "exception":
    raise KeyboardInterrupt
"""


@unittest.skipUnless("HELD_DRIVER" in os.environ, "no library that holds a launch")
class Ends(unittest.TestCase):
    def test_plans_in_the_background_may_be_left(self):
        for launch in ("1", "2"):
            for end in ("return", "exit", "exception"):
                with self.subTest(end, launch=launch), tempfile.TemporaryDirectory() as folder:
                    store = Path(folder, "store")
                    environment = dict(os.environ, TENON_CACHE="1", TENON_CACHE_DIR=str(store), HELD_FOLDER=folder,
                                       HELD_LAUNCH=launch, LD_PRELOAD=os.environ["HELD_DRIVER"])
                    done = subprocess.run([sys.executable, "-c", SCRIPT, folder, end], env=environment, check=False,
                                          capture_output=True, text=True, timeout=LIMIT)
                    self.assertTrue(Path(folder, "go").exists(), done.stderr)
                    self.assertTrue(store.exists())
                    self.assertEqual([path.name for path in store.glob("*.running")], [])


if __name__ == "__main__":
    unittest.main()
