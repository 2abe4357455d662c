//! What is asked over HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Bytes, HttpBody};
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Extension, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::{JoinError, spawn_local};

use super::fault::Fault;
use super::hub::Hub;
use super::inventory::Audience;
use super::log::{AccessLog, Served};
use super::metrics;
use super::offers::{Offer, Step};
use server::metrics::METRICS_TYPE;
use server::wall_ms;

/// Largest body of a request, in bytes.
const BODY_MAX: usize = 64 << 10;
/// Longest name that a publisher gives to a user, in bytes.
const USER_MAX: usize = 64;
/// A transparent picture of one pixel (GIF89a).
const PIXEL: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff\x21\xf9\x04\x01\
    \x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";

type Ads = State<Arc<Hub>>;

/// Who asks: the other end of the connection.
#[derive(Debug, Clone)]
pub(super) struct Guest {
    pub(super) peer: SocketAddr,
    /// Kept until the last of its requests has ended.
    pub(super) stay: Arc<Stay>,
}

/// A connection's place among all, and a sign of life to who waits for them to end.
#[derive(Debug)]
pub(super) struct Stay {
    pub(super) _place: OwnedSemaphorePermit,
    pub(super) _alive: mpsc::Sender<Infallible>,
}

/// Whose request it was, for the access log.
#[derive(Debug, Clone)]
struct Whose {
    publisher: Arc<str>,
    user: Box<str>,
}

impl Whose {
    fn of(offer: &Offer) -> Extension<Whose> {
        Extension(Whose {
            publisher: Arc::clone(&offer.publisher),
            user: offer.user.clone(),
        })
    }
}

/// All routes. Those of the network are logged, those that watch it are not.
pub(super) fn router(hub: Arc<Hub>) -> Router {
    let mut network = Router::new()
        .route("/publishers/{key}/api/", by_get(get(serve)))
        .route("/offers/{id}/impression.gif", by_get(get(impression)))
        .route("/offers/{id}/redeem/", post(redeem).fallback(wants_post))
        .route("/offers/{id}/claim/", by_get(get(claim)))
        .route("/advertisers/{name}/convert.gif", by_get(get(convert)))
        .route("/advertisers/{name}/landing/", by_get(get(landing)))
        .fallback(no_path)
        .layer(DefaultBodyLimit::max(BODY_MAX));
    if hub.log.is_some() {
        network = network.layer(from_fn_with_state(Arc::clone(&hub), logged));
    }
    network
        .layer(from_fn_with_state(Arc::clone(&hub), to_its_end))
        .route("/healthz", get(healthz))
        .route("/metrics", get(figures))
        .with_state(hub)
}

/// By GET alone: these requests have effects, and HEAD would have them without an answer to show for it.
fn by_get(route: MethodRouter<Arc<Hub>>) -> MethodRouter<Arc<Hub>> {
    route.head(wants_get).fallback(wants_get)
}

async fn wants_get() -> Fault {
    Fault::Method("GET")
}

async fn wants_post() -> Fault {
    Fault::Method("POST")
}

async fn no_path() -> Fault {
    Fault::NoPath
}

/// What a path names.
struct Named(String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Fault> {
        let named = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = named.map_err(|_| Fault::Invalid("a path is written in UTF-8"))?;
        Ok(Named(name))
    }
}

/// What is known of whom an ad is asked for. Other parameters mean nothing here.
#[derive(Debug, Deserialize)]
struct Asked {
    #[serde(default)]
    user_id: String,
    #[serde(default)]
    country_code: Option<String>,
    #[serde(default)]
    sub_id: Option<u32>,
}

async fn serve(
    State(hub): Ads,
    Named(key): Named,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Response {
    let (user, audience) = match asked_for(asked) {
        Ok(asked) => asked,
        Err(fault) => return fault.into_response(),
    };
    let served = hub.serve(&key, &user, audience).await;
    // Whose request it was does not depend on whether there was an ad.
    let whose = Extension(Whose {
        publisher: key.into(),
        user: user.into(),
    });
    match served {
        Ok(Some((offer, advertiser))) => {
            let id = offer.id;
            let body = format!(
                r#"{{"offer_id":"{id:016x}","ad":{},"advertiser":"a{advertiser}","url":"/offers/{id:016x}/redeem/"}}"#,
                offer.ad
            );
            let head = [
                (header::CONTENT_TYPE, "application/json"),
                (header::CACHE_CONTROL, "no-store"),
            ];
            (whose, head, body).into_response()
        }
        Ok(None) => (StatusCode::NO_CONTENT, whose).into_response(),
        Err(fault @ (Fault::NoPublisher | Fault::TooManyPublishers)) => fault.into_response(),
        Err(fault) => (whose, fault).into_response(),
    }
}

/// The user, and what else choosing takes.
fn asked_for(asked: Result<Query<Asked>, QueryRejection>) -> Result<(String, Audience), Fault> {
    let Query(asked) =
        asked.map_err(|_| Fault::Invalid("sub_id is a number, and each name stands once"))?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if asked.user_id.len() > USER_MAX || !asked.user_id.bytes().all(fits) {
        let rule = "a user_id is at most 64 letters, digits, '-', '_' or '.'";
        return Err(Fault::Invalid(rule));
    }
    let country = match asked.country_code.as_deref().unwrap_or("US").as_bytes() {
        [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => {
            [a.to_ascii_uppercase(), b.to_ascii_uppercase()]
        }
        _ => return Err(Fault::Invalid("a country_code is two letters")),
    };
    let audience = Audience::new(country, asked.sub_id.unwrap_or(0));
    Ok((asked.user_id, audience))
}

async fn impression(State(hub): Ads, Named(id): Named) -> Response {
    pixel(event(&hub, &id, Step::Impression).await)
}

/// The form is read to its end and not kept.
async fn redeem(
    State(hub): Ads,
    Named(id): Named,
    form: Result<Bytes, BytesRejection>,
) -> Response {
    if let Err(why) = form {
        let fault = match why.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Fault::TooLong,
            _ => Fault::Invalid("the body breaks off"),
        };
        return fault.into_response();
    }
    let to = |offer: &Offer| format!("/offers/{:016x}/claim/", offer.id);
    found(event(&hub, &id, Step::Redeem).await, to)
}

async fn claim(State(hub): Ads, Named(id): Named) -> Response {
    let to = |offer: &Offer| {
        let (advertiser, id) = (hub.advertiser(offer), offer.id);
        format!("/advertisers/a{advertiser}/landing/?offer_id={id:016x}")
    };
    found(event(&hub, &id, Step::Click).await, to)
}

/// Which offer is meant.
#[derive(Debug, Deserialize)]
struct Meant {
    offer_id: String,
}

async fn convert(
    State(hub): Ads,
    Named(name): Named,
    meant: Result<Query<Meant>, QueryRejection>,
) -> Response {
    let event = async {
        let Query(meant) = meant.map_err(|_| Fault::Invalid("an offer_id is wanted"))?;
        let advertiser = name
            .strip_prefix('a')
            .and_then(|number| number.parse().ok());
        hub.of_advertiser(number(&meant.offer_id)?, advertiser.ok_or(Fault::NoOffer)?)
            .await?;
        event(&hub, &meant.offer_id, Step::Convert).await
    };
    pixel(event.await)
}

async fn landing() -> &'static str {
    "welcome\n"
}

async fn event(hub: &Hub, id: &str, step: Step) -> Result<Offer, Fault> {
    hub.happened(number(id)?, step).await
}

/// An offer's number as it is written: 16 hexadecimal digits.
fn number(id: &str) -> Result<u64, Fault> {
    let is_hex = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = is_hex.then(|| u64::from_str_radix(id, 16).ok()).flatten();
    number.ok_or(Fault::NoOffer)
}

fn pixel(event: Result<Offer, Fault>) -> Response {
    let head = [
        (header::CONTENT_TYPE, "image/gif"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    match event {
        Ok(offer) => (Whose::of(&offer), head, PIXEL).into_response(),
        Err(fault) => fault.into_response(),
    }
}

fn found(event: Result<Offer, Fault>, to: impl Fn(&Offer) -> String) -> Response {
    match event {
        Ok(offer) => {
            let head = [(header::LOCATION, to(&offer))];
            (StatusCode::FOUND, Whose::of(&offer), head).into_response()
        }
        Err(fault) => fault.into_response(),
    }
}

async fn healthz(State(hub): Ads) -> (StatusCode, &'static str) {
    if hub.is_draining() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n")
    } else if hub.store_failing() {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "records cannot be stored\n",
        )
    } else if hub.cache_failing() {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            "the cache cannot be asked\n",
        )
    } else {
        (StatusCode::OK, "ready\n")
    }
}

async fn figures(State(hub): Ads) -> impl IntoResponse {
    let told = match &hub.cache {
        Some(cache) => cache.told().await,
        None => None,
    };
    (
        [(header::CONTENT_TYPE, METRICS_TYPE)],
        metrics::render(&hub, told),
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "a server that stands alone has its own clock"
)]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// Serves a request in a task of its own: what has begun is done to its end, counted and logged, also
/// where the client leaves meanwhile.
async fn to_its_end(
    State(hub): Ads,
    Extension(Guest { stay, .. }): Extension<Guest>,
    request: Request,
    next: Next,
) -> Response {
    let serving = spawn_local(async move {
        let response = next.run(request).await;
        let status = response.status();
        if status.is_client_error() || status.is_server_error() {
            hub.metrics.refused.add(1);
        }
        drop(stay);
        response
    });
    match serving.await.map_err(JoinError::try_into_panic) {
        Ok(response) => response,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The thread ends, and the connection with it.
        Err(Err(_)) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Answers, and has a line written of it.
async fn logged(
    State(hub): Ads,
    Extension(Guest { peer, .. }): Extension<Guest>,
    request: Request,
    next: Next,
) -> Response {
    let Some(log) = &hub.log else {
        return next.run(request).await;
    };
    let (at_ms, begun) = (wall_ms(), now());
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let (version, headers) = (request.version(), request.headers().clone());
    let response = next.run(request).await;
    let uri = uri.path_and_query().map_or("", |uri| uri.as_str());
    let head = Head {
        method: method.as_str(),
        uri,
        version,
        headers: &headers,
    };
    write_line(log, peer, &head, &response, (at_ms, begun.elapsed()));
    response
}

/// What is told of a request.
struct Head<'a> {
    method: &'a str,
    uri: &'a str,
    version: Version,
    headers: &'a HeaderMap,
}

fn write_line(
    log: &AccessLog,
    peer: SocketAddr,
    head: &Head<'_>,
    response: &Response,
    (at_ms, took): (f64, std::time::Duration),
) {
    let text = |name: HeaderName| head.headers.get(name).map(HeaderValue::as_bytes);
    let (referer, agent) = (text(header::REFERER), text(header::USER_AGENT));
    // Bytes that are no UTF-8 are told as such.
    let (referer, agent) = (
        referer.map(String::from_utf8_lossy),
        agent.map(String::from_utf8_lossy),
    );
    let whose = response.extensions().get::<Whose>();
    let served = Served {
        at_ms,
        took,
        peer,
        method: head.method,
        uri: head.uri,
        version: if head.version == Version::HTTP_10 {
            "HTTP/1.0"
        } else {
            "HTTP/1.1"
        },
        status: response.status().as_u16(),
        bytes: match head.method {
            // The body is not sent.
            "HEAD" => 0,
            _ => response.body().size_hint().exact().unwrap_or(0),
        },
        referer: referer.as_deref(),
        agent: agent.as_deref(),
        publisher: whose.map(|whose| &*whose.publisher),
        user: whose.map(|whose| &*whose.user),
    };
    log.write(served.line(log.format));
}
