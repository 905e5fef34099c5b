"""A client of SysctlService, with stubs that protoc made of the .proto file.
Usage: sysctls.py SOCKET: it prints every value and its bytes, a line each, and then
what changes, until the server ends."""
import struct
import sys

import grpc
from sysctl import sysctl_pb2, sysctl_pb2_grpc

service = sysctl_pb2_grpc.SysctlServiceStub(grpc.insecure_channel("unix:" + sys.argv[1]))

answer = service.GetKernelRegistry(sysctl_pb2.GetKernelRegistryRequest(), timeout=20)
known = {m.name: m for m in answer.registry.metrics}
print("registry", answer.registry.os_registry, answer.registry.os_version, len(known), answer.min_interval_ns)
listed = service.ListKnownMetrics(sysctl_pb2.ListKnownMetricsRequest(), timeout=20)
assert list(listed.registry.metrics) == list(answer.registry.metrics)


def shown(m):
    kind = m.WhichOneof("value")
    if m.error or not kind:
        return "error " + m.error
    value = getattr(m, kind)
    if kind == "raw_value":
        return value.hex()
    if kind == "struct_value":
        return value.type_name + "".join(" %s=%s" % item for item in sorted(value.fields.items()))
    return str(value)


metrics = {}
for c in service.ListCategories(sysctl_pb2.ListCategoriesRequest(), timeout=20).categories:
    got = service.GetMetricsByCategory(sysctl_pb2.GetMetricsByCategoryRequest(category=c.name), timeout=20).metrics
    assert len(got) == c.metric_count and all(m.category == c.name for m in got)
    metrics.update((m.name, m) for m in got)
names = sorted(metrics)
for m in service.GetMetrics(sysctl_pb2.GetMetricsRequest(names=names + ["no.such"]), timeout=20).metrics:
    print("value", m.name, shown(m))

try:
    next(service.Subscribe(sysctl_pb2.SubscribeRequest(names=names, interval_ns=answer.min_interval_ns - 1), timeout=20))
except grpc.RpcError as e:
    print("refused", e.code().name)

# How the bytes of a kind are read, as accretional/sysctl reads them.
numbers = {"int32": "<i", "uint32": "<I", "int64": "<q", "uint64": "<Q"}


def read(kind, b):
    if kind in numbers:
        return str(struct.unpack(numbers[kind], b)[0])
    if kind == "string":
        return b[:-1].decode()
    if kind == "timeval":
        return "sec=%d usec=%d" % struct.unpack("<QQ", b)
    if kind == "loadavg":
        *loads, scale = struct.unpack("<3I4xq", b)
        return " ".join("%.2f" % (n / scale) for n in loads)
    if kind == "swap":
        return "total=%d avail=%d used=%d pagesize=%d encrypted=%d" % struct.unpack("<QQQII", b)
    if kind == "clock":
        return "hz=%d tick=%d tickadj=%d stathz=%d profhz=%d" % struct.unpack("<5i", b)
    return b.hex()


first = True
try:
    for frame in service.Subscribe(sysctl_pb2.SubscribeRequest(names=names + ["no.such"])):
        for d in frame.deltas:
            if first:
                print("bytes", d.name, d.value.hex())
            print("first" if first else "changed", d.name, read(known[d.name].value_type, d.value), flush=True)
        for e in frame.errors:
            print("lacks", e, flush=True)
        if first:
            print("begun", frame.timestamp_ns, flush=True)
        first = False
except grpc.RpcError as e:
    print("ended", e.code().name)
