//! The engine's rules, tested on the simulated network: virtual time, scripted peers, faults.

mod closing;
mod faults;
mod http;
mod latency;
mod peers;
mod places;
mod reproducible;
mod retries;
mod steps;
mod storms;
mod support;
mod websocket;
