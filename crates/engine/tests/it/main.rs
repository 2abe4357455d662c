//! The engine's rules, tested on the simulated network: virtual time, scripted peers, faults; and on
//! loopback, what only real sockets do.

mod accounts;
mod binary;
mod channel_ends;
mod channels;
mod closing;
mod deflate;
mod deliveries;
mod depth;
mod events;
mod faults;
mod feeds;
mod http;
mod identity;
mod latency;
mod locations;
mod memory;
mod pauses;
mod peers;
mod polls;
mod reconnects;
mod recorded;
mod reproducible;
mod resent;
mod retries;
mod sequences;
mod sockets;
mod stamps;
mod steps;
mod storms;
mod support;
mod tcp;
mod tls;
mod websocket;
