package import Lifecycle

/// Requests that end by their owner, by their deadline or with their connection. The peer ends requests
/// through `streamClosed`.
extension ClientSession {
    /// Ends the requests whose deadline or time to leave has passed, and resets the streams whose late
    /// answers are no longer awaited. It looks at every open request, so call it only a few times a second.
    package func expire(at now: Instant) {
        let giveUp = now.advanced(byMilliseconds: -limits.lateAnswerMilliseconds)
        unsafe forEachOpen { slot in
            let hasLeft = unsafe slot.pointee.hasLeft
            let isOverdue = unsafe slot.pointee.deadline <= now.nanoseconds
            let isTooLate = unsafe slot.pointee.leaveBy <= now.nanoseconds && !hasLeft
            guard isOverdue || isTooLate else { return }
            // An unsent request must not be sent any more, because it is reported as unprocessed.
            let isGivenUp = unsafe slot.pointee.deadline <= giveUp.nanoseconds || !hasLeft
            if unsafe !slot.pointee.isReported { unsafe report(slot, .overdue) }
            if isGivenUp { unsafe reset(slot) }
        }
    }

    /// Ends one request at once. Returns false if it has already ended.
    package func cancel(_ request: RequestID) -> Bool {
        let slot = unsafe slots[Int(request.index)]
        guard unsafe slot.pointee.generation == request.generation, unsafe slot.pointee.isTaken,
            unsafe !slot.pointee.isReported
        else { return false }
        unsafe report(slot, .cancelled)
        unsafe reset(slot)
        return true
    }

    /// Withdraws a request that was not fully sent. Returns false if it may have been sent or has ended.
    package func withdraw(_ request: RequestID) -> Bool {
        let slot = unsafe slots[Int(request.index)]
        guard unsafe slot.pointee.generation == request.generation, unsafe !slot.pointee.hasLeft else {
            return false
        }
        return cancel(request)
    }

    /// Withdraws every request that was not fully sent.
    package func withdrawAll() {
        unsafe forEachOpen { slot in
            guard unsafe !slot.pointee.isReported && !slot.pointee.hasLeft else { return }
            unsafe report(slot, .cancelled)
            unsafe reset(slot)
        }
    }

    /// Sends GOAWAY and takes no more requests. Open requests continue, and then `isOver` becomes true.
    package func finish() {
        guard !isClosed, !isFinishing else { return }
        isFinishing = true
        requestsLeft = 0
        control.goaway(.noError)
    }

    /// Ends every open request, because the connection is gone. A second call does nothing.
    package func end() {
        isClosed = true
        unsafe forEachOpen { slot in
            let end: RequestOutcome.End = unsafe slot.pointee.hasLeft ? .connectionLost : .notProcessed
            unsafe report(slot, slot.pointee.isReported ? .released : end)
            unsafe release(slot)
        }
    }

    // MARK: Shared with the other extensions

    /// Ends the request of a stream that the peer closed or in which a rule was broken.
    func streamClosed(_ slot: UnsafeMutablePointer<RequestSlot>, _ code: ErrorCode) {
        if unsafe slot.pointee.isReported {
            unsafe report(slot, .released, code: code)
        } else {
            unsafe report(slot, code == .refusedStream ? .refused : .reset, code: code)
        }
        unsafe release(slot)
    }

    /// Ends a request as `overdue` and unprocessed, because the rest of it must not be sent. The request is
    /// on no list.
    func endTooLate(_ slot: UnsafeMutablePointer<RequestSlot>) {
        if unsafe !slot.pointee.isReported { unsafe report(slot, .overdue) }
        unsafe reset(slot)
    }

    /// Ends a request that, according to a GOAWAY, was not and will not be processed.
    func endUnprocessed(_ slot: UnsafeMutablePointer<RequestSlot>) {
        unsafe report(slot, slot.pointee.isReported ? .released : .notProcessed, code: .refusedStream)
        unsafe release(slot)
    }

    func report(
        _ slot: UnsafeMutablePointer<RequestSlot>, _ end: RequestOutcome.End, code: ErrorCode = .noError
    ) {
        unsafe ended.pointee.append(slot, end, code: code, hasLeft: end == .answered || slot.pointee.hasLeft)
        unsafe slot.pointee.isReported = true
    }

    /// Queues a reset. The stream closes when `pull` writes it, also if the peer does not know the stream.
    private func reset(_ slot: UnsafeMutablePointer<RequestSlot>) {
        // Prevents a second reset by the next check of the deadlines.
        unsafe slot.pointee.deadline = .max
        unsafe slot.pointee.leaveBy = .max
        unsafe leaveList(slot)
        unsafe resetting.append(slot)
    }

    func release(_ slot: UnsafeMutablePointer<RequestSlot>) {
        unsafe leaveList(slot)
        unsentBytes -= unsafe slot.pointee.bodyBytes.count - slot.pointee.bodySent
        if case let stream = unsafe slot.pointee.stream, stream != 0 {
            streams.remove(stream)
            openStreams -= 1
        }
        if let own = unsafe slot.pointee.shared { unsafe shared.leave(own) }
        unsafe slot.pointee.clear()
        unsafe slots.giveBack(slot.pointee.index)
    }

    private func leaveList(_ slot: UnsafeMutablePointer<RequestSlot>) {
        switch unsafe slot.pointee.wait {
        case .answer: break
        case .stream: unsafe waiting.remove(slot)
        case .window: unsafe sending.remove(slot)
        case .reset: unsafe resetting.remove(slot)
        }
    }

    func fail(_ failure: SessionFailure) {
        isClosed = true
        events.failure = failure
    }

    func forEachOpen(_ body: (UnsafeMutablePointer<RequestSlot>) -> Void) {
        for index in 0..<slots.capacity {
            let slot = unsafe slots[index]
            if unsafe slot.pointee.isTaken { unsafe body(slot) }
        }
    }
}
