//! The commands of a shard: the only way in which it reaches the world.

use plan::EndpointId;

use crate::addresses::Choice;

/// A connection's name towards a driver. Its slot may be used again, its generation never is, so
/// late news of a connection that is gone can be recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId {
    pub slot: u32,
    pub generation: u32,
}

impl ConnId {
    /// Both parts in one word, for the kernel to hand back.
    #[inline]
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// The inverse of [`ConnId::to_bits`].
    #[inline]
    pub fn from_bits(bits: u64) -> ConnId {
        ConnId { slot: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// One thing to do, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Open a TCP connection; answer with connected or connect-failed.
    Connect {
        conn: ConnId,
        endpoint: EndpointId,
        /// Which of the endpoint's addresses is the user's.
        choice: Choice,
    },
    /// Send `Commands::bytes[start..end]`.
    Send { conn: ConnId, start: usize, end: usize },
    /// Send what is still to be sent, then close. No news of it is wanted any more.
    Close { conn: ConnId },
}

/// The commands that a shard wants carried out now. A driver does so after every call and clears
/// them.
#[derive(Debug, Default)]
pub struct Commands {
    pub list: Vec<Command>,
    /// The bytes that sends refer to.
    pub bytes: Vec<u8>,
}

impl Commands {
    /// Everything is done; the buffers stay.
    #[inline]
    pub fn clear(&mut self) {
        self.list.clear();
        self.bytes.clear();
    }
}
