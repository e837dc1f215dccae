"""The device model's table of the card, from what was measured on it: a file for src/device/kinds, to be looked at and
then put there by hand."""
import sys
from pathlib import Path

from jobs import read_json, write_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
# pylint: disable=wrong-import-position
import device_table  # noqa: E402

# Which ceiling gives which rate; of several the first that there is.
RATES = {"f32": ["multiply-add f32"], "f64": ["multiply-add f64"], "matrix_16": ["matrix unit f16", "matrix unit bf16"],
         "matrix_32": ["matrix unit tf32", "matrix unit f32"]}


def digits(value):
    """Four that mean something."""
    return float(f"{value:.4g}")


def measured_rates(ceilings, units):
    """Multiply-adds in a nanosecond of a compute unit."""
    found = {}
    for rate, names in RATES.items():
        name = next((n for n in names if ceilings.get(n, {}).get("verified")), None)
        if name:
            found[rate] = digits(ceilings[name]["value"] / 2 / units)
    return found


def with_wgmma(table, base, rates, ceilings, units):
    """The rates where wgmma is faster than the other instructions: those are then a share of its rate, which is the
    table's where it was not measured."""
    if base.get("assumed", {}).get("mma", 1) == 1 or "matrix_16" not in rates:
        return rates
    wgmma = ceilings.get("matrix unit wgmma f16", {})
    full = digits(wgmma["value"] / 2 / units) if wgmma.get("verified") else base["rates"]["matrix_16"]
    share = digits(min(rates["matrix_16"] / full, 1))
    device_table.put(table, "assumed mma", share)
    scaled = {"matrix_32": digits(rates["matrix_32"] / share)} if "matrix_32" in rates else {}
    return {**rates, "matrix_16": full, **scaled}


def put_blocks(table, base, findings):
    """The best block of each search in front of those there are, since one shape says nothing of others; the last goes
    where there are too many."""
    for search in findings:
        for path, solver, types, names, most in device_table.LISTS:
            first, last = path.split()
            best = (search.get("best") or {}).get("solver", "")
            if not device_table.matches(solver, best) or (types and search["dtype"] not in types):
                continue
            values = device_table.parameters(best, search["dtype"])
            if set(names) <= set(values):
                block = [values[name] for name in names]
                if names[-1] == "line" and values["line"] == device_table.LINE:
                    block.pop()
                there = table.get(first, {}).get(last) or base.get(first, {}).get(last, [])
                device_table.put(table, path, ([block] + [b for b in there if b != block])[:most])


def table_of(out):
    """The name of the kind, its table now, and the proposed file; None where too little was measured."""
    facts = read_json(out / "facts.json") or {}
    device = facts.get("device", {})
    ceilings = {c["name"]: c for c in (read_json(out / "ceilings.json") or {}).get("ceilings", [])}
    name, units = device.get("kind"), device.get("compute_units")
    path = device_table.KINDS / f"{name}.json"
    if not name or not units or not ceilings or not path.exists():
        return None
    base, table = device_table.whole(name), read_json(path)
    table["source"] = (f"Measured by ./run gpu on {device.get('name')}, driver {device.get('driver')}, "
                       f"{facts.get('date', '')[:10]}; else: {base.get('source', '')}")
    for field, value in with_wgmma(table, base, measured_rates(ceilings, units), ceilings, units).items():
        device_table.put(table, "rates " + field, value)
    for field, limit in (("first", "a launch and its wait"), ("next", "a launch in a row")):
        if ceilings.get(limit, {}).get("verified"):
            device_table.put(table, "launch " + field, digits(ceilings[limit]["median_ns"]))
    moved = [ceilings[n]["value"] for n in ("read", "copy by a kernel", "write") if ceilings.get(n, {}).get("verified")]
    if moved:
        device_table.put(table, "memory bandwidth", digits(max(moved)))
    device_table.put(table, "usual compute_units", units)
    put_blocks(table, base, read_json(out / "sweep.json", []) or [])
    return name, base, table


def changes(now, proposed, path=()):
    """(field, now, proposed) of what differs."""
    for key, value in proposed.items():
        if key in ("like", "source"):
            continue
        if isinstance(value, dict):
            yield from changes(now.get(key) or {}, value, (*path, key))
        elif now.get(key) != value:
            yield ".".join((*path, key)), now.get(key, ""), value


def write(out):
    """Writes kinds/NAME.json in the output folder. Returns the name and what differs; None where there is nothing."""
    found = table_of(out)
    if found is None:
        return None
    name, now, proposed = found
    write_json(out / "kinds" / f"{name}.json", proposed)
    return name, list(changes(now, proposed))
