package import Lifecycle

/// Writing of frames, in this order: control frames, resets, bodies that wait for the peer's windows, new
/// requests. A request's DATA follows its HEADERS at once if the windows allow it.
extension ClientSession {
    /// Fills `buffer` with waiting frames and returns the number of bytes. If the buffer is full, call again.
    /// A request that is not fully sent ends here if its `sendDeadline` is not after `now`.
    package func pull(
        into buffer: UnsafeMutableRawBufferPointer, at now: Instant = Instant(nanoseconds: .min)
    ) -> Int {
        guard !isClosed else { return 0 }
        pulledAtNanoseconds = now.nanoseconds
        unsafe writer.begin(writingTo: buffer)
        controlFrames.pull(into: &writer)
        if !hasViolation {
            sendResets()
            sendBodies()
            sendRequests()
            // For the requests that `sendBodies` and `sendRequests` ended, because their deadline for sending has passed.
            sendResets()
        }
        return writer.finish()
    }

    // MARK: Requests

    /// Whether a waiting request can be sent. A request with a body waits until the window is open, because
    /// until then it can be withdrawn.
    var canSendRequest: Bool {
        guard let slot = unsafe waitingForHeaders.first, openStreamCount < peerStreamsMax,
            goawayLastStream == nil
        else {
            return false
        }
        return unsafe sendWindow > 0 || !slot.pointee.isSendingBody
    }

    private func sendRequests() {
        while !writer.isFull, canSendRequest, let slot = unsafe waitingForHeaders.first {
            unsafe waitingForHeaders.remove(slot)
            guard unsafe slot.pointee.sendDeadline > pulledAtNanoseconds else {
                unsafe endOverdueRequest(in: slot)
                continue
            }
            unsafe sendHeaders(of: slot)
            if unsafe !sendBody(of: slot) { unsafe waitingForWindow.append(slot) }
        }
    }

    /// Writes HEADERS, which opens the stream.
    private func sendHeaders(of slot: UnsafeMutablePointer<RequestSlot>) {
        guard let shared = unsafe slot.pointee.sharedRequest else { return }
        unsafe shared._withUnsafeGuaranteedRef { unsafe sendHeaders(of: slot, template: $0.template) }
    }

    private func sendHeaders(of slot: UnsafeMutablePointer<RequestSlot>, template: RequestTemplate) {
        let bytes = unsafe slot.pointee.buffer.bytes
        let pathBytes = unsafe slot.pointee.pathBytes
        let target = unsafe writer.reserve(
            byteCount: FrameHeader.byteCount
                + HeaderEncoder.bytesMax(for: template, path: pathBytes, varying: bytes.count - pathBytes))
        let count = unsafe encoder.write(
            template, path: UnsafeRawBufferPointer(rebasing: bytes[..<pathBytes]),
            varying: UnsafeRawBufferPointer(rebasing: bytes[pathBytes...]), to: target + FrameHeader.byteCount
        )
        let endsStream = unsafe !slot.pointee.isSendingBody
        let header = FrameHeader(
            payloadBytes: count, type: FrameHeader.FrameType.headers,
            flags: FrameHeader.FrameFlag.endHeaders | (endsStream ? FrameHeader.FrameFlag.endStream : 0),
            stream: nextStream)
        unsafe header.write(to: target)
        writer.commit(byteCount: FrameHeader.byteCount + count)
        unsafe slot.pointee.stream = nextStream
        unsafe slot.pointee.sendWindow = Int(peerSettings.streamWindowBytes)
        unsafe slot.pointee.beginResponse()
        unsafe streamTable.insert(nextStream, slot: slot.pointee.index)
        nextStream += 2
        openStreamCount += 1
    }

    // MARK: Bodies

    /// Whether a waiting body can be continued.
    var canSendBody: Bool {
        guard sendWindow > 0 else { return false }
        var next = unsafe waitingForWindow.first
        while let slot = unsafe next {
            if unsafe slot.pointee.sendWindow > 0 { return true }
            unsafe next = slot.pointee.next
        }
        return false
    }

    /// Continues the bodies that wait for the windows.
    private func sendBodies() {
        var next = unsafe waitingForWindow.first
        while let slot = unsafe next, !writer.isFull, sendWindow > 0 {
            unsafe next = slot.pointee.next
            guard unsafe slot.pointee.sendWindow > 0 else { continue }
            if unsafe slot.pointee.sendDeadline <= pulledAtNanoseconds {
                unsafe waitingForWindow.remove(slot)
                unsafe endOverdueRequest(in: slot)
            } else if unsafe sendBody(of: slot) {
                unsafe waitingForWindow.remove(slot)
            }
        }
    }

    /// Writes DATA as far as the windows and the buffer allow. Returns true if the body is complete.
    private func sendBody(of slot: UnsafeMutablePointer<RequestSlot>) -> Bool {
        while true {
            let remaining = unsafe slot.pointee.requestBody.count - slot.pointee.sentBodyBytes
            guard remaining > 0 else { return true }
            let count = unsafe min(
                remaining, FrameWriter.payloadBytesMax, sendWindow, slot.pointee.sendWindow)
            guard count > 0, !writer.isFull, let body = unsafe slot.pointee.requestBody.baseAddress else {
                return false
            }
            let target = unsafe writer.reserve(byteCount: FrameHeader.byteCount + count)
            let header = unsafe FrameHeader(
                payloadBytes: count, type: FrameHeader.FrameType.data,
                flags: count == remaining ? FrameHeader.FrameFlag.endStream : 0,
                stream: slot.pointee.stream)
            unsafe header.write(to: target)
            unsafe (target + FrameHeader.byteCount).copyMemory(
                from: body + slot.pointee.sentBodyBytes, byteCount: count)
            writer.commit(byteCount: FrameHeader.byteCount + count)
            unsafe slot.pointee.sentBodyBytes += count
            unsafe slot.pointee.sendWindow -= count
            sendWindow -= count
            unsentBytes -= count
        }
    }

    // MARK: Resets

    /// Resets the streams of requests that have ended, and releases their slots.
    private func sendResets() {
        while !writer.isFull, let slot = unsafe waitingForReset.first {
            if unsafe slot.pointee.stream != 0 {
                controlFrames.appendReset(stream: unsafe slot.pointee.stream, code: .cancel)
                controlFrames.pull(into: &writer)
            }
            unsafe report(slot, endReason: .released)
            unsafe release(slot: slot)
        }
    }
}
