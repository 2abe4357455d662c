//! The REST reads, and the pages for operators.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;

use super::protocol::{PoolView, RequestError, STREAM};
use super::state::MarketState;
use super::transactions::StoreError;
use crate::bus::model::{Game, GameId, PoolId};
use server::{Drain, Operations, operator_routes};

/// All routes.
pub(crate) fn router(state: &Arc<MarketState>) -> Router {
    Router::new()
        .route("/v1/games", get(games))
        .route("/v1/games/{id}", get(game))
        .route("/v1/games/{id}/pools", get(pools))
        .route("/v1/pools/{id}", get(pool))
        .route(STREAM, get(stream))
        .route("/hello", get(|| async { "ok\n" }))
        .fallback(|| async { Problem::not_found("unknown_path", "no such path") })
        .with_state(Arc::clone(state))
        .merge(operator_routes(state))
}

/// A failed request.
struct Problem {
    status: StatusCode,
    fault: RequestError,
}

impl Problem {
    fn not_found(code: &'static str, message: &'static str) -> Self {
        Self { status: StatusCode::NOT_FOUND, fault: RequestError::new(code, message) }
    }

    fn no_game() -> Self {
        Self::not_found("unknown_game", "no such game")
    }

    fn no_pool() -> Self {
        Self::not_found("unknown_pool", "no such pool, or it is no longer kept")
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, fault: error.into() }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Body {
            error: RequestError,
        }
        (self.status, Json(Body { error: self.fault })).into_response()
    }
}

#[derive(Serialize)]
struct Games {
    games: Vec<Game>,
}

#[derive(Serialize)]
struct Pools {
    pools: Vec<PoolView>,
}

async fn games(State(state): State<Arc<MarketState>>) -> Result<Json<Games>, Problem> {
    let mut games = state.store.games().await?;
    games.retain(|game| state.is_played(game.id));
    Ok(Json(Games { games }))
}

async fn game(
    State(state): State<Arc<MarketState>>,
    Path(id): Path<String>,
) -> Result<Json<Game>, Problem> {
    let id: GameId = id.parse().map_err(|()| Problem::no_game())?;
    state.store.game(id).await?.map(Json).ok_or_else(Problem::no_game)
}

async fn pools(
    State(state): State<Arc<MarketState>>,
    Path(id): Path<String>,
) -> Result<Json<Pools>, Problem> {
    let id: GameId = id.parse().map_err(|()| Problem::no_game())?;
    let pools = state.store.pools(id).await?.ok_or_else(Problem::no_game)?;
    Ok(Json(Pools { pools: pools.into_iter().map(Into::into).collect() }))
}

async fn pool(
    State(state): State<Arc<MarketState>>,
    Path(id): Path<String>,
) -> Result<Json<PoolView>, Problem> {
    let id: PoolId = id.parse().map_err(|()| Problem::no_pool())?;
    let pool = state.store.pool(id).await?.ok_or_else(Problem::no_pool)?;
    Ok(Json(pool.into()))
}

/// Reached by requests that are not a handshake, or not the first of their connection.
async fn stream() -> Response {
    let message = "a WebSocket is opened by the first request of a connection";
    let problem = Problem {
        status: StatusCode::UPGRADE_REQUIRED,
        fault: RequestError::new("upgrade", message),
    };
    ([(header::UPGRADE, "websocket")], problem).into_response()
}

impl Operations for MarketState {
    fn drain(&self) -> &Drain {
        &self.drain
    }

    async fn metrics(self: Arc<Self>) -> Result<String, Response> {
        let mut money = None;
        if self.audits {
            // A store that is away takes its figures with it, not all others.
            match self.store.audit().await {
                Ok(counted) => money = Some(counted),
                Err(_) => self.metrics.store_errors.add(1),
            }
        }
        Ok(self.metrics.render(money, &self.outside))
    }
}
