/// Reading of the peer's frames. Nothing here may trap, because the bytes come from the peer.
extension ClientSession {
    /// Reads bytes from the peer, in pieces of any size.
    package func receive(_ bytes: UnsafeRawBufferPointer) {
        var rest = unsafe bytes
        while !isClosed, !isBroken, unsafe !rest.isEmpty {
            unsafe rest = partial.count == 0 ? readInPlace(rest) : complete(rest)
        }
    }

    /// Reads the frame that begins here, or stores an incomplete one. Returns the bytes after it.
    private func readInPlace(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        if bytes.count >= FrameHeader.bytes {
            let header = unsafe FrameHeader(bytes)
            guard isAllowed(header) else { return unsafe none }
            let end = FrameHeader.bytes + header.count
            if bytes.count >= end {
                unsafe read(header, UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.bytes..<end]))
                return unsafe UnsafeRawBufferPointer(rebasing: bytes[end...])
            }
        }
        unsafe partial.append(bytes)
        return unsafe none
    }

    private func complete(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var rest = unsafe bytes
        unsafe fill(upTo: FrameHeader.bytes, from: &rest)
        guard partial.count >= FrameHeader.bytes else { return unsafe rest }
        let header = unsafe FrameHeader(partial.bytes)
        guard isAllowed(header) else { return unsafe rest }
        let end = FrameHeader.bytes + header.count
        unsafe fill(upTo: end, from: &rest)
        guard partial.count == end else { return unsafe rest }
        unsafe read(header, UnsafeRawBufferPointer(rebasing: partial.bytes[FrameHeader.bytes...]))
        partial.removeAll()
        return unsafe rest
    }

    private func fill(upTo count: Int, from rest: inout UnsafeRawBufferPointer) {
        let taken = min(rest.count, count - partial.count)
        guard taken > 0 else { return }
        unsafe partial.append(UnsafeRawBufferPointer(rebasing: rest[..<taken]))
        unsafe rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
    }

    /// Whether the frame size is allowed. This side's SETTINGS announce no frame size, so the protocol's
    /// minimum applies.
    private func isAllowed(_ header: FrameHeader) -> Bool {
        if header.count <= FrameWriter.payloadBytesMax { return true }
        violation(.frameSizeError)
        return false
    }

    /// Records a violation by the peer and sends GOAWAY. Nothing more is read.
    func violation(_ code: ErrorCode) {
        isBroken = true
        // A peer that does not begin with SETTINGS does not speak HTTP/2.
        events.failure = hasSettings ? .violation(code) : .notHTTP2
        control.goaway(code)
    }

    private func read(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        if header.kind == FrameHeader.Kind.continuation { return unsafe readContinuation(header, payload) }
        guard openBlock == nil else { return violation(.protocolError) }
        guard hasSettings || header.kind == FrameHeader.Kind.settings else {
            return violation(.protocolError)
        }
        switch header.kind {
        case FrameHeader.Kind.headers: unsafe readHeaders(header, payload)
        case FrameHeader.Kind.data: unsafe readData(header, payload)
        case FrameHeader.Kind.reset: unsafe readReset(header, payload)
        case FrameHeader.Kind.settings: unsafe readSettings(header, payload)
        case FrameHeader.Kind.ping: unsafe readPing(header, payload)
        case FrameHeader.Kind.goaway: unsafe readGoaway(header, payload)
        case FrameHeader.Kind.windowUpdate: unsafe readWindowUpdate(header, payload)
        case FrameHeader.Kind.priority: if header.stream == 0 { violation(.protocolError) }
        // This side's SETTINGS forbid server push.
        case FrameHeader.Kind.pushPromise: violation(.protocolError)
        // Unknown extensions are ignored.
        default: break
        }
    }

    // MARK: Streams

    func slot(of stream: Int32) -> UnsafeMutablePointer<RequestSlot>? {
        unsafe streams.slot(of: stream).map { unsafe slots[$0] }
    }

    /// Whether this side has opened the stream. A frame for any other stream violates the protocol. A frame
    /// for a closed stream is legal, because frames cross on the wire.
    func isKnown(_ stream: Int32) -> Bool {
        guard stream & 1 == 1, stream < nextStream else {
            violation(.protocolError)
            return false
        }
        return true
    }

    /// Resets one stream because the peer broke a rule in it.
    func malformed(_ slot: UnsafeMutablePointer<RequestSlot>, _ code: ErrorCode = .protocolError) {
        control.reset(unsafe slot.pointee.stream, code)
        unsafe streamClosed(slot, code)
    }

    /// Returns the payload without padding, or nil if the padding is longer than the frame.
    func unpadded(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard header.has(FrameHeader.Flag.padded) else { return unsafe payload }
        guard let padding = unsafe payload.first.map({ Int($0) }), padding < payload.count else {
            violation(.protocolError)
            return nil
        }
        return unsafe UnsafeRawBufferPointer(rebasing: payload[1..<payload.count - padding])
    }
}
