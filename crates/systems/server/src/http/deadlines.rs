//! Deadlines of a connection: for a head that began to come, for a body, for an answer that its client
//! does not read. Between two requests there is none. Over HTTP/2 a frame has the deadline of what it is a part of,
//! and each answer has its own.
//!
//! A request that arrives in one piece arms no timer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::frames::{FrameKind, Frames};
use super::head::HEAD_TIMEOUT;

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    /// From a head's first byte to its end.
    pub(super) head: Duration,
    /// From the first wait for a body to its end.
    pub(super) body: Duration,
    /// Without reading anything of an answer.
    pub(super) unread: Duration,
}

impl Deadlines {
    pub(super) const DEFAULT: Deadlines = Deadlines {
        head: HEAD_TIMEOUT,
        body: Duration::from_secs(30),
        unread: Duration::from_secs(30),
    };
}

/// An answer over HTTP/2 that is not sent to its end. The one that is due first comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UnsentAnswer {
    /// When the client must have taken more of it.
    due: Instant,
    /// Unique on its connection.
    number: u64,
}

/// Progress of a connection, and its deadlines. Its parts are all polled in the connection's own task.
#[derive(Debug)]
pub(super) struct Progress {
    deadlines: Deadlines,
    /// When the head must be complete whose first byte came.
    head_due: Cell<Option<Instant>>,
    /// A request is being answered: what comes meanwhile is its body, or follows it.
    answering: Cell<bool>,
    /// Since when its client takes nothing.
    unread_since: Cell<Option<Instant>>,
    /// With HTTP/2: position in the frames.
    frames: Option<RefCell<Frames>>,
    /// With HTTP/2: answers that are not sent to their end, by when the client must have taken more of them.
    unsent: RefCell<BTreeSet<UnsentAnswer>>,
    answers_count: Cell<u64>,
    /// Armed for a deadline, often one that is met in the meantime.
    timer: RefCell<Option<Pin<Box<Sleep>>>>,
}

impl Progress {
    pub(super) fn new(deadlines: Deadlines) -> Self {
        Self {
            deadlines,
            head_due: Cell::new(None),
            answering: Cell::new(false),
            unread_since: Cell::new(None),
            frames: None,
            unsent: RefCell::default(),
            answers_count: Cell::new(0),
            timer: RefCell::new(None),
        }
    }

    /// State of a connection that speaks HTTP/2 from its first byte on.
    pub(super) fn http2(deadlines: Deadlines) -> Self {
        Self { frames: Some(RefCell::default()), ..Self::new(deadlines) }
    }

    /// These bytes came.
    pub(super) fn on_received(&self, bytes: &[u8]) {
        if let Some(frames) = &self.frames {
            let (has_ended, part) = frames.borrow_mut().read(bytes);
            let within = match part {
                FrameKind::None => return self.head_due.set(None),
                FrameKind::Head => self.deadlines.head,
                FrameKind::Body => self.deadlines.body,
            };
            if has_ended || self.head_due.get().is_none() {
                self.head_due.set(Some(Instant::now() + within));
            }
        } else if !self.answering.get() && self.head_due.get().is_none() {
            let due = Instant::now() + self.deadlines.head;
            self.head_due.set(Some(due));
        }
    }

    /// A head is complete.
    pub(super) fn on_request(&self) {
        self.head_due.set(None);
        self.answering.set(true);
    }

    /// The system has made its answer.
    pub(super) fn on_answer(&self) {
        self.answering.set(false);
    }

    /// The client took bytes of an answer, or did not.
    pub(super) fn on_sending(&self, is_taken: bool) {
        if is_taken {
            self.unread_since.set(None);
        } else if self.unread_since.get().is_none() {
            self.unread_since.set(Some(Instant::now()));
        }
    }

    /// Over HTTP/2 an answer begins.
    pub(super) fn begin_answer(&self) -> UnsentAnswer {
        let number = self.answers_count.get();
        self.answers_count.set(number + 1);
        self.await_answer(number)
    }

    /// The client has room for more of an answer.
    pub(super) fn prolong_answer(&self, answer: UnsentAnswer) -> UnsentAnswer {
        self.end_answer(answer);
        self.await_answer(answer.number)
    }

    /// An answer is sent to its end, or given up.
    pub(super) fn end_answer(&self, answer: UnsentAnswer) {
        self.unsent.borrow_mut().remove(&answer);
    }

    fn await_answer(&self, number: u64) -> UnsentAnswer {
        let due = Instant::now() + self.deadlines.unread;
        let answer = UnsentAnswer { due, number };
        self.unsent.borrow_mut().insert(answer);
        answer
    }

    fn deadline(&self) -> Option<Instant> {
        let unread = self.unread_since.get();
        let unread = unread.map(|since| since + self.deadlines.unread);
        let unsent = self.unsent.borrow().first().map(|answer| answer.due);
        let all = [self.head_due.get(), unread, unsent];
        all.into_iter().flatten().min()
    }

    /// Ready once the client took too long. Must be polled after whatever else the connection's task polls.
    pub(super) fn poll_overdue(&self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline() else {
            return Poll::Pending;
        };
        let mut timer = self.timer.borrow_mut();
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        loop {
            ready!(timer.as_mut().poll(cx));
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            // It was armed for an earlier deadline, which was met.
            timer.as_mut().reset(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::future::poll_fn;
    use tokio::time::{advance, timeout};

    const DEADLINES: Deadlines = Deadlines {
        head: Duration::from_secs(15),
        body: Duration::from_secs(30),
        unread: Duration::from_secs(40),
    };

    async fn is_overdue_within(progress: &Progress, seconds: u64) -> bool {
        let overdue = poll_fn(|cx| progress.poll_overdue(cx));
        timeout(Duration::from_secs(seconds), overdue).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn only_unfinished_heads_and_unread_answers_have_deadlines() {
        let progress = Progress::new(DEADLINES);
        assert!(!is_overdue_within(&progress, 100).await, "idle");
        progress.on_received(b"x");
        advance(Duration::from_secs(10)).await;
        // Further bytes do not prolong it.
        progress.on_received(b"x");
        assert!(!is_overdue_within(&progress, 4).await);
        progress.on_request();
        progress.on_received(b"x");
        assert!(!is_overdue_within(&progress, 100).await, "being answered");
        progress.on_answer();
        assert!(!is_overdue_within(&progress, 100).await, "idle again");
        progress.on_received(b"x");
        assert!(!is_overdue_within(&progress, 14).await);
        assert!(is_overdue_within(&progress, 2).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_read_bit_by_bit_has_time() {
        let progress = Progress::new(DEADLINES);
        progress.on_sending(false);
        assert!(!is_overdue_within(&progress, 39).await);
        progress.on_sending(true);
        progress.on_sending(false);
        assert!(!is_overdue_within(&progress, 39).await);
        progress.on_sending(false);
        assert!(is_overdue_within(&progress, 2).await);
    }
}
