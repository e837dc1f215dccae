"""A transport between threads of one process, for tests: mailboxes in memory. Its functions are those of
tenon_transport, and messages can be dropped."""
import threading
from collections import defaultdict, deque
from typing import NamedTuple

import tenon

FFI, LIB = tenon.ffi, tenon.lib


class Request(NamedTuple):
    """A message that is being received, or None for one that has been sent."""

    key: tuple
    bytes: object
    size: int


class World:
    """Mailboxes of messages by receiver, sender and tag."""

    def __init__(self, size):
        self.size, self.lock, self.mail = size, threading.Lock(), defaultdict(deque)
        self.dropped = None  # the process whose messages are not delivered


class Transport:
    """The transport of one process."""

    def __init__(self, world, rank, has_threads=True):
        self.world, self.rank, self.requests, self.is_freed = world, rank, {}, False
        self._number = 0
        table = self.table = FFI.new("tenon_transport *")
        table.struct_size, table.size, table.rank = FFI.sizeof("tenon_transport"), world.size, rank
        table.flags = tenon.TRANSPORT_THREADS if has_threads else 0
        kinds = {name: field.type for name, field in FFI.typeof("tenon_transport").fields}
        self._functions = {name: FFI.callback(kinds[name], getattr(self, "_" + name))
                           for name in ("send", "receive", "test", "cancel", "destroy")}
        for name, function in self._functions.items():
            setattr(table, name, function)

    def _request(self, request, out):
        self._number += 1
        self.requests[self._number] = request
        out[0] = FFI.cast("void *", self._number)
        return LIB.TENON_OK

    def _send(self, _, to, tag, data, size, out):
        with self.world.lock:
            if self.world.dropped != self.rank:
                self.world.mail[to, self.rank, tag].append(bytes(FFI.buffer(data, size)))
        return self._request(None, out)

    def _receive(self, _, source, tag, data, size, out):
        return self._request(Request((self.rank, source, tag), data, size), out)

    def _test(self, _, request, done):
        number = int(FFI.cast("uintptr_t", request))
        wanted = self.requests[number]
        if wanted and number != min(n for n, r in list(self.requests.items()) if r and r.key == wanted.key):
            done[0] = 0  # an earlier request receives the next message of this peer and tag
            return LIB.TENON_OK
        with self.world.lock:
            box = self.world.mail[wanted.key] if wanted else None
            done[0] = 1 if box is None or box else 0
            if box:
                message = box.popleft()
                if len(message) != wanted.size:
                    return LIB.TENON_ERROR_MISMATCH
                FFI.memmove(wanted.bytes, message, wanted.size)
        if done[0]:
            del self.requests[number]
        return LIB.TENON_OK

    def _cancel(self, _, request):
        del self.requests[int(FFI.cast("uintptr_t", request))]
        return LIB.TENON_OK

    def _destroy(self, _):
        self.is_freed = True


def in_processes(size, work, has_threads=True, deadline=30, **options):
    """Runs work(rank, group, world) in a thread for each of `size` processes, with a group of one member each, and
    returns the results. An exception of a thread is a result."""
    world, results = World(size), [None] * size
    transports = [Transport(world, rank, has_threads) for rank in range(size)]

    def run(rank):
        try:
            member = tenon.Context(tenon.default_context().device.selector)  # processes share no stream
            results[rank] = work(rank, tenon.Group([member], transport=transports[rank], deadline=deadline,
                                                     **options), world)
        except Exception as error:  # pylint: disable=broad-except
            error.__traceback__ = None  # which would keep the group
            results[rank] = error
    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results, transports
