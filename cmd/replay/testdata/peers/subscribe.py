"""A client of LiveService.Subscribe, written from the comments of live.proto.
Usage: subscribe.py SOCKET FRAMES: it leaves after so many frames and comes back
with its position, again and again, until a frame says that the clock of the
machine has been set. It prints what each reading was: the time, the metric, the
instance, and the value or why there is none."""
import sys

import grpc
from tachograph.v1 import catalog_pb2, live_pb2, live_pb2_grpc, value_pb2

live = live_pb2_grpc.LiveServiceStub(grpc.insecure_channel("unix:" + sys.argv[1]))
length = int(sys.argv[2])


def numbers(gaps):
    at = 0
    for gap in gaps:
        at += gap + 1
        yield at


def shown(kind, value):
    if kind == value_pb2.TYPE_F64:
        return "%016x" % value
    if kind == value_pb2.TYPE_F32:
        return "%08x" % value
    if kind in (value_pb2.TYPE_I32, value_pb2.TYPE_I64) and value >= 2**63:
        return str(value - 2**64)
    return str(value)


class Stream:
    def __init__(self):
        self.tables, self.rows, self.values, self.kinds = [None], {}, {}, {}
        self.row, self.series, self.time = 0, 0, 0
        self.token, self.advances = "", {}

    def take(self, m):
        for number in m.gone:
            table, instance, first = self.rows.pop(number)
            for i in range(len(table.metrics)):
                del self.values[first + i]
        self.tables += m.tables
        for announced in m.rows:
            table = self.tables[announced.table]
            self.row += 1
            self.rows[self.row] = (table, announced.instance, self.series + 1)
            for metric in table.metrics:
                self.series += 1
                self.kinds[self.series] = metric.type
                self.values[self.series] = ("", None) if metric.type == value_pb2.TYPE_STRING else (0, None)
        for named in m.renamed:
            table, instance, first = self.rows[named.row]
            self.rows[named.row] = (table, named.instance, first)
        for series, by in zip(numbers(m.gaps), m.by):
            size = 32 if self.kinds[series] == value_pb2.TYPE_F32 else 64
            self.values[series] = ((self.values[series][0] + by) % 2**size, None)
        for text in m.texts:
            self.values[text.series] = (text.not_utf8.decode("latin-1") if text.not_utf8 else text.text, None)
        for absence in m.absences:
            for series in numbers(absence.gaps):
                self.values[series] = ("" if self.kinds[series] == value_pb2.TYPE_STRING else 0, absence.reason)
        if m.more:
            return False
        if m.position:
            self.token, self.advances = m.position, {}
        elif m.advance:
            self.advances[m.advance % 8] = m.advance
        self.time += m.elapsed_ns
        for number, after in zip(numbers(m.read), m.read_ns):
            self.read(self.tables[number], self.time + after)
        return True

    def read(self, table, time):
        for of, instance, first in self.rows.values():
            if of is table:
                for i, metric in enumerate(table.metrics):
                    value, absent = self.values[first + i]
                    print(time, metric.name, instance.key, "absent " + absent if absent else "is " + shown(metric.type, value), sep="\t")

    def position(self):
        return ".".join([self.token] + [str(n) for _, n in sorted(self.advances.items())])


position = ""
over = False
while not over:
    stream, frames = Stream(), 0
    call = live.Subscribe(live_pb2.SubscribeRequest(position=position, exact_times=True), timeout=60)
    for message in call:
        over = over or any(e.kind == "clock step" for e in message.events)
        if stream.take(message):
            frames += 1
            position = stream.position()
            if frames == 1 and not message.catching_up:
                print("here", flush=True)
            if over or frames == length:
                break
    call.cancel()
