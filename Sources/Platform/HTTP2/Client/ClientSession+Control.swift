/// Handling of SETTINGS, PING, GOAWAY, RST_STREAM and WINDOW_UPDATE.
extension ClientSession {
    private enum Setting {
        static let headerTableSize: UInt16 = 1
        static let enablePush: UInt16 = 2
        static let concurrentStreamsMax: UInt16 = 3
        static let initialWindowSize: UInt16 = 4
        static let frameSizeMax: UInt16 = 5
        static let bytes = 6
    }

    private static let frameSizes: ClosedRange<UInt32> = 16_384...16_777_215

    func readSettings(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        guard header.stream == 0 else { return violation(.protocolError) }
        if header.has(FrameHeader.Flag.acknowledgement) {
            if !hasSettings { return violation(.protocolError) }
            return payload.count == 0 ? () : violation(.frameSizeError)
        }
        guard payload.count % Setting.bytes == 0 else { return violation(.frameSizeError) }
        guard payload.count / Setting.bytes <= limits.settingsEntriesMax else {
            return violation(.enhanceYourCalm)
        }
        hasSettings = true
        for at in stride(from: 0, to: payload.count, by: Setting.bytes) {
            let name = UInt16(bigEndian: unsafe payload.loadUnaligned(fromByteOffset: at, as: UInt16.self))
            let value = unsafe payload.bigEndian32(at: at + 2)
            if let code = apply(name, value) { return violation(code) }
        }
        peerStreamsMax = Int(peer.concurrentStreamsMax)
        events.settings = peer
        control.acknowledgeSettings()
        boundAcknowledgements()
    }

    /// Applies one setting. Returns the error code if the value breaks a rule.
    private func apply(_ name: UInt16, _ value: UInt32) -> ErrorCode? {
        switch name {
        case Setting.headerTableSize: encoder.limitTable(to: Int(value))
        case Setting.enablePush: return value == 0 ? nil : .protocolError
        case Setting.concurrentStreamsMax: peer.concurrentStreamsMax = value
        case Setting.initialWindowSize: return applyWindow(value)
        case Setting.frameSizeMax:
            guard ClientSession.frameSizes.contains(value) else { return .protocolError }
            peer.frameBytesMax = value
        default: break
        }
        return nil
    }

    /// Applies the initial window. The change also applies to open streams, whose windows may fall below 0.
    private func applyWindow(_ value: UInt32) -> ErrorCode? {
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

    func readPing(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        guard header.stream == 0 else { return violation(.protocolError) }
        guard payload.count == 8 else { return violation(.frameSizeError) }
        let bytes = UInt64(bigEndian: unsafe payload.loadUnaligned(as: UInt64.self))
        if header.has(FrameHeader.Flag.acknowledgement) {
            guard bytes == openPing else { return }
            openPing = nil
            events.pong = bytes
        } else {
            control.acknowledgePing(bytes)
            boundAcknowledgements()
        }
    }

    private func boundAcknowledgements() {
        if control.acknowledgements > limits.controlAcksMax { fail(.flooded) }
    }

    func readGoaway(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        guard header.stream == 0 else { return violation(.protocolError) }
        guard payload.count >= 8 else { return violation(.frameSizeError) }
        let last = unsafe Int32(bitPattern: payload.bigEndian32(at: 0) & 0x7FFF_FFFF)
        let debug = unsafe payload[8...].prefix(Goaway.debugBytesMax)
        events.goaway = Goaway(
            lastStream: last, code: ErrorCode(rawValue: unsafe payload.bigEndian32(at: 4)),
            debug: unsafe Array(debug))
        // A later GOAWAY may lower the last stream but never raise it.
        let bound = min(last, goawayLast ?? .max)
        goawayLast = bound
        unsafe forEachOpen { slot in
            if case let stream = unsafe slot.pointee.stream, stream == 0 || stream > bound {
                unsafe endUnprocessed(slot)
            }
        }
    }

    func readReset(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        guard payload.count == 4 else { return violation(.frameSizeError) }
        guard isKnown(header.stream), let slot = unsafe slot(of: header.stream) else { return }
        unsafe streamClosed(slot, ErrorCode(rawValue: payload.bigEndian32(at: 0)))
    }

    func readWindowUpdate(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) {
        guard payload.count == 4 else { return violation(.frameSizeError) }
        let bytes = unsafe Int(payload.bigEndian32(at: 0) & 0x7FFF_FFFF)
        if header.stream == 0 {
            guard bytes > 0 else { return violation(.protocolError) }
            sendWindow += bytes
            if sendWindow > FlowWindow.bytesMax { violation(.flowControlError) }
            return
        }
        guard isKnown(header.stream), let slot = unsafe slot(of: header.stream) else { return }
        guard bytes > 0 else { return unsafe malformed(slot) }
        unsafe slot.pointee.sendWindow += bytes
        if unsafe slot.pointee.sendWindow > FlowWindow.bytesMax {
            unsafe malformed(slot, .flowControlError)
        }
    }
}
