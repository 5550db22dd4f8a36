//! Packets with descriptors over a Unix socket.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// Descriptors in one packet: the kernel's own limit is 253.
pub(super) const MOST_FDS: usize = super::message::MOST_DIRECTORIES + 8;

/// Two ends that keep the borders of packets, both closed on exec.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
}

/// Sends one packet.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(Errno::TOOBIG);
    }
    loop {
        match rustix::net::sendmsg(
            &socket,
            &[IoSlice::new(bytes)],
            &mut control,
            SendFlags::NOSIGNAL,
        ) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// A packet as it came.
#[derive(Debug, Default)]
pub(crate) struct Packet {
    /// Its bytes; none means that the other end is closed.
    pub(crate) bytes: Vec<u8>,
    /// Its descriptors, closed on exec.
    pub(crate) fds: Vec<OwnedFd>,
}

/// Receives one packet. One that does not fit is an error, never half a packet.
pub(crate) fn receive(socket: impl AsFd, flags: RecvFlags) -> Result<Packet, Errno> {
    let mut bytes = [0_u8; super::report::MOST_REPORT];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        match rustix::net::recvmsg(
            &socket,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut control,
            flags | RecvFlags::CMSG_CLOEXEC,
        ) {
            Ok(got) => break got,
            // A peer that closes with unread packets causes a reset, which is reported
            // once and before the packets: those are still there.
            Err(Errno::INTR | Errno::CONNRESET) => {}
            Err(errno) => return Err(errno),
        }
    };
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    if got
        .flags
        .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC)
    {
        return Err(Errno::MSGSIZE);
    }
    Ok(Packet {
        bytes: bytes.get(..got.bytes).unwrap_or_default().to_vec(),
        fds,
    })
}

/// Whether the other end of a socket is closed. Packets may still be there to read.
pub(crate) fn is_closed(socket: impl AsFd) -> bool {
    let mut polled = [PollFd::new(&socket, PollFlags::empty())];
    let now = Timespec::default();
    match rustix::event::poll(&mut polled, Some(&now)) {
        Ok(_) => polled.iter().any(|fd| !fd.revents().is_empty()),
        Err(errno) => errno != Errno::INTR,
    }
}

/// Waits until a descriptor is readable; `false` when the time is over.
pub(crate) fn readable(fd: impl AsFd, within: Duration) -> Result<bool, Errno> {
    readable_of([fd.as_fd()], within).map(|[said]| said)
}

/// Waits until one of these is readable; none is when the time is over.
pub(crate) fn readable_of<const N: usize>(
    fds: [BorrowedFd<'_>; N],
    within: Duration,
) -> Result<[bool; N], Errno> {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
        let mut polled = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        match rustix::event::poll(&mut polled, Some(&timeout)) {
            Ok(_) => return Ok(polled.map(|fd| !fd.revents().is_empty())),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rustix::io::Errno;
    use rustix::net::RecvFlags;

    use super::{pair, receive, send};

    #[test]
    fn packets_arrive_although_the_answer_was_not_read() {
        let (ours, theirs) = pair().unwrap();
        send(&theirs, b"first", &[]).unwrap();
        send(&theirs, b"last", &[]).unwrap();
        send(&ours, b"an answer", &[]).unwrap();
        drop(theirs);
        let heard = || receive(&ours, RecvFlags::DONTWAIT).map(|packet| packet.bytes);
        assert_eq!(heard(), Ok(b"first".to_vec()));
        assert_eq!(heard(), Ok(b"last".to_vec()));
        assert_eq!(heard(), Ok(Vec::new()), "the other end is closed");
    }

    #[test]
    fn receiving_without_waiting_returns_at_once() {
        let (ours, _theirs) = pair().unwrap();
        let heard = receive(&ours, RecvFlags::DONTWAIT);
        assert_eq!(heard.map(|packet| packet.bytes), Err(Errno::AGAIN));
    }
}
