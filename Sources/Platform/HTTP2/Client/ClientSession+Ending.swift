package import Lifecycle

/// Requests that end by their owner, by their deadline or with their connection. The peer ends requests
/// through `streamClosed`.
extension ClientSession {
    /// Ends the requests whose deadline or time to leave has passed, and resets the streams whose late
    /// answers are no longer awaited. It looks at every open request, so call it only a few times a second.
    package func endExpiredRequests(at now: Instant) {
        let giveUp = now.advanced(byMilliseconds: -limits.lateResponseMilliseconds)
        unsafe forEachOpen { slot in
            let hasLeft = unsafe slot.pointee.isFullySent
            let isOverdue = unsafe slot.pointee.deadline <= now.nanoseconds
            let isTooLate = unsafe slot.pointee.sendDeadline <= now.nanoseconds && !hasLeft
            guard isOverdue || isTooLate else { return }
            // An unsent request must not be sent any more, because it is reported as unprocessed.
            let isGivenUp = unsafe slot.pointee.deadline <= giveUp.nanoseconds || !hasLeft
            if unsafe !slot.pointee.isReported { unsafe report(slot, endReason: .overdue) }
            if isGivenUp { unsafe reset(slot: slot) }
        }
    }

    /// Ends one request at once. Returns false if it has already ended.
    package func cancel(_ request: RequestID) -> Bool {
        let slot = unsafe slots[Int(request.index)]
        guard unsafe slot.pointee.generation == request.generation, unsafe slot.pointee.isInUse,
            unsafe !slot.pointee.isReported
        else { return false }
        unsafe report(slot, endReason: .cancelled)
        unsafe reset(slot: slot)
        return true
    }

    /// Withdraws a request that was not fully sent. Returns false if it may have been sent or has ended.
    package func withdraw(_ request: RequestID) -> Bool {
        let slot = unsafe slots[Int(request.index)]
        guard unsafe slot.pointee.generation == request.generation, unsafe !slot.pointee.isFullySent else {
            return false
        }
        return cancel(request)
    }

    /// Withdraws every request that was not fully sent.
    package func withdrawAll() {
        unsafe forEachOpen { slot in
            guard unsafe !slot.pointee.isReported && !slot.pointee.isFullySent else { return }
            unsafe report(slot, endReason: .cancelled)
            unsafe reset(slot: slot)
        }
    }

    /// Sends GOAWAY and takes no more requests. Open requests continue, and then `isOver` becomes true.
    package func finish() {
        guard !isClosed, !isFinishing else { return }
        isFinishing = true
        requestsLeft = 0
        control.goaway(code: .noError)
    }

    /// Ends every open request, because the connection is gone. A second call does nothing.
    package func end() {
        isClosed = true
        unsafe forEachOpen { slot in
            let end: RequestOutcome.EndReason =
                unsafe slot.pointee.isFullySent ? .connectionLost : .notProcessed
            unsafe report(slot, endReason: slot.pointee.isReported ? .released : end)
            unsafe release(slot: slot)
        }
    }

    // MARK: Shared with the other extensions

    /// Ends the request of a stream that the peer closed or in which a rule was broken.
    func handleStreamClose(of slot: UnsafeMutablePointer<RequestSlot>, code: HTTP2ErrorCode) {
        if unsafe slot.pointee.isReported {
            unsafe report(slot, endReason: .released, code: code)
        } else {
            unsafe report(slot, endReason: code == .refusedStream ? .refused : .reset, code: code)
        }
        unsafe release(slot: slot)
    }

    /// Ends a request as `overdue` and unprocessed, because the rest of it must not be sent. The request is
    /// on no list.
    func endOverdueRequest(in slot: UnsafeMutablePointer<RequestSlot>) {
        if unsafe !slot.pointee.isReported { unsafe report(slot, endReason: .overdue) }
        unsafe reset(slot: slot)
    }

    /// Ends a request that, according to a GOAWAY, was not and will not be processed.
    func endUnprocessedRequest(in slot: UnsafeMutablePointer<RequestSlot>) {
        unsafe report(
            slot, endReason: slot.pointee.isReported ? .released : .notProcessed, code: .refusedStream)
        unsafe release(slot: slot)
    }

    func report(
        _ slot: UnsafeMutablePointer<RequestSlot>, endReason end: RequestOutcome.EndReason,
        code: HTTP2ErrorCode = .noError
    ) {
        unsafe collectedOutcomes.pointee.append(
            slot, endReason: end, code: code, mayHaveBeenSent: end == .answered || slot.pointee.isFullySent)
        unsafe slot.pointee.isReported = true
    }

    /// Queues a reset. The stream closes when `pull` writes it, also if the peer does not know the stream.
    private func reset(slot: UnsafeMutablePointer<RequestSlot>) {
        // Prevents a second reset by the next check of the deadlines.
        unsafe slot.pointee.deadline = .max
        unsafe slot.pointee.sendDeadline = .max
        unsafe removeFromWaitList(slot)
        unsafe waitingForReset.append(slot)
    }

    func release(slot: UnsafeMutablePointer<RequestSlot>) {
        unsafe removeFromWaitList(slot)
        unsentBytes -= unsafe slot.pointee.bodyBytes.count - slot.pointee.bodySent
        if case let stream = unsafe slot.pointee.stream, stream != 0 {
            streams.remove(stream)
            openStreams -= 1
        }
        if let own = unsafe slot.pointee.shared { unsafe shared.release(own) }
        unsafe slot.pointee.clear()
        unsafe slots.release(at: slot.pointee.index)
    }

    private func removeFromWaitList(_ slot: UnsafeMutablePointer<RequestSlot>) {
        switch unsafe slot.pointee.waitReason {
        case .response: break
        case .headers: unsafe waitingForHeaders.remove(slot)
        case .window: unsafe waitingForWindow.remove(slot)
        case .reset: unsafe waitingForReset.remove(slot)
        }
    }

    func fail(with failure: SessionFailure) {
        isClosed = true
        events.failure = failure
    }

    func forEachOpen(_ body: (UnsafeMutablePointer<RequestSlot>) -> Void) {
        for index in 0..<slots.capacity {
            let slot = unsafe slots[index]
            if unsafe slot.pointee.isInUse { unsafe body(slot) }
        }
    }
}
