//! What scripts have begun beside their functions, each by a branch of the user.
//!
//! A function that begins a task is run by a branch of its user from then on, until it ends; each task is another. So a
//! user whose script does one thing at a time has no branch.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use k6::{Event, Fault, Message, News, Task, Work};

use super::{Asked, Flight, Vus};
use crate::tables::budget::Held;

/// The tasks of a context. `K` names branches.
#[derive(Debug)]
pub(super) struct Tasks<K> {
    /// The branch that runs the function.
    main: Option<K>,
    /// What the function waits for, to be begun by that branch.
    deferred: Option<Asked>,
    /// Those that no branch has taken.
    begun: VecDeque<Task>,
    /// Those that branches have taken.
    taken: HashMap<K, Taken>,
    news: Vec<News>,
    /// The memory of the news.
    held: Vec<Held>,
}

/// A task that a branch has taken.
#[derive(Debug, Clone, Copy)]
struct Taken {
    id: u32,
    is_socket: bool,
    /// The status with which its WebSocket is being closed.
    closing: Option<u16>,
}

impl<K> Default for Tasks<K> {
    fn default() -> Tasks<K> {
        Tasks {
            main: None,
            deferred: None,
            begun: VecDeque::new(),
            taken: HashMap::new(),
            news: Vec::new(),
            held: Vec::new(),
        }
    }
}

impl<K: Copy + Eq + Hash> Tasks<K> {
    pub(super) fn begin(&mut self, tasks: Vec<Task>) {
        self.begun.extend(tasks);
    }

    /// The news, and the memory that they take.
    pub(super) fn take_news(&mut self) -> (Vec<News>, Vec<Held>) {
        (std::mem::take(&mut self.news), std::mem::take(&mut self.held))
    }

    pub(super) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// The branches that run the function and its tasks.
    pub(super) fn branches(&self) -> impl Iterator<Item = K> {
        self.main.into_iter().chain(self.taken.keys().copied())
    }
}

/// What a branch does next.
#[derive(Debug)]
pub(crate) enum Turn {
    /// The function goes on.
    Function,
    /// This is what it waits for.
    Deferred(Asked),
    /// The request of this name.
    Request(String),
    /// The handshake of a WebSocket.
    Socket,
    /// Nothing, while its WebSocket is open.
    Hold,
    /// Nothing: it ends.
    Nothing,
}

impl<K: Copy + Eq + Hash> Vus<K> {
    /// How many tasks no branch has taken.
    pub(crate) fn begun_tasks(&self, key: K) -> usize {
        self.active.get(&key).map_or(0, |active| active.tasks.begun.len())
    }

    /// A branch is to begin what the function waits for.
    pub(crate) fn defer(&mut self, key: K, ask: Asked) {
        if let Some(active) = self.active.get_mut(&key) {
            active.tasks.deferred = Some(ask);
        }
    }

    /// What the user's branch does next. What it has done is news.
    pub(crate) fn next_turn(&mut self, key: K, branch: K, now_ns: u64) -> Turn {
        let Some(active) = self.active.get_mut(&key) else {
            return Turn::Nothing;
        };
        let tasks = &mut active.tasks;
        if *tasks.main.get_or_insert(branch) == branch {
            return match tasks.deferred.take() {
                Some(Asked::Request(name)) => {
                    // The user itself has asked.
                    if let Some(flight) = self.flights.remove(&key) {
                        self.flights.insert(branch, flight);
                    }
                    Turn::Deferred(Asked::Request(name))
                }
                Some(ask) => Turn::Deferred(ask),
                None => Turn::Function,
            };
        }
        if let Some(&Taken { id, is_socket, closing }) = tasks.taken.get(&branch) {
            let event = match self.flights.remove(&branch) {
                Some(mut flight) => {
                    tasks.held.extend(flight.held.take());
                    let response = Box::new(flight.answer(now_ns));
                    Some(match is_socket {
                        true => Event::Handshake(response),
                        false => Event::Response(response),
                    })
                }
                // Its WebSocket is closed, or nothing has become of it.
                None => closing
                    .map(|code| Event::Message(Message::Close { code, reason: String::new() }, 0)),
            };
            let is_over = event.as_ref().is_some_and(Event::is_last);
            tasks.news.extend(event.map(|event| News { id, event }));
            if !is_over {
                return Turn::Hold;
            }
            tasks.taken.remove(&branch);
        }
        let Some(Task { id, work }) = tasks.begun.pop_front() else {
            return Turn::Nothing;
        };
        let is_socket = matches!(work, Work::Socket(_));
        tasks.taken.insert(branch, Taken { id, is_socket, closing: None });
        match work {
            Work::Socket(request) => {
                self.flights.insert(branch, Flight::new(*request, now_ns));
                Turn::Socket
            }
            Work::Request(request) => {
                let name = request.name.clone();
                self.flights.insert(branch, Flight::new(*request, now_ns));
                Turn::Request(name)
            }
        }
    }

    /// Whether there are news for the user's function.
    pub(crate) fn has_news(&self, key: K) -> bool {
        self.active.get(&key).is_some_and(|active| active.tasks.has_news())
    }

    /// The branch that runs the user's function, if news are there that it waits for.
    pub(crate) fn has_news_for(&self, key: K) -> Option<K> {
        let active = self.active.get(&key)?;
        let waits = active.awaits_news && active.tasks.has_news();
        active.tasks.main.filter(|_| waits)
    }

    /// Ends the tasks that no branch can take.
    pub(crate) fn refuse_tasks(&mut self, key: K, now_ns: u64) {
        let Some(active) = self.active.get_mut(&key) else {
            return;
        };
        let tasks = &mut active.tasks;
        for Task { id, work } in std::mem::take(&mut tasks.begun) {
            // Without an answer it has failed.
            let refused = |request| Box::new(Flight::new(request, now_ns).answer(now_ns));
            let event = match work {
                Work::Request(request) => Event::Response(refused(*request)),
                Work::Socket(request) => Event::Handshake(refused(*request)),
            };
            tasks.news.push(News { id, event });
        }
    }

    /// Whether the user's branch has an open WebSocket of its script.
    pub(crate) fn has_socket(&self, key: K, branch: K) -> bool {
        let taken = self.active.get(&key).and_then(|active| active.tasks.taken.get(&branch));
        taken.is_some_and(|taken| taken.is_socket) && !self.flights.contains_key(&branch)
    }

    /// The branch whose task has this number.
    pub(crate) fn branch_of(&self, key: K, id: u32) -> Option<K> {
        let mut taken = self.active.get(&key)?.tasks.taken.iter();
        taken.find(|(_, taken)| taken.id == id).map(|(branch, _)| *branch)
    }

    /// Something came over the branch's WebSocket, in so many bytes, for which memory is held. With a close frame it has
    /// ended.
    pub(crate) fn hear(
        &mut self,
        key: K,
        branch: K,
        message: Message,
        bytes: usize,
        held: Option<Held>,
    ) {
        let Some(active) = self.active.get_mut(&key) else {
            return;
        };
        let tasks = &mut active.tasks;
        if let Some(taken) = tasks.taken.get(&branch) {
            let event = Event::Message(message, bytes as u64);
            let is_last = event.is_last();
            tasks.news.push(News { id: taken.id, event });
            tasks.held.extend(held);
            if is_last {
                tasks.taken.remove(&branch);
            }
        }
    }

    /// The branch's WebSocket is being closed with this status.
    pub(crate) fn closes(&mut self, key: K, branch: K, code: u16) {
        let active = self.active.get_mut(&key);
        if let Some(taken) = active.and_then(|active| active.tasks.taken.get_mut(&branch)) {
            taken.closing = Some(code);
        }
    }

    /// The function of a user with branches has ended.
    pub(crate) fn end_in_branch(&mut self, key: K, result: Result<Option<String>, Fault>) {
        self.ended.insert(key, result);
    }

    /// How the function has ended in a branch.
    pub(crate) fn take_ended(&mut self, key: K) -> Option<Result<Option<String>, Fault>> {
        self.ended.remove(&key)
    }
}
