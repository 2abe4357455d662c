//! Memory for packets under way, in few sizes, used again and again.

use crate::wan::packet::FRAME_BYTES_MAX;

/// The sizes, in bytes: acknowledgements, full packets, short and long super-packets.
const SIZES: [usize; 4] = [256, 2048, 16_384, FRAME_BYTES_MAX];

/// Memory kept for later frames, in bytes; what is beyond goes back to the allocator.
const FREE_BYTES_MAX: usize = 64 << 20;

/// A frame under way.
#[derive(Debug)]
pub(crate) struct Frame {
    buffer: Box<[u8]>,
    length: usize,
}

impl Frame {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// The memory it occupies, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.buffer.len()
    }
}

/// Buffers that are free, by size.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    free: [Vec<Box<[u8]>>; SIZES.len()],
    free_bytes: usize,
}

impl Buffers {
    /// The memory that a frame of this length will occupy.
    pub(crate) fn held_bytes(length: usize) -> usize {
        SIZES[size_of(length)]
    }

    /// A frame of this length, which `fill` writes.
    pub(crate) fn frame(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Frame {
        let size = size_of(length);
        let mut buffer = match self.free[size].pop() {
            Some(buffer) => {
                self.free_bytes -= buffer.len();
                buffer
            }
            None => vec![0; SIZES[size]].into_boxed_slice(),
        };
        fill(&mut buffer[..length]);
        Frame { buffer, length }
    }

    /// Takes a frame's memory back.
    pub(crate) fn release(&mut self, frame: Frame) {
        let bytes = frame.buffer.len();
        if self.free_bytes + bytes <= FREE_BYTES_MAX {
            self.free_bytes += bytes;
            self.free[size_of(bytes)].push(frame.buffer);
        }
    }
}

/// The place in `SIZES` of the least size that holds `length` bytes.
fn size_of(length: usize) -> usize {
    let fits = SIZES.iter().position(|&size| length <= size);
    fits.expect("no frame is longer than an IPv4 packet with its header")
}

#[cfg(test)]
mod tests;
