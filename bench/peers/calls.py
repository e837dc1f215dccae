"""Calls in NumPy, for network.py."""
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy

TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16",
         "i8": "int8", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool"}


def read(operand, source):
    """Returns the array of an operand; the values of inputs are read from the source."""
    dtype, shape = numpy.dtype(TYPES[operand["dtype"]]), operand["shape"]
    if operand["output"]:
        return numpy.zeros(shape, dtype)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    return numpy.frombuffer(source.read(count * dtype.itemsize), dtype).reshape(shape)


def function_of(statement, arrays):
    """Returns a function that executes the statement with these arrays."""
    code = compile(statement, "call", "exec")
    names = {**arrays, "np": numpy, "random": numpy.random.default_rng(1)}
    return lambda: exec(code, names)


def in_threads(statement, arrays, pool, threads):
    """Returns a function that executes the statement in each thread with its rows of the arrays."""
    rows = max(len(a) for a in arrays.values() if a.ndim)
    parts = []
    for number in range(threads):
        part = slice(rows * number // threads, rows * (number + 1) // threads)
        parts.append(function_of(statement, {
            name: a[part] if a.ndim and len(a) == rows else a for name, a in arrays.items()}))

    def run():
        for done in [pool.submit(part) for part in parts[1:]] + [parts[0]()]:
            if done is not None:
                done.result()

    return run


def seconds_of(run):
    """Returns the shortest of a few times, after an untimed call."""
    run()
    times, end = [], time.perf_counter() + 0.05
    while len(times) < 2 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def numpy_call(call, source):
    """Returns a function that runs the fastest variant of a call, and NumPy's version with the number of threads."""
    warnings.simplefilter("ignore")  # of values outside the domain of a function
    arrays = {operand["name"]: read(operand, source) for operand in call["operands"]}
    variants = []
    for statement in call["statement"].split(" | "):
        variants.append((function_of(statement, arrays), 1))
        if call["by_rows"] and call["threads"] > 1:
            pool = ThreadPoolExecutor(call["threads"] - 1)
            variants.append((in_threads(statement, arrays, pool, call["threads"]), call["threads"]))
    times = [seconds_of(run) for run, _ in variants]
    run, threads = variants[times.index(min(times))]
    return run, f"{numpy.__version__}, {threads} thread{'s' if threads > 1 else ''}"
