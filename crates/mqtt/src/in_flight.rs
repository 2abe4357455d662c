//! The client's packets that wait for an acknowledgement (§4.3), by packet identifier (§2.2.1).

/// What a packet in flight waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaits {
    PubAck,
    PubRec,
    PubComp,
    SubAck,
    UnsubAck,
}

impl Awaits {
    /// Messages alone count for the maximum that a server receives (§3.3.4).
    pub(crate) fn is_of_message(self) -> bool {
        matches!(self, Awaits::PubAck | Awaits::PubRec | Awaits::PubComp)
    }
}

/// A packet in flight.
#[derive(Debug)]
struct Waiting {
    id: u16,
    awaits: Awaits,
    /// How many codes its acknowledgement has: one for each filter.
    codes_count: u16,
}

/// The packets in flight.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    last_id: u16,
    waiting: Vec<Waiting>,
}

impl InFlight {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.waiting.len()
    }

    /// How many of them are messages.
    pub(crate) fn messages_count(&self) -> usize {
        let messages = self.waiting.iter();
        messages.filter(|own| own.awaits.is_of_message()).count()
    }

    /// An identifier that is not in flight. There is one: far fewer may be in flight.
    pub(crate) fn next_id(&self) -> u16 {
        let mut id = self.last_id;
        loop {
            id = id.checked_add(1).unwrap_or(1);
            if self.place(id).is_none() {
                return id;
            }
        }
    }

    /// A packet with the identifier that was next is sent. Its acknowledgement has this number of codes.
    pub(crate) fn push(&mut self, id: u16, awaits: Awaits, codes_count: u16) {
        self.last_id = id;
        self.waiting.push(Waiting {
            id,
            awaits,
            codes_count,
        });
    }

    /// What this identifier waits for, and the number of codes.
    pub(crate) fn awaits(&self, id: u16) -> Option<(Awaits, u16)> {
        let own = &self.waiting[self.place(id)?];
        Some((own.awaits, own.codes_count))
    }

    /// The server has a message of QoS 2, which is to be released (§4.3.3).
    pub(crate) fn received(&mut self, id: u16) {
        if let Some(place) = self.place(id) {
            self.waiting[place].awaits = Awaits::PubComp;
        }
    }

    /// It has its last acknowledgement.
    pub(crate) fn remove(&mut self, id: u16) {
        if let Some(place) = self.place(id) {
            self.waiting.swap_remove(place);
        }
    }

    /// A connection begins. Of what was in flight before, releases are sent again if the server has kept the session
    /// (§4.4): their identifiers are returned.
    pub(crate) fn begin(&mut self, continued: bool) -> impl Iterator<Item = u16> {
        self.waiting
            .retain(|own| continued && own.awaits == Awaits::PubComp);
        self.waiting.iter().map(|own| own.id)
    }

    fn place(&self, id: u16) -> Option<usize> {
        self.waiting.iter().position(|own| own.id == id)
    }
}
