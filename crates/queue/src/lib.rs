//! A message queue in front of PostgreSQL: frames in, stored functions out.

mod wire;
