//! The body of a request, in pieces that cost what they hold, before its deadline and within a budget.
//!
//! Each piece of hyper's is a view into a buffer of several KiB, so that a client that sends single bytes
//! has a buffer kept for each of them. Here the bytes are copied together.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::budget::Budget;

/// A piece is passed on when it has at least this size, or at the end of the body, in bytes.
const PIECE_BYTES: usize = 16 << 10;
/// Bytes of all unfinished bodies of the process.
const ALL_BYTES_MAX: usize = 256 << 20;

/// Bytes of unfinished bodies.
static HELD: Budget = Budget::new(ALL_BYTES_MAX);

/// Why a body did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError<E> {
    /// The client took too long.
    #[error("the body did not come in time")]
    Late,
    /// Too many bytes of bodies are being received.
    #[error("too many bodies are being received")]
    Full,
    /// The connection broke, or the body is malformed.
    #[error("the body is incomplete")]
    Broken(#[source] E),
}

/// How a body failed, for whoever answers its request.
#[derive(Debug, Default)]
pub(super) struct Failure {
    is_late: AtomicBool,
    is_refused: AtomicBool,
}

impl Failure {
    pub(super) fn is_late(&self) -> bool {
        self.is_late.load(Ordering::Relaxed)
    }

    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }
}

/// A body whose pieces are gathered.
#[derive(Debug)]
pub(super) struct GatheredBody<B> {
    inner: B,
    within: Duration,
    budget: &'static Budget,
    failure: Option<Arc<Failure>>,
    /// Armed at the first wait.
    timer: Option<Pin<Box<Sleep>>>,
    piece: BytesMut,
    /// Bytes taken of the budget.
    taken: usize,
    has_ended: bool,
}

impl<B> GatheredBody<B> {
    /// The body `inner`, which must end `within` this time; a failure is noted in `failure`.
    pub(super) fn new(inner: B, within: Duration, failure: Option<Arc<Failure>>) -> Self {
        Self::with_budget(inner, within, failure, &HELD)
    }

    fn with_budget(
        inner: B,
        within: Duration,
        failure: Option<Arc<Failure>>,
        budget: &'static Budget,
    ) -> Self {
        Self {
            inner,
            within,
            budget,
            failure,
            timer: None,
            piece: BytesMut::new(),
            taken: 0,
            has_ended: false,
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> bool {
        let fits = self.budget.take(bytes.len());
        if fits {
            self.taken += bytes.len();
            self.piece.extend_from_slice(bytes);
        }
        fits
    }

    fn is_overdue(&mut self, cx: &mut Context<'_>) -> bool {
        let within = self.within;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(within)));
        timer.as_mut().poll(cx).is_ready()
    }
}

impl<B> Drop for GatheredBody<B> {
    fn drop(&mut self) {
        self.budget.give_back(self.taken);
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for GatheredBody<B> {
    type Data = Bytes;
    type Error = BodyError<B::Error>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        while !this.has_ended && this.piece.len() < PIECE_BYTES {
            let frame = match Pin::new(&mut this.inner).poll_frame(cx) {
                Poll::Ready(frame) => frame,
                Poll::Pending if this.is_overdue(cx) => {
                    if let Some(failure) = &this.failure {
                        failure.is_late.store(true, Ordering::Relaxed);
                    }
                    return Poll::Ready(Some(Err(BodyError::Late)));
                }
                Poll::Pending => return Poll::Pending,
            };
            match frame {
                None => this.has_ended = true,
                Some(Err(error)) => return Poll::Ready(Some(Err(BodyError::Broken(error)))),
                // Trailers mean nothing here.
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data()
                        && !this.keep(&bytes)
                    {
                        if let Some(failure) = &this.failure {
                            failure.is_refused.store(true, Ordering::Relaxed);
                        }
                        return Poll::Ready(Some(Err(BodyError::Full)));
                    }
                }
            }
        }
        if this.piece.is_empty() {
            return Poll::Ready(None);
        }
        let piece = this.piece.split().freeze();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.piece.is_empty() && (self.has_ended || self.inner.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        if self.piece.is_empty() { self.inner.size_hint() } else { SizeHint::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;

    use super::*;

    /// A body of single bytes, each a view into a buffer of its own, as hyper's are. `ends`: otherwise the
    /// client stops sending.
    struct Dripping {
        left: usize,
        ends: bool,
    }

    impl Body for Dripping {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            if self.left == 0 {
                return match self.ends {
                    true => Poll::Ready(None),
                    false => Poll::Pending,
                };
            }
            self.left -= 1;
            let buffer = Bytes::from(vec![7; 4096]);
            Poll::Ready(Some(Ok(Frame::data(buffer.slice(..1)))))
        }
    }

    type Piece = Result<usize, BodyError<Infallible>>;

    async fn pieces(mut body: GatheredBody<Dripping>) -> Vec<Piece> {
        let mut all = Vec::new();
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            let failed = frame.is_err();
            all.push(frame.map(|frame| frame.into_data().map_or(0, |bytes| bytes.len())));
            if failed {
                break;
            }
        }
        all
    }

    fn body(left: usize, ends: bool, budget: &'static Budget) -> GatheredBody<Dripping> {
        let within = Duration::from_secs(30);
        let failure = Some(Arc::default());
        GatheredBody::with_budget(Dripping { left, ends }, within, failure, budget)
    }

    #[tokio::test(start_paused = true)]
    async fn single_bytes_become_one_piece() {
        static ALL: Budget = Budget::new(usize::MAX);
        let found = pieces(body(4096, true, &ALL)).await;
        assert!(matches!(found[..], [Ok(4096)]), "{found:?}");
        let found = pieces(body(PIECE_BYTES + 5, true, &ALL)).await;
        assert!(matches!(found[..], [Ok(PIECE_BYTES), Ok(5)]), "{found:?}");
        assert!(pieces(body(0, true, &ALL)).await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_coming_is_late() {
        static ALL: Budget = Budget::new(usize::MAX);
        let body = body(10, false, &ALL);
        let failure = body.failure.clone().unwrap();
        let found = pieces(body).await;
        assert!(matches!(found[..], [Err(BodyError::Late)]), "{found:?}");
        assert!(failure.is_late() && !failure.is_refused());
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_share_a_budget() {
        static FEW: Budget = Budget::new(100);
        let mut first = body(80, false, &FEW);
        let pending = poll_fn(|cx| Poll::Ready(Pin::new(&mut first).poll_frame(cx).is_pending()));
        assert!(pending.await);
        let found = pieces(body(21, true, &FEW)).await;
        assert!(matches!(found[..], [Err(BodyError::Full)]), "{found:?}");
        drop(first);
        assert_eq!(FEW.used(), 0);
        let found = pieces(body(100, true, &FEW)).await;
        assert!(matches!(found[..], [Ok(100)]), "{found:?}");
    }
}
