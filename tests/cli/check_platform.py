#!/usr/bin/env python3
"""Tests that only the platform files depend on the operating system: all other files of the library and the
command include no headers except those of C11 and of dependencies, and are compiled without POSIX."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
C11 = {"assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math",
       "setjmp", "signal", "stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib",
       "stdnoreturn", "string", "tgmath", "time", "uchar", "wchar", "wctype"}
DEPENDENCIES = {"CL/cl.h", "CL/cl_ext.h", "OpenCL/opencl.h", "xxhash.h", "jansson.h", "popt.h", "clblast_c.h"}
PLATFORM = {"src/base/platform.h", "tools/platform.h", "tools/platform_posix.c", "tools/platform_windows.c",
            *(f"src/base/{part}_{system}.c" for part in ("files", "platform", "threads")
              for system in ("posix", "windows"))}
# Compiled by the application, with the headers of its own MPI; nothing in the library includes it.
MPI = {"include/tenon/mpi.h": ["mpi.h", "mpi-ext.h"]}
INCLUDED = re.compile(r"(?m)^\s*#\s*include\s*<([^>]+)>")
# Names that need no header, or that distinguish systems.
NAMES = re.compile(r"\b(pthread_\w+|_WIN32|__MINGW32__|__linux__|O_CLOEXEC|fopen\([^)]*\"\w*[exN]\w*\"\))")
# Comparisons of a driver's or a device's name with a string.
COMPARED = re.compile(r"\bstr(?:n?cmp|n?casecmp|str)\([^;]*(?:platform_name|platform_version|vendor|info[.>-]+name)\b")
CALLED = re.compile(r"\bcl(?:Enqueue|Create|Get|Set|Build|Retain|Release|Finish|Flush|Wait)\w+\(")
# Files that may distinguish systems: export attributes, and the name of OpenCL's library.
SYSTEMS = {"include/tenon/export.h", "src/runtime/opencl/opencl.c"}


def sources():
    for folder in ("include", "src", "tools"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h"):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def is_known(header):
    return header.removesuffix(".h") in C11 or header in DEPENDENCIES or header.startswith("tenon/")


class Platform(unittest.TestCase):
    def test_only_platform_files_include_system_headers(self):
        found = {name: foreign for name, text in sources()
                 if (foreign := [h for h in INCLUDED.findall(text) if not is_known(h)])}
        self.assertEqual({name: headers for name, headers in found.items() if name not in PLATFORM}, MPI)
        self.assertEqual([name for name, text in sources() if "<tenon/mpi.h>" in text and name not in MPI], [])
        self.assertIn("src/base/platform_posix.c", found)
        self.assertIn("src/base/platform_windows.c", found)

    def test_only_platform_files_use_system_names(self):
        found = {name: names for name, text in sources()
                 if name not in PLATFORM | SYSTEMS and (names := NAMES.findall(text))}
        self.assertEqual(found, {})

    def test_driver_names_are_compared_in_one_file(self):
        found = {name: len(places) for name, text in sources()
                 if name.startswith("src/") and (places := COMPARED.findall(text))}
        self.assertEqual(found, {"src/runtime/opencl/device.c": 1})

    def test_only_the_runtime_calls_opencl(self):
        found = {name for name, text in sources() if name.startswith("src/") and CALLED.search(text)}
        self.assertEqual({name for name in found if not name.startswith("src/runtime/")}, set())
        self.assertGreater(len(found), 5)

    def test_other_files_are_compiled_without_posix(self):
        self.assertIn("strict_args = ['-U_POSIX_C_SOURCE']", (ROOT / "meson.build").read_text(encoding="utf-8"))
        for place in ("src", "tools"):
            self.assertIn("strict_args", (ROOT / place / "meson.build").read_text(encoding="utf-8"), place)

    def test_both_systems_define_the_same_functions(self):
        for folder, prefix in (("src/base", "tn_"), ("tools", "platform_")):
            defined = []
            for system in ("posix", "windows"):
                text = (ROOT / folder / f"platform_{system}.c").read_text(encoding="utf-8")
                defined.append(set(re.findall(rf"(?m)^(?!static)\w[\w \*]*\b({prefix}\w+)\([^;]*?\)\n{{", text)))
            self.assertEqual(*defined)
            self.assertGreater(len(defined[0]), 5)


if __name__ == "__main__":
    unittest.main()
