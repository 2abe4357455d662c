//! The newest document, and those who wait for a newer one.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What is published, for any number of viewers. Each gets the newest document when it has taken the one
/// before: a slow one misses some, and holds up nobody.
#[derive(Debug, Default)]
pub struct Feed {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// How many documents there were.
    version: u64,
    newest: Option<Arc<str>>,
    is_over: bool,
    /// Those who follow.
    viewers: usize,
    /// Those who were there at the end and have fetched the report since.
    served: usize,
}

/// What a viewer is told next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    Document(Arc<str>),
    /// Nothing new yet.
    Nothing,
    /// Nothing new will come; the last document, where the viewer has not had it.
    Over(Option<Arc<str>>),
}

impl Feed {
    /// Replaces the document. It has no line breaks.
    pub fn publish(&self, document: String) {
        let mut state = self.lock();
        state.version += 1;
        state.newest = Some(document.into());
        self.changed.notify_all();
    }

    /// Publishes the last document, where there is one; nothing follows it. Both at once, so that nobody
    /// is told the last one as if more would come.
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

    /// How many follow.
    pub fn viewers(&self) -> usize {
        self.lock().viewers
    }

    /// Somebody has fetched the report.
    pub(crate) fn served(&self) {
        self.lock().served += 1;
        self.changed.notify_all();
    }

    /// Waits until nobody follows any more and as many as these fetched the report, at most so long.
    pub fn wait_served(&self, viewers: usize, at_most: Duration) {
        let waiting = |state: &mut State| state.viewers > 0 || state.served < viewers;
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), at_most, waiting);
        drop(waited);
    }

    /// The next after this version, waiting at most so long; `seen` becomes what was told.
    pub(crate) fn next(&self, seen: &mut u64, at_most: Duration) -> Next {
        let waiting = |state: &mut State| state.version == *seen && !state.is_over;
        let (state, _) = self
            .changed
            .wait_timeout_while(self.lock(), at_most, waiting)
            .unwrap_or_else(PoisonError::into_inner);
        let newer = (state.version != *seen).then(|| state.newest.clone());
        *seen = state.version;
        match (newer.flatten(), state.is_over) {
            (newer, true) => Next::Over(newer),
            (Some(document), false) => Next::Document(document),
            (None, false) => Next::Nothing,
        }
    }

    /// Somebody follows, unless so many do already.
    pub(crate) fn join(&self, viewers_max: usize) -> Option<Joined<'_>> {
        let mut state = self.lock();
        if state.viewers >= viewers_max {
            return None;
        }
        state.viewers += 1;
        Some(Joined(self))
    }

    /// A viewer that panicked has changed nothing by halves: all changes are single ones.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who follows, until it is dropped.
pub(crate) struct Joined<'a>(&'a Feed);

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        self.0.lock().viewers -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::ZERO;

    #[test]
    fn a_late_viewer_gets_the_newest_and_a_slow_one_misses_some() {
        let feed = Feed::default();
        feed.publish("1".to_owned());
        let mut slow = 0;
        assert_eq!(feed.next(&mut slow, SOON), Next::Document("1".into()));
        assert_eq!(feed.next(&mut slow, SOON), Next::Nothing);
        feed.publish("2".to_owned());
        feed.publish("3".to_owned());
        let mut late = 0;
        assert_eq!(feed.next(&mut late, SOON), Next::Document("3".into()));
        assert_eq!(feed.next(&mut slow, SOON), Next::Document("3".into()));
    }

    #[test]
    fn the_last_document_is_told_with_the_end() {
        let feed = Feed::default();
        let mut seen = 0;
        feed.publish("first".to_owned());
        assert_eq!(feed.next(&mut seen, SOON), Next::Document("first".into()));
        feed.end(Some("last".to_owned()));
        assert_eq!(feed.next(&mut seen, SOON), Next::Over(Some("last".into())));
        assert_eq!(feed.next(&mut seen, SOON), Next::Over(None));
    }

    #[test]
    fn viewers_are_counted_and_no_more_than_may_be() {
        let feed = Feed::default();
        let first = feed.join(1);
        assert!(first.is_some() && feed.join(1).is_none());
        drop(first);
        assert_eq!(feed.viewers(), 0);
        assert!(feed.join(1).is_some());
    }
}
