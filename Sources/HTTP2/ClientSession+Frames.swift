internal import CNghttp2

/// What nghttp2's callbacks bring. Nothing here may trap, throw or block: the bytes are the peer's.
extension ClientSession {
    func slot(of stream: Int32) -> UnsafeMutablePointer<RequestSlot>? {
        let data = unsafe nghttp2_session_get_stream_user_data(handle.raw, stream)
        return unsafe data?.assumingMemoryBound(to: RequestSlot.self)
    }

    /// The answer's header block begins, or a 1xx, or the trailers, which are of no interest.
    func headersBegin(_ frame: UnsafePointer<nghttp2_frame>) {
        unsafe reading = nil
        guard unsafe frame.pointee.hd.type == NGHTTP2_HEADERS.rawValue,
            let slot = unsafe slot(of: frame.pointee.hd.stream_id), unsafe slot.pointee.status < 200
        else { return }
        unsafe slot.pointee.beginAnswer()
        unsafe reading = slot
    }

    func header(
        _ name: UnsafePointer<UInt8>, count nameCount: Int, value: UnsafePointer<UInt8>, count valueCount: Int
    ) -> CInt {
        guard let slot = unsafe reading else { return 0 }
        unsafe slot.pointee.headerListBytes += nameCount + valueCount + 32
        if unsafe slot.pointee.headerListBytes > limits.headerListBytesMax {
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        if unsafe nameCount == 7 && name[0] == UInt8(ascii: ":") {
            unsafe slot.pointee.status = status(value, valueCount)
        } else if unsafe kept.contains(name, nameCount), valueCount <= limits.keptValueBytesMax {
            unsafe slot.pointee.bytes.appendField(name, count: nameCount, value: value, count: valueCount)
            unsafe slot.pointee.fieldBytes = slot.pointee.bytes.count
        }
        return 0
    }

    /// nghttp2 has made sure of three digits.
    private func status(_ value: UnsafePointer<UInt8>, _ count: Int) -> UInt16 {
        var status: UInt16 = 0
        for index in 0..<min(count, 3) {
            status = unsafe status &* 10 &+ UInt16(value[index] &- UInt8(ascii: "0"))
        }
        return status
    }

    func data(of stream: Int32, _ bytes: UnsafePointer<UInt8>, count: Int) {
        guard let slot = unsafe slot(of: stream) else { return }
        let held = unsafe slot.pointee.bytes.count - slot.pointee.fieldBytes
        let kept = min(count, limits.bodyBytesMax - held)
        unsafe slot.pointee.bytes.append(bytes, kept)
        if kept < count { unsafe slot.pointee.bodyIsCut = true }
    }

    func received(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = unsafe frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_DATA.rawValue, NGHTTP2_HEADERS.rawValue:
            if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 { answerEnded(header.stream_id) }
        case NGHTTP2_SETTINGS.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
            let settings = handle.peerSettings
            peerStreamsMax = Int(settings.concurrentStreamsMax)
            events.settings = settings
        case NGHTTP2_GOAWAY.rawValue:
            let goaway = unsafe Goaway(frame.pointee.goaway)
            goawayLast = goaway.lastStream
            events.goaway = goaway
        case NGHTTP2_PING.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0:
            let bytes = unsafe frame.pointee.ping.bigEndianBytes
            guard bytes == openPing else { return }
            openPing = nil
            events.pong = bytes
        default: break
        }
    }

    /// A peer may answer before it has read the whole body (413). There is no use in sending the rest.
    private func answerEnded(_ stream: Int32) {
        guard let slot = unsafe slot(of: stream) else { return }
        unsafe slot.pointee.isAnswered = true
        if unsafe slot.pointee.isSendingBody { handle.reset(stream, .noError) }
    }

    /// What nghttp2 is to do with the frame: send it, or drop it and close its stream.
    func willSend(_ frame: UnsafePointer<nghttp2_frame>) -> CInt {
        let header = unsafe frame.pointee.hd
        if header.type == NGHTTP2_HEADERS.rawValue {
            let slot = unsafe slot(of: header.stream_id)
            if let slot = unsafe slot, unsafe slot.pointee.leaveBy <= pulledAt {
                unsafe endTooLate(slot)
                return NGHTTP2_ERR_CANCEL.rawValue
            }
            lastLeft = max(lastLeft, header.stream_id)
            unsafe leaving = slot
        } else if header.type == NGHTTP2_GOAWAY.rawValue {
            let code = unsafe ErrorCode(rawValue: frame.pointee.goaway.error_code)
            if code != .noError { events.failure = .violation(code) }
        }
        return 0
    }
}

extension ClientSession {
    /// How much of a body goes into the next DATA frame, which `sendBody` writes. What waited for the peer's
    /// window until it had to have left is reset.
    func bodyBytes(
        of slot: UnsafeMutablePointer<RequestSlot>, room: Int, flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        if unsafe slot.pointee.leaveBy <= pulledAt {
            unsafe endTooLate(slot)
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let rest = unsafe slot.pointee.bodyBytes.count - slot.pointee.bodySent
        unsafe flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
        if rest <= room { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return min(rest, room)
    }

    /// Writes one DATA frame from the shared body.
    func sendBody(
        of slot: UnsafeMutableRawPointer, header: UnsafePointer<UInt8>, count: Int
    ) -> CInt {
        let slot = unsafe slot.assumingMemoryBound(to: RequestSlot.self)
        guard let body = unsafe slot.pointee.bodyBytes.baseAddress else {
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        let rest = unsafe body + slot.pointee.bodySent
        guard unsafe handle.output.pointee.data(header: header, body: rest, count: count) else {
            return NGHTTP2_ERR_WOULDBLOCK.rawValue
        }
        unsafe slot.pointee.bodySent += count
        unsentBytes -= count
        return 0
    }
}
