internal import CNghttp2

/// Sending of frames besides answers: GOAWAY, RST_STREAM, SETTINGS and PING, and the holding of windows.
extension ServerSession {
    /// Sends GOAWAY. It tells the client that streams above `lastStream` were not processed, and this session
    /// ignores them from now on. `Int32.max` announces the end and drops no request.
    package func sendGoaway(lastStream: Int32, code: HTTP2ErrorCode = .noError, debug: [UInt8] = []) {
        guard !isClosed else { return }
        // The frame must name a client's stream, and their numbers are odd. An even number is rounded down, because the
        // owner has processed no stream above it.
        let clientStream = lastStream <= 0 ? 0 : (lastStream - 1) | 1
        ownGoaway = (min(clientStream, ownGoaway.last), code)
        handle.submitGoaway(lastStream: clientStream, code: code, debug: debug)
    }

    /// Sends RST_STREAM. Returns false if the stream has ended.
    @discardableResult
    package func reset(_ stream: ServerStreamID, code: HTTP2ErrorCode) -> Bool {
        guard unsafe openSlot(of: stream) != nil else { return false }
        handle.submitReset(stream: stream.number, code: code)
        return true
    }

    /// Sends SETTINGS.
    package func changeSettings(_ settings: SettingsChange) {
        guard !isClosed else { return }
        let changes: [(id: nghttp2_settings_id, value: UInt32?)] = [
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.concurrentStreamsMax),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.streamWindowBytes),
            (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings.frameBytesMax),
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, settings.headerTableBytes),
        ]
        handle.submitSettings(changes.compactMap { change in change.value.map { (change.id, $0) } })
    }

    /// Sends a PING. The client's acknowledgement comes as `SessionEvents.pong`. Returns false if an earlier
    /// PING is not acknowledged yet.
    package func sendPing(payload: UInt64) -> Bool {
        guard !isClosed, unacknowledgedPing == nil else { return false }
        unacknowledgedPing = payload
        handle.submitPing(payload: payload)
        return true
    }

    /// Sends no more WINDOW_UPDATE, so that clients must wait when they have used up their windows.
    package func holdWindows() { holdsWindows = true }

    /// Sends the held WINDOW_UPDATE frames, and holds no more.
    package func releaseWindows() {
        holdsWindows = false
        guard !isClosed else { return }
        for index in 0..<slots.capacity {
            let slot = unsafe slots[index]
            guard unsafe slot.pointee.stream != 0, unsafe slot.pointee.heldBytes > 0 else { continue }
            _ = unsafe nghttp2_session_consume_stream(
                handle.sessionPointer, slot.pointee.stream, slot.pointee.heldBytes)
            unsafe slot.pointee.heldBytes = 0
        }
        _ = unsafe nghttp2_session_consume_connection(handle.sessionPointer, heldBytes)
        heldBytes = 0
    }
}
