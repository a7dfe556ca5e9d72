internal import CNghttp2

/// Frames that a server can send at any time besides answers.
extension ServerSession {
    /// Sends GOAWAY with any last stream. The client learns that streams above it were not processed, and
    /// their requests are dropped here. `Int32.max` announces the end and drops no request.
    package func goaway(lastStream: Int32, code: HTTP2ErrorCode = .noError, debug: [UInt8] = []) {
        guard !isClosed else { return }
        // HTTP/2 requires a client's stream here, which has an odd number.
        let last = lastStream <= 0 ? 0 : lastStream | 1
        ownGoaway = (min(last, ownGoaway.last), code)
        handle.goaway(lastStream: last, code: code, debug: debug)
    }

    /// Sends RST_STREAM with any code. Returns false if the stream is gone.
    @discardableResult
    package func reset(_ stream: ServerStreamID, code: HTTP2ErrorCode) -> Bool {
        guard unsafe openSlot(of: stream) != nil else { return false }
        handle.reset(stream: stream.number, code: code)
        return true
    }

    package func changeSettings(_ settings: SettingsChange) {
        guard !isClosed else { return }
        let entries: [(id: nghttp2_settings_id, value: UInt32?)] = [
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.concurrentStreamsMax),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.streamWindowBytes),
            (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings.frameBytesMax),
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, settings.headerTableBytes),
        ]
        handle.submitSettings(entries.compactMap { entry in entry.value.map { (entry.id, $0) } })
    }

    /// Sends a PING, which is acknowledged by `events.pong`. Returns false if one is already awaited.
    package func ping(payload bytes: UInt64) -> Bool {
        guard !isClosed, openPing == nil else { return false }
        openPing = bytes
        handle.ping(payload: bytes)
        return true
    }

    /// Stops sending WINDOW_UPDATE. Clients stall once they have used up their windows.
    package func holdWindows() { holdsWindows = true }

    /// Returns the held windows to the client.
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
