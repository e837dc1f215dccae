"""NVIDIA's driver by its own interface: the kernels that measure a card, as PTX. It is all that can be asked where there
is no OpenCL for the card, which Tenon itself needs; where there is, what its OpenCL compiler refuses may load here."""
import sys
from pathlib import Path

import ptx
from jobs import OK, read_json, write_json

HERE = Path(__file__).parent


def has_opencl(run):
    """Whether NVIDIA's OpenCL is there."""
    return any(f["vendor"] == "NVIDIA" and not f["fails"] for f in run.host["found"])


def programs(run):
    """The PTX files: those that were carried, or made here; and why there are none."""
    for folder in (run.carried / "ptx", run.out / "ptx"):
        if any(folder.glob("*.ptx")):
            return sorted(folder.glob("*.ptx")), None
    why = ptx.make(run.out / "ptx")
    return sorted((run.out / "ptx").glob("*.ptx")), why


def ask(run):
    """cuda.json: the card, and for each file whether it loads and how fast its kernels are."""
    library = run.host.get("libcuda")
    if not library:
        run.note("cuda/driver", "skipped", why="no libcuda")
        return
    folder = run.out / "cuda"
    folder.mkdir(exist_ok=True)
    script, about = HERE / "cuda_driver.py", folder / "device.json"
    if run.job("cuda/driver", [sys.executable, script, library, about], limit=60, needs=[about],
               optional=has_opencl(run)) != OK and not run.is_done("cuda/driver", [about]):
        return
    device = (read_json(about) or {}).get("device", {})
    files, why = programs(run)
    if why:
        run.note("cuda/ptx", "skipped", why=f"no PTX was carried, and none can be made here: {why}")
    capability = 10 * device.get("major", 0) + device.get("minor", 0)
    found = {"device": device, "files": {}}
    for path in files:
        least, alone = ptx.target_of(path)
        if capability < least or (alone and capability != least):
            continue
        out = folder / (path.stem + ".json")
        # One that does not load, or goes wrong, is an answer.
        run.job("cuda/" + path.stem.replace(".", "-"), [sys.executable, script, library, out, path],
                limit=min(60, run.left()), needs=[out], optional=True)
        found["files"][path.stem] = read_json(out, {"fails": "the program did not end well"})
    write_json(run.out / "cuda.json", found)
