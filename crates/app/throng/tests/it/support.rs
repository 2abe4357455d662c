//! What the tests share: the program and what it said, places that go away afterwards, goldens,
//! and servers that are no program of ours.

mod databases;
mod program;
mod relay;
mod servers;
mod space;
mod yaml;

pub(crate) use databases::Database;
pub(crate) use program::{
    Ended, Running, Served, flat, plain, throng, with_files, without_unshare,
};
pub(crate) use relay::{Direction, Fault, Relay};
pub(crate) use servers::{Nobody, Tls, pass, read_head, server, websocket};
pub(crate) use space::{LinkedFile, Space, golden, golden_file, holding};
pub(crate) use testkit::needs::root;
pub(crate) use yaml::{yaml, yamls};
