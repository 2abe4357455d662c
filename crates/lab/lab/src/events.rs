//! Events of a lab, for its file of events and for those who follow it.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use machine::clock::unix_ns;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, since the Unix epoch.
    pub unix_ns: u64,
    /// In words.
    pub text: String,
    /// Set if a fault began or ended: its number, and whether it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<(u32, bool)>,
}

/// The events of a lab: one JSON object a line.
#[derive(Debug)]
pub struct Events {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    followers: Vec<Sender<Event>>,
}

impl Events {
    /// Begins a file of events.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> std::io::Result<Events> {
        let inner = Inner { file: File::create(path)?, followers: Vec::new() };
        Ok(Events { inner: Mutex::new(inner) })
    }

    /// Something happened just now.
    pub fn add(&self, text: String) {
        self.push(&Event { unix_ns: unix_ns(), text, fault: None });
    }

    /// A fault begins or ends just now.
    pub fn add_fault(&self, number: u32, begins: bool, text: String) {
        self.push(&Event { unix_ns: unix_ns(), text, fault: Some((number, begins)) });
    }

    /// All events from now on.
    pub fn follow(&self) -> Receiver<Event> {
        let (sender, receiver) = channel();
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.followers.push(sender);
        receiver
    }

    fn push(&self, event: &Event) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(line) = serde_json::to_string(event) {
            // A full disk takes the file's lines, not those of followers.
            let _ = writeln!(inner.file, "{line}");
        }
        inner.followers.retain(|follower| follower.send(event.clone()).is_ok());
    }
}
