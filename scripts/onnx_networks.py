#!/usr/bin/env python3
"""Runs networks from PyPI packages with tenon.onnx and with ONNX Runtime: onnx_networks.py FOLDER [--runs N] [--cold].

FOLDER contains the packages, which are not imported. The inputs are those of onnx_inputs.py, synthetic vowels and a
recorded word. A network passes if every output is within 1e-3 of its largest magnitude of ONNX Runtime's, and if its
decision is right, in f32 and after a conversion to f16 by ONNX Runtime's tool. A network in 8 bits, which ONNX
Runtime's dynamic quantization makes, must differ less from ONNX Runtime's result than that differs from the network's
in f32: where f32 values differ by one rounding, 8-bit ones can differ by a whole step. The times are the fastest of
several runs; "store" is the first inference of a new process that finds its programs in the store, from the file to
the outputs, and "shape" the first run with other input shapes in it, both in the fastest of three processes.
Prints a table and 'N passed, N failed, N skipped'; exits with 1 if a network fails.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Optional

import numpy as np

import onnx_inputs as given

TOLERANCE = 1e-3
PROCESSES = 3  # new processes, the fastest of which counts
IN_A_ROW = 3  # runs of one library before the other's: threads of ONNX Runtime go on waiting busily after a run
PAGES = "PP-OCR, two pages"
SMALL = ("PP-OCR direction", "magika")


class Network(NamedTuple):
    """A network and what it is run with."""

    name: str
    path: Path
    inputs: Any
    check: Callable[..., Any]
    others: Optional[Dict[str, np.ndarray]] = None  # inputs of another shape
    steps: Optional[Callable[..., Any]] = None      # runs the network step by step
    make: Optional[Callable[[Path, Path], None]] = None  # makes the file from that of the package, `source`
    source: Optional[Path] = None


def vowels(seconds=2.0, rate=16000):
    """Synthesizes vowels: a glottal pulse train through three resonances."""
    count, sound = int(seconds * rate), np.zeros(int(seconds * rate))
    pitch = 120 + 15 * np.sin(2 * np.pi * 3 * np.arange(count) / rate)
    source = np.diff(np.floor(np.cumsum(pitch) / rate), prepend=0)
    for n, formants in enumerate(((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480))):
        part = slice(n * count // 4, (n + 1) * count // 4)
        wave = source[part].copy()
        for f in formants:
            r = np.exp(-np.pi * 80 / rate)
            a1, a2, y = 2 * r * np.cos(2 * np.pi * f / rate), -r * r, np.zeros(wave.size + 2)
            for i, v in enumerate(wave):
                y[i + 2] = (1 - r) * v + a1 * y[i + 1] + a2 * y[i]
            wave = y[2:]
        sound[part] = wave * np.hanning(wave.size)
    return (sound / abs(sound).max() * 0.5).astype("f4")


def recording(folder):
    """Returns a recorded word of 0.9 s between silence, at 8 kHz, from the sources of webrtcvad."""
    path = next((folder / "webrtcvad").glob("*/test-audio.raw"))
    sound = np.fromfile(path, "<i2").astype("f4") / 32768
    return sound[:sound.size // 256 * 256].reshape(-1, 256)


def steps_of(model, chunks):
    """Runs silero-vad on one chunk after the other with its state; returns the probabilities and the last state. Chunks
    have 32 ms; each is preceded by the end of the one before it."""
    rate, before = chunks.shape[1] * 1000 // 32, chunks.shape[1] // 8
    state, context, found = np.zeros((2, 1, 128), "f4"), np.zeros((1, before), "f4"), []
    for chunk in chunks:
        sound = np.concatenate([context, chunk[None]], 1)
        probability, state = model({"input": sound, "state": state, "sr": np.array(rate)})
        context = sound[:, -before:]
        found.append(probability)
    return [np.concatenate(found), state]


def speech(outputs):
    spoken = float((outputs[0] > 0.5).mean())
    return True, f"speech in {spoken:.0%} of the chunks"


def found_word(outputs):
    """Checks that the word of the recording is found where it is. Versions of the network differ in the chunks at its
    ends."""
    spoken = np.nonzero(outputs[0][:, 0] > 0.5)[0]
    good = spoken.size > 0 and set(range(7, 18)) <= {*spoken} <= {*range(5, 22)}
    return good, f"speech from {32 * spoken.min()} to {32 * spoken.max() + 32} ms" if spoken.size else "no speech"


def with_initializers(path):
    """Returns a model whose constants are initializers, as ONNX Runtime's quantization requires."""
    import onnx
    model, nodes = onnx.load(str(path)), []
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            tensor = node.attribute[0].t
            tensor.name = node.output[0]
            model.graph.initializer.append(tensor)
        else:
            nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def quantized(source, target):
    """Writes a model with dynamic quantization to 8 bits by ONNX Runtime's tool."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(with_initializers(source), str(target), weight_type=QuantType.QUInt8)


def halved(source, target):
    """Writes a model with f16 instead of f32, except for its inputs and outputs, by ONNX Runtime's tool. Before that,
    ONNX Runtime makes batch normalizations a part of filters: the variances of one are near 1e8, which f16 cannot have.
    Layer normalizations that consist of simple operators stay in f32: sums of squares of one are above 65,504."""
    import onnx
    import onnxruntime
    from onnxruntime.transformers.float16 import convert_float_to_float16
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    model = onnx.load(str(target))
    kept = [n.name for n in model.graph.node if "LayerNorm" in n.name]
    model = convert_float_to_float16(model, keep_io_types=True, node_block_list=kept)
    casts = {n.output[0]: n for n in model.graph.node if n.op_type == "Cast"}
    sources = {name: casts[n.input[0]].input[0] for name, n in casts.items()
               if n.attribute[0].i == onnx.TensorProto.FLOAT and n.input[0] in casts
               and casts[n.input[0]].attribute[0].i == onnx.TensorProto.FLOAT16}
    for node in model.graph.node:  # the tool converts values between two f32 nodes to f16 and back
        node.input[:] = [sources.get(name, name) for name in node.input]
    onnx.save(model, str(target))


def made(network, make, suffix):
    """Returns the file that a function makes of a network's file."""
    target = network.path.with_suffix(f".{suffix}.onnx")
    if not target.exists():
        make(network.path, target)
    return target


def text_files(folder):
    """Returns the files of the networks for detection, direction and recognition of text."""
    models = folder / "rapidocr_onnxruntime" / "models"
    names = ("ch_PP-OCRv4_det", "ch_ppocr_mobile_v2.0_cls", "ch_PP-OCRv4_rec")
    return [models / f"{name}_infer.onnx" for name in names]


def networks(folder):
    detection, direction, recognition = text_files(folder)
    vad = folder / "silero_vad" / "data" / "silero_vad.onnx"
    kind = folder / "magika" / "models" / "standard_v3_3" / "model.onnx"
    line, letters = given.picture()[None], given.letters_of(recognition)
    wider = {"x": np.pad(line, ((0, 0), (0, 0), (0, 0), (0, 40)), constant_values=1)}
    return [
        Network("PP-OCR direction", direction, {"x": given.directions()}, given.is_upright,
                {"x": given.directions()[:1]}),
        Network("PP-OCRv4 recognition", recognition, {"x": line}, given.reads(letters), wider),
        Network("PP-OCRv4 detection", detection, {"x": given.page()}, given.finds_line, {"x": given.page(672)}),
        Network("magika", kind, {"bytes": given.kinds()}, given.knows_kinds(folder), {"bytes": given.kinds()[:1]}),
        Network("recognition, 8 bits", recognition, {"x": line}, given.reads(letters), wider, make=quantized),
        Network("silero-vad, 62 steps", vad, vowels()[:62 * 512].reshape(62, 512), speech, steps=steps_of),
        Network("silero-vad, recording", vad, recording(folder), found_word, steps=steps_of),
    ]


# Measurements ------------------------------------------------------------------------------------------


def session_of(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def fastest(functions, runs):
    """Returns the results and the shortest times of functions that run alternately, several times in a row."""
    results, seconds = [f() for f in functions], [[] for _ in functions]
    for _ in range(runs):
        for i, function in enumerate(functions):
            for _ in range(IN_A_ROW):
                start = time.perf_counter()
                function()
                seconds[i].append(time.perf_counter() - start)
    return results, [min(s) for s in seconds]


def runner(network, model):
    """Returns a function that runs a network on its inputs."""
    return (lambda: network.steps(model, network.inputs)) if network.steps else lambda: model(network.inputs)


def worst_of(ours, theirs):
    from tenon.onnx.__main__ import difference
    return max(difference(np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs))


def first_run(network):
    """Prints the times of a new process: import, first inference, and the first one with other shapes."""
    start = time.perf_counter()
    import tenon.onnx
    imported = time.perf_counter()
    model, shape = tenon.onnx.load(network.path), None
    if network.others:
        model.run(network.others)
    else:
        runner(network, model.run)()
    first = time.perf_counter()
    if network.others:
        model.run(network.inputs)
        shape = time.perf_counter() - first
    print(json.dumps({"import": imported - start, "first": first - imported, "shape": shape}))


def in_new_processes(network, folder):
    """Returns the shortest times that first_run prints in several processes with the caches of this one."""
    found = [in_new_process(network, folder, False) for _ in range(PROCESSES)]
    return {name: None if value is None else min(f[name] for f in found) for name, value in found[0].items()}


def in_new_process(network, folder, cold):
    """Returns the times that first_run prints, with the caches of this process or with empty ones."""
    command = [sys.executable, __file__, str(folder), "--first", network.name]
    with tempfile.TemporaryDirectory() as empty:
        caches = {"TENON_CACHE_DIR": f"{empty}/tenon", "POCL_CACHE_DIR": f"{empty}/pocl"} if cold else {}
        done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **caches})
    if done.returncode:
        raise RuntimeError(f"{network.name} in a new process: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def in_half(network, expected):
    """Returns whether the decision is right in f16, and a description."""
    import tenon.onnx
    if network.steps or network.make:
        return True, ""
    outputs = tenon.onnx.load(made(network, halved, "f16")).run(network.inputs)
    good, decision = network.check(outputs)
    return good, f"f16 {worst_of(outputs, expected):.0e}{'' if good else ' WRONG: ' + decision}"


def seconds_text(seconds):
    return f"{'-':>8}" if seconds is None else f"{seconds:6.3f} s"


def run(network, options):
    """Runs a network; returns whether it is right (None: not supported) and its line of the table."""
    import tenon.onnx
    try:
        model = tenon.onnx.load(network.path)
    except tenon.onnx.UnsupportedModel as error:
        missing = sorted({line.split()[0] for line in error.problems})
        return None, f"{network.name:22} not supported yet: {', '.join(missing)}"
    session = session_of(network.path)
    ours, theirs = (runner(network, run) for run in (model.run, lambda inputs: session.run(None, inputs)))
    (outputs, expected), (seconds, reference) = fastest([ours, theirs], options.runs)
    worst = worst_of(outputs, expected)
    good, decision = network.check(outputs)
    good_half, half = in_half(network, expected)
    if network.others:
        model.run(network.others)  # stores its programs
    stored = in_new_processes(network, options.folder)
    cold = in_new_process(network, options.folder, True)["first"] if options.cold else None
    good = good and worst <= (worst_of(expected, session_of(network.source).run(None, network.inputs))
                              if network.make else TOLERANCE)
    return good and good_half, (
        f"{network.name:22} {worst:8.1e} {1e3 * seconds:8.2f} ms {1e3 * reference:8.2f} ms {reference / seconds:5.2f} "
        f"{seconds_text(stored['first'])} {seconds_text(stored['shape'])} {seconds_text(cold)}  "
        f"{'' if good else 'WRONG: '}{decision}; {half}")


def read_pages(options):
    """Reads a page that is upright and one that is upside down with the three networks for text."""
    import tenon.onnx
    files = text_files(options.folder)
    letters, models = given.letters_of(files[2]), [tenon.onnx.load(path).run for path in files]
    pages = [given.page(), np.ascontiguousarray(given.page()[:, :, ::-1, ::-1])]
    found = [given.read_page(image, *models, letters) for image in pages]
    return found == [given.TEXT] * 2, f"{PAGES:22} {', '.join(map(repr, found))}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=5,
                        help="rounds of several runs; the fastest one counts (default: 5)")
    parser.add_argument("--filter", default="", help="run only networks whose names contain this text")
    parser.add_argument("--small", action="store_true", help="run only the two smallest networks")
    parser.add_argument("--cold", action="store_true", help="measure a first inference with empty caches, too")
    parser.add_argument("--first", metavar="NAME", help=argparse.SUPPRESS)  # prints the times of a new process
    return parser.parse_args()


def main():
    options = arguments()
    chosen = [n for n in networks(options.folder) if options.filter in n.name]
    chosen = [n for n in chosen if n.name in SMALL or not options.small]
    chosen = [n._replace(path=made(n, n.make, "8bit"), source=n.path) if n.make else n for n in chosen]
    if options.first:
        first_run(next(n for n in chosen if n.name == options.first))
        return 0
    print(f"{'network':22} {'differ':>8} {'Tenon':>11} {'ONNX Runt.':>11} {'ratio':>5} {'store':>8} {'shape':>8} "
          f"{'cold':>8}  decision")
    results = []
    runs = [lambda n=n: run(n, options) for n in chosen]
    if options.filter in PAGES and not options.small:
        runs.append(lambda: read_pages(options))
    for each in runs:
        good, text = each()
        results.append(good)
        print(text, flush=True)
    print(f"{results.count(True)} passed, {results.count(False)} failed, {results.count(None)} skipped")
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
