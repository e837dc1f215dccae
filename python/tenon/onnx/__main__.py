"""Runs a model: python -m tenon.onnx model.onnx [--input NAME=FILE.npy] [--shape NAME=N,N,…] [--compare].

Inputs that are not given are random; unknown sizes are 1 unless --shape sets them. Prints the outputs, the time of a
run and the time of each operator.
"""
import argparse
import sys
import time
from collections import defaultdict
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import ModelError, NodeError, UnsupportedModel, load
from ._graph import Value
from ._model import Model, Time
from ._types import array_type


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tenon.onnx", description="Runs an ONNX model on a device.")
    parser.add_argument("model", help="file of the model")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="an input")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=N,N,…",
                        help="the shape of a random input (default: the model's, with 1 for unknown sizes)")
    parser.add_argument("--seed", type=int, default=0, help="of random inputs (default: 0)")
    parser.add_argument("--runs", type=int, default=3, help="measured runs; the fastest counts (default: 3)")
    parser.add_argument("--compare", action="store_true", help="compare the outputs with those of ONNX Runtime")
    parser.add_argument("--tolerance", type=float, default=1e-3,
                        help="allowed difference relative to the largest magnitude of an output (default: 1e-3)")
    return parser.parse_args()


def random_input(value: Value, shape: Optional[List[int]], random: np.random.Generator) -> np.ndarray:
    if value.type <= 0 or (shape is None and value.shape is None):
        raise ModelError(f"input {value.name}: its type or rank is unknown; give it with --input")
    dtype = array_type(value.type)
    shape = [1 if n is None else n for n in value.shape or []] if shape is None else shape
    if dtype == bool or dtype.kind in "iu":
        return random.integers(0, 2, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def named(option: str, items: List[str], model: Model) -> Dict[str, str]:
    """Returns the values of an option given as NAME=VALUE."""
    names, found = [v.name for v in model.inputs], {}
    for item in items:
        name, separator, value = item.partition("=")
        if not separator or name not in names:
            raise ModelError(f"{option} {item}: expected NAME=… with one of the inputs {', '.join(names)}")
        found[name] = value
    return found


def inputs_of(model: Model, options: argparse.Namespace) -> Dict[str, np.ndarray]:
    files = named("--input", options.input, model)
    try:
        shapes = {n: [int(k) for k in text.split(",")] for n, text in named("--shape", options.shape, model).items()}
        arrays = {n: np.load(path) for n, path in files.items()}
    except (OSError, ValueError) as error:
        raise ModelError(f"--input or --shape: {error}") from error
    random = np.random.default_rng(options.seed)
    return {v.name: arrays[v.name] if v.name in arrays else random_input(v, shapes.get(v.name), random)
            for v in model.inputs}


def print_times(times: List[Time]) -> None:
    total, groups = sum(t.seconds for t in times), defaultdict(list)
    for t in times:
        groups[t.op].append(t.seconds)
    print(f"\nnode by node: {1e3 * total:.3f} ms\n{'operator':24} {'nodes':>6} {'ms':>10} {'share':>6}")
    for op, seconds in sorted(groups.items(), key=lambda item: -sum(item[1])):
        share = sum(seconds) / total if total else 0
        print(f"{op:24} {len(seconds):6} {1e3 * sum(seconds):10.3f} {share:6.1%}")


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Returns the largest difference relative to the largest magnitude."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if ours.size == 0:
        return 0.0
    a, b = ours.astype("f8"), theirs.astype("f8")
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    with np.errstate(invalid="ignore"):
        worst = np.nanmax(np.where(a == b, 0, abs(a - b)), initial=0)
    return float(worst / max(np.nanmax(abs(b[np.isfinite(b)]), initial=0), 1e-30))


def compare(path: str, outputs: Dict[str, np.ndarray], inputs: Dict[str, np.ndarray], runs: int,
            tolerance: float) -> bool:
    """Prints the differences from ONNX Runtime; returns False if one is too large."""
    try:
        import onnxruntime
    except ImportError:
        print("\nonnxruntime is not installed: nothing is compared (pip install onnxruntime)")
        return True
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    expected, seconds = fastest(lambda: session.run(list(outputs), inputs), runs)
    print(f"\nONNX Runtime {onnxruntime.__version__}, fastest of {runs} runs: {1e3 * seconds:.3f} ms")
    good = True
    for (name, ours), theirs in zip(outputs.items(), expected):
        worst = difference(np.asarray(ours), np.asarray(theirs))
        good = good and worst <= tolerance
        print(f"  {name}: largest difference {worst:.2e} of the largest magnitude")
    return good


def fastest(function: Callable[[], Any], runs: int) -> Tuple[Any, float]:
    """Returns the result of a function and the shortest time of several calls after one more."""
    function()
    seconds = []
    for _ in range(max(runs, 1)):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def run(options: argparse.Namespace) -> int:
    start = time.perf_counter()
    model = load(options.model)
    inputs = inputs_of(model, options)
    model.run(inputs)
    print(f"{options.model}: {len(model.graph.nodes)} nodes; first run, with loading: "
          f"{time.perf_counter() - start:.3f} s")
    results, seconds = fastest(lambda: model.run(inputs), options.runs)
    outputs: Dict[str, Any] = dict(zip(model.outputs, results))
    for name, value in outputs.items():
        print(f"  {name}: {value.dtype} {list(value.shape)}")
    print(f"fastest of {options.runs} runs: {1e3 * seconds:.3f} ms")
    model.times(inputs)  # makes the plans
    print_times(model.times(inputs))
    return 0 if not options.compare or compare(options.model, outputs, inputs, options.runs,
                                             options.tolerance) else 1


def main() -> int:
    try:
        return run(arguments())
    except (ModelError, NodeError, UnsupportedModel) as error:
        print(f"tenon.onnx: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
