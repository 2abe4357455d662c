//! The borders of a system: how it is started, stopped and awaited.
//!
//! A future is compiled by every crate that awaits it, with all that it awaits in turn. Behind a box it is compiled
//! once, in the crate that makes the box. So whole systems, and the work of whole threads, are boxes; what happens for
//! each connection or request is not.

use std::net::SocketAddr;
use std::pin::Pin;

/// Future that resolves when it is time to stop.
pub type Shutdown = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Function that gets the address of a system as soon as connections are accepted.
pub type Ready = Box<dyn FnOnce(SocketAddr) + Send>;

/// A system from its start to its end: its figures, or why it could not be served.
pub type Serving<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// The work of one serving thread, until that thread is to stop. It never leaves the thread.
pub type ThreadWork = Pin<Box<dyn Future<Output = ()>>>;
