"""A client of replay serve as another language writes one: with stubs that
protoc made of the .proto files, and grpcio. Usage: client.py SOCKET; it says
what it found, a line each, and then follows until the server ends."""
import sys

import grpc
from tachograph.v1 import catalog_pb2, catalog_pb2_grpc, live_pb2, live_pb2_grpc, query_pb2, query_pb2_grpc, value_pb2

channel = grpc.insecure_channel("unix:" + sys.argv[1])
catalog = catalog_pb2_grpc.CatalogServiceStub(channel)
live = live_pb2_grpc.LiveServiceStub(channel)
query = query_pb2_grpc.QueryServiceStub(channel)

health = channel.unary_unary("/grpc.health.v1.Health/Check")
print("health", health(b"", timeout=20).hex())

names, token = [], ""
while True:
    page = catalog.ListMetrics(catalog_pb2.ListMetricsRequest(page_size=2, page_token=token), timeout=20)
    names += [m.name for m in page.metrics]
    token = page.next_page_token
    if not token:
        break
print("metrics", *names)

answer = live.GetValues(live_pb2.GetValuesRequest(selection=catalog_pb2.Selection(metrics=["test.kernel.count", "no.such", "vm.pages"])), timeout=20)
for m in answer.metrics:
    print("value", m.name, m.absent or [getattr(v.value, v.value.WhichOneof("kind")) for v in m.values])
for e in answer.errors:
    print("error", e.item, e.code)

try:
    live.GetValues(live_pb2.GetValuesRequest(selection=catalog_pb2.Selection(metrics=[""])), timeout=20)
except grpc.RpcError as e:
    details = dict(e.trailing_metadata()).get("grpc-status-details-bin", b"")
    print("refused", e.code().name, b"BadRequest" in details)

rows = 0
for part in query.Query(query_pb2.QueryRequest(values=query_pb2.ValuesQuestion(metrics=["test.kernel.count"])), timeout=20):
    rows += len(part.rows)
print("rows", rows)

# What is told is the change from what was told before, by numbers.
series, names, tables = {}, [], []
stream = live.Subscribe(live_pb2.SubscribeRequest(selection=catalog_pb2.Selection(metrics=["test.kernel.count"])))
frames = 0
try:
    for frame in stream:
        for t in frame.tables:
            tables.append([m.name for m in t.metrics])
        for r in frame.rows:
            names += tables[r.table - 1]
        at = 0
        for gap, by in zip(frame.gaps, frame.by):
            at += gap + 1
            series[at] = (series.get(at, 0) + by) % 2**64
        if frame.snapshot or frame.gaps:
            print("frame", {names[n - 1]: v for n, v in series.items()}, flush=True)
except grpc.RpcError as e:
    print("ended", e.code().name)
