//! The newest document, and the viewers that wait for the next one.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Documents for any number of viewers. A viewer gets the newest document when it has taken the previous one:
/// a slow viewer misses some, and delays nobody.
#[derive(Debug, Default)]
pub struct Feed {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Number of documents so far.
    version: u64,
    newest: Option<Arc<str>>,
    is_over: bool,
    /// Viewers now.
    viewers: usize,
    /// Viewers that have fetched the report.
    served: usize,
}

/// Next item for a viewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    Document(Arc<str>),
    /// Nothing new yet.
    Nothing,
    /// The run is over; the last document, unless the viewer has had it.
    Over(Option<Arc<str>>),
}

impl Feed {
    /// Replaces the document, which contains no line breaks.
    pub fn publish(&self, document: String) {
        let mut state = self.lock();
        state.version += 1;
        state.newest = Some(document.into());
        self.changed.notify_all();
    }

    /// Publishes the last document, if there is one, and the end, both at once: no viewer sees the last document
    /// as if more would follow.
    pub(crate) fn end(&self, last: Option<String>) {
        let mut state = self.lock();
        if let Some(last) = last {
            state.version += 1;
            state.newest = Some(last.into());
        } else {
            state.newest = None;
        }
        state.is_over = true;
        self.changed.notify_all();
    }

    /// Number of viewers.
    pub fn viewers(&self) -> usize {
        self.lock().viewers
    }

    /// Counts a viewer that has fetched the report.
    pub(crate) fn report_served(&self) {
        self.lock().served += 1;
        self.changed.notify_all();
    }

    /// Waits until all viewers have left and this many have fetched the report, at most `timeout`.
    pub fn wait_served(&self, viewers: usize, timeout: Duration) {
        let waiting = |state: &mut State| state.viewers > 0 || state.served < viewers;
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, waiting);
        drop(waited);
    }

    /// The item after version `seen`, which is updated; waits at most `timeout`.
    pub(crate) fn next(&self, seen: &mut u64, timeout: Duration) -> Next {
        let waiting = |state: &mut State| state.version == *seen && !state.is_over;
        let (state, _) = self
            .changed
            .wait_timeout_while(self.lock(), timeout, waiting)
            .unwrap_or_else(PoisonError::into_inner);
        let newer = (state.version != *seen).then(|| state.newest.clone());
        *seen = state.version;
        match (newer.flatten(), state.is_over) {
            (newer, true) => Next::Over(newer),
            (Some(document), false) => Next::Document(document),
            (None, false) => Next::Nothing,
        }
    }

    /// Adds a viewer; `None` if there are `viewers_max` already.
    pub(crate) fn join(&self, viewers_max: usize) -> Option<Viewer<'_>> {
        let mut state = self.lock();
        if state.viewers >= viewers_max {
            return None;
        }
        state.viewers += 1;
        Some(Viewer(self))
    }

    /// Every change is a single step, so a viewer that panicked left a consistent state.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A viewer, counted until it is dropped.
pub(crate) struct Viewer<'a>(&'a Feed);

impl Drop for Viewer<'_> {
    fn drop(&mut self) {
        self.0.lock().viewers -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_WAIT: Duration = Duration::ZERO;

    #[test]
    fn a_late_viewer_gets_the_newest_and_a_slow_one_misses_some() {
        let feed = Feed::default();
        feed.publish("1".to_owned());
        let mut slow = 0;
        assert_eq!(feed.next(&mut slow, NO_WAIT), Next::Document("1".into()));
        assert_eq!(feed.next(&mut slow, NO_WAIT), Next::Nothing);
        feed.publish("2".to_owned());
        feed.publish("3".to_owned());
        let mut late = 0;
        assert_eq!(feed.next(&mut late, NO_WAIT), Next::Document("3".into()));
        assert_eq!(feed.next(&mut slow, NO_WAIT), Next::Document("3".into()));
    }

    #[test]
    fn the_last_document_comes_with_the_end() {
        let feed = Feed::default();
        let mut seen = 0;
        feed.publish("first".to_owned());
        assert_eq!(feed.next(&mut seen, NO_WAIT), Next::Document("first".into()));
        feed.end(Some("last".to_owned()));
        assert_eq!(feed.next(&mut seen, NO_WAIT), Next::Over(Some("last".into())));
        assert_eq!(feed.next(&mut seen, NO_WAIT), Next::Over(None));
    }

    #[test]
    fn viewers_are_counted_and_limited() {
        let feed = Feed::default();
        let first = feed.join(1);
        assert!(first.is_some() && feed.join(1).is_none());
        drop(first);
        assert_eq!(feed.viewers(), 0);
        assert!(feed.join(1).is_some());
    }
}
