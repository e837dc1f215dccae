#!/usr/bin/env python3
"""Runs a network or a call with another library, for tenon-bench: network.py LIBRARY. Reads one line of JSON from
standard input, the layers as described in bench/peers/program_network.c or the call as described in numpy.c, followed by
the bytes of its inputs. Prints "ready" with the library's version, or "absent: REASON" and ends. Then, for each line
with a number, it runs the work that many times and prints "done". With numpy it also takes the training steps of
historic.py, described in program_step.c, from given initial values; for the line "check" it takes the first step and
prints samples of the results. The other weights of networks are random, which does not
affect the time."""
import json
import sys

try:
    import numpy
except ImportError:
    numpy = None  # both libraries need it, so importing them fails, too


def weights_of(layer, random):
    """Returns filters K C R S and bias that keep the size of values about the same."""
    k, inputs, size = layer["channels"], layer["inputs"], layer["filter"]
    w = random.standard_normal((k, inputs, size, size), dtype=numpy.float32)
    return w * numpy.float32(1 / (inputs * size * size) ** 0.5), numpy.full(k, 0.01, numpy.float32)


class Onnx:
    """The graph of a network in ONNX."""

    ACTIVATIONS = {"relu": "Relu", "hard sigmoid": "HardSigmoid", "hard swish": "HardSwish"}

    def __init__(self, network):
        import onnx.helper
        import onnx.numpy_helper

        self.helper, self.array = onnx.helper, onnx.numpy_helper.from_array
        self.nodes, self.weights = [], []
        self.random = numpy.random.default_rng(1)
        self.flat = set()  # images that are matrices of N rows
        for number, layer in enumerate(network["layers"], 1):
            self.add(number, layer)
        size, channels = network["size"], network["channels"]
        value = lambda name, shape: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        shape = [network["n"], channels, *size]
        graph = onnx.helper.make_graph(self.nodes, "network", [value("0", shape)], [value(str(number), None)],
                                       self.weights)
        self.bytes = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)], ir_version=8
                                            ).SerializeToString()
        self.shape = shape

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(self.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, name, values):
        self.weights.append(self.array(values, name))
        return name

    def shaped(self, image, is_flat):
        """Returns the image as a matrix, or with spatial dimensions."""
        if is_flat == (image in self.flat):
            return image
        shape = self.constant(f"shape of {image}", numpy.array([0, -1] if is_flat else [0, -1, 1, 1]))
        return self.node("Reshape", [image, shape], f"{image} reshaped")

    def add(self, number, layer):
        y, steps = str(number), []
        x = self.shaped(str(layer["x"]), layer["kind"] == "connected")
        if layer["other"] >= 0 and layer["kind"] != "scaling":
            steps.append(("Add", [self.shaped(str(layer["other"]), False)]))
        if layer["activation"] in self.ACTIVATIONS:
            steps.append((self.ACTIVATIONS[layer["activation"]], []))
        elif layer["activation"] is not None:
            limits = [self.constant(f"limit {end} of {y}", numpy.float32(end)) for end in (0, layer["activation"])]
            steps.append(("Clip", limits))
        at = self.operate(layer, x, y if not steps else f"{y} of {len(steps)}")
        for left, (kind, others) in zip(range(len(steps) - 1, -1, -1), steps):
            attributes = {"alpha": 1 / 6} if kind == "HardSigmoid" else {}
            at = self.node(kind, [at, *others], y if left == 0 else f"{y} of {left}", **attributes)
        if layer["kind"] == "connected":
            self.flat.add(y)

    def operate(self, layer, x, y):
        size, stride, pad = layer["filter"], layer["stride"], layer["padding"]
        window = {"kernel_shape": [size, size], "strides": stride, "pads": [pad] * 4}
        if layer["kind"] == "scaling":
            return self.node("Mul", [x, self.shaped(str(layer["other"]), False)], y)
        if layer["kind"] == "pooling":
            return self.node("GlobalAveragePool", [x], y) if size == 0 else self.node("MaxPool", [x], y, **window)
        w, bias = weights_of(layer, self.random)
        inputs = [x, "w " + y, self.constant("bias " + y, bias)]
        if layer["kind"] == "connected":
            self.constant("w " + y, w.reshape(len(w), -1))
            return self.node("Gemm", inputs, y, transB=1)
        self.constant("w " + y, w)
        return self.node("Conv", inputs, y, group=layer["groups"], **window)


def onnxruntime(network):
    """Returns a function that runs the network, and the version."""
    import onnxruntime

    graph = Onnx(network)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = network["threads"]
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph.bytes, options, providers=["CPUExecutionProvider"])
    x = numpy.random.default_rng(2).standard_normal(graph.shape, dtype=numpy.float32)
    graph = None
    binding = session.io_binding()
    binding.bind_cpu_input("0", x)
    binding.bind_ortvalue_output(session.get_outputs()[0].name,
                                 onnxruntime.OrtValue.ortvalue_from_numpy(session.run(None, {"0": x})[0]))
    return lambda: session.run_with_iobinding(binding), onnxruntime.__version__


def pytorch(network):
    """Returns a function that runs the network, and the version."""
    import torch

    functional, random = torch.nn.functional, numpy.random.default_rng(1)
    torch.set_num_threads(network["threads"])

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for number, layer in enumerate(network["layers"]):
                if layer["kind"] not in ("pooling", "scaling"):
                    w, bias = map(torch.from_numpy, weights_of(layer, random))
                    is_image = layer["kind"] == "convolution"
                    w = w.to(memory_format=torch.channels_last) if is_image else w.reshape(len(w), -1)
                    self.register_buffer(f"w{number}", w)
                    self.register_buffer(f"bias{number}", bias)

        def forward(self, x):
            images = [x]
            for number, layer in enumerate(network["layers"]):
                images.append(self.layer(number, layer, images))
            return images[-1]

        def layer(self, number, layer, images):
            x = images[layer["x"]]
            if layer["kind"] == "pooling":
                return functional.adaptive_avg_pool2d(x, 1) if layer["filter"] == 0 else functional.max_pool2d(
                    x, layer["filter"], layer["stride"], layer["padding"])
            if layer["kind"] == "scaling":
                return x * images[layer["other"]]
            w, bias = getattr(self, f"w{number}"), getattr(self, f"bias{number}")
            if layer["kind"] == "connected":
                y = functional.linear(torch.flatten(x, 1), w, bias)[:, :, None, None]
            else:
                y = functional.conv2d(x, w, bias, layer["stride"], layer["padding"], 1, layer["groups"])
            y = y if layer["other"] < 0 else y + images[layer["other"]]
            return activated(y, layer["activation"])

    def activated(y, kind):
        functions = {None: lambda y: y, "relu": functional.relu, "hard sigmoid": functional.hardsigmoid,
                     "hard swish": functional.hardswish}
        return functions[kind](y) if kind in functions else functional.hardtanh(y, 0.0, float(kind))  # integers end PyTorch 1.13

    x = torch.from_numpy(numpy.random.default_rng(2).standard_normal(
        (network["n"], network["channels"], *network["size"]), dtype=numpy.float32))
    x = x.to(memory_format=torch.channels_last)
    with torch.inference_mode():
        run = torch.jit.optimize_for_inference(torch.jit.trace(Network().eval(), x))
        for _ in range(3):  # the profiling executor optimizes after the first runs
            run(x)

    def step():
        with torch.inference_mode():
            run(x)

    return step, torch.__version__


def arrays(work):
    """Returns a function that runs a call or a training step in NumPy, the version and, for a training step, a function
    for the line "check"."""
    import calls
    import historic

    return calls.numpy_call(work, sys.stdin.buffer) if "statement" in work else historic.numpy_steps(work)


def main():
    libraries = {"onnxruntime": onnxruntime, "pytorch": pytorch, "numpy": arrays}
    work = json.loads(sys.stdin.buffer.readline())
    try:
        run, version, *check = libraries[sys.argv[1]](work)
    except ImportError as reason:
        print("absent:", reason, flush=True)
        return
    print("ready", version, flush=True)
    for line in sys.stdin.buffer:
        if line == b"check\n":
            print(json.dumps(check[0]()), flush=True)
            continue
        for _ in range(int(line)):
            run()
        print("done", flush=True)


if __name__ == "__main__":
    main()
