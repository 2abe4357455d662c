// A real Socket.IO server: what Throng says to it and hears is what Socket.IO's own client does.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { Server } from 'socket.io';
import { io } from 'socket.io-client';
import { run } from './run.js';

/** A chat in two namespaces; `packets` has every packet that it got over a WebSocket. */
async function serve() {
  const http = createServer();
  const server = new Server(http, { pingInterval: 100, pingTimeout: 400, transports: ['websocket'] });
  const packets = [];
  server.engine.on('connection', (connection) => {
    connection.on('packet', ({ type, data }) => packets.push(type + (data ?? '')));
  });
  for (const name of ['/', '/room']) {
    const space = server.of(name);
    if (name === '/room') {
      space.use((socket, next) => {
        next(socket.handshake.auth.token === 'let me in' ? undefined : new Error('who are you'));
      });
    }
    space.on('connection', (socket) => {
      socket.on('speak', (message, answer) => {
        space.emit('message', { message, at: Date.now() });
        space.emit('pair', 1, { message });
        socket.emit('picture', Buffer.from([1, 2, 3]));
        answer?.({ id: 7 });
      });
    });
  }
  await new Promise((resolve) => { http.listen(0, '127.0.0.1', resolve); });
  const stop = () => new Promise((resolve) => { server.close(resolve); });
  return { url: `http://127.0.0.1:${http.address().port}`, packets, stop };
}

const scenario = (url) => `
target: ${url}
messages:
  message: { when: { event: message, topic: /room }, sent_at: /at }
  picture: { when: { event: picture, /_placeholder: true } }
sessions:
  guest:
    - ws: { path: /socket.io/, protocol: socket.io }
    - join: /
    - join: /room
      payload: { token: let me in }
    - emit: { event: speak, args: hello }
      reply: { save: { id: /id }, as: speak }
    - check: id == 7
    - emit: { event: speak, args: [quiet] }
      as: quiet
    - expect: { when: { event: pair, topic: /room, /0: 1, /1/message: quiet }, as: pair }
    - think: 1s
    - leave:
  stranger:
    - ws: { path: /socket.io/, protocol: socket.io }
    - join: /room
      as: refused
arrivals:
  - { constant: 2/s, for: 500ms, session: guest }
  - { constant: 2/s, for: 500ms, session: stranger }
  - { hold: 2s }
thresholds:
  - error_rate(refused) == 100%
  - errors(join) == 0
  - errors(speak) == 0
  - errors(pair) == 0
  - errors(connect) == 0
  - count(message) == 2
  - count(picture) == 2
  - errors(check) == 0
`;

/** The same conversation by Socket.IO's own client. */
async function talk(url) {
  const main = io(url, { transports: ['websocket'] });
  const room = io(`${url}/room`, { transports: ['websocket'], auth: { token: 'let me in' } });
  await new Promise((resolve) => { main.once('connect', resolve); });
  await new Promise((resolve) => {
    if (room.connected) resolve(); else room.once('connect', resolve);
  });
  assert.deepEqual(await room.emitWithAck('speak', 'hello'), { id: 7 });
  const heard = new Promise((resolve) => { room.once('pair', (...pair) => resolve(pair)); });
  room.emit('speak', 'quiet');
  assert.equal((await heard)[1].message, 'quiet');
  await new Promise((resolve) => { setTimeout(resolve, 1000); });
  room.disconnect();
  await new Promise((resolve) => { setTimeout(resolve, 100); });
  main.disconnect();
}

// Numbers of acknowledgements are the client's own, and pongs come as often as pings.
const said = (packets) => packets
  .filter((packet) => !packet.startsWith('pong'))
  .map((packet) => packet.replace(/^(message2\/room,)\d+/, '$1N'));

test('says what the own client says', { timeout: 60_000 }, async () => {
  const [ours, theirs] = [await serve(), await serve()];
  try {
    const ran = await run(scenario(ours.url));
    assert.equal(ran.code, 0, ran.said);
    await talk(theirs.url);
    const pongs = (packets) => packets.filter((packet) => packet === 'pong').length;
    assert.ok(pongs(ours.packets) >= 5, `${pongs(ours.packets)} pongs`);
    assert.ok(pongs(theirs.packets) >= 5, `${pongs(theirs.packets)} pongs`);
    // The stranger's one packet is not the client's.
    const own = said(ours.packets).filter((packet) => packet !== 'message0/room,');
    assert.deepEqual(own.slice(0, 5), said(theirs.packets).slice(0, 5));
  } finally {
    await ours.stop();
    await theirs.stop();
  }
});
