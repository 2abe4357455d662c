//! The Python server of the gRPC project.

use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::needs::skip;

use crate::support::{Running, Space};

/// Answers calls with their own bytes, and reports what it counted once its standard input ends.
const SCRIPT: &str = r#"
import json, sys, threading, time
from concurrent import futures
import grpc

counted = {'calls': 0, 'compressed': 0}
lock = threading.Lock()

def field(number, payload):
    length = len(payload)
    size = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
    return bytes([number << 3 | 2]) + size + payload

def say(request, context):
    own = dict(context.invocation_metadata())
    with lock:
        counted['calls'] += 1
        counted['compressed'] += own.get('x-own-bin') == b'\x00\x01\x02'
    left = context.time_remaining()
    context.send_initial_metadata((('x-own', own.get('x-own', '')),))
    if left is not None and left < 1e6:
        context.set_trailing_metadata((('x-left-ms', str(int(left * 1000))),))
    if b'status 5' in request:
        context.abort(grpc.StatusCode.NOT_FOUND, 'no such thing')
    if b'late' in request:
        time.sleep(0.5)
    if b'large' in request:
        return field(1, b'x' * 9000 + b'y')
    return request

def repeat(request, context):
    for _ in range(3):
        yield request
        time.sleep(0.02)

def collect(requests, context):
    return bytes([0x12, 1, 2 * sum(1 for _ in requests)])

def talk(requests, context):
    yield from requests

class Any(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method == '/throng.echo.Echo/Say':
            return grpc.unary_unary_rpc_method_handler(say)
        if details.method == '/throng.echo.Echo/Repeat':
            return grpc.unary_stream_rpc_method_handler(repeat)
        if details.method == '/throng.echo.Echo/Collect':
            return grpc.stream_unary_rpc_method_handler(collect)
        if details.method == '/throng.echo.Echo/Talk':
            return grpc.stream_stream_rpc_method_handler(talk)

server = grpc.server(futures.ThreadPoolExecutor(200), compression=grpc.Compression.Gzip)
server.add_generic_rpc_handlers((Any(),))
port = server.add_insecure_port('127.0.0.1:0')
server.start()
print(port, flush=True)
sys.stdin.read()
server.stop(0).wait()
print(json.dumps(counted), flush=True)
"#;

pub(super) struct Grpcio {
    python: Running,
    pub(super) url: String,
}

impl Grpcio {
    /// `None`, and the test is reported as skipped, where Python has no grpcio. `scripts/services --install` installs it
    /// for the system's interpreter; `THRONG_PYTHON` names another one, for instance that of a virtual environment.
    pub(super) fn start(space: &Space) -> Option<Grpcio> {
        let python =
            std::env::var("THRONG_PYTHON").unwrap_or_else(|_| "/usr/bin/python3".to_owned());
        let has_grpc =
            Command::new(&python).args(["-c", "import grpc"]).stderr(Stdio::null()).status();
        if !has_grpc.is_ok_and(|status| status.success()) {
            skip("Python has no grpcio: gRPC is not tried against it");
            return None;
        }
        let mut command = Command::new(&python);
        command.arg(space.file("server.py", SCRIPT)).stdin(Stdio::piped());
        let mut python = Running::start(&mut command);
        let url = format!("http://127.0.0.1:{}", python.line().trim());
        Some(Grpcio { python, url })
    }

    /// Ends it and returns what it counted.
    pub(super) fn stop(mut self) -> Value {
        self.python.release();
        let ended = self.python.end().with(0);
        // The first line was its port.
        let counted = ended.out.lines().nth(1).unwrap_or_default();
        serde_json::from_str(counted).unwrap_or_else(|error| panic!("{counted:?}: {error}"))
    }
}
