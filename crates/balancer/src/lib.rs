//! A load balancer for HTTP/1.1, its policies, and a simulator of both.
//!
//! `docs/balancing.md` describes it.
//!
//! ```text
//!                 ┌──────────────── no clock, no socket ───────────────┐
//!                 │ fleet ─► policy ─► backend      draws by the seed  │
//!                 └──▲──────────────────▲──────────────────────────────┘
//!                 sim: virtual time     the forwarder: sockets
//! ```

pub mod fleet;
pub mod hash;
pub mod http;
pub mod policy;
pub mod sim;

mod backends;
mod balance;
mod health;
mod latency;
mod options;

pub use backends::{BACKENDS_MAX, Backend, BackendsError, Source};
pub use balance::Balancer;
pub use health::{Health, HealthOptions, Sign};
pub use latency::PeakEwma;
pub use options::{BalancerOptions, Timeouts};
