//! Runs by agents on many machines, which NATS JetStream connects with the controller.
//!
//! `docs/fleet.md` is for users.
//!
//! | module | what it does |
//! |---|---|
//! | `carrier` | the frames of a worker as pieces of a stream |
//! | `plans` | scenarios in the object store |
//! | `cards` | what agents and runs say of themselves |
//! | `choice` | which agents a run gets |
//! | `nats`, `names` | the connection; names of subjects, streams and buckets |

mod cards;
mod carrier;
mod choice;
mod names;
mod nats;
mod plans;

pub use cards::{AgentCard, RunCard};
pub use choice::Choice;
pub use nats::NatsError;

/// Why a fleet cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error(transparent)]
    Nats(#[from] NatsError),
    #[error(transparent)]
    Choice(#[from] choice::ChoiceError),
    #[error("{0:?} is not a name: use 1 to 64 letters, digits, - and _")]
    Name(String),
    #[error("an agent called {0} is there already; choose another --name")]
    NameTaken(String),
    #[error("no run {0} is in progress; `throng fleet status` lists those that are")]
    NoRun(String),
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
