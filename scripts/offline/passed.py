"""The list of programs that have passed ./run check-kernels, stored with the sources: short hashes of the inputs of each
program, by source. Compilers are not part of the hash: a new version does not make a program new."""
import concurrent.futures
import hashlib
import os
import random
import re
import subprocess
from pathlib import Path

from offline.compilers import MARKS, real_name

FILE = "passed.txt"
HEAD = """\
# Programs that have passed ./run check-kernels: hashes of target, options, kernels and preprocessed source.
# Written by ./run check-kernels --record; ./run check-kernels --new compiles programs not listed here.
"""
DIGITS, COLUMNS = 8, 12
EDIT = Path(__file__).parents[2] / "src" / "runtime" / "program" / "ptx_edit.c"
# A string, which is kept, or a comment.
TOKEN = re.compile(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|/\*.*?\*/|//[^\n]*', re.S)


def strip(text):
    """Returns a source without comments, blank lines, #line directives and spaces around lines, none of which affect the
    compiled code."""
    bare = TOKEN.sub(lambda found: found[1] or " ", text.replace("\\\n", ""))
    return "\n".join(line.strip() for line in bare.splitlines() if line.strip() and not line.startswith("#line"))


# The macros of OpenCL's compilers on which the kernels depend.
LANGUAGE = ["-D__OPENCL_VERSION__=120", "-D__OPENCL_C_VERSION__=120"]
VENDOR = {"nvidia": ["-D__NVPTX__=1"]}
# These sources test what the compiler has, so their whole text is part of the hash.
PROBES = "capability/"


def preprocess(key, text):
    """Returns what the compiler sees of a source: a change in a part that it skips does not make a program new. The C
    preprocessor knows no macros of its own here, so that every machine gives the same text."""
    machine, source, options = key
    vendor = [f"-D__{real_name(machine)}__=1"] if machine.vendor == "amd" else VENDOR.get(machine.vendor, [])
    defines = [option for option in options.split() if option.startswith("-D")]
    done = subprocess.run([os.environ.get("CPP", "cpp"), "-P", "-undef", "-w", *LANGUAGE, *vendor, *defines], input=text,
                          capture_output=True, text=True, check=False)
    is_whole = done.returncode == 0 and not source.startswith(PROBES)
    return " ".join(done.stdout.split()) + ("" if is_whole else text)


def hash_of(key, text, kernels):
    """Returns the hash of a program planned by check_kernels; `kernels` is {name: rows}, `text` is stripped."""
    machine, source, options = key
    wanted = [f'{name} {any(row["chosen"] for row in rows)}' for name, rows in sorted(kernels.items())]
    edit = EDIT.read_text(encoding="utf-8") if MARKS in options else ""
    parts = [machine.name, source, options, preprocess(key, text), *wanted, strip(edit)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


def hashes_of(jobs, texts):
    """Returns {key: hash} of all programs; `texts` are the expanded sources, not stripped."""
    bare = {source: strip(text.decode()) for source, text in texts.items()}
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        hashes = pool.map(lambda key: hash_of(key, bare[key[1]], jobs[key]), jobs)
        return dict(zip(jobs, hashes))


def read(path):
    """Reads a list; returns (source, hash) pairs."""
    found, source = set(), None
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for line in text.splitlines():
        if line.startswith(" "):
            found.update((source, word) for word in line.split())
        elif not line.startswith("#"):
            source = line.strip()
    return found


def write(path, passed):
    lines, words = [], {}
    for source, word in passed:
        words.setdefault(source, []).append(word)
    for source in sorted(words):
        mine = sorted(words[source])
        lines.append(source)
        lines += ["  " + " ".join(mine[at:at + COLUMNS]) for at in range(0, len(mine), COLUMNS)]
    path.write_text(HEAD + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def draw(keys, hashes, count, seed):
    """Returns a random sample of the programs."""
    ordered = sorted(keys, key=lambda key: hashes[key])
    return set(random.Random(seed).sample(ordered, min(count, len(ordered))))


def update(jobs, hashes, passed, failed, unchecked):
    """Returns the list after a run without errors: programs that passed, and earlier entries of programs that were not
    compiled (`unchecked`). Programs that are no longer planned are removed."""
    entries = {key: (key[1], hashes[key]) for key in jobs}
    return {entry for key, entry in entries.items()
            if (entry in passed if unchecked(key) else key not in failed)}
