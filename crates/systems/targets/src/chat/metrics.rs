//! Metrics of the chat besides those of its connections.

use server::metrics::{Connections, Counter, Page};

/// Everything the chat counts.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) connections: Connections,
    /// Messages taken.
    pub(super) spoken: Counter,
    /// Messages refused.
    pub(super) refused: Counter,
    /// Requests for messages after a cursor.
    pub(super) polls: Counter,
    /// Long polls that began to be held; those held now are these less `holds_ended`.
    pub(super) holds_begun: Counter,
    pub(super) holds_ended: Counter,
    /// Messages that a serving thread, or a stream, was too late to read.
    pub(super) overrun: Counter,
}

impl Metrics {
    /// The counters in Prometheus' text format; with the number of rooms.
    pub(super) fn render(&self, rooms: usize, store_failing: bool) -> String {
        let mut page = Page::new("chat");
        page.connections("WebSockets and streams", &self.connections);
        let counters = [
            ("spoken_total", "Messages accepted", self.spoken.get()),
            ("refused_total", "Messages refused", self.refused.get()),
            ("polls_total", "Polls answered or held", self.polls.get()),
            (
                "overrun_total",
                "Messages dropped from the history before they were sent",
                self.overrun.get(),
            ),
        ];
        for (name, help, value) in counters {
            page.counter(name, help, value);
        }
        let held = self.holds_begun.get().saturating_sub(self.holds_ended.get());
        page.gauge("polls_held", "Long polls waiting", held);
        page.gauge("rooms", "Rooms", rooms);
        let help = "1 while messages cannot be stored, else 0";
        page.gauge("store_failing", help, u64::from(store_failing));
        page.finish()
    }
}
