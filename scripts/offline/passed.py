"""The list of programs that have passed ./run check-kernels, stored with the sources: short hashes of the inputs of each
program, by source. Compilers are not part of the hash: a new version does not make a program new."""
import hashlib
import random
import re
from pathlib import Path

from offline.compilers import MARKS

FILE = "passed.txt"
HEAD = """\
# Programs that have passed ./run check-kernels: hashes of target, options, kernels and expanded source without
# comments. Written by ./run check-kernels --record; ./run check-kernels --new compiles programs not listed here.
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


def hash_of(key, text, kernels):
    """Returns the hash of a program planned by check_kernels; `kernels` is {name: rows}, `text` is stripped."""
    machine, source, options = key
    wanted = [f'{name} {any(row["chosen"] for row in rows)}' for name, rows in sorted(kernels.items())]
    edit = EDIT.read_text(encoding="utf-8") if MARKS in options else ""
    parts = [machine.name, source, options, text, *wanted, strip(edit)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


def hashes_of(jobs, texts):
    """Returns {key: hash} of all programs; `texts` are the expanded sources, not stripped."""
    bare = {source: strip(text.decode()) for source, text in texts.items()}
    return {key: hash_of(key, bare[key[1]], kernels) for key, kernels in jobs.items()}


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
    """Returns the list after a complete run: programs that passed, and earlier entries of programs for which this machine has no
    compiler (`unchecked`). Programs that are no longer planned are removed."""
    entries = {key: (key[1], hashes[key]) for key in jobs}
    return {entry for key, entry in entries.items()
            if (entry in passed if unchecked(key[0]) else key not in failed)}
