//! The client's packets that wait for an acknowledgement (§4.3), by packet identifier (§2.2.1), and what is sent again
//! when a session continues over another connection (§4.4).

use crate::mqtt::Version;
use crate::mqtt::outgoing;
use crate::mqtt::packet::kind;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A message that may have been sent before (§3.3.1.1): a bit of its first byte.
const DUP: u8 = 0b1000;

/// The acknowledgement that a packet in flight waits for.
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
struct InFlightPacket {
    id: u16,
    awaits: Awaits,
    /// How many codes its acknowledgement has: one for each filter.
    codes_count: u16,
    /// The message; empty: it is not kept.
    packet: Box<[u8]>,
    /// It was sent over the present connection.
    is_sent: bool,
}

/// The packets in flight.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    last_id: u16,
    /// Messages in the order in which they were sent, releases in that of the PUBRECs (§4.6).
    waiting: Vec<InFlightPacket>,
    /// Messages are kept until the server has them.
    pub(crate) keeps: bool,
    kept_bytes: usize,
    /// Some were not sent over the present connection yet.
    has_unsent: bool,
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

    /// Bytes of the messages that are kept.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// A packet with the identifier that was next is sent. Its acknowledgement has this number of codes.
    pub(crate) fn push(&mut self, id: u16, awaits: Awaits, codes_count: u16, packet: &[u8]) {
        let is_kept = self.keeps && awaits.is_of_message();
        let packet: Box<[u8]> = if is_kept { packet.into() } else { Box::default() };
        self.kept_bytes += packet.len();
        self.last_id = id;
        self.waiting.push(InFlightPacket { id, awaits, codes_count, packet, is_sent: true });
    }

    /// The acknowledgement that this identifier waits for, and its number of codes.
    pub(crate) fn awaits(&self, id: u16) -> Option<(Awaits, u16)> {
        let own = &self.waiting[self.place(id)?];
        Some((own.awaits, own.codes_count))
    }

    /// The server has a message of QoS 2, which is to be released (§4.3.3).
    pub(crate) fn received(&mut self, id: u16) {
        if let Some(mut own) = self.take(id) {
            own.packet = Box::default();
            own.awaits = Awaits::PubComp;
            self.waiting.push(own);
        }
    }

    /// It has its last acknowledgement.
    pub(crate) fn remove(&mut self, id: u16) {
        self.take(id);
    }

    fn take(&mut self, id: u16) -> Option<InFlightPacket> {
        let own = self.waiting.remove(self.place(id)?);
        self.kept_bytes -= own.packet.len();
        Some(own)
    }

    /// A connection begins. Of what was in flight before, messages that were kept and releases are still to be sent if
    /// the server has kept the session; the rest is forgotten.
    pub(crate) fn begin(&mut self, continued: bool) {
        self.waiting
            .retain(|own| continued && (own.awaits == Awaits::PubComp || !own.packet.is_empty()));
        for own in &mut self.waiting {
            own.is_sent = false;
        }
        self.kept_bytes = self.waiting.iter().map(|own| own.packet.len()).sum();
        self.has_unsent = !self.waiting.is_empty();
    }

    /// Appends what was not sent over the present connection yet (§4.4), as far as the server takes messages at once
    /// (§4.9). A message larger than a packet may now be is as good as sent (§3.2.2.3.6), and forgotten.
    pub(crate) fn send_again(
        &mut self,
        version: Version,
        count_max: usize,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) {
        if !self.has_unsent {
            return;
        }
        let fits = |own: &InFlightPacket| own.is_sent || own.packet.len() <= bytes_max;
        self.waiting.retain(fits);
        self.kept_bytes = self.waiting.iter().map(|own| own.packet.len()).sum();
        let is_sent = |own: &&InFlightPacket| own.is_sent && own.awaits.is_of_message();
        let sent_count = self.waiting.iter().filter(is_sent).count();
        let unsent = self.waiting.iter_mut().filter(|own| !own.is_sent);
        for own in unsent.take(count_max.saturating_sub(sent_count)) {
            own.is_sent = true;
            if own.awaits == Awaits::PubComp {
                outgoing::ack(version, kind::PUBREL, own.id, 0, out);
                continue;
            }
            let start = out.len();
            out.extend_from_slice(&own.packet);
            out[start] |= DUP;
        }
        self.has_unsent = self.waiting.iter().any(|own| !own.is_sent);
    }

    fn place(&self, id: u16) -> Option<usize> {
        self.waiting.iter().position(|own| own.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_in_flight_takes_24_bytes() {
        assert!(size_of::<InFlightPacket>() <= 24, "{}", size_of::<InFlightPacket>());
    }
}
