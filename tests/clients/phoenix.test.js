// Phoenix' own JavaScript client.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Socket } from 'phoenix';
import WebSocket from 'ws';
import { queue, serveChat, speak } from './server.js';

let chat;
before(async () => { chat = await serveChat(); });
after(() => chat.stop());

/** What a push is answered with. */
const answer = (push) => new Promise((resolve, reject) => {
  push.receive('ok', resolve).receive('error', reject).receive('timeout', reject);
});

const limits = { timeout: 300_000 };
// The client of today speaks in arrays; that of Phoenix 1.3 and before spoke in objects.
const objects = {
  vsn: '1.0.0',
  encode: (message, done) => done(JSON.stringify(message)),
  decode: (text, done) => done(JSON.parse(text)),
};
for (const [framing, options] of [['arrays', {}], ['objects', objects]]) {
  test(`joins, speaks, hears and leaves in ${framing}`, limits, async () => {
    const socket = new Socket(chat.websocket('/socket'), {
      transport: WebSocket, heartbeatIntervalMs: 50, ...options,
    });
    socket.connect();
    const room = `phoenix-${framing}`;
    assert.equal(await speak(chat.url, 'before', room), 1);
    const channel = socket.channel(`room:${room}`, { after: 0 });
    const heard = queue();
    channel.on('message', (message) => heard.push(message));
    assert.deepEqual(await answer(channel.join()), {});
    assert.equal((await heard.next()).message, 'before');

    assert.deepEqual(await answer(channel.push('speak', { message: 'hi', from: 'ann' })), { id: 2 });
    const { id, from, message } = await heard.next();
    assert.deepEqual([id, from, message], [2, 'ann', 'hi']);
    await assert.rejects(answer(channel.push('speak', {})), { reason: 'invalid' });

    // The client gives a connection up whose heartbeats are not answered: this one must last.
    const closed = [];
    socket.onClose(() => closed.push('closed'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.deepEqual(closed, []);

    const refused = socket.channel('nothing:here');
    await assert.rejects(answer(refused.join()), { reason: 'unmatched topic' });
    await answer(channel.leave());
    assert.equal(channel.state, 'closed');
    await new Promise((resolve) => socket.disconnect(resolve));
  });
}

test('a channel that failed is joined again', limits, async () => {
  const socket = new Socket(chat.websocket('/socket'), {
    transport: WebSocket, rejoinAfterMs: () => 10,
  });
  socket.connect();
  const channel = socket.channel('chat');
  const failed = new Promise((resolve) => { channel.onError(resolve); });
  await answer(channel.join());
  // It is never replied to: the client need not wait long.
  channel.push('dance', {}, 100);
  await failed;
  const heard = queue();
  channel.on('message', (message) => heard.push(message));
  // Until it is joined again, the client keeps what is pushed.
  await answer(channel.push('speak', { message: 'again' }));
  assert.equal((await heard.next()).message, 'again');
  await new Promise((resolve) => socket.disconnect(resolve));
});
