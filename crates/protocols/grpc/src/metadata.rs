//! Names of metadata.

/// Names of metadata that gRPC and HTTP/2 use themselves.
const RESERVED: &[&str] = &[
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// True for a name that is none of a user's metadata: gRPC or HTTP/2 set it (PROTOCOL-HTTP2.md, "Custom-Metadata").
pub fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("grpc-") || RESERVED.contains(&&*name)
}
