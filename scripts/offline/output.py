"""Parses the output of the offline compilers into a dictionary of measures for each kernel.

registers: per work-item (NVIDIA, AMD: vector registers) or per hardware thread (Intel)
spills: registers spilled to memory (AMD: their number; NVIDIA: bytes; Intel: the compiler's count)
scalar_spills: scalar registers moved to lanes of vector registers (AMD), which uses no memory
scratch: bytes of private memory per work-item, used by spills and by arrays indexed at run time
local: bytes of local memory per work-group
simd: lanes per hardware thread (Intel)
"""
import re
import struct

AMD_FIELDS = {"vgpr_count": "registers", "vgpr_spill_count": "spills", "sgpr_count": "scalars",
              "sgpr_spill_count": "scalar_spills", "private_segment_fixed_size": "scratch",
              "group_segment_fixed_size": "local", "name": "name"}
AMD_LINE = re.compile(r"^\s*(?:- )?\s*\.(\w+):\s*(\S+)\s*$")


def amd(assembly):
    """Returns the .amdgpu_metadata of an assembly text."""
    kernels = {}
    text = assembly.partition(".amdgpu_metadata")[2].partition(".end_amdgpu_metadata")[0]
    text = text.partition("amdhsa.kernels:")[2]
    for block in re.split(r"^  - ", text, flags=re.M)[1:]:
        block = re.sub(r"^    \.args:\s*\n(?:      .*\n)*", "", "    " + block, flags=re.M)
        values = {}
        for line in block.splitlines():
            match = AMD_LINE.match(line)
            if match and match[1] in AMD_FIELDS:
                values[AMD_FIELDS[match[1]]] = match[2]
        name = values.pop("name", None)
        if name:
            kernels[name] = {key: int(value) for key, value in values.items()}
    return kernels


def amd_unresolved(assembly):
    """Returns the functions that are called but not defined."""
    called = set(re.findall(r"([A-Za-z_]\w*)@(?:gotpcrel32|rel32|gotpcrel)@?\w*", assembly))
    defined = set(re.findall(r"^([A-Za-z_][\w.$]*):", assembly, flags=re.M))
    return sorted(called - defined)


def ptx_unresolved(ptx):
    return sorted(set(re.findall(r"^\.extern \.func\s+(?:\([^)]*\)\s*)?(\w+)", ptx, flags=re.M)))


STUB = "__clang_ocl_kern_imp_"
PTX_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
PTX_OF = re.compile(r"Function properties for (\w+)")
PTX_SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
PTX_USED = re.compile(r"Used (\d+) registers")
PTX_SHARED = re.compile(r"(\d+) bytes smem")


def ptxas(log):
    """Parses ptxas -v. Spills of a kernel's body that was not inlined count as the kernel's."""
    kernels, entry, function = {}, None, None
    for line in log.splitlines():
        if match := PTX_ENTRY.search(line):
            entry = match[1]
            kernels[entry] = {"registers": 0, "spills": 0, "scratch": 0, "local": 0}
        elif match := PTX_OF.search(line):
            function = match[1]
        elif match := PTX_SPILL.search(line):
            owner = kernels.get((function or "").removeprefix(STUB)) or kernels.get(entry)
            if owner is not None:
                owner["scratch"] = max(owner["scratch"], int(match[1]))
                owner["spills"] += int(match[2]) + int(match[3])
        elif (match := PTX_USED.search(line)) and entry:
            kernels[entry]["registers"] = int(match[1])
            shared = PTX_SHARED.search(line)
            kernels[entry]["local"] = int(shared[1]) if shared else 0
    return kernels


IGC_SPILL = re.compile(r"kernel (\w+)\s+compiled SIMD(\d+) allocated (\d+) regs and spilled around (\d+)")


def igc_spills(log):
    """Returns {kernel: (simd, registers, spilled)} from the warnings of Intel's compiler."""
    return {m[1]: (int(m[2]), int(m[3]), int(m[4])) for m in IGC_SPILL.finditer(log)}


ZE_KERNEL = re.compile(r"^\s*- name:\s*(\S+)", re.M)
ZE_FIELDS = {"grf_count": "registers", "simd_size": "simd", "slm_size": "local",
             "spill_size": "spills", "private_size": "scratch"}


def ze_info(text):
    """Parses the YAML of Intel's newer binaries; only named numbers are needed."""
    kernels = {}
    parts = ZE_KERNEL.split(text.partition("kernels:")[2])
    for name, body in zip(parts[1::2], parts[2::2]):
        body = body.partition("execution_env:")[2]
        values = {"registers": 128, "simd": 16, "local": 0, "spills": 0, "scratch": 0}
        for field, key in ZE_FIELDS.items():
            if match := re.search(rf"\b{field}:\s*(\d+)", body):
                values[key] = int(match[1])
        kernels.setdefault(name, values)
    return kernels


PROGRAM_MAGIC = 0x494E5443
LOCAL_SURFACE, VFE_STATE, ENVIRONMENT, PRIVATE_SURFACE = 15, 18, 23, 38


def patch_tokens(binary):
    """Parses the older format of Intel's binaries, defined in the compute runtime's patch_list.h and patch_shared.h: a program
    header, then kernels with lists of tokens."""
    at = binary.find(struct.pack("<I", PROGRAM_MAGIC))
    if at < 0:
        return {}
    _, _, _, _, count, _, patches = struct.unpack_from("<7I", binary, at)
    at += 28 + patches
    kernels = {}
    for _ in range(count):
        _, _, name_size, list_size, *heaps = struct.unpack_from("<IQIIIIIII", binary, at)
        at += 40
        name = binary[at:at + name_size].rstrip(b"\0").decode()
        at += name_size + sum(heaps[:4])
        kernels[name] = tokens(binary[at:at + list_size])
        at += list_size
    return kernels


def tokens(data):
    values, at = {"registers": 128, "simd": 16, "local": 0, "spills": 0, "scratch": 0}, 0
    of_thread = 0
    while at + 8 <= len(data):
        token, size = struct.unpack_from("<II", data, at)
        if size < 8:
            break
        if token == LOCAL_SURFACE:
            values["local"] = struct.unpack_from("<I", data, at + 12)[0]
        elif token == VFE_STATE:
            of_thread = struct.unpack_from("<I", data, at + 12)[0]
        elif token == PRIVATE_SURFACE:
            values["scratch"] = struct.unpack_from("<I", data, at + 20)[0]
        elif token == ENVIRONMENT:
            values["simd"] = struct.unpack_from("<I", data, at + 8 + 12)[0]
        at += size
    # Some chips use the thread's scratch space for private memory, others a separate surface.
    values["scratch"] = max(values["scratch"], of_thread // values["simd"])
    return values


SPIRV_MAGIC, OP_ENTRY_POINT, OP_DECORATE, LINKAGE, IMPORT = 0x07230203, 15, 71, 41, 1


def spirv_kernels(module):
    """Returns the names of a SPIR-V module's entry points."""
    words, names, at = struct.unpack(f"<{len(module) // 4}I", module), [], 5
    while at < len(words) and words[at] >> 16 > 0:
        length = words[at] >> 16
        if words[at] & 0xFFFF == OP_ENTRY_POINT:
            text = struct.pack(f"<{length - 3}I", *words[at + 3:at + length])
            names.append(text.partition(b"\0")[0].decode())
        at += length
    return names


def spirv_imports(words):
    """Returns the names that a SPIR-V module imports."""
    names, at = [], 5
    while at < len(words):
        length, operation = words[at] >> 16, words[at] & 0xFFFF
        if length == 0:
            break
        if operation == OP_DECORATE and length > 4 and words[at + 2] == LINKAGE \
                and words[at + length - 1] == IMPORT:
            text = struct.pack(f"<{length - 4}I", *words[at + 3:at + length - 1])
            names.append(text.partition(b"\0")[0].decode())
        at += length
    return names


def intel_unresolved(binary):
    """Returns unresolved functions. Intel's compiler leaves them to a linker without a message. Built-in functions are also
    imports of the SPIR-V in the binary, but are not named in the code."""
    spirv, code = (binary.find(struct.pack("<I", magic)) for magic in (SPIRV_MAGIC, PROGRAM_MAGIC))
    if spirv < 0:
        return []
    end = code if code > spirv else len(binary)
    words = struct.unpack_from(f"<{(end - spirv) // 4}I", binary, spirv)
    rest = binary[:spirv] + binary[end:]
    return sorted({name for name in spirv_imports(words) if name.encode() + b"\0" in rest})


def intel(binary, readelf_text, log):
    kernels = ze_info(readelf_text) if "kernels:" in readelf_text else patch_tokens(binary)
    for name, (simd, registers, spilled) in igc_spills(log).items():
        kernels.setdefault(name, {"local": 0, "scratch": 0})
        kernels[name].update(simd=simd, registers=registers, spills=spilled)
    return kernels
