"""Tables of what check_kernels.py measured."""


def short(options):
    """Options without those that every kernel gets."""
    return " ".join(word.removeprefix("-DTENON_").removeprefix("-D") for word in options.split()
                    if not word.startswith(("-cl-std", "-DTENON_HW_FMA")))


def print_tables(kernels, machines):
    """A line for each target, then the kernels that spill, known or not."""
    print(f'\n{"target":8} {"kernels":>7} {"failed":>6} {"spills":>6} {"scratch":>7}  '
          f'{"most registers":42} {"least occupancy":44} slowest')
    for machine in machines:
        mine = [k for k in kernels if k["machine"] == machine.name]
        if not mine:
            continue
        measured = [k for k in mine if k.get("registers")]
        print(f'{machine.name:8} {len(mine):7} {sum("error" in k for k in mine):6} '
              f'{sum(k.get("spills", 0) > 0 for k in mine):6} '
              f'{sum(k.get("scratch", 0) > 0 for k in mine):7}  '
              f'{extreme(measured, "registers", max, "{:.0f}"):42} '
              f'{extreme(measured, "occupancy", min, "{:.0%}"):44} '
              f'{extreme(mine, "seconds", max, "{:.1f} s")}')
    print()


def extreme(kernels, field, choose, form):
    if not kernels:
        return "-"
    kernel = choose(kernels, key=lambda k: k[field])
    return f'{form.format(kernel[field])} {kernel["source"]}:{kernel["kernel"]}'
