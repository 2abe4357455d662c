//! A message queue in front of PostgreSQL: frames in, stored functions out.

mod clock;
mod jobs;
mod options;
mod store;
mod waiters;
mod wire;
