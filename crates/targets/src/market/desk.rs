//! The desk: answers one request after the other of a connection.

use std::sync::Arc;

use bytes::Bytes;

use super::hub::Hub;
use super::model::{GameId, Outcome, PoolId, User};
use super::protocol::{Fault, Reply, Request};
use super::transactions::{Prediction, StoreError, Verdict};
use server::reactor::{Answered, Seating};

/// What the desk knows of one connection.
#[derive(Debug)]
pub(super) struct Visitor {
    user: User,
    /// The game whose channel the connection gets.
    joined: Option<GameId>,
    /// Whether an account may have been opened that goes with the connection.
    to_close: bool,
}

impl Visitor {
    pub(super) fn new(user: User) -> Self {
        Self {
            user,
            joined: None,
            to_close: false,
        }
    }

    /// Answers a binary message.
    pub(super) fn hear_binary(&self) -> Answered {
        let error = Fault::new("binary", "requests are text messages");
        self.answered(Reply::Fault { error }.encode(None, None), false)
    }

    fn answered(&self, frame: Bytes, good: bool) -> Answered {
        Answered {
            frames: frame,
            count: 1,
            good,
            seat: Seating::Only(self.joined.map(GameId::channel)),
            end: None,
        }
    }

    /// Answers the request in `text`.
    pub(super) async fn ask(&mut self, hub: &Arc<Hub>, text: &str) -> Answered {
        let request = match Request::parse(text) {
            Ok(request) => request,
            Err(unreadable) => {
                let reply = Reply::Fault {
                    error: unreadable.fault,
                };
                let frame = reply.encode(unreadable.op.as_deref(), unreadable.id.as_deref());
                return self.answered(frame, false);
            }
        };
        hub.delay.hold_up().await;
        let result = match &*request.op {
            "games" => games(hub).await,
            "join" => self.join(hub, &request).await,
            "leave" => Ok(Reply::Left {
                game: self.joined.take(),
            }),
            "pools" => pools(hub, &request).await,
            "predict" => self.predict(hub, &request).await,
            _ => Err(Fault::new("unknown_op", "no such operation")),
        };
        let good = result.is_ok();
        let reply = result.unwrap_or_else(|error| Reply::Fault { error });
        self.answered(reply.encode(Some(&request.op), request.id), good)
    }

    async fn join(&mut self, hub: &Hub, request: &Request<'_>) -> Result<Reply, Fault> {
        let game = game_of(hub, request)?;
        self.account_opens();
        let balance = hub.store.open_account(&self.user).await?;
        self.joined = Some(game);
        Ok(Reply::Joined { game, balance })
    }

    async fn predict(&mut self, hub: &Hub, request: &Request<'_>) -> Result<Reply, Fault> {
        let prediction = self.prediction(request)?;
        self.account_opens();
        let reply = match hub.store.predict(&prediction).await? {
            Verdict::Accepted {
                game,
                open,
                balance,
            } => {
                hub.metrics.predictions_accepted.add(1);
                hub.touch(game);
                Reply::Accepted {
                    accepted: true,
                    pool: open,
                    balance,
                }
            }
            Verdict::Refused {
                reason,
                open,
                balance,
            } => {
                hub.metrics.predictions_refused.add(1);
                Reply::Refused {
                    accepted: false,
                    reason,
                    pool: open,
                    balance,
                }
            }
            Verdict::Unknown => return Err(Fault::new("unknown_pool", "no such pool")),
        };
        Ok(reply)
    }

    fn prediction(&self, request: &Request<'_>) -> Result<Prediction, Fault> {
        let pool = needed(request.pool.as_deref(), "pool")?;
        let pool: PoolId = pool
            .parse()
            .map_err(|()| Fault::new("unknown_pool", "no such pool"))?;
        let option = needed(request.option.as_deref(), "option")?;
        let outcome = Outcome::parse(option).ok_or(Fault::new(
            "unknown_option",
            "the options are home, away and none",
        ))?;
        let amount = needed(request.amount, "amount")?;
        if amount == 0 {
            return Err(Fault::new("invalid", "amount must be at least 1"));
        }
        Ok(Prediction {
            user: self.user.clone(),
            pool,
            outcome,
            amount,
        })
    }

    fn account_opens(&mut self) {
        self.to_close = matches!(self.user, User::Connection(_));
    }

    /// Whether there is anything to do when the connection goes.
    pub(super) fn has_to_leave(&self) -> bool {
        self.to_close
    }

    /// Closes an account that goes with the connection.
    pub(super) async fn leave(self, hub: &Hub) {
        if self.to_close && hub.store.close_account(&self.user).await.is_err() {
            hub.metrics.store_errors.add(1);
        }
    }
}

async fn games(hub: &Hub) -> Result<Reply, Fault> {
    Ok(Reply::Games {
        games: hub.store.games().await?,
    })
}

/// The open pools of a game; settled ones are read over REST.
async fn pools(hub: &Hub, request: &Request<'_>) -> Result<Reply, Fault> {
    let pools = hub
        .store
        .pools(game_of(hub, request)?)
        .await?
        .unwrap_or_default();
    let open = pools.into_iter().filter(|pool| pool.outcome.is_none());
    Ok(Reply::Pools {
        pools: open.map(Into::into).collect(),
    })
}

fn game_of(hub: &Hub, request: &Request<'_>) -> Result<GameId, Fault> {
    let game = needed(request.game.as_deref(), "game")?;
    let game = game.parse().ok().filter(|&game| hub.plays(game));
    game.ok_or(Fault::new("unknown_game", "no such game"))
}

fn needed<T>(value: Option<T>, name: &str) -> Result<T, Fault> {
    value.ok_or_else(|| Fault::new("invalid", format!("missing field `{name}`")))
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::new("unavailable", error.to_string())
    }
}
