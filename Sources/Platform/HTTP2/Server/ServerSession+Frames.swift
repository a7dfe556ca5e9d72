internal import CNghttp2

/// Handling of nghttp2's callbacks, in the order of a stream: header fields, body, whole frames, and then the
/// answer. Nothing here may trap, throw or block, because the bytes come from the client.
extension ServerSession {
    /// Returns the slot of an open stream, which is the stream's user data in nghttp2.
    func slot(of stream: Int32) -> UnsafeMutablePointer<ServerSlot>? {
        let data = unsafe nghttp2_session_get_stream_user_data(handle.sessionPointer, stream)
        return unsafe data?.assumingMemoryBound(to: ServerSlot.self)
    }

    /// Begins a header block: of a request, or of trailers, which are ignored.
    func beginHeaders(of frame: UnsafePointer<nghttp2_frame>) {
        unsafe slotBeingRead = nil
        guard unsafe frame.pointee.hd.type == NGHTTP2_HEADERS.rawValue,
            unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
        else { return }
        let stream = unsafe frame.pointee.hd.stream_id
        guard stream <= ownGoaway.last else { return }
        lastStream = max(lastStream, stream)
        guard let slot = unsafe slots.acquire() else {
            return handle.submitReset(stream: stream, code: .refusedStream)
        }
        unsafe slot.pointee.begin(stream: stream)
        _ = unsafe nghttp2_session_set_stream_user_data(handle.sessionPointer, stream, slot)
        unsafe slotBeingRead = slot
    }

    /// Adds a header field to the request.
    func addHeader(
        name: UnsafePointer<UInt8>, count nameCount: Int, value: UnsafePointer<UInt8>, count valueCount: Int
    ) {
        guard let slot = unsafe slotBeingRead, unsafe !slot.pointee.areHeadersTruncated else { return }
        unsafe slot.pointee.headerListBytes += nameCount + valueCount + HeaderTable.entryOverheadBytes
        guard unsafe slot.pointee.headerListBytes <= limits.headerListBytesMax else {
            unsafe slot.pointee.areHeadersTruncated = true
            return
        }
        unsafe slot.pointee.requestBuffer.appendField(
            name: UnsafeRawBufferPointer(start: name, count: nameCount),
            value: UnsafeRawBufferPointer(start: value, count: valueCount))
        let end = unsafe slot.pointee.requestBuffer.count
        unsafe slot.pointee.fieldBytes = end
        guard unsafe name[0] == UInt8(ascii: ":") else { return }
        // nghttp2 passes only the pseudo fields of a request: `:method`, `:scheme`, `:authority`, `:path`. So
        // the length and one letter tell them apart.
        let isPath = nameCount == ":path".utf8.count
        let isMethod = unsafe nameCount == ":method".utf8.count && name[1] == UInt8(ascii: "m")
        if isPath { unsafe slot.pointee.pathRange = end - valueCount..<end }
        if isMethod { unsafe slot.pointee.methodRange = end - valueCount..<end }
    }

    /// Receives a part of a body. It returns the window to the client, unless windows are held.
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
        let keptBefore = unsafe slot.pointee.requestBuffer.count - slot.pointee.fieldBytes
        let keptCount = min(count, limits.bodyBytesMax - keptBefore)
        unsafe slot.pointee.requestBuffer.append(bytes, count: keptCount)
        if keptCount < count {
            unsafe slot.pointee.isBodyTruncated = true
            unsafe deliverRequest(in: slot)
        }
    }

    /// Handles a frame that nghttp2 has read completely.
    func handleReceivedFrame(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = unsafe frame.pointee.hd
        let isAcknowledgement = header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
        switch UInt32(header.type) {
        case NGHTTP2_DATA.rawValue, NGHTTP2_HEADERS.rawValue:
            guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
                let slot = unsafe slot(of: header.stream_id)
            else { return }
            unsafe slot.pointee.isComplete = true
            if unsafe !slot.pointee.isDelivered { unsafe deliverRequest(in: slot) }
        case NGHTTP2_SETTINGS.rawValue where !isAcknowledgement:
            events.settings = handle.peerSettings
        case NGHTTP2_GOAWAY.rawValue:
            events.goaway = unsafe Goaway(frame.pointee.goaway)
        case NGHTTP2_PING.rawValue where isAcknowledgement:
            let payload = unsafe frame.pointee.ping.bigEndianBytes
            guard payload == unacknowledgedPing else { return }
            unacknowledgedPing = nil
            events.pong = payload
        default: break
        }
    }

    /// Gives the request to the owner, complete or truncated.
    private func deliverRequest(in slot: UnsafeMutablePointer<ServerSlot>) {
        unsafe arrivedRequests.pointee.append(slot)
        unsafe slot.pointee.isDelivered = true
        unsafe slot.pointee.requestBuffer.removeAll()
        unsafe slot.pointee.fieldBytes = 0
    }

    /// Handles a frame before nghttp2 writes it: HEADERS of an answer without a body, and GOAWAY.
    func willSendFrame(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = unsafe frame.pointee.hd
        if header.type == NGHTTP2_HEADERS.rawValue {
            guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0,
                let slot = unsafe slot(of: header.stream_id)
            else { return }
            unsafe endResponse(in: slot)
        } else if header.type == NGHTTP2_GOAWAY.rawValue {
            // nghttp2 sends a GOAWAY that the owner did not request if the client breaks the protocol.
            let code = unsafe HTTP2ErrorCode(rawValue: frame.pointee.goaway.error_code)
            if code != .noError, code != ownGoaway.code { events.failure = .violation(code) }
        }
    }

    /// Writes one DATA frame, with bytes from the shared body.
    func sendBody(
        of slot: UnsafeMutableRawPointer, header: UnsafePointer<UInt8>, count: Int
    ) -> CInt {
        let slot = unsafe slot.assumingMemoryBound(to: ServerSlot.self)
        guard let body = unsafe slot.pointee.body else {
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        let unsentBody = unsafe body.bytes.baseAddress! + slot.pointee.sentBodyBytes
        guard unsafe handle.output.pointee.writeData(header: header, body: unsentBody, count: count) else {
            return NGHTTP2_ERR_WOULDBLOCK.rawValue
        }
        unsafe slot.pointee.sentBodyBytes += count
        if unsafe slot.pointee.sentBodyBytes == body.count { unsafe endResponse(in: slot) }
        return 0
    }

    /// Handles the last frame of an answer. If the client has not ended its request, the stream is reset, because
    /// the client could keep it open forever.
    private func endResponse(in slot: UnsafeMutablePointer<ServerSlot>) {
        if recordsSentResponses { sentResponses.append(unsafe slot.pointee.streamID) }
        if unsafe !slot.pointee.isComplete {
            unsafe handle.submitReset(stream: slot.pointee.stream, code: .noError)
        }
    }
}
