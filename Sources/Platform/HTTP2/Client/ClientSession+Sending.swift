package import Lifecycle

/// Order of sending. A request's DATA follows its HEADERS at once if the peer's windows allow it.
extension ClientSession {
    /// Fills `buffer` with waiting frames. If the buffer is full, call again. Requests whose time to leave is
    /// before `now` end here.
    package func pull(
        into buffer: UnsafeMutableRawBufferPointer, at now: Instant = Instant(nanoseconds: .min)
    ) -> Int {
        guard !isClosed else { return 0 }
        pulledAt = now.nanoseconds
        unsafe writer.begin(writingTo: buffer)
        control.pull(into: &writer)
        if !isBroken {
            sendResets()
            sendBodies()
            sendRequests()
            // Resets the requests that `sendBodies` and `sendRequests` found too late.
            sendResets()
        }
        return writer.finish()
    }

    // MARK: Requests

    /// Whether a waiting request can be sent. A request with a body needs an open window. Until then it can
    /// be withdrawn.
    var canSendRequest: Bool {
        guard let slot = unsafe waitingForHeaders.first, openStreams < peerStreamsMax, goawayLast == nil
        else {
            return false
        }
        return unsafe sendWindow > 0 || !slot.pointee.isSendingBody
    }

    private func sendRequests() {
        while !writer.isFull, canSendRequest, let slot = unsafe waitingForHeaders.first {
            unsafe waitingForHeaders.remove(slot)
            guard unsafe slot.pointee.sendDeadline > pulledAt else {
                unsafe endOverdueRequest(in: slot)
                continue
            }
            unsafe sendHeaders(of: slot)
            if unsafe !sendBody(of: slot) { unsafe waitingForWindow.append(slot) }
        }
    }

    private func sendHeaders(of slot: UnsafeMutablePointer<RequestSlot>) {
        guard let shared = unsafe slot.pointee.shared else { return }
        unsafe shared._withUnsafeGuaranteedRef { unsafe sendHeaders(of: slot, template: $0.template) }
    }

    private func sendHeaders(of slot: UnsafeMutablePointer<RequestSlot>, template: RequestTemplate) {
        let bytes = unsafe slot.pointee.bytes.bytes
        let pathBytes = unsafe slot.pointee.pathBytes
        let target = unsafe writer.reserve(
            byteCount: FrameHeader.byteCount
                + HeaderEncoder.bytesMax(for: template, path: pathBytes, varying: bytes.count - pathBytes))
        let count = unsafe encoder.write(
            template, path: UnsafeRawBufferPointer(rebasing: bytes[..<pathBytes]),
            varying: UnsafeRawBufferPointer(rebasing: bytes[pathBytes...]), to: target + FrameHeader.byteCount
        )
        let isAll = unsafe !slot.pointee.isSendingBody
        let header = FrameHeader(
            payloadBytes: count, type: FrameHeader.FrameType.headers,
            flags: FrameHeader.FrameFlag.endHeaders | (isAll ? FrameHeader.FrameFlag.endStream : 0),
            stream: nextStream)
        unsafe header.write(to: target)
        writer.commit(byteCount: FrameHeader.byteCount + count)
        unsafe slot.pointee.stream = nextStream
        unsafe slot.pointee.sendWindow = Int(peer.streamWindowBytes)
        unsafe slot.pointee.beginResponse()
        unsafe streams.insert(nextStream, slot: slot.pointee.index)
        nextStream += 2
        openStreams += 1
    }

    // MARK: Bodies

    var canSendBody: Bool {
        guard sendWindow > 0 else { return false }
        var next = unsafe waitingForWindow.first
        while let slot = unsafe next {
            if unsafe slot.pointee.sendWindow > 0 { return true }
            unsafe next = slot.pointee.next
        }
        return false
    }

    private func sendBodies() {
        var next = unsafe waitingForWindow.first
        while let slot = unsafe next, !writer.isFull, sendWindow > 0 {
            unsafe next = slot.pointee.next
            guard unsafe slot.pointee.sendWindow > 0 else { continue }
            if unsafe slot.pointee.sendDeadline <= pulledAt {
                unsafe waitingForWindow.remove(slot)
                unsafe endOverdueRequest(in: slot)
            } else if unsafe sendBody(of: slot) {
                unsafe waitingForWindow.remove(slot)
            }
        }
    }

    /// Writes DATA as far as the windows and the buffer allow. Returns true if the body is complete.
    private func sendBody(of slot: UnsafeMutablePointer<RequestSlot>) -> Bool {
        while case let rest = unsafe slot.pointee.bodyBytes.count - slot.pointee.bodySent, rest > 0 {
            let count = unsafe min(rest, FrameWriter.payloadBytesMax, sendWindow, slot.pointee.sendWindow)
            guard count > 0, !writer.isFull, let body = unsafe slot.pointee.bodyBytes.baseAddress else {
                return false
            }
            let target = unsafe writer.reserve(byteCount: FrameHeader.byteCount + count)
            let header = unsafe FrameHeader(
                payloadBytes: count, type: FrameHeader.FrameType.data,
                flags: count == rest ? FrameHeader.FrameFlag.endStream : 0,
                stream: slot.pointee.stream)
            unsafe header.write(to: target)
            unsafe (target + FrameHeader.byteCount).copyMemory(
                from: body + slot.pointee.bodySent, byteCount: count)
            writer.commit(byteCount: FrameHeader.byteCount + count)
            unsafe slot.pointee.bodySent += count
            unsafe slot.pointee.sendWindow -= count
            sendWindow -= count
            unsentBytes -= count
        }
        return true
    }

    // MARK: Resets

    private func sendResets() {
        while !writer.isFull, let slot = unsafe waitingForReset.first {
            if unsafe slot.pointee.stream != 0 {
                control.reset(stream: unsafe slot.pointee.stream, code: .cancel)
                control.pull(into: &writer)
            }
            unsafe report(slot, endReason: .released)
            unsafe release(slot: slot)
        }
    }
}
