//! Requests over HTTP.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Extension, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use serde::Deserialize;
use tokio::task::{JoinError, spawn_local};

use super::inventory::Viewer;
use super::offers::Offer;
use super::page;
use super::request_error::RequestError;
use super::state::AdsState;
use super::step::Step;
use server::access_log::{LogSubject, logged};
use server::http::Peer;
use server::{Drain, Operations, operator_routes};

/// Largest body of a request, in bytes.
const BODY_MAX: usize = 64 << 10;
/// Longest name that a publisher gives to a user, in bytes.
const USER_MAX: usize = 64;
/// A transparent picture of one pixel (GIF89a).
const PIXEL: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff\x21\xf9\x04\x01\
    \x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";

type Ads = State<Arc<AdsState>>;

/// The fields of an offer for the access log.
fn subject_of(offer: &Offer) -> Extension<LogSubject> {
    Extension(LogSubject { label: Arc::clone(&offer.publisher), user: offer.user.clone() })
}

/// All routes. Requests to the network are logged, those to `/healthz` and `/metrics` are not.
pub(super) fn router(state: &Arc<AdsState>) -> Router {
    let mut network = Router::new()
        .route("/publishers/{key}/api/", by_get(get(serve)))
        .route("/offers/{id}/impression.gif", by_get(get(impression)))
        .route("/offers/{id}/redeem/", post(redeem).fallback(wants_post))
        .route("/offers/{id}/claim/", by_get(get(claim)))
        .route("/advertisers/{name}/convert.gif", by_get(get(convert)))
        .route("/advertisers/{name}/landing/", by_get(get(landing)))
        .fallback(no_path)
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(Arc::clone(state));
    if let Some(log) = &state.log {
        network = logged(network, Arc::clone(log));
    }
    network.layer(from_fn_with_state(Arc::clone(state), to_its_end)).merge(operator_routes(state))
}

/// By GET alone: these requests have effects, and HEAD would have them without an answer to show for it.
fn by_get(route: MethodRouter<Arc<AdsState>>) -> MethodRouter<Arc<AdsState>> {
    route.head(wants_get).fallback(wants_get)
}

async fn wants_get() -> RequestError {
    RequestError::Method("GET")
}

async fn wants_post() -> RequestError {
    RequestError::Method("POST")
}

async fn no_path() -> RequestError {
    RequestError::NoPath
}

/// The variable segment of a path.
struct PathName(String);

impl<S: Send + Sync> FromRequestParts<S> for PathName {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, RequestError> {
        let named = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = named.map_err(|_| RequestError::Invalid("the path must be UTF-8"))?;
        Ok(PathName(name))
    }
}

/// Attributes of the user that an ad is requested for. Other parameters mean nothing here.
#[derive(Debug, Deserialize)]
struct AdQuery {
    #[serde(default)]
    user_id: String,
    #[serde(default)]
    country_code: Option<String>,
    #[serde(default)]
    sub_id: Option<u32>,
}

async fn serve(
    State(state): Ads,
    PathName(key): PathName,
    query: Result<Query<AdQuery>, QueryRejection>,
) -> Response {
    let (user, viewer) = match viewer_of(query) {
        Ok(query) => query,
        Err(fault) => return fault.into_response(),
    };
    let served = state.serve(&key, &user, viewer).await;
    // Whose request it was does not depend on whether there was an ad.
    let whose = Extension(LogSubject { label: key.into(), user: user.into() });
    match served {
        Ok(Some((offer, advertiser))) => {
            let id = offer.id;
            let body = format!(
                r#"{{"offer_id":"{id:016x}","ad":{},"advertiser":"a{advertiser}","url":"/offers/{id:016x}/redeem/"}}"#,
                offer.ad
            );
            let head =
                [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
            (whose, head, body).into_response()
        }
        Ok(None) => (StatusCode::NO_CONTENT, whose).into_response(),
        Err(fault @ (RequestError::NoPublisher | RequestError::TooManyPublishers)) => {
            fault.into_response()
        }
        Err(fault) => (whose, fault).into_response(),
    }
}

/// The user, and what else choosing takes.
fn viewer_of(
    query: Result<Query<AdQuery>, QueryRejection>,
) -> Result<(String, Viewer), RequestError> {
    let Query(query) = query.map_err(|_| {
        RequestError::Invalid("sub_id must be a number, and each name may appear once")
    })?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if query.user_id.len() > USER_MAX || !query.user_id.bytes().all(fits) {
        let rule = "user_id must be at most 64 letters, digits, '-', '_' or '.'";
        return Err(RequestError::Invalid(rule));
    }
    let country = match query.country_code.as_deref().unwrap_or("US").as_bytes() {
        [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => {
            [a.to_ascii_uppercase(), b.to_ascii_uppercase()]
        }
        _ => return Err(RequestError::Invalid("country_code must be two letters")),
    };
    let viewer = Viewer::new(country, query.sub_id.unwrap_or(0));
    Ok((query.user_id, viewer))
}

async fn impression(State(state): Ads, PathName(id): PathName) -> Response {
    pixel(event(&state, &id, Step::Impression).await)
}

/// The form is read to its end and not kept.
async fn redeem(
    State(state): Ads,
    PathName(id): PathName,
    form: Result<Bytes, BytesRejection>,
) -> Response {
    if let Err(why) = form {
        let fault = match why.status() {
            StatusCode::PAYLOAD_TOO_LARGE => RequestError::TooLong,
            _ => RequestError::Invalid("the body is incomplete"),
        };
        return fault.into_response();
    }
    let to = |offer: &Offer| format!("/offers/{:016x}/claim/", offer.id);
    found(event(&state, &id, Step::Redeem).await, to)
}

async fn claim(State(state): Ads, PathName(id): PathName) -> Response {
    let to = |offer: &Offer| {
        let advertiser = state.advertiser(offer);
        let id = offer.id;
        format!("/advertisers/a{advertiser}/landing/?offer_id={id:016x}")
    };
    found(event(&state, &id, Step::Click).await, to)
}

/// Which offer is meant.
#[derive(Debug, Deserialize)]
struct OfferQuery {
    offer_id: String,
}

async fn convert(
    State(state): Ads,
    PathName(name): PathName,
    meant: Result<Query<OfferQuery>, QueryRejection>,
) -> Response {
    let event = async {
        let Query(meant) = meant.map_err(|_| RequestError::Invalid("offer_id is required"))?;
        let advertiser = name.strip_prefix('a').and_then(|number| number.parse().ok());
        state
            .of_advertiser(number(&meant.offer_id)?, advertiser.ok_or(RequestError::NoOffer)?)
            .await?;
        event(&state, &meant.offer_id, Step::Convert).await
    };
    pixel(event.await)
}

async fn landing() -> &'static str {
    "welcome\n"
}

async fn event(state: &AdsState, id: &str, step: Step) -> Result<Offer, RequestError> {
    state.happened(number(id)?, step).await
}

/// An offer's number as it is written: 16 hexadecimal digits.
fn number(id: &str) -> Result<u64, RequestError> {
    let is_hex = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = is_hex.then(|| u64::from_str_radix(id, 16).ok()).flatten();
    number.ok_or(RequestError::NoOffer)
}

fn pixel(event: Result<Offer, RequestError>) -> Response {
    let head = [(header::CONTENT_TYPE, "image/gif"), (header::CACHE_CONTROL, "no-store")];
    match event {
        Ok(offer) => (subject_of(&offer), head, PIXEL).into_response(),
        Err(fault) => fault.into_response(),
    }
}

fn found(event: Result<Offer, RequestError>, to: impl Fn(&Offer) -> String) -> Response {
    match event {
        Ok(offer) => {
            let head = [(header::LOCATION, to(&offer))];
            (StatusCode::FOUND, subject_of(&offer), head).into_response()
        }
        Err(fault) => fault.into_response(),
    }
}

impl Operations for AdsState {
    fn drain(&self) -> &Drain {
        &self.drain
    }

    fn problem(&self) -> Option<&'static str> {
        match (self.store_failing(), self.cache_failing()) {
            (true, _) => Some("records cannot be stored"),
            (false, true) => Some("the cache cannot be reached"),
            (false, false) => None,
        }
    }

    async fn metrics(self: Arc<Self>) -> Result<String, Response> {
        let reports = match &self.cache {
            Some(cache) => cache.reports().await,
            None => None,
        };
        Ok(page::render(&self, reports))
    }
}

/// Serves a request in a task of its own: what has begun is done to its end, counted and logged, also
/// where the client leaves meanwhile.
async fn to_its_end(
    State(state): Ads,
    Extension(Peer { guard, .. }): Extension<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let serving = spawn_local(async move {
        let response = next.run(request).await;
        let status = response.status();
        if status.is_client_error() || status.is_server_error() {
            state.metrics.refused.add(1);
        }
        drop(guard);
        response
    });
    match serving.await.map_err(JoinError::try_into_panic) {
        Ok(response) => response,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The thread ends, and the connection with it.
        Err(Err(_)) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
