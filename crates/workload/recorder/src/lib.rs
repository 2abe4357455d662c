//! Records what browsers send and get, as a proxy between them and servers.
//!
//! A browser sends its requests to a [`Recorder`], which passes them on, keeps a copy within [`Limits`], and writes it as
//! an HTTP Archive. What it reads of HTTPS it reads with certificates of an [`Authority`] of its own, which the browser has
//! to trust; it verifies the servers' certificates itself.
//!
//! | file | what it does |
//! |---|---|
//! | `authority` | makes an authority, keeps it in a folder, and signs certificates of servers |
//! | `head`, `body` | read heads and the length of bodies (RFC 9112): pure |
//! | `frames` | reads the messages of a WebSocket (RFC 6455), of either side: pure |
//! | `book` | keeps what was exchanged, within limits |
//! | `har` | writes that as HTTP Archive 1.2 |
//! | `proxy` | accepts connections and reads their requests |
//! | `exchange` | passes one request on, and its response back |
//! | `upstream` | connects to servers |
//! | `stream` | a connection, with or without TLS, and what was read of it too early |

mod authority;
mod body;
mod book;
mod exchange;
mod frames;
mod har;
mod head;
mod private;
mod proxy;
mod stream;
mod upstream;

pub use authority::{Authority, AuthorityError, KEY_FILE, PEM_FILE};
pub use book::{Limits, Recording};
pub use private::write_private;
pub use proxy::{Recorder, RecorderError, Settings};
