/// Handling of SETTINGS, PING, GOAWAY, RST_STREAM and WINDOW_UPDATE.
extension ClientSession {
    private enum SettingID {
        static let headerTableSize: UInt16 = 1
        static let enablePush: UInt16 = 2
        static let concurrentStreamsMax: UInt16 = 3
        static let initialWindowSize: UInt16 = 4
        static let frameSizeMax: UInt16 = 5
        static let bytes = 6
    }

    private static let frameSizes: ClosedRange<UInt32> = 16_384...16_777_215

    func readSettings(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard header.stream == 0 else { return reportViolation(code: .protocolError) }
        if header.hasFlag(FrameHeader.FrameFlag.acknowledgement) {
            if !hasSettings { return reportViolation(code: .protocolError) }
            return payload.count == 0 ? () : reportViolation(code: .frameSizeError)
        }
        guard payload.count % SettingID.bytes == 0 else { return reportViolation(code: .frameSizeError) }
        guard payload.count / SettingID.bytes <= limits.settingsEntriesMax else {
            return reportViolation(code: .enhanceYourCalm)
        }
        hasSettings = true
        for at in stride(from: 0, to: payload.count, by: SettingID.bytes) {
            let name = UInt16(bigEndian: unsafe payload.loadUnaligned(fromByteOffset: at, as: UInt16.self))
            let value = unsafe payload.bigEndian32(at: at + 2)
            if let code = applySetting(name: name, value: value) { return reportViolation(code: code) }
        }
        peerStreamsMax = Int(peer.concurrentStreamsMax)
        events.settings = peer
        control.acknowledgeSettings()
        checkAcknowledgementLimit()
    }

    /// Applies one setting. Returns the error code if the value breaks a rule.
    private func applySetting(name: UInt16, value: UInt32) -> HTTP2ErrorCode? {
        switch name {
        case SettingID.headerTableSize: encoder.limitTable(to: Int(value))
        case SettingID.enablePush: return value == 0 ? nil : .protocolError
        case SettingID.concurrentStreamsMax: peer.concurrentStreamsMax = value
        case SettingID.initialWindowSize: return applyInitialWindow(bytes: value)
        case SettingID.frameSizeMax:
            guard ClientSession.frameSizes.contains(value) else { return .protocolError }
            peer.frameBytesMax = value
        default: break
        }
        return nil
    }

    /// Applies the initial window. The change also applies to open streams, whose windows may fall below 0.
    private func applyInitialWindow(bytes value: UInt32) -> HTTP2ErrorCode? {
        guard value <= UInt32(FlowWindow.bytesMax) else { return .flowControlError }
        let change = Int(value) - Int(peer.streamWindowBytes)
        peer.streamWindowBytes = value
        var isTooLarge = false
        unsafe forEachOpen { slot in
            unsafe slot.pointee.sendWindow += change
            if unsafe slot.pointee.sendWindow > FlowWindow.bytesMax { isTooLarge = true }
        }
        return isTooLarge ? .flowControlError : nil
    }

    func readPing(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard header.stream == 0 else { return reportViolation(code: .protocolError) }
        guard payload.count == 8 else { return reportViolation(code: .frameSizeError) }
        let bytes = UInt64(bigEndian: unsafe payload.loadUnaligned(as: UInt64.self))
        if header.hasFlag(FrameHeader.FrameFlag.acknowledgement) {
            guard bytes == openPing else { return }
            openPing = nil
            events.pong = bytes
        } else {
            control.acknowledgePing(payload: bytes)
            checkAcknowledgementLimit()
        }
    }

    private func checkAcknowledgementLimit() {
        if control.acknowledgements > limits.controlAcksMax { fail(with: .flooded) }
    }

    func readGoaway(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard header.stream == 0 else { return reportViolation(code: .protocolError) }
        guard payload.count >= 8 else { return reportViolation(code: .frameSizeError) }
        let last = unsafe Int32(bitPattern: payload.bigEndian32(at: 0) & 0x7FFF_FFFF)
        let debug = unsafe payload[8...].prefix(Goaway.debugBytesMax)
        events.goaway = Goaway(
            lastStream: last, code: HTTP2ErrorCode(rawValue: unsafe payload.bigEndian32(at: 4)),
            debug: unsafe Array(debug))
        // A later GOAWAY may lower the last stream but never raise it.
        let bound = min(last, goawayLast ?? .max)
        goawayLast = bound
        unsafe forEachOpen { slot in
            if case let stream = unsafe slot.pointee.stream, stream == 0 || stream > bound {
                unsafe endUnprocessedRequest(in: slot)
            }
        }
    }

    func readReset(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard payload.count == 4 else { return reportViolation(code: .frameSizeError) }
        guard isKnownStream(header.stream), let slot = unsafe slot(of: header.stream) else { return }
        unsafe handleStreamClose(of: slot, code: HTTP2ErrorCode(rawValue: payload.bigEndian32(at: 0)))
    }

    func readWindowUpdate(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard payload.count == 4 else { return reportViolation(code: .frameSizeError) }
        let bytes = unsafe Int(payload.bigEndian32(at: 0) & 0x7FFF_FFFF)
        if header.stream == 0 {
            guard bytes > 0 else { return reportViolation(code: .protocolError) }
            sendWindow += bytes
            if sendWindow > FlowWindow.bytesMax { reportViolation(code: .flowControlError) }
            return
        }
        guard isKnownStream(header.stream), let slot = unsafe slot(of: header.stream) else { return }
        guard bytes > 0 else { return unsafe resetMalformedStream(of: slot) }
        unsafe slot.pointee.sendWindow += bytes
        if unsafe slot.pointee.sendWindow > FlowWindow.bytesMax {
            unsafe resetMalformedStream(of: slot, code: .flowControlError)
        }
    }
}
