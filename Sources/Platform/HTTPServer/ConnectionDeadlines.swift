internal import CMicroHTTPD
internal import Glibc
internal import Lifecycle

/// The phase of a connection and its start time, from which the deadline follows. libmicrohttpd has only an
/// idle timeout, and a peer that sends one byte now and then resets it forever.
///
/// The server's thread and the thread of `DeadlineWatcher` share this value. Both hold its lock while they
/// use the descriptor, so that the descriptor stays open.
struct ConnectionDeadlines {
    enum RequestPhase {
        /// The connection waits for the end of the headers.
        case head
        /// The body arrives. `bytes` have arrived, and `atMark` of them had arrived at the last check of the
        /// rate (`phaseStart`). The rate counts only from there, so that a fast start cannot make up for a
        /// later silence.
        case body(bytes: Int, atMark: Int = 0, began: Instant)
        /// A deferred handler has the request and will fill the slot.
        case answering(ReplySlot)
        /// The answer is being sent.
        case sending
        /// The connection is between requests. `received` is the number of bytes that the peer had sent on it
        /// at the end of the last request.
        case idle(received: UInt64)
        /// The socket was shut down. The library will notice this and close it.
        case cut
    }

    /// The descriptor, or -1 after the library has closed it.
    var descriptor: Int32
    /// The id of the current request, for an answer that the library can no longer send. Nil before the end of the head.
    var requestID: String?
    private(set) var phase = RequestPhase.head
    /// The start of the phase, or the last check of the body's rate.
    private(set) var phaseStart: Instant

    init(descriptor: Int32, now: Instant) {
        self.descriptor = descriptor
        phaseStart = now
    }

    /// Enters a phase. Returns false if the connection is cut: the peer got its last answer, and the request
    /// must not continue.
    @discardableResult
    mutating func enter(_ phase: RequestPhase, now: Instant) -> Bool {
        if case .cut = self.phase { return false }
        self.phase = phase
        phaseStart = now
        return true
    }

    /// Notes how many bytes of the body have arrived.
    mutating func recordBody(bodyBytes: Int) {
        if case .body(_, let bytesAtMark, let began) = phase {
            phase = .body(bytes: bodyBytes, atMark: bytesAtMark, began: began)
        }
    }

    /// Notes that a later request has begun.
    mutating func enterHead(now: Instant) {
        if case .idle = phase { enter(.head, now: now) }
    }

    /// Notes the end of a request.
    mutating func enterIdle(now: Instant) {
        requestID = nil
        if descriptor >= 0 { enter(.idle(received: mhd_bytes_received(descriptor)), now: now) }
    }

    /// Cuts the connection if it is past its deadline. If instead a handler is overdue, returns its slot,
    /// which the caller fills without holding the lock.
    mutating func cutIfOverdue(now: Instant, limits: HTTPLimits) -> ReplySlot? {
        guard descriptor >= 0 else { return nil }
        let elapsed = now.milliseconds(since: phaseStart)
        switch phase {
        case .head:
            if elapsed > limits.headMilliseconds {
                cut(with: .tooSlow("the headers took longer than \(limits.headMilliseconds) ms"))
            }
        case .body: cutIfBodyIsTooSlow(now: now, limits: limits)
        case .answering(let slot):
            if elapsed > limits.answerMilliseconds { return slot }
        case .sending:
            if elapsed > limits.sendMilliseconds { cut(with: nil) }
        case .idle(let received):
            if elapsed > limits.idleMilliseconds {
                cut(with: nil)
            } else if mhd_bytes_received(descriptor) > received {
                // The first bytes of the next request have arrived, and its request line is not complete yet.
                enter(.head, now: now)
            }
        case .cut: break
        }
        return nil
    }

    /// Cuts the connection if the body takes too long in all or came too slowly since the last check of its
    /// rate.
    private mutating func cutIfBodyIsTooSlow(now: Instant, limits: HTTPLimits) {
        guard case .body(let bytes, let bytesAtMark, let began) = phase else { return }
        guard now.milliseconds(since: began) <= limits.bodyMilliseconds else {
            let message = "the body took longer than \(limits.bodyMilliseconds) ms; send smaller bodies"
            return cut(with: .tooSlow(message))
        }
        let elapsed = now.milliseconds(since: phaseStart)
        guard elapsed > limits.bodyGraceMilliseconds else { return }
        let bytesMin = limits.bodyBytesPerSecondMin * elapsed / 1000
        if bytes - bytesAtMark < bytesMin {
            let message = "the body came at less than \(limits.bodyBytesPerSecondMin) bytes per second"
            cut(with: .tooSlow(message))
        } else {
            enter(.body(bytes: bytes, atMark: bytes, began: began), now: now)
        }
    }

    /// Shuts the socket down, after a last answer to the peer if there is one. The library then reads an end
    /// of input.
    mutating func cut(with refusal: HTTPRefusal?) {
        if descriptor >= 0 {
            if let bytes = refusal?.bytes(withRequestID: requestID ?? RequestID.random()) {
                _ = unsafe send(
                    descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
        phase = .cut
    }
}
