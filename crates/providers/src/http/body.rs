//! The body of a request, sent as the pieces it consists of.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::request::Request;

/// Pieces that know how long they are together, so that the request says its length.
pub(super) struct Sent {
    pieces: std::vec::IntoIter<Bytes>,
    left: u64,
}

impl From<Request> for Sent {
    fn from(request: Request) -> Self {
        Self {
            left: request.bytes() as u64,
            pieces: request.into_pieces().into_iter(),
        }
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.pieces.next();
        if let Some(piece) = &next {
            self.left = self.left.saturating_sub(piece.len() as u64);
        }
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
