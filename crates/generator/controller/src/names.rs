//! The addresses of the names of endpoints, from a run's start to its end.
//!
//! At the start a name is resolved by the system, and then its name servers are queried, whose answers say how long they may
//! be kept. While the run goes on one thread queries again when that time is over, and gives new addresses to the loops.
//! Connections that are open stay. A name that no name server knows (an address, `localhost`, a line of `/etc/hosts`) is
//! resolved once and costs nothing.
//!
//! | file | what it does |
//! |---|---|
//! | `question` | a query and its reply, as bytes |
//! | `client` | queries the system's name servers |
//! | `lookup` | the names of one network: what was answered, and when it is queried again |
//! | `resolving` | the thread that queries |

mod client;
mod lookup;
mod question;
mod resolving;
#[cfg(test)]
mod testing;

pub use client::{Client, System};
pub use lookup::{Lookup, Resolvers};
pub use resolving::ResolverThread;
