/// A queue of the frames that a client sends besides requests, such as SETTINGS and PING, as bytes in order.
@safe struct ControlFrames {
    private var frames = GrowingBuffer()
    /// The bytes of `frames` that were pulled.
    private var pulledBytes = 0
    /// The number of waiting acknowledgements. `ClientLimits.controlAcksMax` limits it, because a peer can cause any
    /// number.
    private(set) var acknowledgementCount = 0

    private static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    var isEmpty: Bool { frames.count == 0 }

    mutating func free() { frames.free() }

    /// Appends the first bytes of a client: the fixed preface, and SETTINGS that disable server push.
    mutating func appendPreface() {
        let preface = ControlFrames.preface
        unsafe frames.append(UnsafeRawPointer(preface.utf8Start), count: preface.utf8CodeUnitCount)
        appendHeader(.init(payloadBytes: ClientSession.settingBytes, type: FrameHeader.FrameType.settings))
        append(ClientSession.SettingID.enablePush)
        append(UInt32(0))
    }

    mutating func appendPing(payload: UInt64) {
        appendHeader(.init(payloadBytes: ClientSession.pingBytes, type: FrameHeader.FrameType.ping))
        append(payload)
    }

    mutating func appendPingAcknowledgement(payload: UInt64) {
        acknowledgementCount += 1
        appendHeader(
            .init(
                payloadBytes: ClientSession.pingBytes, type: FrameHeader.FrameType.ping,
                flags: FrameHeader.FrameFlag.acknowledgement))
        append(payload)
    }

    mutating func appendSettingsAcknowledgement() {
        acknowledgementCount += 1
        appendHeader(
            .init(
                payloadBytes: 0, type: FrameHeader.FrameType.settings,
                flags: FrameHeader.FrameFlag.acknowledgement))
    }

    mutating func appendReset(stream: Int32, code: HTTP2ErrorCode) {
        appendHeader(.init(payloadBytes: 4, type: FrameHeader.FrameType.reset, stream: stream))
        append(code.rawValue)
    }

    /// Appends a WINDOW_UPDATE for one stream or, with 0, for the connection.
    mutating func appendWindowUpdate(stream: Int32, bytes: Int) {
        appendHeader(.init(payloadBytes: 4, type: FrameHeader.FrameType.windowUpdate, stream: stream))
        append(UInt32(bytes))
    }

    /// Appends GOAWAY with last stream 0, because a client processes no server streams.
    mutating func appendGoaway(code: HTTP2ErrorCode) {
        appendHeader(.init(payloadBytes: 8, type: FrameHeader.FrameType.goaway))
        append(UInt32(0))
        append(code.rawValue)
    }

    /// Moves waiting bytes to the writer, as many as fit.
    mutating func pull(into writer: inout FrameWriter) {
        guard frames.count > 0 else { return }
        pulledBytes += unsafe writer.copy(UnsafeRawBufferPointer(rebasing: frames.bytes[pulledBytes...]))
        guard pulledBytes == frames.count else { return }
        frames.removeAll()
        pulledBytes = 0
        acknowledgementCount = 0
    }

    private mutating func appendHeader(_ header: FrameHeader) {
        unsafe withUnsafeTemporaryAllocation(byteCount: FrameHeader.byteCount, alignment: 1) { bytes in
            unsafe header.write(to: bytes.baseAddress!)
            unsafe frames.append(UnsafeRawBufferPointer(bytes))
        }
    }

    private mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        unsafe withUnsafeBytes(of: value.bigEndian) { unsafe frames.append($0) }
    }
}
