//! A connection over HTTP/2, and calls over it: one question each.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use grpc::{OK, name_of, readable};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use trust::{Verify, client_config};

use crate::reflection::messages::{Request, Response};
use crate::reflection::{BYTES_MAX, ReflectionError, Server};

/// The service of today, and that of servers from before 2023.
const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];
/// The status of a service that is not there.
const UNIMPLEMENTED: u8 = 12;
/// The status of what has none.
const UNKNOWN: u8 = 2;

/// A connection to a server.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    /// Scheme and authority, which stand in front of paths.
    origin: String,
    metadata: HeaderMap,
    /// Index into [`PATHS`] of the service that the server has.
    path: usize,
    wait: Duration,
}

/// How a call ended.
struct CallResult {
    status: u8,
    message: String,
    body: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(server: &Server) -> Result<Client, ReflectionError> {
        let address = Address::parse(&server.url)?;
        let fails = |problem: String| ReflectionError::Connect {
            address: address.authority.clone(),
            problem,
        };
        let late = |_| ReflectionError::Late(server.wait);
        let connecting = timeout(server.wait, TcpStream::connect((&*address.host, address.port)));
        let stream = connecting.await.map_err(late)?;
        let stream = stream.map_err(|error| fails(error.to_string()))?;
        // Questions are small, and each waits for the answer before.
        stream.set_nodelay(true).map_err(|error| fails(error.to_string()))?;
        let sender = match address.is_tls {
            false => timeout(server.wait, begin(stream)).await.map_err(late)?,
            true => {
                let config = client_config(Verify::all_if(server.verifies), &server.roots, None)?;
                let mut config = Arc::unwrap_or_clone(config);
                config.alpn_protocols = vec![b"h2".to_vec()];
                let name = ServerName::try_from(address.host.clone())
                    .map_err(|_| fails("its name cannot be that of a certificate".to_owned()))?;
                let shaking = TlsConnector::from(Arc::new(config)).connect(name, stream);
                let stream = timeout(server.wait, shaking).await.map_err(late)?;
                let stream = stream.map_err(|error| {
                    let of_tls = trust::describe_cause(&error, "--ca");
                    fails(of_tls.unwrap_or_else(|| error.to_string()))
                })?;
                timeout(server.wait, begin(stream)).await.map_err(late)?
            }
        };
        let scheme = if address.is_tls { "https" } else { "http" };
        Ok(Client {
            sender: sender.map_err(|error| fails(with_causes(&error)))?,
            origin: format!("{scheme}://{}", address.authority),
            metadata: metadata(&server.metadata)?,
            path: 0,
            wait: server.wait,
        })
    }

    /// The answer to a question; `what` it is about.
    pub(crate) async fn answer(
        &mut self,
        request: &Request,
        what: &str,
    ) -> Result<Response, ReflectionError> {
        let message = request.encode_to_vec();
        let mut ended = self.call(&message).await?;
        while ended.status == UNIMPLEMENTED {
            self.path += 1;
            if self.path == PATHS.len() {
                return Err(ReflectionError::Silent);
            }
            ended = self.call(&message).await?;
        }
        let refused = |status: u8, message: &str| ReflectionError::Refused {
            what: what.to_owned(),
            status: name_of(status),
            message: match message {
                "" => String::new(),
                message => format!(": {message}"),
            },
        };
        if ended.status != OK {
            return Err(refused(ended.status, &ended.message));
        }
        let bytes_max = u32::try_from(BYTES_MAX).unwrap_or(u32::MAX);
        let plain = grpc::unframed(&ended.body, bytes_max)
            .map_err(|error| ReflectionError::Protocol(error.to_string()))?;
        let response = Response::decode(&*plain)
            .map_err(|error| ReflectionError::Protocol(error.to_string()))?;
        match response.error {
            None => Ok(response),
            Some(error) => {
                Err(refused(u8::try_from(error.code).unwrap_or(UNKNOWN), &error.message))
            }
        }
    }

    async fn call(&mut self, message: &[u8]) -> Result<CallResult, ReflectionError> {
        let called = timeout(self.wait, self.call_once(message)).await;
        called.map_err(|_| ReflectionError::Late(self.wait))?
    }

    async fn call_once(&mut self, message: &[u8]) -> Result<CallResult, ReflectionError> {
        let broken = |error: hyper::Error| ReflectionError::Protocol(with_causes(&error));
        let mut framed = Vec::with_capacity(grpc::PREFIX_BYTES + message.len());
        let written: Result<(), std::convert::Infallible> =
            grpc::write_frame(false, &mut framed, |out| {
                out.extend_from_slice(message);
                Ok(())
            });
        written.unwrap_or_else(|never| match never {});
        let uri = format!("{}{}", self.origin, PATHS[self.path]);
        let mut request = hyper::Request::new(Full::new(Bytes::from(framed)));
        *request.method_mut() = Method::POST;
        // The origin was a URL, and the paths are.
        *request.uri_mut() = uri.parse().unwrap_or_default();
        *request.headers_mut() = self.metadata.clone();
        self.sender.ready().await.map_err(broken)?;
        let response = self.sender.send_request(request).await.map_err(broken)?;
        let (head, body) = response.into_parts();
        if head.status != StatusCode::OK {
            return Err(ReflectionError::Protocol(format!(
                "the server answers with the HTTP status {}",
                head.status
            )));
        }
        let (body, trailers) = whole(body).await?;
        let fields = match head.headers.contains_key("grpc-status") {
            true => &head.headers,
            false => &trailers,
        };
        ended(fields, body)
    }
}

/// Begins HTTP/2 on a stream.
async fn begin(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> hyper::Result<SendRequest<Full<Bytes>>> {
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    // What ends the connection fails the call that is under way.
    tokio::spawn(connection);
    Ok(sender)
}

/// A body with its trailers.
async fn whole(mut body: Incoming) -> Result<(Vec<u8>, HeaderMap), ReflectionError> {
    let mut bytes = Vec::new();
    let mut trailers = HeaderMap::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ReflectionError::Protocol(with_causes(&error)))?;
        match frame.into_data() {
            Ok(data) => bytes.extend_from_slice(&data),
            Err(frame) => trailers = frame.into_trailers().unwrap_or_default(),
        }
        if bytes.len() > BYTES_MAX {
            return Err(ReflectionError::TooMuch);
        }
    }
    Ok((bytes, trailers))
}

fn ended(fields: &HeaderMap, body: Vec<u8>) -> Result<CallResult, ReflectionError> {
    let Some(status) = fields.get("grpc-status") else {
        return Err(ReflectionError::Protocol(
            "the server does not answer as one of gRPC: its answer has no grpc-status".to_owned(),
        ));
    };
    let status = status.to_str().ok().and_then(|text| text.parse().ok());
    let message = fields.get("grpc-message");
    let message = message.map(|text| readable(text.as_bytes()).to_string());
    Ok(CallResult { status: status.unwrap_or(UNKNOWN), message: message.unwrap_or_default(), body })
}

/// The address of a server.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    is_tls: bool,
    host: String,
    port: u16,
    /// Both as a URL has them.
    authority: String,
}

impl Address {
    fn parse(url: &str) -> Result<Address, ReflectionError> {
        let refuse = |problem| ReflectionError::Url { url: url.to_owned(), problem };
        let uri: Uri = url.parse().map_err(|_| refuse("it cannot be read"))?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(refuse("it begins with http:// or https://")),
        };
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(refuse("it has no path"));
        }
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| refuse("its host is missing"))?;
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Address {
            is_tls,
            // The brackets of an address of IPv6 belong to the URL alone.
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            authority: format!("{host}:{port}"),
        })
    }
}

fn metadata(given: &[(String, String)]) -> Result<HeaderMap, ReflectionError> {
    let mut all = HeaderMap::new();
    all.insert("te", HeaderValue::from_static("trailers"));
    let kind = HeaderValue::from_static("application/grpc");
    all.insert("content-type", kind);
    for (name, value) in given {
        let refuse = || ReflectionError::Metadata(name.clone());
        let key = HeaderName::try_from(name.as_str()).map_err(|_| refuse())?;
        let value = HeaderValue::try_from(value.as_str()).map_err(|_| refuse())?;
        if all.contains_key(&key) && matches!(key.as_str(), "te" | "content-type") {
            return Err(refuse());
        }
        all.append(key, value);
    }
    Ok(all)
}

/// An error with what led to it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}

#[cfg(test)]
mod tests;
