/// The nine bytes before the payload of every frame (RFC 9113, 4.1): length (24 bits), type, flags and stream
/// number.
@safe struct FrameHeader {
    static let byteCount = 9

    /// The values of `type`.
    enum FrameType {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let priority: UInt8 = 2
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let pushPromise: UInt8 = 5
        static let ping: UInt8 = 6
        static let goaway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
    }

    /// The bits of `flags`. A bit has a meaning only for some types of frames.
    enum FrameFlag {
        static let acknowledgement: UInt8 = 0x1
        static let endStream: UInt8 = 0x1
        static let endHeaders: UInt8 = 0x4
        static let padded: UInt8 = 0x8
        static let priority: UInt8 = 0x20
    }

    var payloadBytes: Int
    var type: UInt8
    var flags: UInt8 = 0
    /// The number of the stream, 0 for the connection.
    var stream: Int32 = 0

    init(payloadBytes: Int, type: UInt8, flags: UInt8 = 0, stream: Int32 = 0) {
        self.payloadBytes = payloadBytes
        self.type = type
        self.flags = flags
        self.stream = stream
    }

    /// Reads a header. `bytes` must have at least nine bytes.
    init(parsing bytes: UnsafeRawBufferPointer) {
        let lengthAndType = unsafe bytes.bigEndian32(at: 0)
        payloadBytes = Int(lengthAndType >> 8)
        type = UInt8(truncatingIfNeeded: lengthAndType)
        flags = unsafe bytes[4]
        stream = unsafe Int32(bitPattern: bytes.bigEndian32(at: 5) & 0x7FFF_FFFF)
    }

    func hasFlag(_ flag: UInt8) -> Bool { flags & flag != 0 }

    /// Writes the nine bytes.
    func write(to target: UnsafeMutableRawPointer) {
        let lengthAndType = UInt32(truncatingIfNeeded: payloadBytes) << 8 | UInt32(type)
        unsafe target.storeBytes(of: lengthAndType.bigEndian, as: UInt32.self)
        unsafe target.storeBytes(of: flags, toByteOffset: 4, as: UInt8.self)
        unsafe target.storeBytes(of: stream.bigEndian, toByteOffset: 5, as: Int32.self)
    }
}

extension UnsafeRawBufferPointer {
    /// Returns a 32-bit integer in big-endian order.
    func bigEndian32(at offset: Int) -> UInt32 {
        UInt32(bigEndian: unsafe loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
