/// Reading of the peer's frames: from bytes to whole frames, and each frame to the function of its type.
/// Nothing here may trap, because the bytes come from the peer.
extension ClientSession {
    /// Reads bytes from the peer, in pieces of any size.
    package func receive(_ bytes: UnsafeRawBufferPointer) {
        var remaining = unsafe bytes
        while !isClosed, !hasViolation, unsafe !remaining.isEmpty {
            unsafe remaining =
                incompleteFrame.count == 0
                ? readFrameInPlace(from: remaining) : completeFrame(from: remaining)
        }
    }

    /// Reads the frame that begins here without a copy, or stores it if it is incomplete.
    /// Returns the bytes after it.
    private func readFrameInPlace(from bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let noBytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        if bytes.count >= FrameHeader.byteCount {
            let header = unsafe FrameHeader(parsing: bytes)
            guard checkSize(of: header) else { return unsafe noBytes }
            let end = FrameHeader.byteCount + header.payloadBytes
            if bytes.count >= end {
                unsafe readFrame(
                    header, payload: UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.byteCount..<end]))
                return unsafe UnsafeRawBufferPointer(rebasing: bytes[end...])
            }
        }
        unsafe incompleteFrame.append(bytes)
        return unsafe noBytes
    }

    /// Continues the stored frame, and reads it when it is complete. Returns the bytes after it.
    private func completeFrame(from bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var remaining = unsafe bytes
        unsafe fill(upTo: FrameHeader.byteCount, from: &remaining)
        guard incompleteFrame.count >= FrameHeader.byteCount else { return unsafe remaining }
        let header = unsafe FrameHeader(parsing: incompleteFrame.bytes)
        guard checkSize(of: header) else { return unsafe remaining }
        let end = FrameHeader.byteCount + header.payloadBytes
        unsafe fill(upTo: end, from: &remaining)
        guard incompleteFrame.count == end else { return unsafe remaining }
        unsafe readFrame(
            header, payload: UnsafeRawBufferPointer(rebasing: incompleteFrame.bytes[FrameHeader.byteCount...])
        )
        incompleteFrame.removeAll()
        return unsafe remaining
    }

    /// Moves bytes to the stored frame until it has this number.
    private func fill(upTo count: Int, from remaining: inout UnsafeRawBufferPointer) {
        let movedCount = min(remaining.count, count - incompleteFrame.count)
        guard movedCount > 0 else { return }
        unsafe incompleteFrame.append(UnsafeRawBufferPointer(rebasing: remaining[..<movedCount]))
        unsafe remaining = UnsafeRawBufferPointer(rebasing: remaining[movedCount...])
    }

    /// Checks that the frame is not too large. Otherwise it reports a violation of the protocol, and returns false.
    /// This side's SETTINGS announce no frame size, so the limit is the protocol's default.
    private func checkSize(of header: FrameHeader) -> Bool {
        if header.payloadBytes <= FrameWriter.payloadBytesMax { return true }
        reportViolation(code: .frameSizeError)
        return false
    }

    /// Records a violation by the peer and sends GOAWAY. Nothing more is read.
    func reportViolation(code: HTTP2ErrorCode) {
        hasViolation = true
        // A peer that does not begin with SETTINGS does not speak HTTP/2.
        events.failure = hasSettings ? .violation(code) : .notHTTP2
        controlFrames.appendGoaway(code: code)
    }

    private func readFrame(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        if header.type == FrameHeader.FrameType.continuation {
            return unsafe readContinuation(header, payload: payload)
        }
        // Only CONTINUATION may follow HEADERS without END_HEADERS, and the peer's first frame is SETTINGS.
        guard incompleteBlock == nil else { return reportViolation(code: .protocolError) }
        guard hasSettings || header.type == FrameHeader.FrameType.settings else {
            return reportViolation(code: .protocolError)
        }
        switch header.type {
        case FrameHeader.FrameType.headers: unsafe readHeaders(header, payload: payload)
        case FrameHeader.FrameType.data: unsafe readData(header, payload: payload)
        case FrameHeader.FrameType.reset: unsafe readReset(header, payload: payload)
        case FrameHeader.FrameType.settings: unsafe readSettings(header, payload: payload)
        case FrameHeader.FrameType.ping: unsafe readPing(header, payload: payload)
        case FrameHeader.FrameType.goaway: unsafe readGoaway(header, payload: payload)
        case FrameHeader.FrameType.windowUpdate: unsafe readWindowUpdate(header, payload: payload)
        case FrameHeader.FrameType.priority: if header.stream == 0 { reportViolation(code: .protocolError) }
        // This side's SETTINGS forbid server push.
        case FrameHeader.FrameType.pushPromise: reportViolation(code: .protocolError)
        // Unknown extensions are ignored.
        default: break
        }
    }

    // MARK: Streams

    /// Returns the slot of an open stream.
    func slot(of stream: Int32) -> UnsafeMutablePointer<RequestSlot>? {
        unsafe streamTable.slot(of: stream).map { unsafe slots[$0] }
    }

    /// Checks that this side has opened the stream. Otherwise it reports a violation of the protocol, and returns
    /// false. A frame for a closed stream is legal, because frames cross on the wire.
    func checkIsKnown(stream: Int32) -> Bool {
        guard stream & 1 == 1, stream < nextStream else {
            reportViolation(code: .protocolError)
            return false
        }
        return true
    }

    /// Resets one stream because the peer broke a rule in it.
    func resetMalformedStream(
        of slot: UnsafeMutablePointer<RequestSlot>, code: HTTP2ErrorCode = .protocolError
    ) {
        controlFrames.appendReset(stream: unsafe slot.pointee.stream, code: code)
        unsafe handleStreamClose(of: slot, code: code)
    }

    /// Returns the payload without padding, or nil if the padding is longer than the frame.
    func unpaddedPayload(of header: FrameHeader, payload: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard header.hasFlag(FrameHeader.FrameFlag.padded) else { return unsafe payload }
        guard let padding = unsafe payload.first.map({ Int($0) }), padding < payload.count else {
            reportViolation(code: .protocolError)
            return nil
        }
        return unsafe UnsafeRawBufferPointer(rebasing: payload[1..<payload.count - padding])
    }
}
