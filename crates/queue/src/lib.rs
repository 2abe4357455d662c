//! A message queue in front of PostgreSQL: frames in, stored functions out.

mod clock;
mod jobs;
mod listener;
mod metrics;
mod options;
mod state;
mod store;
mod waiters;
mod wire;
mod workers;
