//! Messages of the reflection service (grpc/grpc, doc/server-reflection.md; src/proto/grpc/reflection/v1/reflection.proto).

use prost::Message;

/// One question; exactly one of the fields is set.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Request {
    #[prost(string, optional, tag = "3")]
    pub(crate) file_by_filename: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub(crate) file_containing_symbol: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub(crate) list_services: Option<String>,
}

/// The answer to a question; one of the fields is set.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Response {
    #[prost(message, optional, tag = "4")]
    pub(crate) files: Option<Files>,
    #[prost(message, optional, tag = "6")]
    pub(crate) services: Option<Services>,
    #[prost(message, optional, tag = "7")]
    pub(crate) error: Option<ErrorResponse>,
}

/// Descriptors of files: the one that was requested, perhaps with those that it imports.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(crate) descriptors: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Services {
    #[prost(message, repeated, tag = "1")]
    pub(crate) services: Vec<Service>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Service {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

/// Why a question has no answer.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ErrorResponse {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(string, tag = "2")]
    pub(crate) message: String,
}
