//! This process's view of the records: the last that it read, wrote or received of each game.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::stream::StoredRecord;
use crate::bus::model::GameId;

/// A record as it was known.
#[derive(Debug, Clone)]
pub(super) struct View {
    /// The stream that it is in.
    pub(super) stream: String,
    pub(super) stored: StoredRecord,
    /// When its claim was first seen here. That is later than it was made: whoever waits for the batch time from here
    /// waits long enough, whatever the clocks of others say.
    claim_seen: Instant,
}

impl View {
    /// How long the claim still holds; `None` if there is none or it is over.
    pub(super) fn claim_left(&self) -> Option<Duration> {
        let claim = self.stored.record.claim.as_ref()?;
        let left = claim.batch().checked_sub(self.claim_seen.elapsed())?;
        (!left.is_zero()).then_some(left)
    }

    fn replace(&mut self, stream: &str, stored: &StoredRecord) {
        if self.stored.record.claim != stored.record.claim {
            self.claim_seen = Instant::now();
        }
        stream.clone_into(&mut self.stream);
        self.stored = stored.clone();
    }
}

/// The views of all games.
#[derive(Debug)]
pub(super) struct Views {
    /// By game.
    views: Vec<Mutex<View>>,
}

impl Views {
    /// Nothing is known of games 1 to `games`.
    pub(super) fn new(games: u32) -> Self {
        let view = || View {
            stream: String::new(),
            stored: StoredRecord::default(),
            claim_seen: Instant::now(),
        };
        Self { views: (0..games).map(|_| Mutex::new(view())).collect() }
    }

    /// The view of a game, `None` if it is not played or was not seen yet in this stream.
    pub(super) fn get(&self, game: GameId, stream: &str) -> Option<View> {
        let view = self.view(game)?;
        (view.stream == stream).then(|| view.clone())
    }

    /// A connection begins with this.
    pub(super) fn begin(&self, game: GameId, stream: &str, stored: &StoredRecord) {
        if let Some(mut view) = self.view(game)
            && (view.stream != stream || view.stored.at < stored.at)
        {
            view.replace(stream, stored);
        }
    }

    /// A record was read, written or received. It is forgotten if a newer one is known, or another stream.
    pub(super) fn note(&self, game: GameId, stream: &str, stored: &StoredRecord) {
        if let Some(mut view) = self.view(game)
            && view.stream == stream
            && view.stored.at < stored.at
        {
            view.replace(stream, stored);
        }
    }

    fn view(&self, game: GameId) -> Option<MutexGuard<'_, View>> {
        let view = self.views.get(game.index()?)?;
        Some(view.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
