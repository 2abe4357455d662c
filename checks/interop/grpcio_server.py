"""The interoperability service of gRPC on grpcio, the server of the gRPC project's C core for Python.

    grpcio_server.py [CERT KEY]

Prints its port. `counts` on standard input is answered by a line of JSON.
"""

import json
import os
import sys
import threading
import time
from concurrent import futures

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "grpc"))
messages, services = grpc.protos_and_services("test.proto")

INITIAL, TRAILING = "x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"
lock, counts = threading.Lock(), {}


def count(name):
    with lock:
        counts[name] = counts.get(name, 0) + 1


def echo(context):
    """Sends the metadata back that a client wants to get."""
    own = dict(context.invocation_metadata())
    if INITIAL in own:
        context.send_initial_metadata([(INITIAL, own[INITIAL])])
    if TRAILING in own:
        context.set_trailing_metadata([(TRAILING, own[TRAILING])])


def end_as(status, context):
    if status.code:
        code = next(code for code in grpc.StatusCode if code.value[0] == status.code)
        context.abort(code, status.message)


def payload(size):
    return messages.Payload(body=bytes(size))


class Service(services.TestServiceServicer):
    def EmptyCall(self, request, context):
        count("EmptyCall OK")
        return messages.Empty()

    def UnaryCall(self, request, context):
        if request.response_compressed.value:
            context.set_compression(grpc.Compression.Gzip)
        echo(context)
        end_as(request.response_status, context)
        count("UnaryCall OK")
        return messages.SimpleResponse(payload=payload(request.response_size))

    def StreamingOutputCall(self, request, context):
        yield from self.replies(request, context)

    def StreamingInputCall(self, requests, context):
        total = sum(len(request.payload.body) for request in requests)
        return messages.StreamingInputCallResponse(aggregated_payload_size=total)

    def FullDuplexCall(self, requests, context):
        echo(context)
        for request in requests:
            count("FullDuplexCall received")
            end_as(request.response_status, context)
            yield from self.replies(request, context)

    def replies(self, request, context):
        if any(own.compressed.value for own in request.response_parameters):
            context.set_compression(grpc.Compression.Gzip)
        for own in request.response_parameters:
            time.sleep(own.interval_us / 1e6)
            if not own.compressed.value:
                context.disable_next_message_compression()
            yield messages.StreamingOutputCallResponse(payload=payload(own.size))


def main(files):
    server = grpc.server(futures.ThreadPoolExecutor(100))
    services.add_TestServiceServicer_to_server(Service(), server)
    if files:
        certificate, key = (open(name, "rb").read() for name in files)
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    for _ in sys.stdin:
        with lock:
            print(json.dumps(counts), flush=True)
    server.stop(0).wait()


if __name__ == "__main__":
    main(sys.argv[1:])
