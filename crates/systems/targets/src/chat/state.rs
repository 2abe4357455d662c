//! State that all parts of a running chat share: its rooms, and the one way to speak in them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{oneshot, watch};

use super::ChatError;
use super::message::Utterance;
use super::metrics::Metrics;
use super::options::ChatOptions;
use super::request_error::RequestError;
use super::room::Room;
use super::store::{self, Writer};
use server::reactor::{HandleResult, Response};
use server::{Drain, ServerError, wall_ms};

/// The room of those who name none.
pub(super) const LOBBY: &str = "lobby";

/// Rooms, counters, and the store if there is one.
pub(super) struct ChatState {
    pub(super) options: ChatOptions,
    pub(super) metrics: Metrics,
    rooms: RwLock<Rooms>,
    /// Changes when any room has news.
    news: watch::Sender<()>,
    /// `None` in memory.
    writer: Option<Writer>,
    /// The last write failed.
    failing: Arc<AtomicBool>,
    pub(super) drain: Drain,
}

#[derive(Debug, Default)]
struct Rooms {
    by_name: HashMap<Arc<str>, Arc<Room>>,
    /// Rooms by number.
    all: Vec<Arc<Room>>,
}

impl Rooms {
    fn open(&mut self, name: &str, options: &ChatOptions) -> Result<Arc<Room>, RequestError> {
        if let Some(room) = self.by_name.get(name) {
            return Ok(Arc::clone(room));
        }
        if !Room::may_be_called(name) {
            return Err(RequestError::BadRoom);
        }
        let max = options.rooms_max;
        if self.all.len() >= max {
            return Err(RequestError::TooManyRooms { max });
        }
        let room = Arc::new(Room::new(self.all.len() as u32, name, options.history));
        self.by_name.insert(Arc::clone(&room.name), Arc::clone(&room));
        self.all.push(Arc::clone(&room));
        Ok(room)
    }
}

/// Number of a message that was spoken.
pub(super) enum MessageNumber {
    /// It has this number.
    Now(u64),
    /// It will have one when it is stored.
    Later(oneshot::Receiver<Result<u64, RequestError>>),
}

impl ChatState {
    /// A chat with what `options.store` holds; and the thread that writes there.
    pub(super) fn open(
        options: &ChatOptions,
    ) -> Result<(Self, Option<std::thread::JoinHandle<()>>), ChatError> {
        let mut rooms = Rooms::default();
        // It is always there, so that its number is 0.
        rooms
            .open(LOBBY, options)
            .map_err(|_| ServerError::Options("there must be room for the lobby"))?;
        let news = watch::Sender::new(());
        let failing = Arc::new(AtomicBool::new(false));
        let mut writer = None;
        let mut thread = None;
        if let Some(path) = &options.store {
            let sender = news.clone();
            let published = move || {
                sender.send_replace(());
            };
            let (end, hand) = store::open(
                path,
                options.history,
                |name| rooms.open(name, options),
                Arc::clone(&failing),
                published,
            )?;
            (writer, thread) = (Some(end), Some(hand));
        }
        let state = Self {
            options: options.clone(),
            metrics: Metrics::default(),
            rooms: RwLock::new(rooms),
            news,
            writer,
            failing,
            drain: Drain::default(),
        };
        Ok((state, thread))
    }

    /// The room called `name`, made if there is none.
    pub(super) fn room(&self, name: &str) -> Result<Arc<Room>, RequestError> {
        if let Some(room) = self.rooms().by_name.get(name) {
            return Ok(Arc::clone(room));
        }
        let mut rooms = self.rooms.write().unwrap_or_else(PoisonError::into_inner);
        rooms.open(name, &self.options)
    }

    /// How many rooms there are.
    pub(super) fn rooms_count(&self) -> usize {
        self.rooms().all.len()
    }

    /// The last message of each room.
    pub(super) fn heads(&self) -> Vec<u64> {
        self.rooms().all.iter().map(|room| room.head()).collect()
    }

    /// A room whose last message is after that in `positions`, where a missing one is 0.
    pub(super) fn room_with_unsent(&self, positions: &[u64]) -> Option<Arc<Room>> {
        let rooms = self.rooms();
        let position = |room: &Room| positions.get(room.id as usize).copied().unwrap_or(0);
        let mut all = rooms.all.iter();
        all.find(|room| room.head() > position(room)).cloned()
    }

    fn rooms(&self) -> std::sync::RwLockReadGuard<'_, Rooms> {
        // Nothing in there panics between two changes that belong together.
        self.rooms.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something in a room.
    pub(super) fn speak(
        &self,
        room: &Arc<Room>,
        said: Utterance,
    ) -> Result<MessageNumber, RequestError> {
        let spoken = match &self.writer {
            None => {
                let id = room.append(&said, wall_ms);
                self.news.send_replace(());
                MessageNumber::Now(id)
            }
            Some(writer) => MessageNumber::Later(writer.speak(Arc::clone(room), said)?),
        };
        self.metrics.spoken.add(1);
        Ok(spoken)
    }

    /// Ends the store when it has written what it was given.
    pub(super) async fn end_store(&self) {
        if let Some(writer) = &self.writer {
            writer.end().await;
        }
    }

    /// Signals when any room has news.
    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// Whether messages cannot be stored at present.
    pub(super) fn store_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }
}

impl MessageNumber {
    /// Answers with the number: at once where it is known.
    pub(super) fn then<G: 'static>(
        self,
        state: &Arc<ChatState>,
        answer: impl FnOnce(Result<u64, RequestError>) -> (G, Response) + 'static,
    ) -> HandleResult<G> {
        match self {
            Self::Now(id) => {
                let (connection, response) = answer(Ok(id));
                HandleResult::Now(connection, response)
            }
            Self::Later(_) => {
                let state = Arc::clone(state);
                HandleResult::Later(Box::pin(async move {
                    let number = self.number().await;
                    state.metrics.refused.add(u64::from(number.is_err()));
                    answer(number)
                }))
            }
        }
    }

    /// The message's number, once it has one.
    pub(super) async fn number(self) -> Result<u64, RequestError> {
        match self {
            Self::Now(id) => Ok(id),
            // The writer only goes when everything else has.
            Self::Later(number) => number.await.unwrap_or(Err(RequestError::Store)),
        }
    }
}
