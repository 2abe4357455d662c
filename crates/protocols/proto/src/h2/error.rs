//! Error codes (RFC 9113 §7), and what a peer can do wrong.

use core::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal $name:literal,)+) => {
        /// Why a stream or a connection ended.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Code {
            $($(#[$doc])* $variant = $code,)+
        }

        impl Code {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Code] = &[$(Code::$variant,)+];

            /// The RFC's name.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)+ }
            }

            /// The code of this number. One that nobody knows is treated as an internal error (§7).
            pub fn from_number(number: u32) -> Code {
                match number { $($code => Code::$variant,)+ _ => Code::InternalError }
            }
        }
    };
}

codes! {
    /// No error: the end of a connection in good order.
    NoError = 0 "NO_ERROR",
    /// The protocol was broken.
    ProtocolError = 1 "PROTOCOL_ERROR",
    /// The server failed; also any code that is not known.
    InternalError = 2 "INTERNAL_ERROR",
    /// A flow-control window was exceeded.
    FlowControlError = 3 "FLOW_CONTROL_ERROR",
    /// Settings were not acknowledged in time.
    SettingsTimeout = 4 "SETTINGS_TIMEOUT",
    /// A frame for a stream that has ended.
    StreamClosed = 5 "STREAM_CLOSED",
    /// A frame of a wrong size.
    FrameSizeError = 6 "FRAME_SIZE_ERROR",
    /// The request was not processed.
    RefusedStream = 7 "REFUSED_STREAM",
    /// The stream is of no more use.
    Cancel = 8 "CANCEL",
    /// A header block cannot be decoded.
    CompressionError = 9 "COMPRESSION_ERROR",
    /// A tunnel's connection broke.
    ConnectError = 10 "CONNECT_ERROR",
    /// The peer does too much of what may be an attack.
    EnhanceYourCalm = 11 "ENHANCE_YOUR_CALM",
    /// TLS is not as the RFC wants it.
    InadequateSecurity = 12 "INADEQUATE_SECURITY",
    /// The server wants HTTP/1.1.
    Http11Required = 13 "HTTP_1_1_REQUIRED",
}

/// An error of the peer. Depending on where it is returned, the stream or the connection is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// The code to end the stream or connection with.
    pub code: Code,
    /// Whether a limit of ours was exceeded, rather than the protocol broken.
    pub is_too_large: bool,
    what: &'static str,
}

impl Error {
    pub(super) const fn new(code: Code, what: &'static str) -> Self {
        Self { code, is_too_large: false, what }
    }

    pub(super) const fn protocol(what: &'static str) -> Self {
        Self::new(Code::ProtocolError, what)
    }

    pub(super) const fn too_large(code: Code, what: &'static str) -> Self {
        Self { code, is_too_large: true, what }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.code.name())
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_rfc() {
        for (number, &code) in Code::ALL.iter().enumerate() {
            assert_eq!(code as usize, number);
            assert_eq!(Code::from_number(number as u32), code);
        }
        assert_eq!(Code::from_number(14), Code::InternalError);
    }
}
