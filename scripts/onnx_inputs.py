"""Input of the networks that onnx_networks.py runs, and checks of their outputs: a picture of a line of text, which is
drawn with Pillow's font, a page with this line, and files of this tree."""
import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
TEXT = "Tenon reads 2048 words"
FILES = {"src/base/shape.c": "c", "scripts/onnx_inputs.py": "python", "README.md": "markdown", "run": "shell",
         "docs/devices.json": "json", "docs/images/speed.svg": "svg", "examples/data/cat.png": "png"}
HEIGHT = 48  # of the lines that the networks for direction and recognition read


def scaled(image):
    """Returns an image of H W C with bytes as 3 H W, from -1 to 1."""
    return (np.asarray(image, "f4").transpose(2, 0, 1) / 255 - 0.5) / 0.5


def picture(margin=4):
    """Draws the line of text; returns it as 3 H W, from -1 to 1, with a height of 48."""
    from PIL import Image, ImageDraw, ImageFont
    font = ImageFont.load_default(size=32)
    image = Image.new("RGB", (int(font.getlength(TEXT)) + 2 * margin, HEIGHT), "white")
    ImageDraw.Draw(image).text((margin, 4), TEXT, "black", font)
    return scaled(image)


def directions():
    """Returns two images of 48 × 192 for the classifier of text direction: upright, and rotated by 180 degrees."""
    image = picture()[:, :, :192]
    return np.stack([image, image[:, ::-1, ::-1]])


def page(width=640):
    """Returns a page of 1 × 3 × 320 × width with the line of text."""
    image, line = np.ones((3, 320, width), "f4"), picture()
    image[:, 120:168, 100:100 + line.shape[2]] = line
    return image[None]


def kinds():
    """Returns the first and last 1,024 bytes of files as magika takes them: without white space at both ends."""
    rows = []
    for name in FILES:
        data = (ROOT / name).read_bytes()
        begin, end = data[:4096].lstrip()[:1024], data[-4096:].rstrip()[-1024:]
        rows.append([*begin, *[256] * (2048 - len(begin) - len(end)), *end])
    return np.array(rows, "i4")


# Checks of outputs: each returns whether the decision is right, and its description.


def is_upright(outputs):
    return [int(i) for i in outputs[0].argmax(1)] == [0, 1], "upright and rotated"


def letters_of(path):
    """Returns the letter of each class of a network for recognition, from its file."""
    import onnx
    listed = next(p.value for p in onnx.load(str(path)).metadata_props if p.key == "character").splitlines()
    return ["", *listed, " "]


def decoded(scores, letters):
    """Decodes the classes of each column (CTC): repeated classes count once, and class 0 is a gap."""
    best = scores.argmax(1)
    return "".join(letters[c] for c, before in zip(best, [0, *best[:-1]]) if c != before)


def reads(letters):
    def check(outputs):
        text = decoded(outputs[0][0], letters)
        return text == TEXT, repr(text)
    return check


def enclosing(scores):
    """Returns the first and last row and column of the detected text."""
    rows, columns = np.nonzero(scores > 0.3)
    return [int(v) for v in (rows.min(), rows.max(), columns.min(), columns.max())] if rows.size else [0, 0, 0, 0]


def finds_line(outputs):
    """Checks the place of the text. Detected regions are smaller than the letters, as the network is trained."""
    top, bottom, left, right = enclosing(outputs[0][0, 0])
    end = 100 + picture().shape[2]
    good = 120 < top < 145 and 145 < bottom < 168 and 100 < left < 130 and end - 30 < right < end
    return good, f"rows {top} to {bottom}, columns {left} to {right}"


def knows_kinds(folder):
    config = json.loads((folder / "magika/models/standard_v3_3/config.min.json").read_text(encoding="utf-8"))

    def check(outputs):
        labels = [config["target_labels_space"][i] for i in outputs[0].argmax(1)]
        return labels == list(FILES.values()), ", ".join(labels)
    return check


# The networks for text one after the other ---------------------------------------------------------------


def cut_out(image, box):
    """Cuts the text out of a page, with the margin that PaddleOCR adds, and scales it to the height of a line."""
    from PIL import Image
    top, bottom, left, right = box[0], box[1] + 1, box[2], box[3] + 1
    margin = round(1.6 * (bottom - top) * (right - left) / (2 * (bottom - top + right - left)))
    part = image[:, max(top - margin, 0):bottom + margin, max(left - margin, 0):right + margin]
    drawn = Image.fromarray(((part.transpose(1, 2, 0) * 0.5 + 0.5) * 255).astype("u1"))
    return scaled(drawn.resize((drawn.width * HEIGHT // drawn.height, HEIGHT)))


def read_page(image, detect, classify, recognize, letters):
    """Returns the text of a page by three networks: where it is, whether it is upside down, and its letters."""
    line = cut_out(image[0], enclosing(detect({"x": image})[0][0, 0]))
    part = line[:, :, :192]
    if classify({"x": part[None]})[0][0].argmax() == 1:
        line = np.ascontiguousarray(line[:, ::-1, ::-1])
    return decoded(recognize({"x": line[None]})[0][0], letters)
