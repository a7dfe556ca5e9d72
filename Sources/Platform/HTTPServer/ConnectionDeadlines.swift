internal import CMicroHTTPD
internal import Glibc
internal import Lifecycle

/// The phase of a connection, its start time, and its deadline. libmicrohttpd has only an idle timeout, which
/// one byte now and then resets forever.
///
/// The server's thread and the watch share the clock. Both hold the connection's lock while they use the
/// descriptor, so the descriptor stays open.
struct ConnectionDeadlines {
    enum RequestPhase {
        /// The connection waits for the end of the headers.
        case head
        /// The body arrives. At the last mark, `atMark` bytes had arrived. The rate counts only from the
        /// mark, so that a fast start does not pay for a later silence.
        case body(bytes: Int, atMark: Int = 0, began: Instant)
        case answering(ReplySlot)
        case sending
        /// The connection is between requests. `received` is the peer's byte count at the end of the last
        /// request.
        case idle(received: UInt64)
        /// The connection is cut. The library will notice this and close it.
        case cut
    }

    /// The descriptor, or -1 after the library has closed it.
    var descriptor: Int32
    private(set) var phase = RequestPhase.head
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

    mutating func recordBody(bodyBytes: Int) {
        if case .body(_, let mark, let began) = phase {
            phase = .body(bytes: bodyBytes, atMark: mark, began: began)
        }
    }

    /// Notes the request line of a later request.
    mutating func enterHead(now: Instant) {
        if case .idle = phase { enter(.head, now: now) }
    }

    mutating func enterIdle(now: Instant) {
        if descriptor >= 0 { enter(.idle(received: mhd_bytes_received(descriptor)), now: now) }
    }

    /// Cuts a connection that is past its deadline. Returns the slot of an overdue answer, to be filled
    /// without the lock.
    mutating func cutIfOverdue(now: Instant, limits: HTTPLimits) -> ReplySlot? {
        guard descriptor >= 0 else { return nil }
        let elapsed = now.milliseconds(since: phaseStart)
        switch phase {
        case .head:
            if elapsed > limits.headMilliseconds {
                cut(with: .tooSlow("the headers took longer than \(limits.headMilliseconds) ms"))
            }
        case .body(let bytes, let mark, let began):
            guard now.milliseconds(since: began) <= limits.bodyMilliseconds else {
                cut(
                    with: .tooSlow(
                        "the body took longer than \(limits.bodyMilliseconds) ms; send smaller bodies"))
                break
            }
            guard elapsed > limits.bodyGraceMilliseconds else { break }
            if bytes - mark < limits.bodyBytesPerSecondMin * elapsed / 1000 {
                cut(
                    with: .tooSlow(
                        "the body came at less than \(limits.bodyBytesPerSecondMin) bytes per second"))
            } else {
                enter(.body(bytes: bytes, atMark: bytes, began: began), now: now)
            }
        case .answering(let slot):
            if elapsed > limits.answerMilliseconds { return slot }
        case .sending:
            if elapsed > limits.sendMilliseconds { cut(with: nil) }
        case .idle(let received):
            if elapsed > limits.idleMilliseconds {
                cut(with: nil)
            } else if mhd_bytes_received(descriptor) > received {
                enter(.head, now: now)
            }
        case .cut: break
        }
        return nil
    }

    /// Shuts the socket down, with a last answer to the peer. The library then reads the end of the input.
    mutating func cut(with refusal: HTTPRefusal?) {
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
