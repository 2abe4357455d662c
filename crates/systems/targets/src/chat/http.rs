//! Requests over plain HTTP: the page, speaking, polling, and a stream on a connection that
//! was used before.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use super::message::Utterance;
use super::paths;
use super::request_error::RequestError;
use super::room::{Backlog, Room};
use super::state::{ChatState, LOBBY};
use server::sse;
use server::{Drain, Operations, operator_routes, stopped};

/// Messages in the answer to a poll that names no other number.
const POLL_MESSAGES: usize = 1_000;
/// The page may load its own script and style and speak with this server, no more; its icon is an
/// empty image of its own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const JSON: &str = "application/json";

type Chat = State<Arc<ChatState>>;

/// All routes.
pub(super) fn router(state: &Arc<ChatState>) -> Router {
    let page = |kind: &'static str, text: &'static str| get(move || file(kind, text));
    let html = page("text/html; charset=utf-8", include_str!("page/chat.html"));
    let script = page("text/javascript; charset=utf-8", include_str!("page/chat.js"));
    let style = page("text/css; charset=utf-8", include_str!("page/chat.css"));
    Router::new()
        .route("/chat", html)
        .route("/chat/chat.js", script)
        .route("/chat/chat.css", style)
        .route("/chat/speak", post(speak))
        .route("/chat/poll", get(poll))
        .route(paths::STREAM, get(stream))
        .route(paths::SOCKET, get(upgrade))
        .route(paths::CABLE, get(upgrade))
        .route(paths::PHOENIX, get(upgrade))
        .fallback(|| async { (StatusCode::NOT_FOUND, "no such path\n") })
        .layer(DefaultBodyLimit::max(state.options.message_max))
        .with_state(Arc::clone(state))
        .merge(operator_routes(state))
}

async fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    let head = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (head, text)
}

/// A request that was refused.
struct HttpError(RequestError);

impl From<RequestError> for HttpError {
    fn from(fault: RequestError) -> Self {
        Self(fault)
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let status = match self.0 {
            RequestError::Malformed(_) | RequestError::Invalid(_) | RequestError::BadRoom => {
                StatusCode::BAD_REQUEST
            }
            RequestError::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            RequestError::TooManyRooms { .. } | RequestError::Busy | RequestError::Store => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        (status, [(header::CONTENT_TYPE, JSON)], self.0.json()).into_response()
    }
}

/// Which room, and from where.
#[derive(Debug, Deserialize)]
struct RoomQuery {
    room: Option<String>,
    after: Option<u64>,
    /// Seconds for which a poll without messages is held.
    wait: Option<f64>,
    /// Most messages in an answer.
    limit: Option<usize>,
}

impl RoomQuery {
    fn from_request(request: &Request) -> Result<Self, RequestError> {
        match Query::try_from_uri(request.uri()) {
            Ok(Query(query)) => Ok(query),
            Err(error) => Err(RequestError::Invalid(error.body_text())),
        }
    }

    fn room(&self, state: &ChatState) -> Result<Arc<Room>, RequestError> {
        state.room(self.room.as_deref().unwrap_or(LOBBY))
    }
}

async fn speak(State(state): Chat, request: Request) -> Result<Response, HttpError> {
    let spoken = async {
        let room = RoomQuery::from_request(&request)?.room(&state)?;
        let said = said(&state, request).await?;
        state.speak(&room, said)?.number().await
    };
    match spoken.await {
        Ok(id) => {
            let body = format!(r#"{{"id":{id}}}"#);
            Ok(([(header::CONTENT_TYPE, JSON)], body).into_response())
        }
        Err(fault) => {
            state.metrics.refused.add(1);
            Err(HttpError(fault))
        }
    }
}

/// Contents of a body: a form, as pages send it, or JSON.
async fn said(state: &ChatState, request: Request) -> Result<Utterance, RequestError> {
    let max = state.options.message_max;
    let kind = request.headers().get(header::CONTENT_TYPE);
    let is_form =
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    let too_long = |status| status == StatusCode::PAYLOAD_TOO_LARGE;
    if is_form {
        return match Form::<Utterance>::from_request(request, &()).await {
            Ok(Form(said)) => said.check(max),
            Err(error) if too_long(error.status()) => Err(RequestError::TooLong { max }),
            Err(error) => Err(RequestError::Invalid(error.body_text())),
        };
    }
    match String::from_request(request, &()).await {
        Ok(text) => Utterance::parse(&text, max),
        Err(error) if too_long(error.status()) => Err(RequestError::TooLong { max }),
        Err(error) => Err(RequestError::Malformed(error.body_text())),
    }
}

async fn poll(State(state): Chat, request: Request) -> Result<Response, HttpError> {
    let query = RoomQuery::from_request(&request)?;
    let room = query.room(&state)?;
    let hold = match query.wait {
        None => Duration::ZERO,
        Some(seconds) => Duration::try_from_secs_f64(seconds)
            .map_err(|_| RequestError::Invalid("wait is a number of seconds".to_owned()))?,
    };
    state.metrics.polls.add(1);
    let limit = query.limit.unwrap_or(POLL_MESSAGES).clamp(1, POLL_MESSAGES);
    let after = query.after.unwrap_or(0);
    let mut found = room.read(after, u64::MAX, limit);
    if found.messages.is_empty() && !hold.is_zero() {
        let _held = LongPoll::new(&state);
        let until = Instant::now() + server::stretch(hold).min(state.options.hold_max);
        found = wait(&state, &room, after, limit, until).await;
    }
    Ok(answer(&room, &found).into_response())
}

/// A long poll, as long as it is held, however it ends.
struct LongPoll<'a>(&'a ChatState);

impl<'a> LongPoll<'a> {
    fn new(state: &'a ChatState) -> Self {
        state.metrics.holds_begun.add(1);
        Self(state)
    }
}

impl Drop for LongPoll<'_> {
    fn drop(&mut self) {
        self.0.metrics.holds_ended.add(1);
    }
}

/// Messages after a cursor as soon as there are any, or none at the end.
async fn wait(state: &ChatState, room: &Room, after: u64, limit: usize, until: Instant) -> Backlog {
    let mut head = room.watch();
    let mut draining = state.drain.subscribe();
    loop {
        // First the look at the watch, then at the room: what comes between is reported.
        head.mark_unchanged();
        let found = room.read(after, u64::MAX, limit);
        if !found.messages.is_empty() {
            return found;
        }
        tokio::select! {
            changed = timeout_at(until, head.changed()) => {
                if changed.is_err() {
                    return found;
                }
            }
            () = stopped(&mut draining) => return found,
        }
    }
}

fn answer(room: &Room, found: &Backlog) -> impl IntoResponse + use<> {
    let messages: Vec<&str> = found.messages.iter().map(|message| &*message.json).collect();
    let body = format!(
        r#"{{"room":"{}","messages":[{}],"last":{},"forgotten":{}}}"#,
        room.name,
        messages.join(","),
        found.last,
        found.forgotten
    );
    let head = [(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, "no-store")];
    (head, body)
}

/// A stream that could not be given to the thread's reactor, because its connection had been used
/// before: browsers do that. It reads the room's log by a cursor of its own.
async fn stream(State(state): Chat, request: Request) -> Result<Response, HttpError> {
    let query = RoomQuery::from_request(&request)?;
    let room = query.room(&state)?;
    let after = match last_event_id(request.headers())? {
        Some(after) => after,
        None => query.after.unwrap_or_else(|| room.head()),
    };
    let reader = Reader {
        head: room.watch(),
        draining: state.drain.subscribe(),
        state,
        room,
        after,
        retry: true,
    };
    let body = Body::from_stream(stream::unfold(reader, async |mut reader: Reader| {
        let text = reader.next().await?;
        Some((Ok::<_, std::convert::Infallible>(text), reader))
    }));
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((head, body).into_response())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, RequestError> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| RequestError::Invalid("a cursor is a whole number".to_owned()))
}

struct Reader {
    state: Arc<ChatState>,
    room: Arc<Room>,
    head: watch::Receiver<u64>,
    draining: watch::Receiver<bool>,
    after: u64,
    /// The client still has to get the time after which it reconnects.
    retry: bool,
}

impl Reader {
    /// The next bytes; `None` when the chat stops.
    async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.retry) {
            return Some(sse::retry_text(self.state.options.retry).into());
        }
        loop {
            self.head.mark_unchanged();
            let found = self.room.read(self.after, u64::MAX, POLL_MESSAGES);
            if !found.messages.is_empty() {
                self.after = found.last;
                self.state.metrics.overrun.add(found.forgotten);
                let messages = found.messages.iter();
                let text: String =
                    messages.map(|message| self.state.options.names.stream_text(message)).collect();
                return Some(text.into());
            }
            let heartbeat = async {
                match self.state.options.heartbeat {
                    Some(every) => sleep(every).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = self.head.changed() => changed.ok()?,
                () = heartbeat => return Some(Bytes::from_static(sse::COMMENT.as_bytes())),
                () = stopped(&mut self.draining) => return None,
            }
        }
    }
}

/// Reached by requests that are not a handshake, or not the first of their connection.
async fn upgrade() -> Response {
    let text = "a WebSocket is opened by the first request of a connection\n";
    (StatusCode::UPGRADE_REQUIRED, [(header::UPGRADE, "websocket")], text).into_response()
}

impl Operations for ChatState {
    fn drain(&self) -> &Drain {
        &self.drain
    }

    fn problem(&self) -> Option<&'static str> {
        self.store_failing().then_some("messages cannot be stored")
    }

    async fn metrics(self: Arc<Self>) -> Result<String, Response> {
        Ok(self.metrics.render(self.rooms_count(), self.store_failing()))
    }
}
