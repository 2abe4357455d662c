//! A server of gRPC that echoes: `examples/grpc/echo.proto`, which it also describes.
//!
//! Messages are prost's, HTTP/2 is hyper's; the five bytes in front of a message are written here.

mod reflection;
mod streams;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use axum::routing::post;
use bytes::{BufMut, Bytes, BytesMut};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use hyper::body::{Body as HttpBody, Frame};
use prost::Message;
use server::http::EitherTls;
use server::{Ready, ServerError, ServerOptions, Serving, Shutdown, Stop, ThreadWork};

use crate::threads::work;

/// Largest message that is read, compressed or not.
const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// Bytes in front of a message.
const PREFIX_BYTES: usize = 5;

/// Statuses that the server gives by itself.
const OK: u32 = 0;
const INVALID_ARGUMENT: u32 = 3;
const UNIMPLEMENTED: u32 = 12;

/// The message of the service, both ways.
#[derive(Clone, PartialEq, Message)]
struct Words {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(sint64, repeated, tag = "2")]
    numbers: Vec<i64>,
    #[prost(map = "string, string", tag = "3")]
    labels: HashMap<String, String>,
    #[prost(int32, tag = "4")]
    mood: i32,
    #[prost(uint32, tag = "10")]
    status: u32,
    #[prost(uint32, tag = "11")]
    delay_ms: u32,
    #[prost(uint32, tag = "12")]
    count: u32,
}

/// Serves until `shutdown` resolves. `ready` is called with the address as soon as connections are accepted.
///
/// # Errors
/// When the address cannot be listened at, or a thread crashed.
pub fn serve(
    options: &ServerOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Serving<'_, (), ServerError> {
    Box::pin(serve_until(options, ready, shutdown))
}

async fn serve_until(
    options: &ServerOptions,
    ready: Ready,
    shutdown: Shutdown,
) -> Result<(), ServerError> {
    options.check()?;
    let tls = options.tls.as_ref().map(EitherTls::load).transpose()?;
    let or_ended = |answer: Result<Response, u32>| answer.unwrap_or_else(ended);
    let say = move |request| async move { or_ended(say(request).await) };
    let repeat = move |request| async move { or_ended(streams::repeat(request).await) };
    let collect = move |request| async move { or_ended(streams::collect(request).await) };
    let router = Router::new()
        .route("/throng.echo.Echo/Say", post(say))
        .route("/throng.echo.Echo/Repeat", post(repeat))
        .route("/throng.echo.Echo/Collect", post(collect))
        .route("/throng.echo.Echo/Talk", post(streams::talk))
        .route(&reflection_of("v1"), post(reflection::describe))
        .route(&reflection_of("v1alpha"), post(reflection::describe))
        .fallback(|| async { ended(UNIMPLEMENTED) });
    let work =
        move |context| -> ThreadWork { Box::pin(work(context, tls.clone(), router.clone())) };
    server::serve(options, work, ready, shutdown, || {}).await
}

/// The path of the service that describes others; before 2023 it had another version.
fn reflection_of(version: &str) -> String {
    format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")
}

/// [`serve`] on a runtime of its own, until `stop`.
///
/// # Errors
/// As [`serve`], and when the process cannot be set up.
pub fn run(options: &ServerOptions, stop: Stop, ready: Ready) -> Result<(), ServerError> {
    server::run(options, stop, |shutdown| serve(options, ready, shutdown))
}

/// The error is the status of a call that gets no reply.
async fn say(request: Request) -> Result<Response, u32> {
    let (head, body) = request.into_parts();
    let (words, was_compressed) = only_message(body).await?;
    if words.delay_ms > 0 {
        let delay = Duration::from_millis(u64::from(words.delay_ms));
        tokio::time::sleep(server::stretch(delay)).await;
    }
    if words.status != OK {
        return Err(words.status);
    }
    let accepts = head.headers.get("grpc-accept-encoding");
    let accepts = accepts.is_some_and(|codings| codings.as_bytes().starts_with(b"gzip"));
    Ok(reply(&words.encode_to_vec(), was_compressed && accepts))
}

/// The only message of a body, and whether it was compressed. The error is the status for a body that is none.
async fn only_message(body: Body) -> Result<(Words, bool), u32> {
    let most = MESSAGE_BYTES_MAX + PREFIX_BYTES;
    let body = to_bytes(body, most).await.map_err(|_| INVALID_ARGUMENT)?;
    let (message, was_compressed) = unframed(&body).ok_or(INVALID_ARGUMENT)?;
    let words = Words::decode(message).map_err(|_| INVALID_ARGUMENT)?;
    Ok((words, was_compressed))
}

/// The message of a body that consists of one, and whether it was compressed.
fn unframed(body: &[u8]) -> Option<(Bytes, bool)> {
    let (prefix, message) = body.split_first_chunk::<PREFIX_BYTES>()?;
    let len = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]);
    if len as usize != message.len() {
        return None;
    }
    match prefix[0] {
        0 => Some((Bytes::copy_from_slice(message), false)),
        1 => {
            let mut plain = Vec::new();
            let mut packed = GzDecoder::new(message).take(MESSAGE_BYTES_MAX as u64);
            packed.read_to_end(&mut plain).ok()?;
            Some((plain.into(), true))
        }
        _ => None,
    }
}

/// A reply and the status OK behind it.
pub(crate) fn reply(message: &[u8], compress: bool) -> Response {
    let packed = compress.then(|| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(message).and_then(|()| packed.finish())
    });
    let packed = packed.and_then(Result::ok);
    let message = packed.as_deref().unwrap_or(message);
    let is_packed = packed.is_some();
    let body =
        Reply { message: Some(framed(message, is_packed)), trailers: Some(status_fields(OK)) };
    let mut response = answered(Body::new(body));
    if is_packed {
        let coding = HeaderValue::from_static("gzip");
        response.headers_mut().insert("grpc-encoding", coding);
    }
    response
}

/// A message in its frame.
fn framed(message: &[u8], is_packed: bool) -> Bytes {
    let mut framed = BytesMut::with_capacity(PREFIX_BYTES + message.len());
    framed.put_u8(u8::from(is_packed));
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    framed.freeze()
}

/// An answer with this body.
fn answered(body: Body) -> Response {
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The end of a call without a reply.
fn ended(status: u32) -> Response {
    let mut response = Response::new(Body::empty());
    *response.headers_mut() = status_fields(status);
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn status_fields(status: u32) -> HeaderMap {
    let mut fields = HeaderMap::new();
    fields.insert("grpc-status", HeaderValue::from(status));
    if status != OK {
        let text = HeaderValue::from_static("as%20requested");
        fields.insert("grpc-message", text);
    }
    fields
}

/// A body of one message, and trailers.
struct Reply {
    message: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl HttpBody for Reply {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let message = self.message.take().map(Frame::data);
        let frame = message.or_else(|| self.trailers.take().map(Frame::trailers));
        Poll::Ready(frame.map(Ok))
    }
}
