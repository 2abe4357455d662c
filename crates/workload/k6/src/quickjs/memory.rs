//! The memory of users' contexts: counted, so that all users together take no more than there is.

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::allocator::{Allocator, RustAllocator};

use crate::exchange::Memory;

/// Memory is taken from what is shared in steps of this many bytes.
const STEP_BYTES: usize = 256 << 10;
/// What a context has from its beginning to its end, so that none is given up half made.
const BEGIN_BYTES: usize = 1 << 20;

/// Memory for what is not limited otherwise.
#[derive(Debug)]
pub(crate) struct Unlimited;

impl Memory for Unlimited {
    fn take(&self, _: usize) -> bool {
        true
    }

    fn give_back(&self, _: usize) {}
}

/// QuickJS's memory, taken from what is shared.
pub(crate) struct Counted {
    memory: Arc<dyn Memory>,
    /// Bytes that QuickJS uses, and that were taken for it.
    used: usize,
    taken: usize,
    /// Set when there was no more.
    exhausted: Rc<Cell<bool>>,
}

impl Counted {
    /// `None`: there is no memory for a context.
    pub(crate) fn new(memory: &Arc<dyn Memory>, exhausted: &Rc<Cell<bool>>) -> Option<Counted> {
        if !memory.take(BEGIN_BYTES) {
            return None;
        }
        Some(Counted {
            memory: Arc::clone(memory),
            used: 0,
            taken: BEGIN_BYTES,
            exhausted: Rc::clone(exhausted),
        })
    }

    /// Counts bytes that are to be used; false: there is no memory for them.
    fn take(&mut self, bytes: usize) -> bool {
        let Some(used) = self.used.checked_add(bytes) else {
            return false;
        };
        if used > self.taken {
            let more = (used - self.taken).next_multiple_of(STEP_BYTES);
            if !self.memory.take(more) {
                self.exhausted.set(true);
                return false;
            }
            self.taken += more;
        }
        self.used = used;
        true
    }

    /// Counts bytes that are not used any more.
    fn give_back(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        // One step stays, so that what is at an edge does not come and go.
        let kept = (self.used.next_multiple_of(STEP_BYTES) + STEP_BYTES).max(BEGIN_BYTES);
        if self.taken > kept {
            self.memory.give_back(self.taken - kept);
            self.taken = kept;
        }
    }

    /// Corrects what was counted for a block before its size was known.
    #[expect(unsafe_code, reason = "a block's size stands before it")]
    fn settle(&mut self, block: *mut u8, counted: usize) -> *mut u8 {
        // SAFETY: the block comes from the same allocator.
        let size = if block.is_null() { 0 } else { unsafe { RustAllocator::usable_size(block) } };
        self.used = self.used.saturating_add(size);
        self.give_back(counted);
        block
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.memory.give_back(self.taken);
    }
}

#[expect(unsafe_code, reason = "an allocator for C is one")]
// SAFETY: all blocks are those of `RustAllocator`, or null.
unsafe impl Allocator for Counted {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        match self.take(size) {
            true => {
                let block = RustAllocator.alloc(size);
                self.settle(block, size)
            }
            false => ptr::null_mut(),
        }
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(bytes) = count.checked_mul(size).filter(|bytes| self.take(*bytes)) else {
            return ptr::null_mut();
        };
        let block = RustAllocator.calloc(count, size);
        self.settle(block, bytes)
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        // SAFETY: whoever calls this has the block from here.
        let size = unsafe { RustAllocator::usable_size(block) };
        self.give_back(size);
        // SAFETY: the same.
        unsafe { RustAllocator.dealloc(block) };
    }

    unsafe fn realloc(&mut self, block: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: whoever calls this has the block from here.
        let before = unsafe { RustAllocator::usable_size(block) };
        if !self.take(size) {
            return ptr::null_mut();
        }
        // SAFETY: the same.
        let moved = unsafe { RustAllocator.realloc(block, size) };
        if !moved.is_null() {
            self.give_back(before);
        }
        self.settle(moved, size)
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: whoever calls this has the block from here.
        unsafe { RustAllocator::usable_size(block) }
    }
}
