"""Prints the folder of PyPI's package scipy-openblas32 in a Python environment; fails if it is not installed.

    scipy_openblas.py ENVIRONMENT
"""
import sys
from pathlib import Path

found = sorted(Path(sys.argv[1]).glob("lib/python3*/site-packages/scipy_openblas32"))
if not found:
    sys.exit(f"scipy-openblas32 is not installed in {sys.argv[1]}")
print(found[-1])
