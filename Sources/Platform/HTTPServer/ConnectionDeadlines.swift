internal import CMicroHTTPD
internal import Glibc
internal import Lifecycle

/// The phase that a connection is in, and the time at which the phase began. The deadline follows from both.
/// libmicrohttpd has only an idle timeout, and a peer that sends one byte now and then resets it forever.
///
/// `HTTPConnection` keeps this value under a lock. The server's thread and the thread of `DeadlineWatcher` hold the lock
/// while they use the descriptor, so that the library cannot close it meanwhile.
struct ConnectionDeadlines {
    enum RequestPhase {
        /// The connection waits for the end of the headers.
        case head
        case body(BodyProgress)
        /// A deferred handler has the request and will put the answer into the slot.
        case answering(ReplySlot)
        /// The answer is being sent.
        case sending
        /// The connection is between requests. `received` is the number of bytes that the kernel had received on it at
        /// the end of the last request.
        case idle(received: UInt64)
        /// The socket was shut down. The library will notice this and close it.
        case cut
    }

    /// The body as far as it has arrived. Its rate is checked in windows, and each counts only its own bytes. So a fast
    /// start cannot make up for a later silence.
    struct BodyProgress {
        /// Number of bytes that have arrived.
        var bytes = 0
        /// Number of bytes that had arrived when the window began.
        var bytesBeforeWindow = 0
        var windowStart: Instant

        init(startingAt start: Instant) { windowStart = start }
    }

    /// The descriptor, or -1 after the library has closed it.
    var descriptor: Int32
    /// The id of the current request, for an answer that the library can no longer send. Nil before the end of the head.
    var requestID: String?
    private(set) var phase = RequestPhase.head
    private(set) var phaseStart: Instant

    init(descriptor: Int32, now: Instant) {
        self.descriptor = descriptor
        phaseStart = now
    }

    /// Enters a phase. Returns false if the connection is cut. The request must not continue then.
    @discardableResult
    mutating func enter(_ phase: RequestPhase, now: Instant) -> Bool {
        if case .cut = self.phase { return false }
        self.phase = phase
        phaseStart = now
        return true
    }

    /// Notes how many bytes of the body have arrived in all.
    mutating func recordBody(receivedBytes: Int) {
        guard case .body(var body) = phase else { return }
        body.bytes = receivedBytes
        phase = .body(body)
    }

    /// Notes that a request has begun. The head of the first request begins with the connection.
    mutating func enterHead(now: Instant) {
        if case .idle = phase { enter(.head, now: now) }
    }

    /// Notes the end of a request.
    mutating func enterIdle(now: Instant) {
        requestID = nil
        if descriptor >= 0 { enter(.idle(received: mhd_bytes_received(descriptor)), now: now) }
    }

    /// Cuts the connection if it is past its deadline. If a handler is overdue, the connection stays open for an answer.
    ///
    /// - Returns: the slot of an overdue handler. The caller fills it when it has released the lock.
    mutating func enforceDeadline(now: Instant, limits: HTTPLimits) -> ReplySlot? {
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

    /// Cuts the connection if the body takes too long in all, or came too slowly in the window that ends now.
    private mutating func cutIfBodyIsTooSlow(now: Instant, limits: HTTPLimits) {
        guard case .body(var body) = phase else { return }
        guard now.milliseconds(since: phaseStart) <= limits.bodyMilliseconds else {
            let message = "the body took longer than \(limits.bodyMilliseconds) ms; send smaller bodies"
            return cut(with: .tooSlow(message))
        }
        let elapsed = now.milliseconds(since: body.windowStart)
        guard elapsed > limits.bodyGraceMilliseconds else { return }
        let bytesMin = limits.bodyBytesPerSecondMin * elapsed / 1000
        if body.bytes - body.bytesBeforeWindow < bytesMin {
            let message = "the body came at less than \(limits.bodyBytesPerSecondMin) bytes per second"
            cut(with: .tooSlow(message))
        } else {
            (body.bytesBeforeWindow, body.windowStart) = (body.bytes, now)
            phase = .body(body)
        }
    }

    /// Shuts the socket down, after a last answer to the peer if there is one. The library then reads an end
    /// of input.
    mutating func cut(with refusal: HTTPRefusal?) {
        if descriptor >= 0 {
            if let bytes = refusal?.bytes(withRequestID: requestID ?? RequestID.random()) {
                // The peer may get only a part of the answer, because nothing waits for a full socket here.
                _ = unsafe send(
                    descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
        phase = .cut
    }
}
