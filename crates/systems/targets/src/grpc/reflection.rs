//! The service that describes the others (grpc/grpc, doc/server-reflection.md): what `throng protos` reads.

use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use prost::Message;

use super::INVALID_ARGUMENT;
use super::streams::answer_each;

/// The descriptor of `examples/grpc/echo.proto`, as the compiler writes it.
const DESCRIPTOR: &[u8] = include_bytes!("echo.binpb");
const FILE: &str = "echo.proto";
const SERVICE: &str = "throng.echo.Echo";
/// Symbols of the file, which can be found by their names.
const SYMBOLS: [&str; 4] = [SERVICE, "throng.echo.Words", "throng.echo.Mood", "throng.echo"];
const NOT_FOUND: i32 = 5;

#[derive(Clone, PartialEq, Message)]
struct Question {
    #[prost(string, optional, tag = "3")]
    file_by_filename: Option<String>,
    #[prost(string, optional, tag = "4")]
    file_containing_symbol: Option<String>,
    #[prost(string, optional, tag = "7")]
    list_services: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(message, optional, tag = "2")]
    question: Option<Question>,
    #[prost(message, optional, tag = "4")]
    files: Option<Files>,
    #[prost(message, optional, tag = "6")]
    services: Option<Services>,
    #[prost(message, optional, tag = "7")]
    error: Option<ErrorResponse>,
}

#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    descriptors: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Services {
    #[prost(message, repeated, tag = "1")]
    services: Vec<Service>,
}

#[derive(Clone, PartialEq, Message)]
struct Service {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorResponse {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// Answers questions about the echo's service.
pub(super) async fn describe(request: Request) -> Response {
    answer_each(request, |message| {
        let question = Question::decode(message).map_err(|_| INVALID_ARGUMENT)?;
        Ok(Bytes::from(answer(question).encode_to_vec()))
    })
}

fn answer(question: Question) -> Answer {
    let is_file = question.file_by_filename.as_deref() == Some(FILE);
    let symbol = question.file_containing_symbol.as_deref();
    let is_symbol = symbol.is_some_and(|symbol| SYMBOLS.contains(&symbol));
    let mut answer = Answer::default();
    if question.list_services.is_some() {
        let name = SERVICE.to_owned();
        answer.services = Some(Services { services: vec![Service { name }] });
    } else if is_file || is_symbol {
        answer.files = Some(Files { descriptors: vec![DESCRIPTOR.to_vec()] });
    } else {
        answer.error = Some(ErrorResponse {
            code: NOT_FOUND,
            message: format!("only {FILE} with {SERVICE} is described"),
        });
    }
    answer.question = Some(question);
    answer
}
