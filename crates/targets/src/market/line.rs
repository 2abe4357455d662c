//! A connection's letter box: what others leave for it to send.
//!
//! Memory is bounded. A distribution is overwritten by the next one, news queues up to a limit,
//! and a connection that reads too slowly for either is given up.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::bus::{Kind, Notice};

/// Why a connection shall end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It reads too slowly.
    Slow,
    /// It was silent for too long.
    Idle,
    /// The market stops.
    Stop,
}

/// What a connection shall do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Errand {
    Send(Utf8Bytes),
    Ping,
    End(Fate),
}

/// How much may wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// News that may wait.
    pub(super) news_max: usize,
    /// Distributions that may be missed in a row.
    pub(super) missed_max: u32,
}

/// What became of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Waiting,
    /// It took the place of an older distribution.
    Superseded,
    /// The reader is too slow and was given up just now.
    GivenUp,
    /// The connection is ending anyway.
    Ending,
}

/// The letter box of one connection.
#[derive(Debug, Default)]
pub(super) struct Line {
    inner: Mutex<Inner>,
    /// When the peer was last heard of, in the roster's ticks.
    heard: AtomicU32,
}

#[derive(Debug, Default)]
struct Inner {
    distribution: Option<Utf8Bytes>,
    news: VecDeque<Utf8Bytes>,
    missed: u32,
    ping: bool,
    fate: Option<Fate>,
    waker: Option<Waker>,
}

impl Inner {
    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

impl Line {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Each change is a plain assignment: there is no half-made state to be afraid of.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a notice and wakes the connection.
    pub(super) fn leave(&self, notice: &Notice, patience: Patience) -> Left {
        let mut inner = self.inner();
        if inner.fate.is_some() {
            return Left::Ending;
        }
        let text = notice.text.clone();
        let mut left = Left::Waiting;
        match notice.kind {
            Kind::Distribution => {
                if inner.distribution.replace(text).is_some() {
                    inner.missed += 1;
                    left = Left::Superseded;
                }
            }
            Kind::News => inner.news.push_back(text),
        }
        if inner.missed > patience.missed_max || inner.news.len() > patience.news_max {
            inner.fate = Some(Fate::Slow);
            inner.news = VecDeque::new();
            inner.distribution = None;
            left = Left::GivenUp;
        }
        inner.wake();
        left
    }

    /// Asks for a ping.
    pub(super) fn ping(&self) {
        let mut inner = self.inner();
        inner.ping = true;
        inner.wake();
    }

    /// Ends the connection; false if it was ending already.
    pub(super) fn end(&self, fate: Fate) -> bool {
        let mut inner = self.inner();
        let first = inner.fate.is_none();
        inner.fate.get_or_insert(fate);
        inner.wake();
        first
    }

    /// Whether the connection shall end; the task is woken when that, or anything, changes.
    pub(super) fn fate(&self, cx: &Context<'_>) -> Option<Fate> {
        let mut inner = self.inner();
        inner.listen(cx);
        inner.fate
    }

    /// The next errand: ends before news, news before distributions. The task is woken when there
    /// is a new one.
    pub(super) fn take(&self, cx: &Context<'_>) -> Option<Errand> {
        let mut inner = self.inner();
        inner.listen(cx);
        if let Some(fate) = inner.fate {
            return Some(Errand::End(fate));
        }
        if let Some(text) = inner.news.pop_front() {
            return Some(Errand::Send(text));
        }
        if let Some(text) = inner.distribution.take() {
            inner.missed = 0;
            return Some(Errand::Send(text));
        }
        std::mem::take(&mut inner.ping).then_some(Errand::Ping)
    }

    /// The peer was heard of at `tick`.
    pub(super) fn hear(&self, tick: u32) {
        self.heard.store(tick, Ordering::Relaxed);
    }

    /// When the peer was last heard of.
    pub(super) fn heard(&self) -> u32 {
        self.heard.load(Ordering::Relaxed)
    }
}

impl Inner {
    fn listen(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        news_max: 2,
        missed_max: 2,
    };

    fn notice(kind: Kind, text: &str) -> Notice {
        Notice {
            kind,
            text: text.into(),
        }
    }

    fn take(line: &Line) -> Option<Errand> {
        line.take(&Context::from_waker(Waker::noop()))
    }

    #[test]
    fn the_newest_distribution_wins_and_news_comes_first() {
        let line = Line::default();
        line.leave(&notice(Kind::Distribution, "old"), PATIENCE);
        let left = line.leave(&notice(Kind::Distribution, "new"), PATIENCE);
        assert_eq!(left, Left::Superseded);
        line.leave(&notice(Kind::News, "goal"), PATIENCE);
        line.ping();
        assert_eq!(take(&line), Some(Errand::Send("goal".into())));
        assert_eq!(take(&line), Some(Errand::Send("new".into())));
        assert_eq!(take(&line), Some(Errand::Ping));
        assert_eq!(take(&line), None);
    }

    #[test]
    fn readers_that_miss_too_much_are_given_up() {
        for (kind, tolerated) in [(Kind::Distribution, 3), (Kind::News, 2)] {
            let line = Line::default();
            for _ in 0..tolerated {
                assert_ne!(line.leave(&notice(kind, "x"), PATIENCE), Left::GivenUp);
            }
            assert_eq!(line.leave(&notice(kind, "x"), PATIENCE), Left::GivenUp);
            assert_eq!(line.leave(&notice(kind, "x"), PATIENCE), Left::Ending);
            assert_eq!(take(&line), Some(Errand::End(Fate::Slow)));
        }
    }

    #[test]
    fn a_reader_that_catches_up_starts_afresh() {
        let line = Line::default();
        for _ in 0..10 {
            line.leave(&notice(Kind::Distribution, "a"), PATIENCE);
            line.leave(&notice(Kind::Distribution, "b"), PATIENCE);
            assert_eq!(take(&line), Some(Errand::Send("b".into())));
        }
    }

    #[test]
    fn the_first_fate_stands() {
        let line = Line::default();
        assert!(line.end(Fate::Idle));
        assert!(!line.end(Fate::Stop));
        assert_eq!(take(&line), Some(Errand::End(Fate::Idle)));
    }
}
