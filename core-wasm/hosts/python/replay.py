"""Replays the shared vectors and the shared trace on wasmtime, then schedules a few retries.

Run by `pip install -r requirements.txt` and `python replay.py`; exits with 1 when a result differs.
"""

import hashlib
import json
import math
import pathlib
import struct
import sys

import wasmtime

CORE = pathlib.Path(__file__).resolve().parents[2]
ENTRY = struct.Struct("<IIddd")  # payload, group, due, handle, order


class Core:
    """One instance of the core: an independent heap. Its exports are called by name."""

    def __init__(self):
        self._store = wasmtime.Store()
        module = wasmtime.Module.from_file(self._store.engine, str(CORE / "reprise_core.wasm"))
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self._area = self.area_at()

    def __getattr__(self, name):
        function = self._exports[name]
        store = self._store
        call = lambda *numbers: function(store, *numbers)
        setattr(self, name, call)
        return call

    def due(self, now, max_count):
        """Takes out what is due: (payload, group, due, handle) each."""
        count = self.pop_due(float(now), float(max_count))
        area = self._exports["memory"].read(self._store, self._area, self._area + count * ENTRY.size)
        return [entry[:4] for entry in ENTRY.iter_unpack(area)]


def check_vectors():
    core = Core()
    vectors = json.loads((CORE / "vectors/delay.json").read_text())
    for *arguments, expected in vectors["delay"]:
        found = core.delay(*map(float, arguments))
        assert found == expected, f"delay {arguments} gave {found}"
    for *arguments, expected in vectors["jitter"]:
        found = core.jitter(*map(float, arguments))
        assert found == expected, f"jitter {arguments} gave {found}"
    return len(vectors["delay"]) + len(vectors["jitter"])


def replay():
    core = Core()
    groups = [core.group_open() for _ in range(4)]
    handles = []
    out = []
    for line in (CORE / "vectors/trace.txt").read_text().splitlines():
        kind, *fields = line.split(" ")
        numbers = [int(field) for field in fields]
        if kind == "i":
            handles.append(core.insert(groups[numbers[0]], float(numbers[1]), numbers[2]))
            out.append(f"i {int(handles[-1])}\n")
        elif kind == "c":
            out.append(f"c {int(core.cancel(handles[numbers[0]]))}\n")
        elif kind == "p":
            out.append(f"p {int(core.group_clear(groups[numbers[0]]))}\n")
        else:
            popped = core.due(*numbers)
            out.append(f"d {len(popped)}\n")
            out.extend(f"{p} {g} {int(due)} {int(handle)}\n" for p, g, due, handle in popped)
    return "".join(out).encode()


def example():
    """Three jobs that failed once, twice and three times wait for their next attempt."""
    core = Core()
    retries = core.group_open()
    now = 1_000_000.0
    for attempt in (1, 2, 3):
        delay = core.delay(500.0, 2.0, 30_000.0, float(attempt))
        core.insert(retries, now + delay, attempt)
    while math.isfinite(core.next_due()):
        now = max(now, core.next_due())  # a real program sleeps until then
        for payload, _, due, _ in core.due(now, 64):
            print(f"example: job {payload} runs again at {due:.0f}")


def main():
    print(f"vectors: {check_vectors()} as expected")
    expected = json.loads((CORE / "vectors/trace_result.json").read_text())
    results = replay()
    digest = hashlib.sha256(results).hexdigest()
    if digest != expected["sha256"] or len(results) != expected["bytes"]:
        sys.exit(f"trace differs: {len(results)} bytes, {digest}")
    print(f"trace: {len(results)} result bytes as expected")
    example()


if __name__ == "__main__":
    main()
