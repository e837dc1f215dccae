"""Stands for dpctl: one GPU, of the vendor that the variable FAKE_SYCL names."""
import os
from types import SimpleNamespace


def get_devices(device_type):
    assert device_type == "gpu"
    return [SimpleNamespace(vendor=os.environ["FAKE_SYCL"], name="a GPU")]
