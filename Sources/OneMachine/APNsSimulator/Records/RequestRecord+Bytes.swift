internal import APNs
internal import Payloads

/// The bytes of a record, as `RequestRecord` describes them. Integers are copied to and from memory unchanged,
/// because Flotilla runs only on little-endian machines. Ids and hashes are in the order in which they are
/// written as text, so their words are big-endian.
extension RequestRecord {
    /// Positions of the fields, in bytes.
    private enum Offset {
        static let number = 0
        static let receivedAt = 8
        static let endedAt = 16
        static let timestamp = 24
        static let idHigh = 32
        static let idLow = 40
        static let targetHigh = 48
        static let targetLow = 56
        static let status = 64
        static let outcome = 66
        static let isDelivered = 67
        static let kind = 68
        static let event = 69
        static let environment = 70
        static let connection = 72
        static let stream = 76
        static let resetCode = 80
        static let reason = 88
    }

    /// Writes the record to zeroed memory. The number comes last, so that a record with a number is complete.
    func write(to memory: UnsafeMutableRawPointer) {
        unsafe memory.storeBytes(of: receivedAt, toByteOffset: Offset.receivedAt, as: Int64.self)
        unsafe memory.storeBytes(of: timestamp, toByteOffset: Offset.timestamp, as: Int64.self)
        unsafe memory.storeBytes(of: id.high.bigEndian, toByteOffset: Offset.idHigh, as: UInt64.self)
        unsafe memory.storeBytes(of: id.low.bigEndian, toByteOffset: Offset.idLow, as: UInt64.self)
        unsafe memory.storeBytes(of: targetHigh.bigEndian, toByteOffset: Offset.targetHigh, as: UInt64.self)
        unsafe memory.storeBytes(of: targetLow.bigEndian, toByteOffset: Offset.targetLow, as: UInt64.self)
        unsafe memory.storeBytes(of: isDelivered ? 1 : 0, toByteOffset: Offset.isDelivered, as: UInt8.self)
        unsafe memory.storeBytes(of: kind.rawValue, toByteOffset: Offset.kind, as: UInt8.self)
        unsafe memory.storeBytes(of: eventCode, toByteOffset: Offset.event, as: UInt8.self)
        unsafe memory.storeBytes(of: isSandbox ? 2 : 1, toByteOffset: Offset.environment, as: UInt8.self)
        unsafe memory.storeBytes(of: connection, toByteOffset: Offset.connection, as: UInt32.self)
        unsafe memory.storeBytes(of: stream, toByteOffset: Offset.stream, as: UInt32.self)
        unsafe writeOutcome(to: memory)
        unsafe memory.storeBytes(of: number, toByteOffset: Offset.number, as: UInt64.self)
    }

    /// Writes the fields that are known with the outcome.
    func writeOutcome(to memory: UnsafeMutableRawPointer) {
        unsafe memory.storeBytes(of: endedAt, toByteOffset: Offset.endedAt, as: Int64.self)
        unsafe memory.storeBytes(of: status, toByteOffset: Offset.status, as: UInt16.self)
        unsafe memory.storeBytes(of: resetCode, toByteOffset: Offset.resetCode, as: UInt32.self)
        for (index, byte) in reason.utf8.prefix(Self.reasonBytesMax).enumerated() {
            unsafe memory.storeBytes(of: byte, toByteOffset: Offset.reason + index, as: UInt8.self)
        }
        unsafe memory.storeBytes(of: outcome.rawValue, toByteOffset: Offset.outcome, as: UInt8.self)
    }

    /// Reads a record. Returns nil if no record is written, or if this version does not know its values.
    package init?(memory: UnsafeRawPointer) {
        number = unsafe memory.loadUnaligned(fromByteOffset: Offset.number, as: UInt64.self)
        guard number > 0,
            let outcome = unsafe RecordOutcome(
                rawValue: memory.load(fromByteOffset: Offset.outcome, as: UInt8.self)),
            let kind = unsafe RecordKind(rawValue: memory.load(fromByteOffset: Offset.kind, as: UInt8.self))
        else { return nil }
        self.outcome = outcome
        self.kind = kind
        func bigEndianWord(at offset: Int) -> UInt64 {
            unsafe UInt64(bigEndian: memory.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        receivedAt = unsafe memory.loadUnaligned(fromByteOffset: Offset.receivedAt, as: Int64.self)
        endedAt = unsafe memory.loadUnaligned(fromByteOffset: Offset.endedAt, as: Int64.self)
        timestamp = unsafe memory.loadUnaligned(fromByteOffset: Offset.timestamp, as: Int64.self)
        id = PushID(high: bigEndianWord(at: Offset.idHigh), low: bigEndianWord(at: Offset.idLow))
        (targetHigh, targetLow) = (bigEndianWord(at: Offset.targetHigh), bigEndianWord(at: Offset.targetLow))
        status = unsafe memory.loadUnaligned(fromByteOffset: Offset.status, as: UInt16.self)
        isDelivered = unsafe memory.load(fromByteOffset: Offset.isDelivered, as: UInt8.self) == 1
        let eventByte = unsafe memory.load(fromByteOffset: Offset.event, as: UInt8.self)
        event = Self.events[Int(eventByte & Self.eventCodeMask)]
        isSandbox = unsafe memory.load(fromByteOffset: Offset.environment, as: UInt8.self) == 2
        connection = unsafe memory.loadUnaligned(fromByteOffset: Offset.connection, as: UInt32.self)
        stream = unsafe memory.loadUnaligned(fromByteOffset: Offset.stream, as: UInt32.self)
        resetCode = unsafe memory.loadUnaligned(fromByteOffset: Offset.resetCode, as: UInt32.self)
        let text = unsafe UnsafeRawBufferPointer(start: memory + Offset.reason, count: Self.reasonBytesMax)
        reason = unsafe String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// Events by their code. The code has two bits, so each code of a damaged record is valid too.
    private static let events: [PushEvent?] = [nil, .start, .update, .end]
    private static let eventCodeMask: UInt8 = 0b11

    private var eventCode: UInt8 {
        switch event {
        case nil: 0
        case .start: 1
        case .update: 2
        case .end: 3
        }
    }
}
