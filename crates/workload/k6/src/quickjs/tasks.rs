//! What runs beside a user's function: requests whose answers are not waited for at once, and WebSockets.
//!
//! A module begins a task and is given its number. Whoever drives the user does the work and keeps the news until the user
//! waits for them, in which all of them are handed over.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use rquickjs::{ArrayBuffer, Ctx, Exception, Object, Result};

use super::host::{State, is_socket, kind_of, request_of};
use crate::exchange::{Answer, Ask, Event, Memory, Message, News, Outgoing, Request, Task, Work};

/// Most tasks of a user at the same time.
const TASKS_MAX: usize = 1000;

/// A user's tasks.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// Tasks that have begun.
    count: Cell<u32>,
    /// Those that nobody has taken yet.
    begun: RefCell<Vec<Task>>,
    outgoing: RefCell<Vec<Outgoing>>,
    /// Those that have not ended.
    left: RefCell<HashMap<u32, Left>>,
}

/// What the news of a task need.
#[derive(Debug)]
struct Left {
    request: Request,
    /// What the modules want of the answer's body.
    kind: String,
    /// The memory of the request, for as long as the task takes.
    _kept: Kept,
}

/// Bytes of the memory that all users share.
#[derive(Debug)]
struct Kept {
    memory: Arc<dyn Memory>,
    bytes: usize,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes);
    }
}

impl Tasks {
    pub(crate) fn take_begun(&self) -> Vec<Task> {
        self.begun.take()
    }

    pub(crate) fn take_outgoing(&self) -> Vec<Outgoing> {
        self.outgoing.take()
    }

    pub(crate) fn send(&self, message: Outgoing) {
        self.outgoing.borrow_mut().push(message);
    }

    pub(crate) fn are_left(&self) -> bool {
        !self.left.borrow().is_empty()
    }

    /// An iteration begins: what is left of the one before has no news any more.
    pub(crate) fn forget(&self) {
        self.left.borrow_mut().clear();
        self.begun.borrow_mut().clear();
        self.outgoing.borrow_mut().clear();
    }
}

/// The memory of a task's request, which is kept here and by whoever makes it.
fn kept(state: &State, request: &Request) -> Result<Kept> {
    let fields: usize = request.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let body = request.body.as_ref().map_or(0, Vec::len);
    let bytes = 2 * (size_of::<Request>() + request.url.len() + fields + body);
    if !state.shared.memory.take(bytes) {
        state.exhausted.set(true);
        return Err(rquickjs::Error::Allocation);
    }
    Ok(Kept { memory: Arc::clone(&state.shared.memory), bytes })
}

/// Begins a task; returns its number.
pub(crate) fn begin<'js>(ctx: &Ctx<'js>, state: &State, described: &Object<'js>) -> Result<u32> {
    let tasks = &state.tasks;
    if tasks.left.borrow().len() >= TASKS_MAX {
        let message = format!(
            "a user can have {TASKS_MAX} requests and WebSockets at the same time, and no more"
        );
        return Err(Exception::throw_message(ctx, &message));
    }
    let request = request_of(ctx, state, described)?;
    let kind = kind_of(described)?;
    let memory = kept(state, &request)?;
    let id = tasks.count.get().wrapping_add(1);
    tasks.count.set(id);
    let own = Box::new(request.clone());
    let work = if is_socket(described)? { Work::Socket(own) } else { Work::Request(own) };
    tasks.left.borrow_mut().insert(id, Left { request, kind, _kept: memory });
    tasks.begun.borrow_mut().push(Task { id, work });
    Ok(id)
}

/// Waits for news of tasks, or until this time since the run's start; below 0: for as long as it takes.
pub(crate) fn news<'js>(ctx: &Ctx<'js>, state: &State, until_ms: f64) -> Result<Vec<Object<'js>>> {
    let most_ns = match until_ms < 0.0 {
        true => None,
        // Rounded up, so that the time is over when it wakes.
        false => Some(((until_ms - state.elapsed_ms.get()).max(0.0) * 1e6).ceil() as u64 + 1),
    };
    match state.wait(ctx, Ask::News(most_ns))? {
        Answer::News(all) => {
            let all = all.into_iter().filter_map(|news| described(ctx, state, &news).transpose());
            all.collect()
        }
        _ => Err(Exception::throw_internal(ctx, "the answer is no news")),
    }
}

/// A message of a WebSocket as the modules take it.
fn of_message<'js>(ctx: &Ctx<'js>, message: &Message) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    let kind = match message {
        Message::Text(text) => {
            object.set("data", text.as_str())?;
            "message"
        }
        Message::Binary(bytes) => {
            object.set("data", ArrayBuffer::new_copy(ctx.clone(), bytes)?)?;
            "message"
        }
        Message::Ping(_) => "ping",
        Message::Pong(bytes) => {
            object.set("data", String::from_utf8_lossy(bytes).into_owned())?;
            "pong"
        }
        Message::Close { code, reason } => {
            object.set("code", *code)?;
            object.set("reason", reason.as_str())?;
            "close"
        }
    };
    object.set("type", kind)?;
    Ok(object)
}

/// News as the modules take them; `None`: nobody waits for them any more.
fn described<'js>(ctx: &Ctx<'js>, state: &State, news: &News) -> Result<Option<Object<'js>>> {
    let mut left = state.tasks.left.borrow_mut();
    let Some(task) = left.get(&news.id) else {
        return Ok(None);
    };
    let object = match &news.event {
        Event::Response(response) => state.answer(ctx, response, &task.request, &task.kind)?,
        Event::Handshake(response) => {
            let object = state.answer(ctx, response, &task.request, &task.kind)?;
            object.set("type", if response.failure.is_some() { "failed" } else { "open" })?;
            let mut headers = response.headers.iter();
            let own = headers.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
            object.set("protocol", own.map_or("", |(_, value)| value.as_str()))?;
            object
        }
        Event::Message(message, bytes) => {
            state.sample("data_received", *bytes as f64, &[]);
            of_message(ctx, message)?
        }
    };
    let whole = Object::new(ctx.clone())?;
    whole.set("id", news.id)?;
    whole.set("value", object)?;
    whole.set("isLast", news.event.is_last())?;
    if news.event.is_last() {
        left.remove(&news.id);
    }
    Ok(Some(whole))
}
