//! Runs by agents on many machines, which NATS JetStream connects with the controller.
//!
//! `docs/fleet.md` is for users.
//!
//! | module | what it does |
//! |---|---|
//! | `session` | the controller's side: chooses agents and is the fleet of one run |
//! | `agent` | an agent: is known, and starts a worker for each run |
//! | `job` | the worker of one run, in a process of its own |
//! | `carrier` | the frames of a worker as pieces of a stream |
//! | `log`, `spool` | what was sent and may be sent again: in memory, on disk |
//! | `stream` | the stream of a run, and what is put back if NATS has lost it |
//! | `keys` | whose runs agents take, and who can read scenarios |
//! | `signed` | who has sent what is sent in the course of a run |
//! | `lease` | one controller at a time conducts a run |
//! | `plans` | scenarios in the object store |
//! | `rows`, `fetch` | rows that stay on an agent's machine; how they come here |
//! | `cards` | what agents and runs say of themselves |
//! | `choice` | which agents a run gets |
//! | `admin` | what a fleet does, and what is requested of it |
//! | `local` | a fleet on this machine |
//! | `simulated` | agents without loops, to measure a controller |
//! | `access`, `nats`, `names` | who we are at NATS; the connection; names of subjects, streams and buckets |

mod access;
mod admin;
mod agent;
mod cards;
mod carrier;
mod choice;
mod fetch;
#[doc(hidden)]
pub mod fuzzing;
mod job;
mod keys;
mod lease;
mod local;
mod log;
mod names;
mod nats;
mod plans;
mod rows;
mod session;
mod signed;
#[doc(hidden)]
pub mod simulated;
mod spool;
mod stream;
#[cfg(test)]
mod testing;

pub use access::Access;
pub use admin::{Admin, DrainedAgent, RunState, RunStatus};
pub use agent::{Agent, AgentOptions};
pub use cards::{AgentCard, RunCard};
pub use choice::Choice;
pub use fetch::{FetchError, KeptRows};
pub use job::work;
pub use keys::{KeyError, UserKey, public_key};
pub use local::{Local, LocalOptions};
pub use nats::NatsError;
pub use rows::RowsKeep;
pub use session::{AttachedSession, Session, SessionOptions};

/// Why a fleet cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error(transparent)]
    Nats(#[from] NatsError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Choice(#[from] choice::ChoiceError),
    #[error("{0:?} is not a name: use 1 to 64 letters, digits, - and _")]
    Name(String),
    #[error("an agent called {0} is there already; choose another --name")]
    NameTaken(String),
    #[error("no run {0} is in progress; `throng fleet status` lists those that are")]
    NoRun(String),
    #[error(
        "run {run} has a controller, on {host}; `throng fleet stop {run}` ends the run, and only if that controller is \
         gone can another one continue it"
    )]
    Held { run: String, host: String },
    #[error("run {run} cannot be continued: {problem}")]
    Attach { run: String, problem: String },
    #[error("no spools can be kept in {}", directory.display())]
    Spool {
        directory: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("agent {agent} refuses: {problem}")]
    Refused { agent: String, problem: String },
    #[error("agent {agent} does not answer: {problem}")]
    Silent { agent: String, problem: String },
    #[error(
        "nats-server cannot be started: {0}; install it (Debian: `apt install nats-server`), or use a server that \
             runs elsewhere with --nats"
    )]
    NoServer(String),
    #[error("cannot start agent {name}")]
    NoAgent {
        name: String,
        #[source]
        source: std::io::Error,
    },
}
