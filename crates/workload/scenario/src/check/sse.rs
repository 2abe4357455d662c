//! Streams of server-sent events.

use plan::expr::Template;
use plan::{MeasureKind, Op, Reconnect, SseOpen};

use super::Checker;
use super::fields::Fields;
use super::headers::add_absent;
use super::program::Program;
use crate::document::node::Node;

/// The one coding from which event streams are decoded.
pub(super) const STREAM_CODING: &str = "gzip";

impl Checker<'_> {
    pub(super) fn sse(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        program.has_stream = true;
        program.call = None;
        let location = self.fixed_location(node, program);
        let mut headers = self.headers(fields.get("headers"), program);
        self.add_auth(fields, &mut headers, program);
        // HTML standard section 9.2.2: what a browser's `EventSource` sends. The run's headers are those of all its
        // requests, so the step's come first.
        let accept = Template::fixed("text/event-stream");
        add_absent(&mut headers, "accept", &accept);
        add_absent(&mut headers, "cache-control", &Template::fixed("no-store"));
        self.add_headers_of_run(&mut headers);
        if self.streams_accept_gzip {
            add_absent(&mut headers, "accept-encoding", &Template::fixed(STREAM_CODING));
        }
        let measure = self.measure_from(fields, "as", "stream", MeasureKind::Handshake);
        let timeout_ns = self.timeout(fields.get("timeout"));
        let reconnect = self.reconnect(fields);
        let records = self.records(fields);
        if let Some((endpoint, path)) = location {
            program.push(Op::SseOpen(Box::new(SseOpen {
                endpoint,
                path,
                headers,
                measure,
                timeout_ns,
                reconnect,
                records,
            })));
        }
    }

    /// A pause, or `false`.
    fn reconnect(&mut self, fields: &Fields<'_>) -> Option<Reconnect> {
        let node = fields.get_or_default("reconnect")?;
        if node.text() == Some("false") {
            return None;
        }
        let pause_ns = self.duration_ns(&node)?;
        let measure = self.measure("reconnect", MeasureKind::Handshake, fields.place());
        Some(Reconnect { pause_ns, measure })
    }
}
