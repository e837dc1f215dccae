"""The cost of writing a kernel's result, read from PTX: the instructions of the shortest storing iteration of the loop around
the widest store to global memory. This is the epilogue without c, bias and activation if the kernel has branches for them.

instructions: per work-item and iteration
bytes: stored per iteration
"""
import heapq
import re

LABEL = re.compile(r"^\s*(\$L\w+):\s*(.*)$")
TARGET = re.compile(r"\$L\w+")
INSTRUCTION = re.compile(r"^(?:@!?%\w+\s+)?[a-z][\w.:]*\s")
STORE = re.compile(r"^(?:@!?%\w+\s+)?st\.global(?:\.v(\d))?\.[bfus](\d+)")
ENDS = ("ret;", "exit;", "trap;")


def without_comments(lines):
    for line in lines:
        if text := line.partition("//")[0].strip():
            yield text


def parts(lines):
    """Returns {label: (instructions, possible next labels)} of a function; the label of the first part is "". Parts end at jumps
    and at labels."""
    found, tables, name, table = {"": ([], [])}, {}, "", None
    for line in without_comments(lines):
        if table is not None or ".branchtargets" in line:
            table = table or LABEL.match(line)[1]
            tables.setdefault(table, []).extend(TARGET.findall(line.partition(".branchtargets")[2] or line))
            table = None if line.endswith(";") else table
            continue
        match = LABEL.match(line)
        if match:
            found[name][1].append(match[1])
            name = match[1]
            found[name] = ([], [])
            line = match[2]
        if not INSTRUCTION.match(line) and line not in ENDS:
            continue
        found[name][0].append(line)
        jumps = re.match(r"^(@!?%\w+\s+)?(?:bra(?:\.uni)?\s|brx)", line)
        if jumps:
            found[name][1].extend(TARGET.findall(line))
        if jumps or line in ENDS:
            # The code after a conditional jump is a separate part.
            after = f"{name}+"
            if jumps and jumps[1]:
                found[name][1].append(after)
            name = after
            found[name] = ([], [])
    return {part: (code, [t for label in to for t in tables.get(label, [label])])
            for part, (code, to) in found.items()}


def shortest_turn(graph, start):
    """Returns the instructions of the shortest path from a part to itself, or None."""
    queue, done = [(0, start)], set()
    while queue:
        length, part = heapq.heappop(queue)
        if part == start and length > 0:
            return length
        if part in done and part != start:
            continue
        done.add(part)
        code, following = graph[part]
        for to in following:
            if to in graph and (to == start or to not in done):
                heapq.heappush(queue, (length + len(code), to))
    return None


def stored(code):
    return sum(int(m[1] or 1) * int(m[2]) // 8 for line in code if (m := STORE.match(line)))


def widest_store(lines):
    """Returns the measures of a kernel, or None if no loop stores."""
    graph = parts(lines)
    best = None
    for part, (code, _) in graph.items():
        count = stored(code)
        if count and (best is None or count > best["bytes"]):
            turn = shortest_turn(graph, part)
            if turn is not None:
                best = {"instructions": turn, "bytes": count}
    return best
