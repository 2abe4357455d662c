//! What a user does next: runs sessions, instruction by instruction, and acts on what comes back.
//!
//! | file | subject |
//! |---|---|
//! | `state` | what all users of a shard share |
//! | `program` | the instructions: what is due when, jumps, variables |
//! | `waits` | what a user waits for, and its timer |
//! | `operations` | measured operations, from their beginning to their row |
//! | `sessions` | how sessions end, restart and fail |
//! | `connections` | news of connections, and what each means to its user |
//! | `incoming` | bytes received: decoded, and handed to their protocol |
//! | `protocols` | what all protocols do: open, begin, send, receive, fire, lose; a line for each |
//! | `http`, `websocket`, `channels`, `mqtt`, `sse`, `poll`, `tcp` | the steps of each protocol |
//! | `calls`, `call_streams` | calls of gRPC; those that stay open between steps |
//! | `deadlines` | calls whose time is over |
//! | `http2` | what comes over a connection that carries many requests |
//! | `carried` | WebSockets over such a connection |
//! | `topics` | channels that the server ends, and joining them again |
//! | `reconnects` | WebSockets of channels that reconnect |
//! | `continuing` | bodies that wait until the server wants them |
//! | `resend` | requests that met the end of an idle connection |
//! | `transactions` | how transactions and groups end |
//! | `attempts` | steps that are tried again |
//! | `branches` | steps of a user at the same time |
//! | `meetings` | steps between users: rendezvous, counters, queues |
//! | `subscriptions` | from when until when users get pushed messages |
//! | `background` | background operations |
//! | `tracing` | what a traced user does |

mod attempts;
mod background;
mod branches;
mod call_streams;
mod calls;
mod carried;
mod channels;
mod connections;
mod contents;
mod continuing;
mod deadlines;
mod flow;
mod http;
mod http2;
mod incoming;
mod meetings;
mod mqtt;
mod operations;
mod poll;
mod program;
mod protocols;
mod reconnects;
mod redirects;
mod resend;
mod sessions;
mod sse;
mod state;
mod subscriptions;
mod tcp;
mod topics;
mod tracing;
mod transactions;
mod waits;
mod websocket;

pub(crate) use state::Interpreter;
