//! Reads what this machine has and allows: memory, control groups, kernel settings, limits.
//!
//! | file | what it does |
//! |---|---|
//! | `procfs` | the files of `/proc` and `/sys`; no other module opens them |
//! | `cgroup` | the files of a control group |
//! | `group` | control groups of our own, with limits |
//! | `processes` | processes and what they started |
//! | `memory` | how much memory is left, on the machine and within its control groups |
//! | `host` | facts for the record, and running totals of this process and the network |
//! | `facts` | the limits as the kernel states them |
//! | `doctor` | each limit, what it means, and the command that raises it |
//! | `limits` | how many users the machine can hold, and what a number of users needs |
//! | `contention` | how much of a time others had the cores |
//! | `disk` | how much room a file system has |
//! | `random` | secrets that cannot be guessed |
//! | `clock` | the time, which a lab may slow down |
//! | `thread` | what a thread has to itself: cores, a file table, a network namespace |
//! | `loops` | how many loops a run may have, and what one of them can hold |

pub mod cgroup;
pub mod clock;
pub mod contention;
pub mod disk;
pub mod doctor;
mod facts;
pub mod group;
pub mod host;
pub mod limits;
pub mod loops;
mod memory;
pub mod processes;
pub mod procfs;
mod random;
pub mod thread;

pub use facts::Facts;
pub use limits::MachineLimits;
pub use memory::Memory;
pub use random::secret;
