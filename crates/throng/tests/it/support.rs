//! What the tests share: the program and what it said, places that go away afterwards, goldens,
//! and servers that are no program of ours.

#[path = "../../../../tests/needs.rs"]
mod needs;
mod program;
mod relay;
mod servers;
mod services;
mod space;

pub(crate) use needs::{shared_data, skip};
pub(crate) use program::{Ended, Running, Served, plain, throng, with_files};
pub(crate) use relay::Relay;
pub(crate) use servers::{Nobody, Tls, pass, read_head, server, websocket};
pub(crate) use services::Services;
pub(crate) use space::{Space, golden, holding, root};
