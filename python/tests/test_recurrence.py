"""Recurrent layers: a training step compared with NumPy in double precision, and a loss that decreases."""
import unittest

import numpy as np
import tenon
from common import integers, reals

STEPS, COUNT, INPUTS, HIDDEN = 7, 3, 5, 8


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, w, r, bias):
    """Returns y and what the gradient needs, in double precision, for the gates i f g o."""
    h, c, kept = np.zeros((COUNT, HIDDEN)), np.zeros((COUNT, HIDDEN)), []
    for step in x:
        i, f, g, o = np.split(step @ w.T + h @ r.T + bias, 4, axis=1)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        kept.append((h, c, i, f, g, o))
        c = f * c + i * g
        h = o * np.tanh(c)
    return np.stack([k[0] for k in kept[1:]] + [h]), kept + [(h, c)]


def gradients(x, r, dy, kept):
    """Returns the gradients of w, r and the bias."""
    dw, dr, db = np.zeros((4 * HIDDEN, INPUTS)), np.zeros((4 * HIDDEN, HIDDEN)), np.zeros(4 * HIDDEN)
    dh, dc = np.zeros((COUNT, HIDDEN)), np.zeros((COUNT, HIDDEN))
    for t in reversed(range(STEPS)):
        h, c, i, f, g, o = kept[t]
        s = np.tanh(kept[t + 1][1])
        dh = dh + dy[t]
        dc = dc + dh * o * (1 - s * s)
        d = np.concatenate([dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), dh * s * o * (1 - o)], 1)
        dw, dr, db = dw + d.T @ x[t], dr + d.T @ h, db + d.sum(0)
        dh, dc = d @ r, dc * f
    return dw, dr, db


class Training(unittest.TestCase):
    def step(self, x, w, r, bias, dy_of):
        """Returns y and the gradients of the weights, computed by Tenon."""
        y, reserve = tenon.rnn_forward(x, w, r, bias=bias, reserve=True)
        dgates = tenon.rnn_backward_data(w, r, y=y, reserve=reserve, dy=dy_of(y))
        return (y, *tenon.rnn_backward_weights(x, y=y, reserve=reserve, dgates=dgates, dw=True, dr=True, dbias=True))

    def test_gradients_equal_those_of_numpy(self):
        x, dy = reals(1, STEPS, COUNT, INPUTS), reals(2, STEPS, 1, COUNT, HIDDEN)
        w, r, b = reals(3, 1, 4 * HIDDEN, INPUTS), reals(4, 1, 4 * HIDDEN, HIDDEN) / 4, reals(5, 1, 4 * HIDDEN)
        y, *found = self.step(x, w, r, b, lambda y: dy)
        wide = [a.astype("f8") for a in (x, w[0], r[0], b[0], dy[:, 0])]
        expected, kept = lstm(*wide[:4])
        np.testing.assert_allclose(y[:, 0], expected, rtol=0, atol=1e-5)
        for got, wanted in zip(found, gradients(wide[0], wide[2], wide[4], kept)):
            np.testing.assert_allclose(got[0], wanted, rtol=0, atol=1e-4 * abs(wanted).max())

    def test_loss_decreases(self):
        x, target = reals(6, STEPS, COUNT, INPUTS), reals(7, STEPS, 1, COUNT, HIDDEN) / 2
        weights = [reals(8, 1, 4 * HIDDEN, INPUTS) / 2, reals(9, 1, 4 * HIDDEN, HIDDEN) / 4,
                   np.zeros((1, 4 * HIDDEN), "f4")]
        losses = []
        for _ in range(20):
            y, *found = self.step(x, *weights, lambda y: y - target)
            losses.append(float(((y - target) ** 2).mean()))
            weights = [w - 0.05 * g for w, g in zip(weights, found)]
        self.assertTrue(all(b < a for a, b in zip(losses, losses[1:])), losses)
        self.assertLess(losses[-1], 0.8 * losses[0])

    def test_shapes_of_a_projection(self):
        d, size = 2, 3
        x, y = integers(1, 4, 2, 5), integers(2, 4, d, 2, size)
        reserve, dgates = integers(3, d, 4, 2, 5 * 6), integers(4, d, 4, 2, 4 * 6 + size)
        found = tenon.rnn_backward_weights(x, y=y, reserve=reserve, dgates=dgates, direction="bidirectional", dw=True,
                                           dr=True, drecurrent_bias=True, dpeephole=True, dprojection=True)
        self.assertEqual([f.shape for f in found], [(d, 24, 5), (d, 24, size), (d, 24), (d, 18), (d, size, 6)])


if __name__ == "__main__":
    unittest.main()
