/// The frames that a client sends besides requests, in order, until they are pulled.
@safe struct ControlFrames {
    private var frames = ByteStore()
    private var sent = 0
    /// Number of waiting acknowledgements, which a peer can demand without limit.
    private(set) var acknowledgements = 0

    private static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    private static let enablePush: UInt16 = 2

    var isEmpty: Bool { frames.count == 0 }

    mutating func free() { frames.free() }

    /// Appends the client preface: HTTP/2, with server push disabled.
    mutating func begin() {
        let preface = ControlFrames.preface
        unsafe frames.append(UnsafeRawPointer(preface.utf8Start), preface.utf8CodeUnitCount)
        frame(.init(count: 6, kind: FrameHeader.Kind.settings))
        append(ControlFrames.enablePush)
        append(UInt32(0))
    }

    mutating func ping(_ bytes: UInt64) {
        frame(.init(count: 8, kind: FrameHeader.Kind.ping))
        append(bytes)
    }

    mutating func acknowledgePing(_ bytes: UInt64) {
        acknowledgements += 1
        frame(.init(count: 8, kind: FrameHeader.Kind.ping, flags: FrameHeader.Flag.acknowledgement))
        append(bytes)
    }

    mutating func acknowledgeSettings() {
        acknowledgements += 1
        frame(.init(count: 0, kind: FrameHeader.Kind.settings, flags: FrameHeader.Flag.acknowledgement))
    }

    mutating func reset(_ stream: Int32, _ code: ErrorCode) {
        frame(.init(count: 4, kind: FrameHeader.Kind.reset, stream: stream))
        append(code.rawValue)
    }

    /// Appends a WINDOW_UPDATE for one stream or, with 0, for the connection.
    mutating func windowUpdate(_ stream: Int32, _ bytes: Int) {
        frame(.init(count: 4, kind: FrameHeader.Kind.windowUpdate, stream: stream))
        append(UInt32(bytes))
    }

    /// Appends GOAWAY with last stream 0, because a client processes no server streams.
    mutating func goaway(_ code: ErrorCode) {
        frame(.init(count: 8, kind: FrameHeader.Kind.goaway))
        append(UInt32(0))
        append(code.rawValue)
    }

    mutating func pull(into writer: inout FrameWriter) {
        guard frames.count > 0 else { return }
        sent += unsafe writer.copy(UnsafeRawBufferPointer(rebasing: frames.bytes[sent...]))
        guard sent == frames.count else { return }
        frames.removeAll()
        sent = 0
        acknowledgements = 0
    }

    private mutating func frame(_ header: FrameHeader) {
        unsafe withUnsafeTemporaryAllocation(byteCount: FrameHeader.bytes, alignment: 1) { bytes in
            unsafe header.write(to: bytes.baseAddress!)
            unsafe frames.append(UnsafeRawBufferPointer(bytes))
        }
    }

    private mutating func append<Value: FixedWidthInteger>(_ value: Value) {
        unsafe withUnsafeBytes(of: value.bigEndian) { unsafe frames.append($0) }
    }
}
