//! How long a connection waits for its client: for the next request, and for the rest of a head.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// How many requests of a connection have begun, and how many answers have ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchanges(Arc<(AtomicU64, AtomicU64)>);

impl Exchanges {
    fn begun(&self) -> u64 {
        self.0.0.load(Ordering::Acquire)
    }

    fn ended(&self) -> u64 {
        self.0.1.load(Ordering::Acquire)
    }

    /// One more has begun; it ends when what is returned is dropped.
    pub(crate) fn begin(&self) -> Exchange {
        self.0.0.fetch_add(1, Ordering::AcqRel);
        Exchange(self.clone())
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Exchange(Exchanges);

impl Drop for Exchange {
    fn drop(&mut self) {
        self.0.0.1.fetch_add(1, Ordering::AcqRel);
    }
}

/// The body of an answer. With it the exchange ends.
#[derive(Debug)]
pub(crate) struct Answering {
    body: Body,
    _exchange: Exchange,
}

impl Answering {
    pub(crate) const fn new(body: Body, exchange: Exchange) -> Self {
        Self { body, _exchange: exchange }
    }
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Until the first byte of a request.
    pub(crate) idle: Duration,
    /// From there to the end of its head.
    pub(crate) head: Duration,
}

/// A connection that ends when its client takes too long. While a request is being answered it
/// waits: its body and its answer have times of their own.
#[derive(Debug)]
pub(crate) struct TimedStream<S> {
    stream: S,
    timeouts: Timeouts,
    exchanges: Exchanges,
    /// Answers that had ended when it began to wait for the next request.
    seen: u64,
    is_in_head: bool,
    until: Pin<Box<Sleep>>,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(stream: S, timeouts: Timeouts, exchanges: Exchanges) -> Self {
        let until = Box::pin(sleep(timeouts.idle));
        Self { stream, timeouts, exchanges, seen: 0, is_in_head: false, until }
    }

    fn wait(&mut self, time: Duration) {
        self.until.as_mut().reset(Instant::now() + time);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let ended = self.exchanges.ended();
        let is_answering = self.exchanges.begun() != ended;
        if self.seen != ended {
            (self.seen, self.is_in_head) = (ended, false);
            let idle = self.timeouts.idle;
            self.wait(idle);
        }
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if is_answering {
            return read;
        }
        if read.is_ready() {
            if !self.is_in_head {
                self.is_in_head = true;
                let head = self.timeouts.head;
                self.wait(head);
            }
            return read;
        }
        ready!(self.until.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
