//! News that came before those of the records they replaced.
//!
//! Two processes may store records at almost the same time; NATS takes them one after the other, but may republish the
//! second one first.

use std::collections::BTreeMap;
use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::stream::NewsItem;
use crate::bus::model::GameId;

/// How long the news of the record before is waited for; then it is lost.
const WAIT: Duration = Duration::from_millis(100);

/// News by game and place.
#[derive(Debug, Default)]
pub(super) struct NewsBuffer {
    news: BTreeMap<(GameId, u64), NewsItem>,
    /// When it is over with waiting for what is missing.
    over: Option<Instant>,
}

impl NewsBuffer {
    pub(super) fn add(&mut self, news: NewsItem) {
        self.news.insert((news.game, news.stored.at), news);
    }

    /// The next news that follow those of the last places, by game.
    pub(super) fn next(&mut self, last: &[u64]) -> Option<NewsItem> {
        let follows = |news: &NewsItem| {
            let last = news.game.index().and_then(|index| last.get(index));
            last.is_none_or(|last| news.previous <= *last)
        };
        let mut all = self.news.iter();
        let key = all.find_map(|(key, news)| follows(news).then_some(*key));
        let next = key.and_then(|key| self.news.remove(&key));
        if self.news.is_empty() {
            self.over = None;
        } else if next.is_none() && self.over.is_none() {
            self.over = Some(Instant::now() + WAIT);
        }
        next
    }

    /// Waits until what is missing has had its time; for ever if nothing is.
    pub(super) async fn is_over(&self) {
        match self.over {
            Some(over) => sleep_until(over).await,
            None => pending().await,
        }
    }

    /// All news, in order.
    pub(super) fn all(&mut self) -> impl Iterator<Item = NewsItem> + use<> {
        self.over = None;
        std::mem::take(&mut self.news).into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Record;
    use super::super::stream::StoredRecord;
    use super::*;

    fn news(game: u32, at: u64, previous: u64) -> NewsItem {
        let record = Record::default();
        NewsItem { game: GameId(game), stored: StoredRecord { at, record }, previous }
    }

    #[tokio::test(start_paused = true)]
    async fn news_wait_for_those_before_them() {
        let mut held = NewsBuffer::default();
        let mut last = [4, 0];
        let mut delivered = Vec::new();
        for one in [news(1, 9, 7), news(2, 8, 0), news(1, 7, 4), news(1, 12, 10)] {
            held.add(one);
            while let Some(next) = held.next(&last) {
                last[next.game.index().unwrap()] = next.stored.at;
                delivered.push((next.game.0, next.stored.at));
            }
        }
        assert_eq!(delivered, [(2, 8), (1, 7), (1, 9)]);
        let begun = Instant::now();
        held.is_over().await;
        assert_eq!(begun.elapsed(), WAIT);
        let rest: Vec<_> = held.all().map(|news| news.stored.at).collect();
        assert_eq!(rest, [12]);
        assert!(held.next(&last).is_none() && held.over.is_none());
    }
}
