internal import CNghttp2

/// Handling of nghttp2's callbacks. Nothing here may trap, throw or block, because the bytes come from the
/// client.
extension ServerSession {
    func slot(of stream: Int32) -> UnsafeMutablePointer<ServerSlot>? {
        let data = unsafe nghttp2_session_get_stream_user_data(handle.sessionPointer, stream)
        return unsafe data?.assumingMemoryBound(to: ServerSlot.self)
    }

    /// Begins a request, or its trailers, which are ignored.
    func beginHeaders(of frame: UnsafePointer<nghttp2_frame>) {
        unsafe slotBeingRead = nil
        guard unsafe frame.pointee.hd.type == NGHTTP2_HEADERS.rawValue,
            unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
        else { return }
        let stream = unsafe frame.pointee.hd.stream_id
        guard stream <= ownGoaway.last else { return }
        lastStream = max(lastStream, stream)
        guard let slot = unsafe slots.acquire() else {
            return handle.reset(stream: stream, code: .refusedStream)
        }
        unsafe slot.pointee.begin(stream: stream)
        _ = unsafe nghttp2_session_set_stream_user_data(handle.sessionPointer, stream, slot)
        unsafe slotBeingRead = slot
    }

    func addHeader(
        name: UnsafePointer<UInt8>, count nameCount: Int, value: UnsafePointer<UInt8>, count valueCount: Int
    ) {
        guard let slot = unsafe slotBeingRead, unsafe !slot.pointee.areHeadersTruncated else { return }
        unsafe slot.pointee.headerListBytes += nameCount + valueCount + 32
        guard unsafe slot.pointee.headerListBytes <= limits.headerListBytesMax else {
            unsafe slot.pointee.areHeadersTruncated = true
            return
        }
        unsafe slot.pointee.request.appendField(
            name: UnsafeRawBufferPointer(start: name, count: nameCount),
            value: UnsafeRawBufferPointer(start: value, count: valueCount))
        let end = unsafe slot.pointee.request.count
        unsafe slot.pointee.fieldBytes = end
        guard unsafe name[0] == UInt8(ascii: ":") else { return }
        // nghttp2 passes only the pseudo fields of a request, and their lengths tell them apart.
        if nameCount == 5 { unsafe slot.pointee.path = end - valueCount..<end }
        if unsafe nameCount == 7 && name[1] == UInt8(ascii: "m") {
            unsafe slot.pointee.method = end - valueCount..<end
        }
    }

    func receiveData(of stream: Int32, bytes: UnsafePointer<UInt8>, count: Int) {
        guard let slot = unsafe slot(of: stream) else {
            _ = unsafe nghttp2_session_consume_connection(handle.sessionPointer, count)
            return
        }
        if holdsWindows {
            unsafe slot.pointee.heldBytes += count
            heldBytes += count
        } else {
            _ = unsafe nghttp2_session_consume(handle.sessionPointer, stream, count)
        }
        guard unsafe !slot.pointee.isDelivered else { return }
        let held = unsafe slot.pointee.request.count - slot.pointee.fieldBytes
        let kept = min(count, limits.bodyBytesMax - held)
        unsafe slot.pointee.request.append(bytes, count: kept)
        if kept < count {
            unsafe slot.pointee.isBodyTruncated = true
            unsafe deliverRequest(in: slot)
        }
    }

    func handleReceivedFrame(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = unsafe frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_DATA.rawValue, NGHTTP2_HEADERS.rawValue:
            guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
                let slot = unsafe slot(of: header.stream_id)
            else { return }
            unsafe slot.pointee.isComplete = true
            if unsafe !slot.pointee.isDelivered { unsafe deliverRequest(in: slot) }
        case NGHTTP2_SETTINGS.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0:
            events.settings = handle.peerSettings
        case NGHTTP2_GOAWAY.rawValue:
            events.goaway = unsafe Goaway(frame.pointee.goaway)
        case NGHTTP2_PING.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0:
            let bytes = unsafe frame.pointee.ping.bigEndianBytes
            guard bytes == openPing else { return }
            openPing = nil
            events.pong = bytes
        default: break
        }
    }

    private func deliverRequest(in slot: UnsafeMutablePointer<ServerSlot>) {
        unsafe arrivedRequests.pointee.append(slot)
        unsafe slot.pointee.isDelivered = true
        unsafe slot.pointee.request.removeAll()
        unsafe slot.pointee.fieldBytes = 0
    }

    func willSendFrame(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = unsafe frame.pointee.hd
        if header.type == NGHTTP2_HEADERS.rawValue {
            guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
                let slot = unsafe slot(of: header.stream_id)
            else { return }
            unsafe endResponse(in: slot)
        } else if header.type == NGHTTP2_GOAWAY.rawValue {
            let code = unsafe HTTP2ErrorCode(rawValue: frame.pointee.goaway.error_code)
            if code != .noError, code != ownGoaway.code { events.failure = .violation(code) }
        }
    }

    /// Writes one DATA frame from the shared body.
    func sendBody(
        of slot: UnsafeMutableRawPointer, header: UnsafePointer<UInt8>, count: Int
    ) -> CInt {
        let slot = unsafe slot.assumingMemoryBound(to: ServerSlot.self)
        guard let body = unsafe slot.pointee.body else {
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        let rest = unsafe body.bytes.baseAddress! + slot.pointee.bodySent
        guard unsafe handle.output.pointee.writeData(header: header, body: rest, count: count) else {
            return NGHTTP2_ERR_WOULDBLOCK.rawValue
        }
        unsafe slot.pointee.bodySent += count
        if unsafe slot.pointee.bodySent == body.count { unsafe endResponse(in: slot) }
        return 0
    }

    /// Ends the stream with the last frame of an answer. A client that still sends gets a reset. Otherwise it
    /// could keep the stream open forever.
    private func endResponse(in slot: UnsafeMutablePointer<ServerSlot>) {
        if recordsSentResponses { sentResponses.append(unsafe slot.pointee.streamID) }
        if unsafe !slot.pointee.isComplete {
            unsafe handle.reset(stream: slot.pointee.stream, code: .noError)
        }
    }
}
