//! A target of several servers.

use crate::keys::SERVER;
use plan::Target;

use super::Checker;
use crate::document::node::Node;

impl Checker<'_> {
    /// `servers`: an endpoint and a weight each. The first is the target's own endpoint; the
    /// others differ from it in host and port alone, so that a step's path is right for all.
    pub(super) fn servers(&mut self, node: &Node) -> Option<Target> {
        let Some(items) = node.sequence().filter(|items| !items.is_empty()) else {
            self.expected(node, "a list of servers (`- { url: http://a.test/, weight: 2 }`)");
            return None;
        };
        let mut urls = Vec::new();
        for item in items {
            let fields = self.fields(item, &SERVER, "a server")?;
            let url = fields.get("url").and_then(|node| self.word(node, "a URL"))?;
            let weight = match fields.get_or_default("weight") {
                Some(node) => self.weight(&node)?,
                None => 1.0,
            };
            let endpoint = self.target_url(&url.text, &url.place)?;
            if let Some(first) = self.endpoints.first()
                && (first.tls, &first.base_path) != (endpoint.tls, &endpoint.base_path)
            {
                self.diagnostics
                    .error(
                        "bad-url",
                        &url.place,
                        "servers of one target differ in host and port only",
                    )
                    .hint("give them the same scheme and path");
                return None;
            }
            let id = self.endpoint(endpoint);
            self.servers.push((id, weight));
            urls.push(url.text);
        }
        if self.servers.iter().all(|(_, weight)| *weight == 0.0) {
            self.diagnostics.error("bad-number", &node.place, "all servers have weight 0");
        }
        Some(Target::Url(urls.join(", ")))
    }
}
