// A server with permessage-deflate (the npm package `ws`, over Node's zlib): Throng's messages arrive, and
// its own are understood, whichever side may refer to messages before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocketServer } from 'ws';
import { run } from './run.js';

const scenario = (url, compress) => `
target: ${url}
sessions:
  guest:
    - ws: { path: /, compress: ${compress} }
    - loop: 20
      steps:
        - send: { say: hello hello hello, n: "\${random(1, 1000000)}", pad: "\${random_string(400)}" }
          reply: { when: { /say: hello hello hello }, as: echo }
    - close:
arrivals: [ { constant: 10/s, for: 500ms }, { hold: 3s } ]
thresholds: [ errors == 0, count(echo) == 100 ]
`;

for (const [name, compress, options] of [
  ['shared', 'shared', {}],
  ['separate', 'separate', {}],
  ['the server alone separate', 'shared', { serverNoContextTakeover: true }],
  ['the client alone separate', 'shared', { clientNoContextTakeover: true }],
  ['a small window of the server', 'shared', { serverMaxWindowBits: 9 }],
]) {
  test(`compresses: ${name}`, { timeout: 60_000 }, async () => {
    const server = new WebSocketServer({
      host: '127.0.0.1', port: 0, perMessageDeflate: { threshold: 0, ...options },
    });
    await new Promise((resolve) => { server.once('listening', resolve); });
    const extensions = new Set();
    let said = 0;
    server.on('connection', (socket) => {
      extensions.add(socket.extensions);
      socket.on('message', (data) => {
        said += data.length;
        socket.send(data.toString());
      });
    });
    try {
      const ran = await run(scenario(`http://127.0.0.1:${server.address().port}`, compress));
      assert.equal(ran.code, 0, ran.said);
      assert.deepEqual([...extensions], ['permessage-deflate']);
      const sent = ran.summary.traffic.total.payload_out;
      assert.ok(sent < said * 0.9, `${sent} of ${said} bytes`);
    } finally {
      await new Promise((resolve) => { server.close(resolve); });
    }
  });
}

test('goes on without, where the server does not compress', { timeout: 60_000 }, async () => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  await new Promise((resolve) => { server.once('listening', resolve); });
  server.on('connection', (socket) => {
    socket.on('message', (data) => socket.send(data.toString()));
  });
  try {
    const ran = await run(scenario(`http://127.0.0.1:${server.address().port}`, 'shared'));
    assert.equal(ran.code, 0, ran.said);
  } finally {
    await new Promise((resolve) => { server.close(resolve); });
  }
});
