/// Reading of the frames SETTINGS, PING, GOAWAY, RST_STREAM and WINDOW_UPDATE.
extension ClientSession {
    /// The identifiers of settings (RFC 9113, 6.5.2).
    enum SettingID {
        static let headerTableSize: UInt16 = 1
        static let enablePush: UInt16 = 2
        static let concurrentStreamsMax: UInt16 = 3
        static let initialWindowSize: UInt16 = 4
        static let frameSizeMax: UInt16 = 5
    }

    /// The bytes of one setting: the identifier (16 bits) and the value (32 bits).
    static let settingBytes = 6
    static let pingBytes = 8
    private static let resetBytes = 4
    private static let windowUpdateBytes = 4
    /// The bytes of GOAWAY before its debug data: the last stream and the error code.
    private static let goawayBytesMin = 8
    /// The allowed values of SETTINGS_MAX_FRAME_SIZE.
    private static let frameSizes: ClosedRange<UInt32> = 16_384...16_777_215
    /// Stream numbers and windows have 31 bits. The first bit is reserved and ignored.
    private static let mask31Bits: UInt32 = 0x7FFF_FFFF

    func readSettings(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard header.stream == 0 else { return reportViolation(code: .protocolError) }
        if header.hasFlag(FrameHeader.FrameFlag.acknowledgement) {
            // The first frame of a server is its own SETTINGS (RFC 9113, 3.4).
            guard hasSettings else { return reportViolation(code: .protocolError) }
            guard payload.count == 0 else { return reportViolation(code: .frameSizeError) }
            return
        }
        guard payload.count % Self.settingBytes == 0 else { return reportViolation(code: .frameSizeError) }
        guard payload.count / Self.settingBytes <= limits.settingsEntriesMax else {
            return reportViolation(code: .enhanceYourCalm)
        }
        hasSettings = true
        for offset in stride(from: 0, to: payload.count, by: Self.settingBytes) {
            let identifier = UInt16(
                bigEndian: unsafe payload.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            let value = unsafe payload.bigEndian32(at: offset + 2)
            if let code = applySetting(identifier: identifier, value: value) {
                return reportViolation(code: code)
            }
        }
        peerStreamsMax = Int(peerSettings.concurrentStreamsMax)
        events.settings = peerSettings
        controlFrames.appendSettingsAcknowledgement()
        checkAcknowledgementLimit()
    }

    /// Applies one setting. Returns the error code if the value breaks a rule.
    private func applySetting(identifier: UInt16, value: UInt32) -> HTTP2ErrorCode? {
        switch identifier {
        case SettingID.headerTableSize: encoder.limitTable(to: Int(value))
        case SettingID.enablePush: return value == 0 ? nil : .protocolError
        case SettingID.concurrentStreamsMax: peerSettings.concurrentStreamsMax = value
        case SettingID.initialWindowSize: return applyInitialWindow(bytes: value)
        case SettingID.frameSizeMax:
            guard ClientSession.frameSizes.contains(value) else { return .protocolError }
            peerSettings.frameBytesMax = value
        default: break
        }
        return nil
    }

    /// Applies the initial window of streams. It also changes the windows of open streams, which may fall
    /// below 0. A request without a stream has no window yet. It gets the initial one with its HEADERS.
    private func applyInitialWindow(bytes: UInt32) -> HTTP2ErrorCode? {
        guard bytes <= UInt32(FlowWindow.bytesMax) else { return .flowControlError }
        let change = Int(bytes) - Int(peerSettings.streamWindowBytes)
        peerSettings.streamWindowBytes = bytes
        var isTooLarge = false
        unsafe forEachUsedSlot { slot in
            guard unsafe slot.pointee.stream != 0 else { return }
            unsafe slot.pointee.sendWindow += change
            if unsafe slot.pointee.sendWindow > FlowWindow.bytesMax { isTooLarge = true }
        }
        return isTooLarge ? .flowControlError : nil
    }

    func readPing(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard header.stream == 0 else { return reportViolation(code: .protocolError) }
        guard payload.count == Self.pingBytes else { return reportViolation(code: .frameSizeError) }
        let pingPayload = UInt64(bigEndian: unsafe payload.loadUnaligned(as: UInt64.self))
        if header.hasFlag(FrameHeader.FrameFlag.acknowledgement) {
            guard pingPayload == unacknowledgedPing else { return }
            unacknowledgedPing = nil
            events.pong = pingPayload
        } else {
            controlFrames.appendPingAcknowledgement(payload: pingPayload)
            checkAcknowledgementLimit()
        }
    }

    private func checkAcknowledgementLimit() {
        if controlFrames.acknowledgementCount > limits.controlAcksMax { fail(with: .flooded) }
    }

    func readGoaway(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard header.stream == 0 else { return reportViolation(code: .protocolError) }
        guard payload.count >= Self.goawayBytesMin else { return reportViolation(code: .frameSizeError) }
        let lastStream = unsafe Int32(bitPattern: payload.bigEndian32(at: 0) & Self.mask31Bits)
        let debug = unsafe payload[Self.goawayBytesMin...].prefix(Goaway.debugBytesMax)
        events.goaway = Goaway(
            lastStream: lastStream, code: HTTP2ErrorCode(rawValue: unsafe payload.bigEndian32(at: 4)),
            debug: unsafe Array(debug))
        // The event has the last stream as received. For the session, a later GOAWAY may lower it but never raise it.
        let lowestLastStream = min(lastStream, goawayLastStream ?? .max)
        goawayLastStream = lowestLastStream
        // The stream is 0 if the request was not sent.
        unsafe forEachUsedSlot { slot in
            let stream = unsafe slot.pointee.stream
            if stream == 0 || stream > lowestLastStream { unsafe endUnprocessedRequest(in: slot) }
        }
    }

    func readReset(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard payload.count == Self.resetBytes else { return reportViolation(code: .frameSizeError) }
        guard checkIsKnown(stream: header.stream), let slot = unsafe slot(of: header.stream) else { return }
        unsafe handleStreamClose(of: slot, code: HTTP2ErrorCode(rawValue: payload.bigEndian32(at: 0)))
    }

    func readWindowUpdate(_ header: FrameHeader, payload: UnsafeRawBufferPointer) {
        guard payload.count == Self.windowUpdateBytes else { return reportViolation(code: .frameSizeError) }
        let bytes = unsafe Int(payload.bigEndian32(at: 0) & Self.mask31Bits)
        if header.stream == 0 {
            guard bytes > 0 else { return reportViolation(code: .protocolError) }
            sendWindow += bytes
            if sendWindow > FlowWindow.bytesMax { reportViolation(code: .flowControlError) }
            return
        }
        guard checkIsKnown(stream: header.stream), let slot = unsafe slot(of: header.stream) else { return }
        guard bytes > 0 else { return unsafe resetMalformedStream(of: slot) }
        unsafe slot.pointee.sendWindow += bytes
        if unsafe slot.pointee.sendWindow > FlowWindow.bytesMax {
            unsafe resetMalformedStream(of: slot, code: .flowControlError)
        }
    }
}
