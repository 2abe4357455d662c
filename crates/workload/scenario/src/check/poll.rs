//! Polling.

use plan::{MeasureKind, Op, Poll};

use super::Checker;
use super::fields::Fields;
use super::location::without_query;
use super::matching::SaveScope;
use super::program::Program;
use crate::document::node::Node;

impl Checker<'_> {
    pub(super) fn poll(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        program.has_stream = true;
        program.call = None;
        let location = self.fixed_location(node, program);
        let mut headers = self.headers(fields.get("headers"), program);
        self.add_auth(fields, &mut headers, program);
        self.add_headers_of_run(&mut headers);
        let every_ns = fields.get("every").and_then(|node| self.duration_ns(node));
        let each = fields.get("each").and_then(|node| self.pointer(node));
        let save = self.saves(fields.get("save"), SaveScope::Response, program);
        let status = self.status_rule(fields.get("status"));
        let name = format!("poll {}", without_query(node.text().unwrap_or_default()));
        let measure = self.measure_from(fields, "as", &name, MeasureKind::Request);
        let timeout_ns = self.timeout(fields.get("timeout"));
        let pause = fields.get_or_default("pause");
        let pause_ns = pause.and_then(|node| self.duration_ns(&node));
        if let (Some((endpoint, path)), Some(pause_ns)) = (location, pause_ns) {
            program.push(Op::Poll(Box::new(Poll {
                endpoint,
                path,
                headers,
                every_ns,
                each,
                save,
                status,
                measure,
                timeout_ns,
                pause_ns,
            })));
        }
    }
}
