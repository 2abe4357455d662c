//! The bytes that one side of a connection has sent, as long as they may have to be sent again.

use std::io;

use crate::spool::Spool;

/// A controller says little: a slice, and some words a second. More than this is never kept.
const MEMORY_BYTES_MAX: usize = 256 << 20;

/// All that was sent and may have to be sent again, by position.
#[derive(Debug)]
pub(crate) enum Log {
    /// The log of a controller: it is lost with it, and the next one continues behind it.
    Memory(Messages),
    /// The log of a worker, on the disk.
    Disk(Spool),
}

/// Whole messages in memory.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// The position of the first byte.
    start: u64,
    bytes: Vec<u8>,
    /// The ends of messages, by position.
    ends: Vec<u64>,
}

impl Messages {
    /// They continue what another controller has sent.
    pub(crate) fn behind(start: u64) -> Messages {
        Messages { start, ..Messages::default() }
    }

    /// Whole messages of `bytes_max` at most; of one that is longer, a part.
    fn read(&self, position: u64, bytes_max: usize) -> Vec<u8> {
        let offset = usize::try_from(position.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let rest = self.bytes.get(offset..).unwrap_or_default();
        let limit = position.saturating_add(bytes_max as u64);
        let fitting = self.ends.partition_point(|end| *end <= limit);
        let end = self.ends[..fitting].last().filter(|end| **end > position);
        let length = end.map_or(bytes_max, |end| (end - position) as usize);
        rest[..rest.len().min(length)].to_vec()
    }
}

impl Log {
    /// The position of the oldest byte that is kept.
    pub(crate) fn start(&self) -> u64 {
        match self {
            Log::Memory(messages) => messages.start,
            Log::Disk(spool) => spool.start(),
        }
    }

    /// Behind the newest.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Log::Memory(messages) => messages.start + messages.bytes.len() as u64,
            Log::Disk(spool) => spool.end(),
        }
    }

    /// Whether it continues what another controller has sent, and nothing was added.
    pub(crate) fn is_untouched(&self) -> bool {
        matches!(self, Log::Memory(messages) if messages.start > 0 && messages.bytes.is_empty())
    }

    /// Adds a message.
    pub(crate) fn append(&mut self, message: &[u8]) -> io::Result<()> {
        match self {
            Log::Memory(messages) if messages.bytes.len() > MEMORY_BYTES_MAX => {
                Err(io::Error::other("too much was sent to a worker"))
            }
            Log::Memory(messages) => {
                messages.bytes.extend(message);
                let end = messages.start + messages.bytes.len() as u64;
                messages.ends.push(end);
                Ok(())
            }
            Log::Disk(spool) => spool.append(message),
        }
    }

    /// Bytes from `position` on, `bytes_max` at most; none at the end.
    pub(crate) fn read(&self, position: u64, bytes_max: usize) -> io::Result<Vec<u8>> {
        match self {
            Log::Memory(messages) => Ok(messages.read(position, bytes_max)),
            Log::Disk(spool) => spool.read(position, bytes_max),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        match self {
            Log::Memory(_) => false,
            Log::Disk(spool) => spool.is_full(),
        }
    }

    pub(crate) fn mark_stored(&mut self, position: u64) {
        if let Log::Disk(spool) = self {
            spool.mark_stored(position);
        }
    }

    /// The run is over: nothing is sent again.
    pub(crate) fn remove(&self) {
        if let Log::Disk(spool) = self {
            spool.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_sent_whole_if_they_fit() {
        let mut log = Log::Memory(Messages::behind(100));
        assert!(log.is_untouched());
        assert!(!Log::Memory(Messages::behind(0)).is_untouched(), "a run's first controller");
        for message in ["abc", "de", "0123456789", "x"] {
            log.append(message.as_bytes()).unwrap();
        }
        let read = |position, max| String::from_utf8(log.read(position, max).unwrap()).unwrap();
        assert_eq!((log.start(), log.end()), (100, 116));
        assert!(!log.is_untouched());
        assert_eq!(read(100, 4), "abc");
        assert_eq!(read(100, 5), "abcde");
        assert_eq!(read(105, 4), "0123", "a part of a long one");
        assert_eq!(read(109, 9), "456789x");
        assert_eq!(read(116, 9), "");
        assert!(!log.is_full());
    }
}
