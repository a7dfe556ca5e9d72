internal import CMicroHTTPD
internal import Glibc
internal import Lifecycle

/// What a connection is doing and since when, and what becomes of it when that takes too long. The
/// library only knows idle time, which a byte now and then resets for ever.
///
/// Shared between the server's thread and the watch: both hold the connection's lock, which also
/// keeps the descriptor open while it is used.
struct ConnectionClock {
    enum Phase {
        /// Waiting for the end of the headers.
        case head
        /// Since the mark was set, when `atMark` bytes of the body had come. Only the time after the
        /// mark counts: bytes that came fast must not buy a silence later.
        case body(bytes: Int, atMark: Int = 0, began: Instant)
        case answering(ReplySlot)
        case sending
        /// Between requests; `received` is what the peer had sent when the last one was done.
        case idle(received: UInt64)
        /// Cut; the library will notice and close it.
        case cut
    }

    /// -1 when the library has closed it.
    var descriptor: Int32
    private(set) var phase = Phase.head
    private(set) var since: Instant

    init(descriptor: Int32, now: Instant) {
        self.descriptor = descriptor
        since = now
    }

    /// False when the connection has been cut: the peer was told so, and nothing may happen any more.
    @discardableResult
    mutating func enter(_ phase: Phase, now: Instant) -> Bool {
        if case .cut = self.phase { return false }
        self.phase = phase
        since = now
        return true
    }

    mutating func received(bodyBytes: Int) {
        if case .body(_, let mark, let began) = phase {
            phase = .body(bytes: bodyBytes, atMark: mark, began: began)
        }
    }

    /// The request line of a later request has come.
    mutating func beganHead(now: Instant) {
        if case .idle = phase { enter(.head, now: now) }
    }

    mutating func beIdle(now: Instant) {
        if descriptor >= 0 { enter(.idle(received: mhd_bytes_received(descriptor)), now: now) }
    }

    /// Ends what has taken too long; an overdue answer is returned, to be filled without the lock.
    mutating func check(now: Instant, limits: HTTPLimits) -> ReplySlot? {
        guard descriptor >= 0 else { return nil }
        let elapsed = now.milliseconds(since: since)
        switch phase {
        case .head:
            if elapsed > limits.headMilliseconds {
                cut(.slow("the headers took longer than \(limits.headMilliseconds) ms"))
            }
        case .body(let bytes, let mark, let began):
            guard now.milliseconds(since: began) <= limits.bodyMilliseconds else {
                cut(.slow("the body took longer than \(limits.bodyMilliseconds) ms; send less at a time"))
                break
            }
            guard elapsed > limits.bodyGraceMilliseconds else { break }
            if bytes - mark < limits.bodyBytesPerSecondMin * elapsed / 1000 {
                cut(.slow("the body came at less than \(limits.bodyBytesPerSecondMin) bytes a second"))
            } else {
                enter(.body(bytes: bytes, atMark: bytes, began: began), now: now)
            }
        case .answering(let slot):
            if elapsed > limits.answerMilliseconds { return slot }
        case .sending:
            if elapsed > limits.sendMilliseconds { cut(nil) }
        case .idle(let received):
            if elapsed > limits.idleMilliseconds {
                cut(nil)
            } else if mhd_bytes_received(descriptor) > received {
                enter(.head, now: now)
            }
        case .cut: break
        }
        return nil
    }

    /// Ends the connection under the library, which sees an end of input, with a last word to the peer.
    mutating func cut(_ refusal: HTTPRefusal?) {
        if descriptor >= 0 {
            if let bytes = refusal?.bytes {
                _ = unsafe send(
                    descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
        phase = .cut
    }
}
