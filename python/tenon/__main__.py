"""python -m tenon: lists the devices and marks the default one."""
import sys

import tenon


def main() -> int:
    try:
        chosen = tenon.device_select()
    except tenon.Error as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Tenon {tenon.version}")
    for device in tenon.device_list():
        mark = "*" if device.selector == chosen.selector else " "
        what = f"{device.name} ({device.platform_name}), {device.compute_units} compute units"
        print(f"{mark} {device.selector:5} {device.note or what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
