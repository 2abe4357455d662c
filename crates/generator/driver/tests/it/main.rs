//! The real driver on loopback, and the addresses that names come to stand for.

mod addresses;
mod meetings;
#[expect(dead_code, reason = "some of the engine's tests' peers are needed here")]
#[path = "../../../engine/tests/it/peers.rs"]
mod peers;
mod sockets;
#[expect(dead_code, reason = "some of the engine's tests' figures are needed here")]
#[path = "../../../engine/tests/it/support.rs"]
mod support;
