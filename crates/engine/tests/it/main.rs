//! The engine's rules, tested on the simulated network: virtual time, scripted peers, faults.

mod faults;
mod http;
mod latency;
mod peers;
mod reproducible;
mod steps;
mod support;
mod websocket;
