"""What the peers in Python share: the cases of a file, each timed in its types, written as they come."""
import json
import statistics
import sys
import time

SECONDS = 0.15


def median_ns(took):
    """Of one call, where `took(count)` gives the seconds of so many back to back: several times, each long
    enough to be measured."""
    took(3)
    count, values, end = 1, [], time.monotonic() + SECONDS
    while len(values) < 5 or time.monotonic() < end:
        seconds = took(count)
        if seconds < 0.005 and count < 4096 and not values:
            count *= 2
            continue
        values.append(1e9 * seconds / count)
    return statistics.median(values)


def waiting(call, wait):
    """took() by the host's clock, for what has no events."""
    def took(count):
        wait()
        start = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        return time.perf_counter() - start
    return took


def measure(cases, path, header, work_of):
    """Writes the header with the results of all cases; the file is whole after each. `work_of(case, dtype)`
    gives the library, took() by layout, and the operations of a call; None for what the peer is not asked
    for. The exit status: 1 where nothing was measured."""
    results = []
    for case in cases:
        for dtype in case["dtypes"]:
            try:
                work = work_of(case, dtype)
                if work is None:
                    continue
                library, ways, operations = work
                times = {layout: median_ns(took) for layout, took in ways.items()}
            except Exception as error:  # each library has its own for what it cannot do, or has no memory for
                print(f"{case['case']} {dtype}: {(str(error).splitlines() or [repr(error)])[0]}", file=sys.stderr)
                continue
            layout = min(times, key=times.get)
            ns = times[layout]
            results.append({"suite": case["suite"], "case": case["case"], "dtype": dtype, "library": library,
                            "median_ns": ns, "gflops": operations / ns, "layout": layout})
            print(f"{case['case']:36} {dtype:5} {ns / 1e3:10.1f} us {operations / ns:10.1f} GF", flush=True)
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**header, "results": results}, file, indent=1)
    return 0 if results else 1


def read_cases(path):
    """[{"suite", "case", "dtypes": […]}, …]"""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def left_out(path, why):
    """For a device that is not the peer's: a file without results. The exit status."""
    print(why)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"left_out": why, "results": []}, file, indent=1)
    return 0
