#!/usr/bin/env python3
"""Runs networks from PyPI packages with tenon.onnx and with ONNX Runtime: onnx_networks.py FOLDER [--runs N].

FOLDER contains the packages, which are not imported. The input is a picture of a drawn line of text, source files of
this tree, synthetic vowels and a recorded word. Every output must be within 1e-3 of its largest magnitude of ONNX
Runtime's, and the decision must be right. Prints a table; exits with 1 if a network fails.
"""
import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
TEXT = "Tenon reads 2048 words"
TOLERANCE = 1e-3


def picture():
    """Draws a line of text; returns it as 3 H W, from -1 to 1, with a height of 48."""
    from PIL import Image, ImageDraw, ImageFont
    font = ImageFont.load_default(size=32)
    width = int(font.getlength(TEXT)) + 32
    image = Image.new("RGB", (width, 48), "white")
    ImageDraw.Draw(image).text((16, 4), TEXT, "black", font)
    return (np.asarray(image, "f4").transpose(2, 0, 1) / 255 - 0.5) / 0.5


def directions():
    """Returns two images of 48 × 192 for the classifier of text direction: upright, and rotated by 180 degrees."""
    image = picture()[:, :, :192]
    return np.stack([image, image[:, ::-1, ::-1]])


def upright(outputs):
    return [int(i) for i in outputs[0].argmax(1)] == [0, 1], "upright and rotated"


def read_text(outputs, model):
    """Decodes the classes of each column (CTC): repeated classes count once, and class 0 is a gap."""
    letters = next(p.value for p in model.metadata_props if p.key == "character").splitlines()
    letters = ["", *letters, " "]
    best = outputs[0][0].argmax(1)
    text = "".join(letters[c] for c, before in zip(best, [0, *best[:-1]]) if c != before)
    return text == TEXT, repr(text)


def page():
    """Returns a page of 3 × 320 × 640 with a line of text."""
    image, line = np.ones((3, 320, 640), "f4"), picture()
    image[:, 120:168, 100:100 + line.shape[2]] = line
    return image[None]


def found_line(outputs):
    """Checks the place of the detected text."""
    rows, columns = np.nonzero(outputs[0][0, 0] > 0.3)
    box = [rows.min(), rows.max(), columns.min(), columns.max()] if rows.size else []
    good = bool(box) and 110 < box[0] < 150 and 130 < box[1] < 178 and 90 < box[2] < 135
    return good, f"box {[int(v) for v in box]}"


def kinds():
    """Returns the first and last 1,024 bytes of source files, as magika takes them."""
    rows = []
    for path in ("src/base/shape.c", "scripts/onnx_networks.py", "README.md"):
        data = (ROOT / path).read_bytes().strip()
        rows.append([*data[:1024], *data[-1024:]])
    return np.array(rows, "i4")


def right_kinds(outputs, folder):
    config = json.loads((folder / "magika/models/standard_v3_3/config.min.json").read_text(encoding="utf-8"))
    labels = [config["target_labels_space"][i] for i in outputs[0].argmax(1)]
    return labels == ["c", "python", "markdown"], ", ".join(labels)


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
    """Checks that the word of the recording is found where it is."""
    spoken = np.nonzero(outputs[0][:, 0] > 0.5)[0]
    good = [*spoken] == [*range(6, 19)]
    return good, f"speech from {32 * spoken.min()} to {32 * spoken.max() + 32} ms" if spoken.size else "no speech"


def networks(folder):
    """Returns for each network: name, file, input, whether it is run step by step, and the check of the outputs."""
    import onnx
    ocr, vad = folder / "rapidocr_onnxruntime" / "models", folder / "silero_vad" / "data" / "silero_vad.onnx"
    recognizer = ocr / "ch_PP-OCRv4_rec_infer.onnx"
    kind = folder / "magika" / "models" / "standard_v3_3" / "model.onnx"
    return [
        ("PP-OCR direction", ocr / "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": directions()}, None, upright),
        ("PP-OCRv4 recognition", recognizer, {"x": picture()[None]}, None,
         lambda outputs: read_text(outputs, onnx.load(str(recognizer)))),
        ("PP-OCRv4 detection", ocr / "ch_PP-OCRv4_det_infer.onnx", {"x": page()}, None, found_line),
        ("magika", kind, {"bytes": kinds()}, None, lambda outputs: right_kinds(outputs, folder)),
        ("silero-vad, 62 steps", vad, vowels()[:62 * 512].reshape(62, 512), steps_of, speech),
        ("silero-vad, recording", vad, recording(folder), steps_of, found_word),
    ]


def timed(function, runs):
    """Returns the result and the shortest time of a function."""
    result, seconds = function(), []
    for _ in range(runs):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def run(name, path, inputs, stepwise, check, runs):
    """Runs a network; returns whether it is right and its line of the table."""
    import onnxruntime
    import tenon.onnx
    from tenon.onnx.__main__ import difference
    start = time.perf_counter()
    try:
        model = tenon.onnx.load(path)
    except tenon.onnx.UnsupportedModel as error:
        missing = sorted({line.split()[0] for line in error.problems})
        return None, f"{name:22} not supported yet: {', '.join(missing)}"
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    if stepwise:
        ours, theirs = (lambda: stepwise(model.run, inputs)), (lambda: stepwise(lambda i: session.run(None, i), inputs))
    else:
        ours, theirs = (lambda: model.run(inputs)), (lambda: session.run(None, inputs))
    ours()
    first = time.perf_counter() - start
    outputs, seconds = timed(ours, runs)
    expected, reference = timed(theirs, runs)
    worst = max(difference(np.asarray(a), np.asarray(b)) for a, b in zip(outputs, expected))
    good, decision = check(outputs)
    good = good and worst <= TOLERANCE
    return good, (f"{name:22} {worst:10.1e} {first:8.2f} s {1e3 * seconds:9.2f} ms {1e3 * reference:9.2f} ms "
                  f"{reference / seconds:6.2f}  {'' if good else 'WRONG: '}{decision}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=5, help="the fastest counts (default: 5)")
    parser.add_argument("--filter", default="", help="run only networks whose names contain this text")
    options = parser.parse_args()
    print(f"{'network':22} {'difference':>10} {'first':>10} {'tenon':>12} {'ONNX Runtime':>12} {'ratio':>6}  result")
    results = []
    for row in networks(options.folder):
        if options.filter in row[0]:
            good, line = run(*row, options.runs)
            results.append(good)
            print(line, flush=True)
    print(f"networks: {results.count(True)} right, {results.count(False)} wrong, {results.count(None)} not supported")
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
