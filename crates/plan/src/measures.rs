//! What is measured or counted under a name.

use serde::Serialize;

/// Something that is measured or counted under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measure {
    pub name: String,
    pub kind: MeasureKind,
}

/// Where a measure's times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum MeasureKind {
    /// TCP (and TLS) connection set-up.
    Connect,
    /// An HTTP request, or a WebSocket send or expect.
    Request,
    /// Opening a WebSocket or an event stream.
    Handshake,
    /// A pushed message: from the sender's stamp to its receipt.
    Message,
    /// A named group of steps.
    Transaction,
    /// Conditions; only errors are counted.
    Check,
}

/// Measures every plan has, at fixed places.
pub mod builtin {
    use crate::ids::MeasureId;
    /// TCP and TLS connection set-up, one entry a connection.
    pub const CONNECT: MeasureId = MeasureId(0);
    /// The name of the measure that counts steps which failed and are no operations, and streams lost between steps; with a number
    /// behind it where the scenario measures something of that name.
    pub const FAULTS_NAME: &str = "steps";
    /// How many there are.
    pub const COUNT: usize = 1;
}
