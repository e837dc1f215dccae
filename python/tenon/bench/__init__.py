"""Benchmarks: a quick comparison with NumPy (speed), and the pictures and comparisons of the files of tenon-bench.

`tenon-bench compare` and `tenon-bench report` run this folder without the rest of the package, so that only `speed` may
import `tenon`, and every module but `speed` and the drawing ones must do with Python's standard library.
"""
