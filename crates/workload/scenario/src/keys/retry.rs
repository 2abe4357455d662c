//! The step that tries steps again.

use super::Default::{Absent, Required, Said, Text};
use super::channels::{JITTER, PAUSE_MAX};
use super::matching::key;
use super::tags::TAGS;
use super::{Kind, Table};

/// Kinds of failures that can be tried again, as results name them. Those of the generator's own limits are not among
/// them.
pub const FAILURES: &[&str] = &[
    "refused",
    "unreachable",
    "connect-timeout",
    "reset",
    "closed",
    "timeout",
    "tls-untrusted",
    "tls",
    "http-protocol",
    "ws-protocol",
    "invalid-utf8",
    "too-large",
    "status",
    "save",
    "too-much-work",
    "check",
    "step",
    "script",
    "graphql",
    "self-connect",
    "other",
    "protocol",
    "rejected",
    "channel-closed",
    "http2-no-error",
    "http2-protocol-error",
    "http2-internal-error",
    "http2-flow-control-error",
    "http2-settings-timeout",
    "http2-stream-closed",
    "http2-frame-size-error",
    "http2-refused-stream",
    "http2-cancel",
    "http2-compression-error",
    "http2-connect-error",
    "http2-enhance-your-calm",
    "http2-inadequate-security",
    "http2-http-1-1-required",
    "redirect",
    "decoding",
    "grpc-cancelled",
    "grpc-unknown",
    "grpc-invalid-argument",
    "grpc-deadline-exceeded",
    "grpc-not-found",
    "grpc-already-exists",
    "grpc-permission-denied",
    "grpc-resource-exhausted",
    "grpc-failed-precondition",
    "grpc-aborted",
    "grpc-out-of-range",
    "grpc-unimplemented",
    "grpc-internal",
    "grpc-unavailable",
    "grpc-data-loss",
    "grpc-unauthenticated",
    "proxy-refused",
];

/// The step.
pub(crate) static STEP: Table = Table {
    name: "retry",
    groups: &[&[
        key(
            "retry",
            Kind::Count,
            Required,
            "Attempts at the steps, 2 to 100, the first one included. A step that fails ends its attempt",
        ),
        key("steps", Kind::Steps, Required, "The steps of an attempt"),
        key(
            "until",
            Kind::Expression,
            Absent,
            "Must be true after the last step, otherwise the attempt has failed (`check`)",
        ),
        key(
            "failures",
            Kind::OneOrMore(&Kind::Scalar),
            Said("all"),
            "Failures that lead to another attempt: statuses (`503`, `5xx`, `500..504`) and \
             [kinds](run-directory.md#outcomes) (`timeout`, `refused`, `check`)",
        ),
        key(
            "when",
            Kind::Expression,
            Absent,
            "Evaluated after such a failure: only if it is true there is another attempt",
        ),
        key("pause", Kind::Duration, Text("1s"), "Pause before the second attempt; `0s`: none"),
        key(
            "factor",
            Kind::Number,
            Text("2"),
            "Each further pause is longer by this factor, 1 to 100",
        ),
        PAUSE_MAX,
        JITTER,
        key(
            "else",
            Kind::Steps,
            Said("the session ends as failed"),
            "Steps if the last attempt has failed. The user continues after them",
        ),
        key(
            "as",
            Kind::Text,
            Text("retry"),
            "Name of the measure for all attempts with their pauses, which fails as the last attempt does",
        ),
        TAGS,
    ]],
};
