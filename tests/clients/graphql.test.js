// A GraphQL server of the reference implementation's libraries (graphql, graphql-http, graphql-ws): what Throng sends it over
// HTTP and over a WebSocket is what it carries out, and its errors are found.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { GraphQLError, buildSchema } from 'graphql';
import { createHandler } from 'graphql-http/lib/use/http';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import { run } from './run.js';

const schema = buildSchema(`
  type Product { name: String! stock: Int }
  type Said { room: ID! text: String! at: Float! n: Int! }
  type Query { product(id: ID!): Product hello: String }
  type Mutation { say(room: ID!, text: String!): Int! }
  type Subscription { said(room: ID!): Said count(to: Int!): Int! }
`);

/** A shop and a chat; `counts` has what was carried out. */
async function serve() {
  const counts = {};
  const count = (name) => { counts[name] = (counts[name] ?? 0) + 1; };
  const rooms = new Map();
  let numbers = 0;
  const roots = {
    hello: () => { count('hello'); return 'hi'; },
    product: ({ id }) => {
      count('product');
      const stock = () => { if (id === 'p1') throw new GraphQLError('no stock'); return 3; };
      return { name: `Product ${id}`, stock };
    },
    say: ({ room, text }) => {
      count('say');
      numbers += 1;
      const said = { room, text, at: Date.now(), n: numbers };
      for (const listener of rooms.get(room) ?? []) listener(said);
      return numbers;
    },
    said({ room }) {
      count('said');
      const queue = [];
      let wake = () => {};
      const listener = (said) => { queue.push(said); wake(); };
      if (!rooms.has(room)) rooms.set(room, new Set());
      rooms.get(room).add(listener);
      const iterator = {
        async next() {
          while (queue.length === 0) await new Promise((resolve) => { wake = resolve; });
          return { value: { said: queue.shift() }, done: false };
        },
        async return() { rooms.get(room).delete(listener); count('left'); return { value: undefined, done: true }; },
        [Symbol.asyncIterator]: () => iterator,
      };
      return iterator;
    },
    async* count({ to }) {
      for (let value = 1; value <= to; value += 1) yield { count: value };
    },
  };
  const http = createServer(createHandler({ schema, rootValue: roots }));
  const sockets = new WebSocketServer({ server: http, path: '/graphql' });
  useServer({
    schema,
    roots: { query: roots, mutation: roots, subscription: roots },
    onConnect: ({ connectionParams }) => { count('connect'); return connectionParams?.token !== 'wrong'; },
  }, sockets, 100);
  await new Promise((resolve) => { http.listen(0, '127.0.0.1', resolve); });
  const stop = () => new Promise((resolve) => { sockets.clients.forEach((one) => one.terminate()); http.close(resolve); });
  return { url: `http://127.0.0.1:${http.address().port}`, counts, stop };
}

const scenario = (url) => `
target: ${url}
messages:
  messages: { when: { topic: room, /data/said: { exists: true } }, sent_at: /data/said/at, seq: /data/said/n }
sessions:
  buyer:
    - graphql: { query: "query Product($id: ID!) { product(id: $id) { name } }", variables: { id: "p\${user}" } }
      save: { name: /data/product/name }
      check: name == 'Product p' + str(user)
    - graphql:
        query: "query A { hello } query B { product(id: 2) { name } }"
        operation: B
      save: { name: /data/product/name }
      check: name == 'Product 2'
    - graphql: { query: "query Lacking { product(id: p1) { name stock } }" }
    - graphql: { query: 'query Part { product(id: "p1") { name stock } }', partial: true }
      save: { errors: '$.errors[*].message', name: /data/product/name }
      check: [ "json(errors, '/0') == 'no stock'", name == 'Product p1' ]
    - graphql: { query: 'query Failing { product(id: "p1") { name stock } }' }
  guest:
    - ws: { path: /graphql, protocol: graphql-ws, init: { token: "t\${user}" } }
    - subscribe: { query: "subscription Said($room: ID!) { said(room: $room) { text at n } }", variables: { room: 1 }, id: room }
    - think: 300ms
    - subscribe: { query: "mutation Say($text: String!) { say(room: 1, text: $text) }", variables: { text: "from \${user}" } }
      reply: { save: { number: /data/say } }
    - check: number > 0
    - subscribe: { query: "subscription Count { count(to: 3) }" }
    - expect: { when: { topic: Count, /data/count: 3 }, as: counted }
    - subscribe: { query: "query Wrong { nothing }" }
      reply: {}
    - think: 500ms
    - unsubscribe: Count
    - unsubscribe: room
    - think: 200ms
    - close:
  stranger:
    - ws: { path: /graphql, protocol: graphql-ws, init: { token: wrong }, as: refused }
arrivals:
  - { constant: 4/s, for: 500ms, session: buyer }
  - { constant: 4/s, for: 500ms, session: guest }
  - { constant: 4/s, for: 500ms, session: stranger }
  - { hold: 3s }
thresholds:
  - errors(Product) == 0
  - errors(B) == 0
  - error_rate(Lacking) == 100%
  - errors(Part) == 0
  - error_rate(Failing) == 100%
  - errors(handshake) == 0
  - error_rate(refused) == 100%
  - errors(Said) == 0
  - errors(Say) == 0
  - errors(counted) == 0
  - error_rate(Wrong) == 100%
  - errors(unsubscribe) == 0
  - count(messages.lost) == 0
  - errors(check) == 0
`;

test('a GraphQL server carries out what Throng sends, over HTTP and a WebSocket', async () => {
  const server = await serve();
  try {
    const { code, said, summary } = await run(scenario(server.url));
    assert.equal(code, 0, said);
    const { counts } = server;
    assert.equal(counts.product, 2 + 2 + 2 + 2);
    assert.deepEqual([counts.say, counts.said, counts.left], [2, 2, 2]);
    const kinds = (name) => summary.measures.find((measure) => measure.name === name).errors_by_kind;
    assert.deepEqual(kinds('Failing'), { graphql: 2 });
    assert.deepEqual(kinds('Wrong'), { graphql: 2 });
    assert.deepEqual(kinds('refused'), { closed: 2 });
  } finally {
    await server.stop();
  }
});
