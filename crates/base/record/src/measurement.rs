//! One measured operation, and the ways it can end.

use serde::{Deserialize, Serialize};

/// One operation, start to end. Times are nanoseconds since the run's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// When the plan wanted it to begin.
    pub due_ns: u64,
    /// When the generator first acted on it (its connect or its first byte); ≥ `due_ns`.
    pub sent_ns: u64,
    /// When its last byte was in hand, or it failed; ≥ `sent_ns`.
    pub done_ns: u64,
    /// The user's number in the run.
    pub user: u64,
    /// Index into `RunInfo::measures`.
    pub measure: u16,
    /// Index into `RunInfo::sessions`.
    pub session: u16,
    /// The loop that ran it.
    pub loop_id: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// HTTP status, or WebSocket close code if that ended it; 0: none.
    pub status: u16,
    /// How many operations this row represents; 1 unless rows are sampled.
    pub weight: u32,
    /// Application bytes sent for it.
    pub bytes_out: u32,
    /// Application bytes received for it.
    pub bytes_in: u32,
}

impl Measurement {
    /// done − due.
    pub fn response_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.due_ns)
    }
    /// done − sent.
    pub fn service_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.sent_ns)
    }
    /// sent − due: the generator's own lateness.
    pub fn lag_ns(&self) -> u64 {
        self.sent_ns.saturating_sub(self.due_ns)
    }
}

macro_rules! outcomes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal $name:literal,)+) => {
        /// How an operation ended. The number is what Parquet holds; it never changes meaning.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(into = "u8", try_from = "u8")]
        #[repr(u8)]
        pub enum Outcome {
            $($(#[$doc])* $variant = $code,)+
        }

        impl Outcome {
            /// All of them, in the order of their codes.
            pub const ALL: &[Outcome] = &[$(Outcome::$variant,)+];

            /// The name used in files and reports.
            pub fn name(self) -> &'static str {
                match self { $(Outcome::$variant => $name,)+ }
            }

            /// The outcome with this code.
            pub fn from_code(code: u8) -> Option<Outcome> {
                match code { $($code => Some(Outcome::$variant),)+ _ => None }
            }
        }
    };
}

outcomes! {
    /// As wanted.
    Ok = 0 "ok",
    /// The peer refused the connection (RST to a SYN).
    Refused = 1 "refused",
    /// No route, network or host unreachable.
    Unreachable = 2 "unreachable",
    /// No connection within the connect timeout, or the operation's own.
    ConnectTimeout = 3 "connect-timeout",
    /// The connection was reset.
    Reset = 4 "reset",
    /// The peer closed before the operation had ended.
    Closed = 5 "closed",
    /// No reply within the step's timeout.
    Timeout = 6 "timeout",
    /// The certificate is not trusted.
    TlsUntrusted = 7 "tls-untrusted",
    /// Any other failure of TLS.
    Tls = 8 "tls",
    /// The peer broke HTTP/1.1.
    HttpProtocol = 9 "http-protocol",
    /// The peer broke RFC 6455.
    WsProtocol = 10 "ws-protocol",
    /// A text message was not UTF-8.
    InvalidUtf8 = 11 "invalid-utf8",
    /// A response or message was larger than the limit.
    TooLarge = 12 "too-large",
    /// An HTTP status the step does not allow, or an upgrade that was declined.
    Status = 13 "status",
    /// The value to save was not in the response.
    Save = 14 "save",
    /// A check did not hold.
    Check = 15 "check",
    /// A step that cannot be: a send without an open WebSocket, text that is no number.
    Step = 16 "step",
    /// The generator has no open file left.
    NoFiles = 17 "no-files",
    /// The generator has no source port left.
    NoPorts = 18 "no-ports",
    /// The generator or its kernel has no memory left.
    NoMemory = 19 "no-memory",
    /// The connection connected to itself: no server listens on a port inside the ephemeral range.
    SelfConnect = 20 "self-connect",
    /// Still in flight when the run ended; not an error.
    Unfinished = 21 "unfinished",
    /// Any other error of the operating system, or a peer that does not read.
    Other = 22 "other",
    /// The peer broke the framing of its messages, or the protocol that they speak.
    Protocol = 23 "protocol",
    /// The peer turned down a channel, subscription or namespace, or what was said to one.
    Rejected = 24 "rejected",
    /// The peer ended a channel that the user had joined and not left.
    ChannelClosed = 25 "channel-closed",
    /// The peer ended a stream of HTTP/2 without an error, and without a response.
    Http2NoError = 26 "http2-no-error",
    /// A stream or connection of HTTP/2 ended with `PROTOCOL_ERROR`, which either side may say.
    Http2ProtocolError = 27 "http2-protocol-error",
    /// The same with `INTERNAL_ERROR`.
    Http2InternalError = 28 "http2-internal-error",
    /// The same with `FLOW_CONTROL_ERROR`.
    Http2FlowControlError = 29 "http2-flow-control-error",
    /// The same with `SETTINGS_TIMEOUT`.
    Http2SettingsTimeout = 30 "http2-settings-timeout",
    /// The same with `STREAM_CLOSED`.
    Http2StreamClosed = 31 "http2-stream-closed",
    /// The same with `FRAME_SIZE_ERROR`.
    Http2FrameSizeError = 32 "http2-frame-size-error",
    /// The same with `REFUSED_STREAM`.
    Http2RefusedStream = 33 "http2-refused-stream",
    /// The same with `CANCEL`.
    Http2Cancel = 34 "http2-cancel",
    /// The same with `COMPRESSION_ERROR`.
    Http2CompressionError = 35 "http2-compression-error",
    /// The same with `CONNECT_ERROR`.
    Http2ConnectError = 36 "http2-connect-error",
    /// The same with `ENHANCE_YOUR_CALM`.
    Http2EnhanceYourCalm = 37 "http2-enhance-your-calm",
    /// The same with `INADEQUATE_SECURITY`.
    Http2InadequateSecurity = 38 "http2-inadequate-security",
    /// The same with `HTTP_1_1_REQUIRED`.
    Http2Http11Required = 39 "http2-http-1-1-required",
    /// A redirect that cannot be followed: one too many, or to where the scenario does not go.
    Redirect = 40 "redirect",
    /// The body of a response, or the reply of a call, cannot be decoded.
    Decoding = 41 "decoding",
    /// A call of gRPC ended with the status `CANCELLED`.
    GrpcCancelled = 42 "grpc-cancelled",
    /// The same with `UNKNOWN`.
    GrpcUnknown = 43 "grpc-unknown",
    /// The same with `INVALID_ARGUMENT`.
    GrpcInvalidArgument = 44 "grpc-invalid-argument",
    /// The same with `DEADLINE_EXCEEDED`.
    GrpcDeadlineExceeded = 45 "grpc-deadline-exceeded",
    /// The same with `NOT_FOUND`.
    GrpcNotFound = 46 "grpc-not-found",
    /// The same with `ALREADY_EXISTS`.
    GrpcAlreadyExists = 47 "grpc-already-exists",
    /// The same with `PERMISSION_DENIED`.
    GrpcPermissionDenied = 48 "grpc-permission-denied",
    /// The same with `RESOURCE_EXHAUSTED`.
    GrpcResourceExhausted = 49 "grpc-resource-exhausted",
    /// The same with `FAILED_PRECONDITION`.
    GrpcFailedPrecondition = 50 "grpc-failed-precondition",
    /// The same with `ABORTED`.
    GrpcAborted = 51 "grpc-aborted",
    /// The same with `OUT_OF_RANGE`.
    GrpcOutOfRange = 52 "grpc-out-of-range",
    /// The same with `UNIMPLEMENTED`.
    GrpcUnimplemented = 53 "grpc-unimplemented",
    /// The same with `INTERNAL`.
    GrpcInternal = 54 "grpc-internal",
    /// The same with `UNAVAILABLE`.
    GrpcUnavailable = 55 "grpc-unavailable",
    /// The same with `DATA_LOSS`.
    GrpcDataLoss = 56 "grpc-data-loss",
    /// The same with `UNAUTHENTICATED`.
    GrpcUnauthenticated = 57 "grpc-unauthenticated",
    /// A proxy did not open a tunnel to the target, or did not accept the user.
    ProxyRefused = 58 "proxy-refused",
    /// A function or step in JavaScript threw, or exceeded a limit.
    Script = 59 "script",
    /// An answer of GraphQL had errors, or was none.
    Graphql = 60 "graphql",
    /// Looking for a value in what came would have taken too long.
    TooMuchWork = 61 "too-much-work",
}

impl From<Outcome> for u8 {
    fn from(outcome: Outcome) -> u8 {
        outcome as u8
    }
}

/// A code that no outcome has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no outcome has the code {0}")]
pub struct UnknownOutcome(u8);

impl TryFrom<u8> for Outcome {
    type Error = UnknownOutcome;

    fn try_from(code: u8) -> Result<Outcome, UnknownOutcome> {
        Outcome::from_code(code).ok_or(UnknownOutcome(code))
    }
}

impl Outcome {
    /// The outcome with this name.
    pub fn from_name(name: &str) -> Option<Outcome> {
        let mut all = Outcome::ALL.iter().copied();
        all.find(|outcome| outcome.name() == name)
    }

    /// True if the target answered, with success or with a failure.
    pub fn is_answered(self) -> bool {
        self == Outcome::Ok || self.is_answered_failure()
    }

    /// True for all but [`Outcome::Ok`] and [`Outcome::Unfinished`].
    pub fn is_error(self) -> bool {
        !matches!(self, Outcome::Ok | Outcome::Unfinished)
    }

    /// True for a failure that the target answered with: its time is known, though it is no success. A deadline that
    /// has passed is none, whoever noticed it: of what was called only a lower bound of its time is known.
    pub fn is_answered_failure(self) -> bool {
        matches!(
            self,
            Outcome::HttpProtocol
                | Outcome::WsProtocol
                | Outcome::InvalidUtf8
                | Outcome::TooLarge
                | Outcome::Status
                | Outcome::Save
                | Outcome::Check
                | Outcome::Protocol
                | Outcome::Rejected
                | Outcome::Redirect
                | Outcome::Decoding
                | Outcome::Graphql
                | Outcome::TooMuchWork
        ) || self.is_of_http2()
            || (self.is_of_grpc() && self != Outcome::GrpcDeadlineExceeded)
    }

    /// True if a call of gRPC ended with a status of its server's.
    pub fn is_of_grpc(self) -> bool {
        self >= Outcome::GrpcCancelled && self <= Outcome::GrpcUnauthenticated
    }

    /// True if a stream or connection of HTTP/2 ended with one of its codes.
    pub fn is_of_http2(self) -> bool {
        self >= Outcome::Http2NoError && self <= Outcome::Http2Http11Required
    }

    /// True if the target never answered: of its time only a lower bound is known, how long it was
    /// waited for. In survival analysis the time is censored.
    pub fn is_unanswered(self) -> bool {
        matches!(
            self,
            Outcome::Refused
                | Outcome::Unreachable
                | Outcome::ConnectTimeout
                | Outcome::Reset
                | Outcome::Closed
                | Outcome::Timeout
                | Outcome::GrpcDeadlineExceeded
                | Outcome::TlsUntrusted
                | Outcome::Tls
                | Outcome::SelfConnect
                | Outcome::Unfinished
                | Outcome::Other
                | Outcome::ChannelClosed
                | Outcome::ProxyRefused
        )
    }

    /// True if neither the target nor the way to it has a part in the failure: the step cannot be done, a script failed,
    /// or the generator has no memory for a value.
    pub fn is_own(self) -> bool {
        matches!(self, Outcome::Step | Outcome::Script | Outcome::NoMemory)
    }

    /// True if the generator, not the target, was at its limit.
    pub fn is_generator_limit(self) -> bool {
        matches!(self, Outcome::NoFiles | Outcome::NoPorts | Outcome::NoMemory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_is_in_one_class() {
        for &outcome in Outcome::ALL {
            let classes = [
                outcome == Outcome::Ok,
                outcome.is_answered_failure(),
                outcome.is_unanswered(),
                outcome.is_generator_limit() || matches!(outcome, Outcome::Step | Outcome::Script),
            ];
            let count = classes.iter().filter(|&&is_in| is_in).count();
            assert_eq!(count, 1, "{outcome:?}");
            assert_eq!(Outcome::from_name(outcome.name()), Some(outcome));
        }
    }
}
