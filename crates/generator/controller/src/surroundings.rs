//! A lab around a run, with its network and its faults.

use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use plan::probes::Probe;
use record::schema::EventKind;

/// A lab, as a run sees it.
pub trait Surroundings: fmt::Debug + Send + Sync {
    /// The file of the network namespace that users of a region connect from; `None`: there is no such region.
    fn netns(&self, region: &str) -> Option<PathBuf>;

    /// Names and values that the record adds to the facts of the host.
    fn facts(&self) -> Vec<(String, String)>;

    /// A run is about to begin: brings everything to where it begins. `scaling` are groups in place of the lab's own.
    /// An error says what is not as it should be.
    fn prepare(&self, scaling: Option<&str>) -> Result<(), String>;

    /// Probes that are queried during a run besides those of its scenario.
    fn probes(&self) -> Vec<Probe>;

    /// A run begins at this time, since the Unix epoch. Returns what happens from then on, each with its time.
    fn begin(&self, unix_ns: u64) -> Receiver<(u64, EventKind)>;

    /// The run's users that are there, and how many arrived per second. Called about once a second.
    fn crowd(&self, users: u64, arrivals_per_s: f64);

    /// The run is over. Returns what is to be known of all of its time.
    fn end(&self) -> Vec<EventKind>;
}
