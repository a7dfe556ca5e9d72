package import Lifecycle

/// The ends of requests: by their owner, by their deadline, by the peer (`handleStreamClose`), or with their
/// connection.
///
/// A request that ends as `overdue` or `cancelled` is reported at once, and its `isReported` becomes true. It keeps its
/// slot until its stream is closed or reset. The end of the stream then appends a second outcome: the late answer, or
/// `released`.
extension ClientSession {
    /// Ends the requests whose deadline has passed, and those that are not fully sent when their deadline for sending
    /// has passed. Resets the streams of which even a late answer is overdue. It looks at every slot, so call it only a
    /// few times a second.
    package func endExpiredRequests(at now: Instant) {
        let lateResponseLimit = now.advanced(byMilliseconds: -limits.lateResponseMilliseconds)
        unsafe forEachUsedSlot { slot in
            let isFullySent = unsafe slot.pointee.isFullySent
            let isOverdue = unsafe slot.pointee.deadline <= now.nanoseconds
            let isTooLateToSend = unsafe slot.pointee.sendDeadline <= now.nanoseconds && !isFullySent
            guard isOverdue || isTooLateToSend else { return }
            if unsafe !slot.pointee.isReported { unsafe report(slot, endReason: .overdue) }
            // The rest of a request must not be sent any more, because the request is reported as unprocessed.
            let mustReset = unsafe slot.pointee.deadline <= lateResponseLimit.nanoseconds || !isFullySent
            if mustReset { unsafe reset(slot: slot) }
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

    /// Ends a request as `cancelled` if it was not fully sent. Returns false if it was, or has ended.
    package func withdraw(_ request: RequestID) -> Bool {
        let slot = unsafe slots[Int(request.index)]
        guard unsafe slot.pointee.generation == request.generation, unsafe !slot.pointee.isFullySent else {
            return false
        }
        return cancel(request)
    }

    /// Ends every request that was not fully sent as `cancelled`.
    package func withdrawAll() {
        unsafe forEachUsedSlot { slot in
            guard unsafe !slot.pointee.isReported && !slot.pointee.isFullySent else { return }
            unsafe report(slot, endReason: .cancelled)
            unsafe reset(slot: slot)
        }
    }

    /// Sends GOAWAY and takes no more requests. Open requests continue, and `isFinished` is true after them.
    package func finish() {
        guard !isClosed, !isFinishing else { return }
        isFinishing = true
        remainingRequests = 0
        controlFrames.appendGoaway(code: .noError)
    }

    /// Ends every open request, because the connection is gone. A second call does nothing.
    package func end() {
        isClosed = true
        unsafe forEachUsedSlot { slot in
            let endReason: RequestOutcome.EndReason =
                unsafe slot.pointee.isFullySent ? .connectionLost : .notProcessed
            unsafe report(slot, endReason: slot.pointee.isReported ? .released : endReason)
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

    /// Ends a request as `overdue` and unprocessed, because the rest of it must not be sent any more. The
    /// caller has removed it from its wait list.
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

    /// Appends the outcome of a request.
    func report(
        _ slot: UnsafeMutablePointer<RequestSlot>, endReason: RequestOutcome.EndReason,
        code: HTTP2ErrorCode = .noError
    ) {
        unsafe collectedOutcomes.pointee.append(
            slot, endReason: endReason, code: code,
            mayHaveBeenSent: endReason == .answered || slot.pointee.isFullySent)
        unsafe slot.pointee.isReported = true
    }

    /// Puts a request on the list `waitingForReset`. `pull` then writes the reset, if the peer knows the
    /// stream, and releases the slot.
    private func reset(slot: UnsafeMutablePointer<RequestSlot>) {
        // Without deadlines, `endExpiredRequests` does not reset it again.
        unsafe slot.pointee.deadline = .max
        unsafe slot.pointee.sendDeadline = .max
        unsafe removeFromWaitList(slot)
        unsafe waitingForReset.append(slot)
    }

    /// Frees the slot of a request after its last outcome.
    func release(slot: UnsafeMutablePointer<RequestSlot>) {
        unsafe removeFromWaitList(slot)
        unsentBytes -= unsafe slot.pointee.requestBody.count - slot.pointee.sentBodyBytes
        let stream = unsafe slot.pointee.stream
        // The stream is 0 if it was never opened.
        if stream != 0 {
            streamTable.remove(stream)
            openStreamCount -= 1
        }
        if let sharedRequest = unsafe slot.pointee.sharedRequest {
            unsafe sharedRequests.release(sharedRequest)
        }
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

    /// Ends the session without another frame.
    func fail(with failure: SessionFailure) {
        isClosed = true
        events.failure = failure
    }

    func forEachUsedSlot(_ body: (UnsafeMutablePointer<RequestSlot>) -> Void) {
        for index in 0..<slots.capacity {
            let slot = unsafe slots[index]
            if unsafe slot.pointee.isInUse { unsafe body(slot) }
        }
    }
}
