// All loads for k6; which one, and how much of it, the environment says.
import { check } from 'k6';
import http from 'k6/http';
import grpc from 'k6/net/grpc';
import ws from 'k6/ws';
import { WebSocket } from 'k6/websockets';

const kind = __ENV.KIND;
const url = __ENV.URL;
const users = Number(__ENV.USERS);
const seconds = Number(__ENV.SECONDS);
const text = 'x'.repeat(Number(__ENV.BYTES || 100));

const client = new grpc.Client();
if (kind === 'grpc') {
  client.load([__ENV.PROTOS], __ENV.PROTO);
}
let connected = false;

const each = { executor: 'per-vu-iterations', vus: users, iterations: 1, maxDuration: `${seconds + 30}s`, gracefulStop: '1s' };
const scenarios = {
  http: { executor: 'constant-vus', vus: users, duration: `${seconds}s`, gracefulStop: '1s' },
  stall: { executor: 'constant-arrival-rate', rate: Number(__ENV.RATE), timeUnit: '1s', duration: `${seconds}s`, preAllocatedVUs: users, gracefulStop: '5s' },
  grpc: { executor: 'constant-vus', vus: users, duration: `${seconds}s`, gracefulStop: '1s' },
  'echo-ws': each,
  'echo-websockets': each,
  'idle-ws': each,
  'idle-websockets': { executor: 'per-vu-iterations', vus: 1, iterations: 1, maxDuration: `${seconds + 30}s`, gracefulStop: '1s' },
};
const runs = {
  http: get,
  stall: get,
  // A connection for each VU, which stays.
  grpc: () => {
    if (!connected) {
      client.connect(url.replace('http://', ''), { plaintext: true });
      connected = true;
    }
    const answer = client.invoke(__ENV.CALL, { text });
    check(answer, { ok: (one) => one.status === grpc.StatusOK });
  },
  'echo-ws': () => ws.connect(url, {}, (socket) => {
    socket.on('open', () => socket.send(text));
    socket.on('message', () => socket.send(text));
    socket.setTimeout(() => socket.close(), seconds * 1000);
  }),
  'echo-websockets': () => {
    const socket = new WebSocket(url);
    socket.onopen = () => {
      socket.send(text);
      setTimeout(() => socket.close(), seconds * 1000);
    };
    socket.onmessage = () => { if (socket.readyState === 1) socket.send(text); };
  },
  'idle-ws': () => ws.connect(url, {}, (socket) => {
    socket.setTimeout(() => socket.close(), seconds * 1000);
  }),
  // One VU for all, the way k6's own documentation advises for many sockets.
  'idle-websockets': () => {
    for (let n = 0; n < users; n++) {
      const socket = new WebSocket(url);
      socket.onopen = () => setTimeout(() => socket.close(), seconds * 1000);
    }
  },
};

export const options = {
  scenarios: { [kind]: scenarios[kind] },
  discardResponseBodies: true,
  summaryTrendStats: ['med', 'p(90)', 'p(95)', 'p(99)', 'max'],
};

function get() {
  http.get(url);
}

export default function () {
  runs[kind]();
}

export function handleSummary(data) {
  return { [__ENV.OUT]: JSON.stringify(data) };
}
