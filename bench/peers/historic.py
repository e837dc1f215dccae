"""Training steps of historic workloads in NumPy, for network.py: AlexNet and a deep belief network, as in
bench/networks/historic.c. Convolutions are matrix products of columns of patches, which are views by strides until they
are copied. The images have their channels last; filters are stored as R S C K."""
import numpy

LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = numpy.float32([0.01, 0.9, 0.0005])
DBN_RATE = numpy.float32(0.001)
ALPHA, BETA, K = numpy.float32(1e-4), numpy.float32(0.75), numpy.float32(2)  # of the response normalization
CONVOLUTIONS = [  # stride, padding, normalizes, pools
    (4, 0, True, True), (1, 2, True, True), (1, 1, False, False), (1, 1, False, False), (1, 1, False, True)]
COLUMNS = 1 << 23  # elements of the patches that are copied at a time


def initial(value):
    """Returns the initial numbers of a value: those of tn_random (src/check/host.c), between its limits."""
    shape = list(value["shape"])
    if value["channels_last"]:
        shape.append(shape.pop(1))
    count = int(numpy.prod(shape))
    factor, addend = 6364136223846793005, 1442695040888963407
    state = numpy.empty(count, numpy.uint64)
    state[0] = (value["seed"] * factor + addend) % 2**64
    done = 1
    while done < count:  # the factor and the addend of a jump by `done` numbers
        more = min(done, count - done)
        state[done:done + more] = state[:more] * numpy.uint64(factor) + numpy.uint64(addend)
        addend = addend * (factor + 1) % 2**64
        factor = factor * factor % 2**64
        done += more
    random = state.view(numpy.int64) / 2.0**63
    numbers = value["low"] + (value["high"] - value["low"]) * (random + 1) / 2
    return numbers.astype(numpy.int32 if value["integer"] else numpy.float32).reshape(shape)


def philox_words(seed, count):
    """Returns 32-bit words of Philox4x32-10 with the sequence 0, in the order of include/tenon/random.h."""
    blocks = -(-count // 64) * 16
    mask, shift = numpy.uint64(0xffffffff), numpy.uint64(32)
    block = numpy.arange(blocks, dtype=numpy.uint64)
    x = [block & mask, block >> shift, numpy.zeros_like(block), numpy.zeros_like(block)]
    key = [seed & 0xffffffff, seed >> 32]
    for _ in range(10):
        a, b = numpy.uint64(0xD2511F53) * x[0], numpy.uint64(0xCD9E8D57) * x[2]
        x = [(b >> shift) ^ x[1] ^ numpy.uint64(key[0]), b & mask, (a >> shift) ^ x[3] ^ numpy.uint64(key[1]), a & mask]
        key = [(key[0] + 0x9E3779B9) & 0xffffffff, (key[1] + 0xBB67AE85) & 0xffffffff]
    return numpy.stack(x).reshape(4, -1, 16).transpose(1, 0, 2).reshape(-1)[:count]


class Draws:
    """Random numbers: Tenon's to compare results, NumPy's own to measure the time."""

    def __init__(self):
        self.own, self.exact = numpy.random.default_rng(1), False

    def below(self, seed, p, shape):
        """Returns where a random number is below p, which is a number or an array of this shape."""
        if not self.exact:
            return self.own.random(shape, dtype=numpy.float32) < p
        limit = numpy.rint(numpy.float64(p) * 2.0**32)
        return philox_words(seed, int(numpy.prod(shape))).reshape(shape) < limit


def patches(x, size, stride):
    """Returns the view N P Q R S C of the patches of padded images."""
    n, height, width, channels = x.shape
    p, q = (height - size) // stride + 1, (width - size) // stride + 1
    by_n, by_h, by_w, by_c = x.strides
    return numpy.lib.stride_tricks.as_strided(
        x, (n, p, q, size, size, channels), (by_n, by_h * stride, by_w * stride, by_h, by_w, by_c), writeable=False)


class Convolution:
    """A convolution with ReLU, normalization and pooling."""

    def __init__(self, w, bias, geometry):
        self.w, self.bias = numpy.ascontiguousarray(w.transpose(2, 3, 1, 0)), bias
        self.stride, self.padding, self.normalizes, self.pools = geometry
        self.velocities = [numpy.zeros_like(self.w), numpy.zeros_like(bias)]

    def parts(self, x):
        """Returns the ranges of images, channels and filters of each product."""
        size, _, channels, k = self.w.shape
        groups = x.shape[-1] // channels
        width = k // groups
        p = (x.shape[1] - size) // self.stride + 1
        step = max(1, COLUMNS // (p * p * size * size * channels))
        return [(slice(i, i + step), slice(g * channels, (g + 1) * channels), slice(g * width, (g + 1) * width))
                for i in range(0, len(x), step) for g in range(groups)]

    def columns(self, images, channels):
        view = patches(self.x[images][..., channels], self.w.shape[0], self.stride)
        return view.reshape(-1, view.shape[3] * view.shape[4] * view.shape[5])

    def forward(self, x):
        pad = self.padding
        self.x = numpy.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0))) if pad else x
        p = (self.x.shape[1] - self.w.shape[0]) // self.stride + 1
        y = numpy.empty((len(x), p, p, self.w.shape[3]), numpy.float32)
        for images, channels, filters in self.parts(self.x):
            w = self.w[..., filters].reshape(-1, filters.stop - filters.start)
            y[images, ..., filters] = (self.columns(images, channels) @ w).reshape(-1, p, p, w.shape[1])
        y += self.bias
        self.y = numpy.maximum(y, 0, out=y)
        self.normalized = normalize(self) if self.normalizes else y
        return pool(self) if self.pools else self.normalized

    def backward(self, d, is_first):
        if self.pools:
            d = pool_backward(self, d)
        if self.normalizes:
            d = normalize_backward(self, d)
        d = d * (self.y > 0)
        size, pad, p = self.w.shape[0], self.padding, d.shape[1]
        dw, dx = numpy.zeros_like(self.w), None if is_first else numpy.zeros_like(self.x)
        for images, channels, filters in self.parts(self.x):
            dy = d[images][..., filters].reshape(-1, filters.stop - filters.start)
            dw[..., filters] += (self.columns(images, channels).T @ dy).reshape(*dw.shape[:3], -1)
            if is_first:
                continue
            taps = (dy @ self.w[..., filters].reshape(-1, dy.shape[1]).T).reshape(-1, p, p, *dw.shape[:3])
            for r in range(size):
                for s in range(size):
                    dx[images, r:r + p, s:s + p, channels] += taps[:, :, :, r, s]
        update(self, dw, d.sum((0, 1, 2)))
        return None if is_first else dx[:, pad:dx.shape[1] - pad, pad:dx.shape[2] - pad]

    def results(self):
        return [self.velocities[0].transpose(3, 2, 0, 1), self.velocities[1]]


def over_channels(x):
    """Returns the sums of five neighboring channels."""
    sums = x.copy()
    for far in (1, 2):
        sums[..., far:] += x[..., :-far]
        sums[..., :-far] += x[..., far:]
    return sums


def normalize(layer):
    layer.base = K + ALPHA * over_channels(layer.y * layer.y)
    root = numpy.sqrt(layer.base)
    layer.power = 1 / (root * numpy.sqrt(root))  # base to the power of -BETA
    return layer.y * layer.power


def normalize_backward(layer, dy):
    sums = over_channels(dy * layer.y * layer.power / layer.base)
    return dy * layer.power - 2 * ALPHA * BETA * layer.y * sums


def taps_of(image, p):
    """Returns the views of an image by each tap of windows of 3 x 3 with the stride 2."""
    return [image[:, r:r + 2 * p - 1:2, s:s + 2 * p - 1:2] for r in range(3) for s in range(3)]


def pool(layer):
    p = (layer.normalized.shape[1] - 3) // 2 + 1
    first, *others = taps_of(layer.normalized, p)
    layer.pooled = first.copy()
    for tap in others:
        numpy.maximum(layer.pooled, tap, out=layer.pooled)
    return layer.pooled


def pool_backward(layer, dy):
    dx = numpy.zeros_like(layer.normalized)
    p, left = dy.shape[1], numpy.ones(dy.shape, bool)
    for tap, gradient in zip(taps_of(layer.normalized, p), taps_of(dx, p)):
        here = (tap == layer.pooled) & left  # the first of equal maxima
        gradient += dy * here
        left &= ~here
    return dx


def update(layer, *gradients):
    for parameter, velocity, gradient in zip((layer.w, layer.bias), layer.velocities, gradients):
        velocity *= MOMENTUM
        velocity += gradient + WEIGHT_DECAY * parameter
        parameter -= LEARNING_RATE * velocity


class Dense:
    """A dense layer; ReLU and dropout follow all but the last one."""

    def __init__(self, w, bias, seed, is_last, draws):
        self.w, self.bias, self.seed, self.is_last, self.draws = w, bias, seed, is_last, draws
        self.velocities = [numpy.zeros_like(w), numpy.zeros_like(bias)]

    def forward(self, x):
        self.x = x
        self.y = x @ self.w + self.bias
        if not self.is_last:
            numpy.maximum(self.y, 0, out=self.y)
            self.kept = numpy.float32(2) * ~self.draws.below(self.seed, 0.5, self.y.shape)
            self.y *= self.kept
        return self.y

    def backward(self, d):
        if not self.is_last:
            d = d * self.kept * (self.y > 0)
        dw, db, dx = self.x.T @ d, d.sum(0), d @ self.w.T
        update(self, dw, db)
        return dx

    def results(self):
        return self.velocities


class Alexnet:
    def __init__(self, given, draws):
        self.x, self.labels = given[0], given[-1]
        pairs = list(zip(given[1:-1:2], given[2:-1:2]))
        self.convolutions = [Convolution(w, b, c) for (w, b), c in zip(pairs, CONVOLUTIONS)]
        dense = pairs[len(CONVOLUTIONS):]
        self.dense = [Dense(w, b, i, i == len(dense) - 1, draws) for i, (w, b) in enumerate(dense)]

    def step(self):
        x = self.x
        for layer in self.convolutions:
            x = layer.forward(x)
        features, x = x.shape, x.reshape(len(x), -1)
        for layer in self.dense:
            x = layer.forward(x)
        rows = numpy.arange(len(x))
        exponentials = numpy.exp(x - x.max(1, keepdims=True))
        sums = exponentials.sum(1, keepdims=True)
        self.loss = numpy.log(sums[:, 0]) + x.max(1) - x[rows, self.labels]
        d = exponentials / sums
        d[rows, self.labels] -= 1
        d /= len(d)
        for layer in reversed(self.dense):
            d = layer.backward(d)
        d = d.reshape(features)
        for layer in reversed(self.convolutions):
            d = layer.backward(d, layer is self.convolutions[0])

    def results(self):
        """Returns the loss, and the velocities in the order in which they are updated."""
        layers = [*reversed(self.dense), *reversed(self.convolutions)]
        return [self.loss] + [result for layer in layers for result in layer.results()]


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


class Dbn:
    def __init__(self, given, draws):
        self.x, self.draws = given[0], draws
        self.machines = list(zip(given[1::3], given[2::3], given[3::3]))

    def step(self):
        v, self.errors = self.x, []
        rate = DBN_RATE / numpy.float32(len(v))
        for seed, (w, b, c) in enumerate(self.machines):
            p = sigmoid(v @ w + c)
            drawn = self.draws.below(seed, p, p.shape).astype(numpy.float32)
            v1 = sigmoid(drawn @ w.T + b)
            p1 = sigmoid(v1 @ w + c)
            self.errors.append(((v1 - v)**2).mean().reshape(1))
            change = v.T @ p
            change -= v1.T @ p1
            change *= rate
            w += change
            b += DBN_RATE * (v - v1).mean(0)
            c += DBN_RATE * (p - p1).mean(0)
            v = p

    def results(self):
        return [result for error, parameters in zip(self.errors, self.machines) for result in (error, *parameters)]


def blas():
    """Returns the name and version of the library with which NumPy multiplies."""
    try:
        found = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{found['name']}-{found['version']}"
    except (TypeError, KeyError):  # NumPy before 1.26
        return "unknown"


def numpy_steps(work):
    """Returns a function that takes a step, the version, and a function that takes the first step and returns samples
    of its results."""
    draws = Draws()
    model = {"alexnet": Alexnet, "dbn": Dbn}[work["workload"]]([initial(value) for value in work["given"]], draws)

    def check():
        draws.exact = True
        model.step()
        draws.exact = False
        return [[float(x) for x in result.reshape(-1)[::max(1, result.size // work["samples"])][:work["samples"]]]
                for result in model.results()]

    return model.step, f"{numpy.__version__}/{blas().replace(' ', '-')}", check
