//! Runs scripts of k6: reads their options, and runs their functions for users that wait.
//!
//! A [`User`] is QuickJS on a stack of its own. A call that waits, such as `http.get` or `sleep`, suspends that stack and
//! says what it waits for ([`Ask`]); whoever drives the user does it, and resumes it with the [`Answer`]. So a script has no
//! socket and no timer, and its requests are those of every other run. [`read`] evaluates a script as k6 does before a test,
//! and [`scenario`] writes the scenario that its options stand for.
//!
//! | file | subject |
//! |---|---|
//! | `commonjs` | modules of CommonJS, as those of ECMAScript |
//! | `exchange` | what users ask for, and what they are given |
//! | `files` | paths of files, as scripts write them |
//! | `options` | a script's options |
//! | `network` | options of how hosts are reached |
//! | `progress` | how far a scenario has come |
//! | `load` | scenarios of k6 as arrivals |
//! | `thresholds` | conditions in k6's words, and the metrics that they are of |
//! | `names` | names of requests and checks that a script's text has |
//! | `scenario` | the scenario of a script |
//! | `summary` | what a run has recorded, in k6's shape |
//! | `quickjs/user` | a user's stack and context |
//! | `quickjs/host` | what the modules call |
//! | `quickjs/tasks` | what runs beside a user's function, and its news |
//! | `quickjs/modules` | k6's modules and the script's own |
//! | `quickjs/pages` | HTML pages |
//! | `quickjs/read` | a script evaluated once, for its options |
//! | `quickjs/summary` | `handleSummary` |
//! | `quickjs/digests` | hashes and encodings |
//! | `quickjs/memory` | what users' contexts take of the memory that all share |
//! | `modules/*.js` | k6's modules |
//! | `no_quickjs` | a program without the feature `full` has no JavaScript: each script is an error |

#[cfg(feature = "full")]
mod commonjs;
mod exchange;
mod files;
mod load;
mod names;
mod network;
mod options;
#[cfg(feature = "full")]
mod progress;
#[cfg(feature = "full")]
mod quickjs;
#[cfg(not(feature = "full"))]
#[path = "no_quickjs.rs"]
mod quickjs;
mod scenario;
mod summary;
mod thresholds;

pub use exchange::{
    Answer, Ask, Begin, Checked, Console, ConsoleLine, CookieAsk, Event, Fault, Hop, Memory,
    Message, News, Outgoing, Request, Response, Sample, Surroundings, Task, Timings, Work, Yielded,
};
pub use names::{Names, names};
pub use options::{Executor, Given, Options, Scenario, Stage};
pub use quickjs::{Common, User, handle_summary, read};
pub use scenario::{Declared, MetricKind, Script, Variable, has_sockets, scenario};
pub use summary::{
    CheckCounts, Ended, MetricRecorded, ThresholdEnd, Written, export, summary, thresholds_hold,
};
pub use thresholds::part_of;

/// CPU time between two waits, where the options say nothing.
pub const TIME_NS_MAX: u64 = 10_000_000_000;
/// Memory of a user's context.
pub const MEMORY_BYTES_MAX: usize = 64 << 20;
