internal import CNghttp2
package import Lifecycle

/// How requests end: by their owner, by their deadline, with their connection. (Those that the peer
/// ends come through `streamClosed`.)
extension ClientSession {
    /// Ends the requests whose deadline has passed or that had to leave before, and gives up on late
    /// answers. Looks at every open request: call it a few times a second.
    package func expire(at now: Instant) {
        let giveUp = now.advanced(byMilliseconds: -limits.lateAnswerMilliseconds)
        unsafe forEachOpen { slot in
            let isOverdue = unsafe slot.pointee.deadline <= now.nanoseconds
            let isTooLate = unsafe slot.pointee.leaveBy <= now.nanoseconds && !hasLeft(slot)
            guard isOverdue || isTooLate else { return }
            // What has not left must not leave any more: it is called unprocessed.
            let isGivenUp = unsafe slot.pointee.deadline <= giveUp.nanoseconds || !hasLeft(slot)
            if unsafe !slot.pointee.isReported { unsafe report(slot, .overdue) }
            if isGivenUp { unsafe reset(slot) }
        }
    }

    /// Ends one request at once; false when it has ended already.
    package func cancel(_ request: RequestID) -> Bool {
        let slot = unsafe slots[Int(request.index)]
        guard unsafe slot.pointee.generation == request.generation, unsafe slot.pointee.stream != 0,
            unsafe !slot.pointee.isReported
        else { return false }
        unsafe report(slot, .cancelled)
        unsafe reset(slot)
        return true
    }

    /// Takes a request back that has not left to its end; false when it may have, or when it has ended.
    package func withdraw(_ request: RequestID) -> Bool {
        let slot = unsafe slots[Int(request.index)]
        guard unsafe slot.pointee.generation == request.generation, unsafe !hasLeft(slot) else {
            return false
        }
        return cancel(request)
    }

    /// Takes back every request that has not left to its end.
    package func withdrawAll() {
        unsafe forEachOpen { slot in
            guard unsafe !slot.pointee.isReported && !hasLeft(slot) else { return }
            unsafe report(slot, .cancelled)
            unsafe reset(slot)
        }
    }

    /// Says GOAWAY and takes no more requests; those that are open go on. Then `isOver` follows.
    package func finish() {
        guard !isClosed else { return }
        requestsLeft = 0
        handle.goaway(lastStream: 0, code: .noError, debug: [])
    }

    /// The connection is gone: every open request ends here. Does nothing the second time.
    package func end() {
        isClosed = true
        unsafe forEachOpen { slot in
            if unsafe slot.pointee.isReported {
                unsafe report(slot, .released)
            } else {
                unsafe report(slot, hasLeft(slot) ? .connectionLost : .notProcessed)
            }
            unsafe release(slot)
        }
    }

    /// A stream closed, for whatever reason: nghttp2 tells it once for each.
    func streamClosed(_ slot: UnsafeMutablePointer<RequestSlot>, _ code: ErrorCode) {
        // An owner that the outcome reaches may submit into this slot next turn, not before.
        if unsafe slot.pointee.isAnswered {
            unsafe report(slot, .answered)
        } else if unsafe slot.pointee.isReported {
            unsafe report(slot, .released, code: code)
        } else {
            unsafe report(slot, unansweredEnd(slot, code), code: code)
        }
        unsafe release(slot)
    }

    /// It must not leave any more, or not to its end: as `overdue`, unprocessed.
    func endTooLate(_ slot: UnsafeMutablePointer<RequestSlot>) {
        if unsafe !slot.pointee.isReported { unsafe report(slot, .overdue) }
        unsafe slot.pointee.deadline = .max
        unsafe slot.pointee.leaveBy = .max
    }

    /// nghttp2 closes with REFUSED_STREAM also what it did not send and what is above a GOAWAY.
    private func unansweredEnd(
        _ slot: UnsafeMutablePointer<RequestSlot>, _ code: ErrorCode
    ) -> RequestOutcome.End {
        if unsafe slot.pointee.stream > lastLeft { return .notProcessed }
        if let goawayLast, unsafe slot.pointee.stream > goawayLast { return .notProcessed }
        return code == .refusedStream ? .refused : .reset
    }

    /// Both its headers and its END_STREAM were given out.
    private func hasLeft(_ slot: UnsafeMutablePointer<RequestSlot>) -> Bool {
        unsafe slot.pointee.stream <= lastLeft && !slot.pointee.isSendingBody
    }

    private func report(
        _ slot: UnsafeMutablePointer<RequestSlot>, _ end: RequestOutcome.End, code: ErrorCode = .noError
    ) {
        unsafe ended.pointee.append(slot, end, code: code, hasLeft: end == .answered || hasLeft(slot))
        unsafe slot.pointee.isReported = true
    }

    private func reset(_ slot: UnsafeMutablePointer<RequestSlot>) {
        // Once is enough: the next look at the deadlines must not send another.
        unsafe slot.pointee.deadline = .max
        unsafe slot.pointee.leaveBy = .max
        unsafe handle.reset(slot.pointee.stream, .cancel)
    }

    func release(_ slot: UnsafeMutablePointer<RequestSlot>) {
        if unsafe reading == slot { unsafe reading = nil }
        unsentBytes -= unsafe slot.pointee.bodyBytes.count - slot.pointee.bodySent
        unsafe slot.pointee.clear()
        unsafe slots.giveBack(slot.pointee.index)
    }

    func fail(_ failure: SessionFailure) {
        isClosed = true
        events.failure = failure
    }

    private func forEachOpen(_ body: (UnsafeMutablePointer<RequestSlot>) -> Void) {
        for index in 0..<slots.capacity {
            let slot = unsafe slots[index]
            if unsafe slot.pointee.stream != 0 { unsafe body(slot) }
        }
    }
}
