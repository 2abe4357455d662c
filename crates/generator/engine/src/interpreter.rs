//! The interpreter runs the sessions of users, instruction by instruction, and acts on the
//! responses.
//!
//! | file | subject |
//! |---|---|
//! | `state` | what all users of a shard share |
//! | `program` | the instructions: what is due when, jumps, variables |
//! | `waits` | what a user waits for, and its timer |
//! | `operations` | measured operations, from their beginning to their row |
//! | `sessions` | how sessions end, restart and fail |
//! | `connections` | news of connections, and what each means to its user |
//! | `early` | messages that came before the step that takes them began |
//! | `incoming` | bytes received: decoded, and handed to their protocol |
//! | `http2` | what comes over a connection that carries many requests |
//! | `transactions` | how transactions and groups end |
//! | `attempts` | steps that are tried again |
//! | `branches` | steps of a user at the same time |
//! | `meetings` | steps between users: rendezvous, counters, queues |
//! | `subscriptions` | from when until when users get pushed messages |
//! | `background` | background operations |
//! | `own_work` | what is computed for users, and what waits for that |
//! | `k6` | functions of scripts of k6 |
//! | `samples` | failures as users saw them |
//! | `tracing` | what a traced user does |

mod attempts;
mod background;
mod branches;
mod connections;
mod early;
mod flow;
mod http2;
mod incoming;
mod k6;
mod meetings;
mod operations;
mod own_work;
mod program;
mod samples;
mod sessions;
mod state;
mod subscriptions;
mod tracing;
mod transactions;
mod waits;

pub(crate) use connections::is_worth_a_retry;
pub(crate) use flow::Flow;
pub(crate) use program::nanoseconds;
pub(crate) use sessions::LEAVE_NS;
pub(crate) use state::Interpreter;
