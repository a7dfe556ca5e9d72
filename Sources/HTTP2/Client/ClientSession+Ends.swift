package import Lifecycle

/// How requests end: by their owner, by their deadline, with their connection. (Those that the peer
/// ends come through `streamClosed`.)
extension ClientSession {
    /// Ends the requests whose deadline has passed or that had to leave before, and gives up on late
    /// answers. Looks at every open request: call it a few times a second.
    package func expire(at now: Instant) {
        let giveUp = now.advanced(byMilliseconds: -limits.lateAnswerMilliseconds)
        unsafe forEachOpen { slot in
            let hasLeft = unsafe slot.pointee.hasLeft
            let isOverdue = unsafe slot.pointee.deadline <= now.nanoseconds
            let isTooLate = unsafe slot.pointee.leaveBy <= now.nanoseconds && !hasLeft
            guard isOverdue || isTooLate else { return }
            // What has not left must not leave any more: it is called unprocessed.
            let isGivenUp = unsafe slot.pointee.deadline <= giveUp.nanoseconds || !hasLeft
            if unsafe !slot.pointee.isReported { unsafe report(slot, .overdue) }
            if isGivenUp { unsafe reset(slot) }
        }
    }

    /// Ends one request at once; false when it has ended already.
    package func cancel(_ request: RequestID) -> Bool {
        let slot = unsafe slots[Int(request.index)]
        guard unsafe slot.pointee.generation == request.generation, unsafe slot.pointee.isTaken,
            unsafe !slot.pointee.isReported
        else { return false }
        unsafe report(slot, .cancelled)
        unsafe reset(slot)
        return true
    }

    /// Takes a request back that has not left to its end; false when it may have, or when it has ended.
    package func withdraw(_ request: RequestID) -> Bool {
        let slot = unsafe slots[Int(request.index)]
        guard unsafe slot.pointee.generation == request.generation, unsafe !slot.pointee.hasLeft else {
            return false
        }
        return cancel(request)
    }

    /// Takes back every request that has not left to its end.
    package func withdrawAll() {
        unsafe forEachOpen { slot in
            guard unsafe !slot.pointee.isReported && !slot.pointee.hasLeft else { return }
            unsafe report(slot, .cancelled)
            unsafe reset(slot)
        }
    }

    /// Says GOAWAY and takes no more requests; those that are open go on. Then `isOver` follows.
    package func finish() {
        guard !isClosed, !isFinishing else { return }
        isFinishing = true
        requestsLeft = 0
        control.goaway(.noError)
    }

    /// The connection is gone: every open request ends here. Does nothing the second time.
    package func end() {
        isClosed = true
        unsafe forEachOpen { slot in
            let end: RequestOutcome.End = unsafe slot.pointee.hasLeft ? .connectionLost : .notProcessed
            unsafe report(slot, slot.pointee.isReported ? .released : end)
            unsafe release(slot)
        }
    }

    // MARK: For the other parts

    /// The peer closed its stream, or a rule was broken in it.
    func streamClosed(_ slot: UnsafeMutablePointer<RequestSlot>, _ code: ErrorCode) {
        if unsafe slot.pointee.isReported {
            unsafe report(slot, .released, code: code)
        } else {
            unsafe report(slot, code == .refusedStream ? .refused : .reset, code: code)
        }
        unsafe release(slot)
    }

    /// It must not leave any more, or not to its end: as `overdue`, unprocessed. It is on no list.
    func endTooLate(_ slot: UnsafeMutablePointer<RequestSlot>) {
        if unsafe !slot.pointee.isReported { unsafe report(slot, .overdue) }
        unsafe reset(slot)
    }

    /// A GOAWAY said that it was not and will not be processed.
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

    /// The stream closes when `pull` gives that out, or at once then if the peer does not know it.
    private func reset(_ slot: UnsafeMutablePointer<RequestSlot>) {
        // Once is enough: the next look at the deadlines must not do it again.
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
