//! The engine's rules, tested on the simulated network: virtual time, scripted peers, faults.

mod closing;
mod events;
mod faults;
mod http;
mod latency;
mod peers;
mod polls;
mod reproducible;
mod retries;
mod steps;
mod storms;
mod support;
mod tcp;
mod websocket;
