//! The process's one subscription: receives what is published for all games, and passes it to the channels.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::sleep;

use super::BusState;
use super::link::LinkError;
use super::scripts;
use crate::bus::model::GameId;
use crate::outside::bus::hub::Inbox;
use crate::outside::bus::link::LOOK;
use server::reactor::{Kind, Notice};
use server::websocket::frames;

/// Games whose standing is requested by one command.
const GAMES_EACH: usize = 500;

/// A message of the channel.
#[derive(Debug)]
struct Message {
    game: GameId,
    seq: u64,
    notice: Notice,
}

/// A subscription that is complete: nothing published since is missing.
struct SyncedConnection {
    connection: MultiplexedConnection,
    pushes: UnboundedReceiver<PushInfo>,
}

/// Passes messages on until its task ends.
pub(super) struct Subscriber {
    shared: Arc<BusState>,
    inbox: Inbox,
}

impl Subscriber {
    pub(super) fn new(shared: Arc<BusState>) -> Self {
        let inbox = Inbox::new(Arc::clone(&shared.hub));
        Self { shared, inbox }
    }

    /// Subscribes and receives, for ever. `ready` is called when the first subscription is complete.
    pub(super) async fn run(mut self, ready: impl FnOnce()) {
        let mut subscribed = self.subscribe(true).await;
        self.shared.subscribed.store(true, Ordering::Relaxed);
        ready();
        loop {
            self.receive(&mut subscribed).await;
            self.shared.subscribed.store(false, Ordering::Relaxed);
            subscribed = self.subscribe(false).await;
            self.shared.subscribed.store(true, Ordering::Relaxed);
            self.shared.hub.metrics.resubscribed.add(1);
            self.shared.announce_return();
        }
    }

    async fn subscribe(&mut self, first: bool) -> SyncedConnection {
        let shared = Arc::clone(&self.shared);
        let dialer = shared.dialer.clone();
        dialer.until(async || self.try_subscribe(first).await).await
    }

    async fn try_subscribe(&mut self, first: bool) -> Result<SyncedConnection, LinkError> {
        let shared = Arc::clone(&self.shared);
        let (sender, mut pushes) = unbounded_channel();
        let mut connection = shared.dialer.connect(Some(sender)).await?;
        let subscribing = connection.psubscribe(shared.names.channels());
        // The borrow ends with the statement; the answer is bounded as all others.
        shared.dialer.bounded(subscribing).await?;
        shared.raise(&mut connection).await?;
        let standings = self.standings(&mut connection).await?;
        // Answers and messages share the connection: all that is published before an answer has arrived with it.
        let mut held: BTreeMap<GameId, Vec<Message>> = BTreeMap::new();
        while let Ok(push) = pushes.try_recv() {
            if let Some(message) = self.read(&push) {
                held.entry(message.game).or_default().push(message);
            }
        }
        for standing in standings {
            // So that they can be raised to these, if Redis loses them.
            self.shared.hub.saw(standing.game, standing.seq);
            self.shared.hub.saw_event(standing.game, standing.event);
            let held = held.remove(&standing.game).unwrap_or_default();
            if first {
                // Nobody missed what was published before.
                self.inbox.skip_to(standing.game, standing.seq);
                let newer = |message: &Message| message.seq > standing.seq;
                for message in held.into_iter().filter(newer) {
                    self.deliver(message);
                }
            } else {
                self.catch_up(standing, held);
            }
        }
        Ok(SyncedConnection { connection, pushes })
    }

    /// Delivers what was published since the last message, as far as it can still be had: the last distribution,
    /// and what arrived since the subscription began.
    fn catch_up(&mut self, standing: GameStanding, held: Vec<Message>) {
        let GameStanding { game, seq, text_seq, text, .. } = standing;
        if !text.is_empty() && held.first().is_none_or(|first| text_seq < first.seq) {
            self.deliver(Message { game, seq: text_seq, notice: notice(Kind::State, &text) });
        }
        for message in held {
            self.deliver(message);
        }
        self.inbox.lose_to(game, seq);
    }

    async fn standings(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<Vec<GameStanding>, LinkError> {
        let shared = &self.shared;
        let games = shared.hub.games();
        let games: Vec<(GameId, u64)> = games.map(|game| (game, self.inbox.last(game))).collect();
        let mut standings = Vec::with_capacity(games.len());
        for games in games.chunks(GAMES_EACH) {
            let command = scripts::standing(&shared.names, games);
            let call = command.query_async(connection);
            let answer: Vec<Value> = shared.dialer.bounded(call).await?;
            let mut values = answer.into_iter();
            for (game, _) in games {
                standings.push(GameStanding::read(*game, &mut values));
            }
        }
        Ok(standings)
    }

    /// Delivers until the subscription is lost.
    async fn receive(&mut self, subscribed: &mut SyncedConnection) {
        let shared = Arc::clone(&self.shared);
        let SyncedConnection { connection, pushes } = subscribed;
        loop {
            tokio::select! {
                biased;
                push = pushes.recv() => match push {
                    None => return,
                    Some(push) if push.kind == PushKind::Disconnection => return,
                    Some(push) => {
                        if let Some(message) = self.read(&push) {
                            self.deliver(message);
                        }
                    }
                },
                () = sleep(LOOK) => if shared.dialer.ping(connection).await.is_err() {
                    return;
                },
            }
        }
    }

    /// A message of a game; `None` for anything else that is pushed.
    fn read(&self, push: &PushInfo) -> Option<Message> {
        if push.kind != PushKind::PMessage {
            return None;
        }
        self.shared.hub.metrics.received.add(1);
        let message = parse(&self.shared, &push.data);
        if message.is_none() {
            self.shared.hub.metrics.dropped.add(1);
        }
        message
    }

    fn deliver(&mut self, message: Message) {
        let Message { game, seq, notice } = message;
        if !self.inbox.deliver(game, seq, notice) {
            // Redis has lost its data under a connection that stayed.
            self.shared.numbers_are_low();
        }
    }
}

/// How a game stands in Redis.
#[derive(Debug)]
struct GameStanding {
    game: GameId,
    /// The number of the last message.
    seq: u64,
    /// The number of the last event.
    event: u64,
    /// The number of the last distribution.
    text_seq: u64,
    /// The last distribution; empty if it is known.
    text: Vec<u8>,
}

impl GameStanding {
    fn read(game: GameId, values: &mut impl Iterator<Item = Value>) -> Self {
        let mut number = || {
            let value = values.next().unwrap_or_default();
            redis::from_redis_value(value).unwrap_or_default()
        };
        let seq = number();
        let event = number();
        let text_seq = number();
        let text = values.next().unwrap_or_default();
        Self { game, seq, event, text_seq, text: redis::from_redis_value(text).unwrap_or_default() }
    }
}

fn notice(kind: Kind, text: &[u8]) -> Notice {
    let frame = frames::text(|bytes| bytes.extend_from_slice(text));
    Notice { kind, frame }
}

/// Reads what the scripts publish: the kind, the message's number, the event's number, the text.
fn parse(shared: &BusState, data: &[Value]) -> Option<Message> {
    let [_, Value::BulkString(channel), Value::BulkString(payload)] = data else {
        return None;
    };
    let game = shared.names.game_of(std::str::from_utf8(channel).ok()?)?;
    let mut fields = payload.splitn(4, |byte| *byte == b' ');
    let mut field = || std::str::from_utf8(fields.next()?).ok();
    let kind = match field()? {
        "state" => Kind::State,
        "event" => Kind::Event,
        _ => return None,
    };
    let seq = field()?.parse().ok()?;
    let event = field()?.parse().ok()?;
    let text = field()?;
    shared.hub.saw_event(game, event);
    Some(Message { game, seq, notice: notice(kind, text.as_bytes()) })
}
