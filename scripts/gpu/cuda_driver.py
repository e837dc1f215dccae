#!/usr/bin/env python3
"""One PTX file through NVIDIA's driver, without OpenCL: whether it loads, its kernels' registers, and how fast the
kernels are that measure a card. A process for each file, since a kernel that goes wrong spoils all that follows.

    cuda_driver.py LIBCUDA OUT.json [FILE.ptx]      without a file: what the card is
"""
import ctypes
import json
import os
import re
import statistics
import struct
import sys
from pathlib import Path

ATTRIBUTES = {"max_shared": 8, "multiprocessors": 16, "clock_khz": 13, "l2_bytes": 38, "registers_of_block": 12,
              "groups_x": 5, "groups_y": 6, "groups_z": 7, "major": 75, "minor": 76, "shared_of_multiprocessor": 81,
              "shared_by_asking": 97}
INFO_LOG, INFO_SIZE, ERROR_LOG, ERROR_SIZE, VERBOSE = 3, 4, 5, 6, 12
LOG = 16384
GROUP, ROUNDS = 256, 5
BYTES = int(os.environ.get("TENON_GPU_BYTES", 1 << 30))  # beyond any cache; less to try this program
CHAINS, STEPS = 16, 8  # of bench/kernels/ceilings.cl
# Bits of a word of elements 1, and of -1, and the K of a product, by type. Of matrix_peak.cl 8 products of 16 x 8 by a
# warp; of wgmma_peak.cl 4 of 64 x 256 by four, one behind the other.
WORDS = {"f16": (0x3c003c00, 0xbc00bc00, 16), "bf16": (0x3f803f80, 0xbf80bf80, 16), "tf32": (0x3f800000, 0xbf800000, 8),
         "i8": (0x01010101, 0xffffffff, 32)}


class Driver:
    """libcuda's functions, which fail as exceptions that name them."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.call("cuInit", 0)
        self.device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *arguments):
        """Raises RuntimeError where the driver answers with anything but success."""
        error = getattr(self.library, name)(*arguments)
        if error != 0:
            raise RuntimeError(f"{name} gives error {error}")

    def number(self, name, *arguments):
        """What a function writes to its first argument, an int."""
        value = ctypes.c_int()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    def describe(self):
        """The card, by what the driver says."""
        name = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", name, 128, self.device)
        found = {"name": name.value.decode(errors="replace"), "driver": self.number("cuDriverGetVersion")}
        for key, attribute in ATTRIBUTES.items():
            found[key] = self.number("cuDeviceGetAttribute", attribute, self.device)
        return found

    def load(self, text):
        """The module and the compiler's log; the module is None where it does not load."""
        info, error, module = (ctypes.create_string_buffer(LOG), ctypes.create_string_buffer(LOG), ctypes.c_void_p())
        options = (ctypes.c_int * 5)(INFO_LOG, INFO_SIZE, ERROR_LOG, ERROR_SIZE, VERBOSE)
        values = (ctypes.c_void_p * 5)(ctypes.addressof(info), LOG, ctypes.addressof(error), LOG, 1)
        status = self.library.cuModuleLoadDataEx(ctypes.byref(module), text.encode() + b"\0", 5, options, values)
        log = (info.value + error.value).decode(errors="replace")
        return (module, log) if status == 0 else (None, f"error {status}: {log}")

    def function(self, module, name):
        """A kernel, with its registers, shared bytes and the stack of a thread."""
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function, {key: self.number("cuFuncGetAttribute", number, function)
                          for key, number in (("registers", 4), ("local_bytes", 1), ("stack", 3))}

    def memory(self, size):
        """Bytes on the card."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def read(self, address, count):
        """So many floats."""
        values = (ctypes.c_float * count)()
        self.call("cuMemcpyDtoH_v2", values, address, ctypes.c_size_t(4 * count))
        return list(values)

    def milliseconds(self, function, groups, arguments):
        """Of a launch, by events: the median of a few rounds of launches in a row."""
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))
        begin, end, took = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
        self.call("cuEventCreate", ctypes.byref(begin), 0)
        self.call("cuEventCreate", ctypes.byref(end), 0)
        values, count = [], 1
        while len(values) < ROUNDS:
            self.call("cuEventRecord", begin, None)
            for _ in range(count):
                self.call("cuLaunchKernel", function, groups, 1, 1, GROUP, 1, 1, 0, None, pointers, None)
            self.call("cuEventRecord", end, None)
            self.call("cuEventSynchronize", end)
            self.call("cuEventElapsedTime", ctypes.byref(took), begin, end)
            if took.value < 10 and count < 1 << 12 and not values:
                count *= 2
                continue
            values.append(took.value / count)
        return statistics.median(values)


def limit(name, value, unit, milliseconds, right):
    """As tenon-bench ceilings has them."""
    return {"name": name, "value": value if right else 0, "unit": unit, "median_ns": 1e6 * milliseconds, "verified": right}


def word(value):
    """An argument of 32 bits, a float by its bits."""
    return ctypes.c_uint32(struct.unpack("I", struct.pack("f", value))[0] if isinstance(value, float) else value)


def memory_limits(driver, module, groups, size):
    """Writing, copying and reading; multiply-adds."""
    x, y, count = driver.memory(size), driver.memory(size), ctypes.c_uint64(size // 16)
    took = driver.milliseconds(driver.function(module, "write")[0], groups, [x, count, word(1.0)])
    yield limit("write", size / took / 1e6, "GB/s", took, driver.read(x, 4096) == [1.0] * 4096)
    took = driver.milliseconds(driver.function(module, "copy")[0], groups, [x, y, count])
    yield limit("copy by a kernel", 2 * size / took / 1e6, "GB/s", took, driver.read(y, 4096) == [1.0] * 4096)
    items = groups * GROUP
    took = driver.milliseconds(driver.function(module, "read")[0], groups, [x, y, count, word(1)])
    yield limit("read", size / took / 1e6, "GB/s", took, driver.read(y, items) == [size / 4 / items] * items)
    loops = 4096
    took = driver.milliseconds(driver.function(module, "multiply_add")[0], groups, [y, word(loops), word(0.5), word(1.0)])
    yield limit("multiply-add f32", 2 * CHAINS * STEPS * loops * items / took / 1e6, "GFLOP/s", took,
                driver.read(y, items) == [2.0 * CHAINS] * items)


def unit_limits(driver, module, groups, program):
    """Products of a matrix unit: operations of a work-item in half a loop, and what each then holds."""
    kind, dtype = program.split("-")
    plus, minus, k = WORDS[dtype]
    m, n, count, lanes, steps = (16, 8, 8, 32, 1) if kind == "mma" else (64, 256, 1, 128, 4)
    items, loops, half = groups * GROUP, 4096, 2 * count * m * n * k * steps / lanes
    wanted = count * m * n / lanes * (3 + k * steps)
    y = driver.memory(4 * items)
    took = driver.milliseconds(driver.function(module, "matrix_peak" if kind == "mma" else "wgmma_peak")[0], groups,
                               [y, word(loops), word(plus), word(minus)])
    name = f"matrix unit {dtype}" if kind == "mma" else f"matrix unit wgmma {dtype}"
    yield limit(name, half * (2 * loops + 1) * items / took / 1e6, "GFLOP/s", took, driver.read(y, items) == [wanted] * items)


def measure(driver, path, found):
    """Loads a file and times what it has."""
    text = Path(path).read_text(encoding="utf-8")
    module, found["log"] = driver.load(text)
    found["loads"] = module is not None
    if module is None:
        return
    found["kernels"] = {name: driver.function(module, name)[1] for name in re.findall(r"\.entry\s+(\w+)", text)}
    about = driver.describe()
    groups = 1
    while groups < about["multiprocessors"] * 8:
        groups *= 2
    program = Path(path).name.split(".")[0]
    limits = memory_limits(driver, module, groups, BYTES) if program == "memory" else unit_limits(driver, module, groups, program)
    for one in limits:
        found["ceilings"].append(one)
        print(f"{one['name']:28} {one['value']:12.4g} {one['unit']}" + ("" if one["verified"] else "  WRONG RESULT"), flush=True)


def main():
    """The exit status: 1 where the driver fails, or a result is wrong."""
    library, out, *path = sys.argv[1:]
    found, why = {"ceilings": []}, None
    try:
        driver = Driver(library)
        found["device"] = driver.describe()
        if path:
            measure(driver, path[0], found)
    except (OSError, RuntimeError, AttributeError) as error:
        found["fails"] = why = str(error)
        print(why)
    Path(out).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if why or not all(c["verified"] for c in found["ceilings"]) else 0


if __name__ == "__main__":
    sys.exit(main())
