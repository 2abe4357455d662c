//! The process's connection: opens it, brings the process up to date, and passes news on until it is lost.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};

use super::BusState;
use super::held::NewsBuffer;
use super::link::NatsError;
use super::stream::{NewsItem, StoredRecord, Stream, Unusable};
use crate::bus::model::GameId;
use crate::outside::bus::hub::Inbox;

/// Records that are requested at the same time.
const REQUESTS_MAX: usize = 64;

/// A connection that is up to date: nothing published since is missing.
struct SyncedConnection {
    stream: Stream,
    news: async_nats::Subscriber,
    /// By game: the place of the record that it began with, or got last.
    at: Vec<u64>,
}

/// Passes news on until its task ends.
pub(super) struct Subscriber {
    shared: Arc<BusState>,
    inbox: Inbox,
    /// Whether this process was up to date before.
    has_begun: bool,
}

impl Subscriber {
    pub(super) fn new(shared: Arc<BusState>) -> Self {
        let inbox = Inbox::new(Arc::clone(&shared.hub));
        Self { shared, inbox, has_begun: false }
    }

    /// Connects and receives, for ever. `ready` is called when the first attempt succeeded; if it failed, this ends.
    pub(super) async fn run(mut self, ready: impl FnOnce(Result<(), NatsError>)) {
        let shared = Arc::clone(&self.shared);
        let link = &shared.link;
        let metrics = &shared.hub.metrics;
        let mut subscribed = match self.subscribe().await {
            Ok(subscribed) => subscribed,
            Err(error) => return ready(Err(error)),
        };
        self.has_begun = true;
        link.slot.fill(1, subscribed.stream.clone());
        ready(Ok(()));
        for number in 1.. {
            tokio::select! {
                () = self.receive(&mut subscribed) => {}
                () = link.slot.given_up(number) => {}
            }
            link.slot.clear();
            drop(subscribed);
            let attempts = &link.dialer.attempts;
            subscribed = attempts.until(async || self.subscribe().await).await;
            link.slot.fill(number + 1, subscribed.stream.clone());
            metrics.resubscribed.add(1);
            link.dialer.figures.reconnects.add(1);
            shared.hub.announce_return();
        }
    }

    /// Connects once, and delivers what was missed.
    #[cfg(test)]
    pub(super) async fn catch_up(&mut self) -> Result<(), NatsError> {
        drop(self.subscribe().await?);
        self.has_begun = true;
        Ok(())
    }

    /// Subscribes, and delivers what was published since the last message, as far as it can still be had.
    async fn subscribe(&mut self) -> Result<SyncedConnection, NatsError> {
        let shared = Arc::clone(&self.shared);
        let dialer = &shared.link.dialer;
        let session = dialer.connect().await?;
        let opening = async {
            let subscribing = session.client.subscribe(shared.names.news("*"));
            let news = subscribing.await;
            let news = news.map_err(|error| session.refused(&error.to_string()))?;
            // The server takes requests in order: whatever it takes from others after this one is received.
            let stream = Stream::open(session.clone(), &shared.names).await?;
            session.check()?;
            Ok((stream, news))
        };
        let (stream, news) = dialer.bounded(opening).await?;
        let records = stream::iter(shared.hub.games())
            .map(|game| dialer.bounded(self.record(&stream, game)))
            .buffered(REQUESTS_MAX);
        let records: Vec<StoredRecord> = records.try_collect().await?;
        let mut at = Vec::with_capacity(records.len());
        for (game, stored) in shared.hub.games().zip(records) {
            at.push(stored.at);
            shared.views.begin(game, &stream.name, &stored);
            self.saw(game, &stored);
            if self.has_begun {
                self.deliver(game, &stored);
            } else {
                // Nobody missed what was published before.
                self.inbox.skip_to(game, stored.record.seq);
            }
        }
        Ok(SyncedConnection { stream, news, at })
    }

    /// The record of a game, whose numbers are raised to the highest that were seen here.
    async fn record(&self, stream: &Stream, game: GameId) -> Result<StoredRecord, NatsError> {
        let (seq, event) = self.shared.hub.seen(game);
        loop {
            let stored = stream.get(game).await?;
            let Some(record) = stored.record.raised(seq, event) else {
                return Ok(stored);
            };
            if let Some(at) = stream.put(game, &record, stored.at).await? {
                self.shared.hub.metrics.raised.add(1);
                return Ok(StoredRecord { at, record });
            }
        }
    }

    /// Delivers until the connection is lost, or what the stream held.
    async fn receive(&mut self, subscribed: &mut SyncedConnection) {
        let SyncedConnection { stream, news, at } = subscribed;
        let mut held = NewsBuffer::default();
        loop {
            let message = tokio::select! {
                biased;
                _ = stream.session.end() => return,
                message = news.next() => message,
                () = held.is_over() => {
                    if !held.all().all(|news| self.take(stream, news, at)) {
                        return;
                    }
                    continue;
                }
            };
            let Some(message) = message else { return };
            match stream.news(&message) {
                Ok(news) => {
                    held.add(news);
                    while let Some(news) = held.next(at) {
                        if !self.take(stream, news, at) {
                            return;
                        }
                    }
                }
                Err(Unusable::Malformed) => self.shared.hub.metrics.dropped.add(1),
                Err(Unusable::OtherStream) => return,
            }
        }
    }

    /// Whether the numbers go on from those before.
    fn take(&mut self, stream: &Stream, news: NewsItem, at: &mut [u64]) -> bool {
        let NewsItem { game, stored, .. } = news;
        let Some(last_at) = game.index().and_then(|index| at.get_mut(index)) else {
            return true;
        };
        if stored.at <= *last_at {
            return true;
        }
        *last_at = stored.at;
        if stored.record.seq < self.inbox.last(game) {
            // The stream was emptied, and somebody began from nothing.
            self.shared.hub.metrics.dropped.add(1);
            return false;
        }
        self.shared.views.note(game, &stream.name, &stored);
        self.saw(game, &stored);
        let count = self.deliver(game, &stored);
        self.shared.hub.metrics.received.add(count);
        true
    }

    fn saw(&self, game: GameId, stored: &StoredRecord) {
        // So that they can be raised to these, if NATS loses them.
        self.shared.hub.saw(game, stored.record.seq);
        self.shared.hub.saw_event(game, stored.record.event_number());
    }

    /// Delivers the messages of a record that are new here, and answers their number.
    fn deliver(&mut self, game: GameId, stored: &StoredRecord) -> u64 {
        let messages = stored.record.messages(game, self.inbox.last(game));
        let mut count = 0;
        for (seq, notice) in messages {
            count += u64::from(self.inbox.deliver(game, seq, notice));
        }
        self.inbox.lose_to(game, stored.record.seq);
        count
    }
}
