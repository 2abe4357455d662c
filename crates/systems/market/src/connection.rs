//! The desk: answers one request after the other of a connection.

use std::sync::Arc;

use bytes::Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::batch;
use super::envelope::{ApiAnswer, Demand};
use super::leaving;
use super::options::{Broadcast, Listing};
use super::protocol::{PoolView, Reply, Request, RequestError, UNAVAILABLE};
use super::questions;
use super::state::MarketState;
use super::transactions::{Prediction, StoreError, Verdict};
use crate::bus::model::{GameId, PoolId, User};
use server::reactor::{Response, SubscriptionChange};

/// The desk's state of one connection.
#[derive(Debug)]
pub(crate) struct Connection {
    user: User,
    /// The game whose channel the connection gets.
    joined: Option<GameId>,
    /// Whether an account may have been opened that goes with the connection.
    to_close: bool,
}

impl Connection {
    pub(crate) fn new(user: User) -> Self {
        Self { user, joined: None, to_close: false }
    }

    /// Answers a binary message.
    pub(crate) fn on_binary(&self) -> Response {
        let error = RequestError::new("binary", "requests are text messages");
        self.response(Reply::Failed { error }.encode(None, None), false)
    }

    fn response(&self, frame: Bytes, good: bool) -> Response {
        Response {
            frames: frame,
            count: 1,
            good,
            subscription: SubscriptionChange::Only(self.joined.map(GameId::channel)),
            end: None,
        }
    }

    /// Answers the request in `text`.
    pub(crate) async fn handle(&mut self, state: &Arc<MarketState>, text: &str) -> Response {
        let request = match Request::parse(text) {
            Ok(request) => request,
            Err(unreadable) => {
                let reply = Reply::Failed { error: unreadable.fault };
                let frame = reply.encode(unreadable.op.as_deref(), unreadable.id.as_deref());
                return self.response(frame, false);
            }
        };
        state.delay.hold_up().await;
        let result = match &*request.op {
            "games" => games(state).await,
            "join" => self.join(state, &request).await,
            "leave" => Ok(Reply::Left { game: self.joined.take() }),
            "pools" => pools(state, &request).await,
            "predict" => self.predict(state, &request).await,
            // Their futures are large, and would make that of each request so.
            _ => Box::pin(self.rare(state, &request)).await,
        };
        // A client is not to blame for a store that is away, and stays connected.
        let unavailable = matches!(&result, Err(error) if error.is_unavailable());
        if unavailable {
            state.metrics.unavailable.add(1);
        }
        let good = result.is_ok() || unavailable;
        let reply = result.unwrap_or_else(|error| Reply::Failed { error });
        self.response(reply.encode(Some(&request.op), request.id), good)
    }

    async fn join(
        &mut self,
        state: &MarketState,
        request: &Request<'_>,
    ) -> Result<Reply, RequestError> {
        let game = game_of(state, request)?;
        self.account_opens();
        let balance = state.store.open_account(&self.user).await?;
        self.joined = Some(game);
        Ok(Reply::Joined { game, balance })
    }

    async fn predict(
        &mut self,
        state: &MarketState,
        request: &Request<'_>,
    ) -> Result<Reply, RequestError> {
        let prediction = self.prediction(state, request).await?;
        self.account_opens();
        let reply = match state.store.predict(&prediction).await? {
            Verdict::Accepted { game, open, balance, returned } => {
                state.metrics.predictions_accepted.add(1);
                match state.broadcast {
                    // What a ledger accepted is not in the pool yet: its courier touches the game.
                    Broadcast::Batched if state.outside.has_ledger() => {}
                    Broadcast::Batched => state.touch(game),
                    Broadcast::Each => batch::publish_at_once(state, game).await,
                }
                Reply::Accepted { accepted: true, pool: open, balance, returned }
            }
            Verdict::Refused { reason, open, balance, returned } => {
                state.metrics.predictions_refused.add(1);
                Reply::Refused { accepted: false, reason, pool: open, balance, returned }
            }
            Verdict::Unknown => return Err(RequestError::new("unknown_pool", "no such pool")),
        };
        Ok(reply)
    }

    /// Operations of questions, friends and administrators.
    async fn rare(
        &self,
        state: &MarketState,
        request: &Request<'_>,
    ) -> Result<Reply, RequestError> {
        let user = &self.user;
        match &*request.op {
            "pose" => questions::pose(state, user, game_of(state, request)?, request).await,
            "questions" => questions::list(state, user, game_of(state, request)?).await,
            "decide" => questions::decide(state, user, pool_of(request)?, request).await,
            "event" => questions::record(state, game_of(state, request)?, request).await,
            "befriend" => questions::befriend(state, user, request).await,
            "friends" => questions::friends(state, user).await,
            "friends_predictions" => {
                questions::friends_predictions(state, user, pool_of(request)?).await
            }
            _ => Err(RequestError::new("unknown_op", "no such operation")),
        }
    }

    async fn prediction(
        &self,
        state: &MarketState,
        request: &Request<'_>,
    ) -> Result<Prediction, RequestError> {
        let pool = pool_of(request)?;
        let option = needed(request.option.as_deref(), "option")?;
        let outcome = questions::outcome_of(state, &self.user, pool, option).await?;
        let amount = needed(request.amount, "amount")?;
        if amount == 0 {
            return Err(RequestError::new("invalid", "amount must be at least 1"));
        }
        Ok(Prediction { user: self.user.clone(), pool, outcome, amount })
    }

    fn account_opens(&mut self) {
        self.to_close = matches!(self.user, User::Connection(_));
    }

    /// Whether there is anything to do when the connection goes.
    pub(crate) fn has_to_leave(&self) -> bool {
        self.to_close
    }

    /// Closes an account that goes with the connection.
    pub(crate) async fn leave(self, state: &MarketState) {
        if self.to_close {
            leaving::close(state, self.user).await;
        }
    }
}

/// Answers a relay, which speaks for one of its users.
pub(crate) async fn answer_relay(state: &Arc<MarketState>, message: &str) -> Response {
    let Some(demand) = Demand::read(message) else {
        return no_relay();
    };
    let (frames, subscription) = match demand {
        Demand::Request { user, joined, text } => {
            let mut connection = Connection {
                joined: joined.filter(|&game| state.plays(game)),
                ..Connection::new(user)
            };
            let reply = connection.handle(state, text).await;
            let frame = ApiAnswer::frame(connection.joined, reply.good, &reply.frames);
            (frame, SubscriptionChange::Keep)
        }
        Demand::Close { user } => {
            leaving::close(state, user).await;
            (ApiAnswer::frame(None, true, &[]), SubscriptionChange::Keep)
        }
        Demand::Watch { game } => {
            let played = state.plays(game);
            let channel = played.then(|| game.channel());
            let frame = ApiAnswer::frame(None, played, &[]);
            (frame, SubscriptionChange::Only(channel))
        }
    };
    Response {
        frames,
        count: 1,
        // Whose requests are bad is for the relay to count.
        good: true,
        subscription,
        end: None,
    }
}

/// The answer to whoever is no relay.
pub(crate) fn no_relay() -> Response {
    Response {
        frames: Bytes::new(),
        count: 0,
        good: false,
        subscription: SubscriptionChange::Keep,
        end: Some((CloseCode::Policy, "only relays may connect here")),
    }
}

async fn games(state: &MarketState) -> Result<Reply, RequestError> {
    let mut games = state.store.games().await?;
    games.retain(|game| state.is_played(game.id));
    Ok(Reply::Games { games })
}

/// The open pool of a game; settled ones are read over REST.
async fn pools(state: &MarketState, request: &Request<'_>) -> Result<Reply, RequestError> {
    let Some(pool) = state.store.current_pool(game_of(state, request)?).await? else {
        return Ok(Reply::Pools { pools: Vec::new() });
    };
    let view = PoolView::from(pool);
    let view = match state.pools {
        Listing::Lean => view,
        Listing::Full => view.listing(state.store.predictions(pool.id).await?),
    };
    Ok(Reply::Pools { pools: vec![view] })
}

fn game_of(state: &MarketState, request: &Request<'_>) -> Result<GameId, RequestError> {
    let game = needed(request.game.as_deref(), "game")?;
    let game = game.parse().ok().filter(|&game| state.plays(game));
    game.ok_or(RequestError::new("unknown_game", "no such game"))
}

fn pool_of(request: &Request<'_>) -> Result<PoolId, RequestError> {
    let pool = needed(request.pool.as_deref(), "pool")?;
    pool.parse().map_err(|()| RequestError::new("unknown_pool", "no such pool"))
}

fn needed<T>(value: Option<T>, name: &str) -> Result<T, RequestError> {
    value.ok_or_else(|| RequestError::new("invalid", format!("missing field `{name}`")))
}

impl From<StoreError> for RequestError {
    fn from(error: StoreError) -> Self {
        Self::new(UNAVAILABLE, error.to_string())
    }
}
