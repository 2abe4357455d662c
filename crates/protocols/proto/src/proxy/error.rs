//! Why a proxy opens no tunnel.

use alloc::string::String;
use core::fmt;

use crate::http1;

/// Why there is no tunnel. The texts follow the proxy's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The status of the response to `CONNECT` is not 2xx.
    Status {
        /// Status of the response.
        status: u16,
        /// Reason phrase of the response.
        reason: String,
    },
    /// The response to `CONNECT` is none.
    Http(http1::Error),
    /// The first byte of its answer is not that of SOCKS5 (RFC 1928 §3, §6).
    NotSocks(u8),
    /// It takes none of the ways to authenticate that were offered (RFC 1928 §3).
    NoMethod,
    /// It chose a way to authenticate that was not offered.
    UnknownMethod(u8),
    /// It does not accept the user's name and password (RFC 1929 §2).
    Credentials,
    /// It cannot, or will not, connect (RFC 1928 §6).
    Reply(u8),
    /// The address in its reply is of an unknown kind.
    AddressKind(u8),
}

impl Error {
    /// True if the proxy turned the tunnel down; false if it broke its protocol.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Status { .. } | Self::NoMethod | Self::Credentials | Self::Reply(_) => true,
            Self::Http(_) | Self::NotSocks(_) | Self::UnknownMethod(_) | Self::AddressKind(_) => {
                false
            }
        }
    }
}

impl From<http1::Error> for Error {
    fn from(error: http1::Error) -> Error {
        Error::Http(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { status, reason } if reason.is_empty() => {
                write!(f, "it answered {status}")
            }
            Self::Status { status, reason } => write!(f, "it answered {status} {reason}"),
            Self::Http(error) => write!(f, "its response cannot be read: {error}"),
            Self::NotSocks(byte) => write!(f, "it does not speak SOCKS5 (first byte {byte})"),
            Self::NoMethod => {
                f.write_str("it accepts none of the offered ways to authenticate; most likely it requires a user name and password")
            }
            Self::UnknownMethod(method) => {
                write!(f, "it requires a way to authenticate that was not offered ({method})")
            }
            Self::Credentials => f.write_str("it does not accept the user name and password"),
            Self::Reply(code) => write!(f, "it replied {code} ({})", reply(*code)),
            Self::AddressKind(kind) => write!(f, "its reply has an unknown kind of address ({kind})"),
        }
    }
}

impl core::error::Error for Error {}

/// The meaning of a reply's code (RFC 1928 §6).
fn reply(code: u8) -> &'static str {
    match code {
        1 => "general failure",
        2 => "not allowed by its rules",
        3 => "network unreachable",
        4 => "host unreachable",
        5 => "connection refused",
        6 => "time to live expired",
        7 => "command not supported",
        8 => "kind of address not supported",
        _ => "unknown",
    }
}
