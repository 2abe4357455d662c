// Rails' own JavaScript client, which wants a few things of a browser.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';
import { queue, serveChat, speak } from './server.js';

globalThis.document = { visibilityState: 'visible' };
globalThis.addEventListener ??= () => {};
globalThis.removeEventListener ??= () => {};
const { default: actioncable } = await import('@rails/actioncable');
const { adapters, createConsumer } = actioncable;
adapters.WebSocket = WebSocket;

let chat;
before(async () => { chat = await serveChat(); });
after(() => chat.stop());

/** A subscription whose callbacks are a queue of [name, argument]. */
function subscribe(consumer, identifier) {
  const events = queue();
  const names = ['connected', 'disconnected', 'rejected', 'received'];
  const callbacks = names.map((name) => [name, (argument) => events.push([name, argument])]);
  const mixin = Object.fromEntries(callbacks);
  return { events, subscription: consumer.subscriptions.create(identifier, mixin) };
}

test('subscribes, performs, receives and unsubscribes', { timeout: 300_000 }, async () => {
  const consumer = createConsumer(chat.websocket('/cable'));
  const lobby = subscribe(consumer, 'ChatChannel');
  const other = subscribe(consumer, { channel: 'ChatChannel', room: 'other' });
  const unknown = subscribe(consumer, 'OtherChannel');
  for (const { events } of [lobby, other]) {
    assert.deepEqual(await events.next(), ['connected', { reconnected: false }]);
  }
  assert.equal((await unknown.events.next())[0], 'rejected');
  assert.equal(consumer.connection.getProtocol(), 'actioncable-v1-json');

  lobby.subscription.perform('speak', { message: 'hi', from: 'ann' });
  const [name, { id, room, from, message }] = await lobby.events.next();
  assert.deepEqual([name, id, room, from, message], ['received', 1, 'lobby', 'ann', 'hi']);
  other.subscription.perform('speak', { message: 'there' });
  assert.equal((await other.events.next())[1].room, 'other');

  other.subscription.unsubscribe();
  lobby.subscription.perform('speak', { message: 'after' });
  assert.equal((await lobby.events.next())[1].id, 2);
  await speak(chat.url, 'over HTTP');
  assert.equal((await lobby.events.next())[1].message, 'over HTTP');
  consumer.disconnect();
  assert.equal((await lobby.events.next())[0], 'disconnected');
});

test('is told when the server stops', { timeout: 300_000 }, async () => {
  const own = await serveChat();
  const consumer = createConsumer(own.websocket('/cable'));
  const { events } = subscribe(consumer, 'ChatChannel');
  assert.equal((await events.next())[0], 'connected');
  assert.equal(await own.stop(), 0);
  assert.deepEqual(await events.next(), ['disconnected', { willAttemptReconnect: true }]);
  consumer.disconnect();
});
