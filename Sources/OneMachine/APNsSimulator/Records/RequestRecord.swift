package import APNs
internal import Cryptography
internal import HTTP2
package import LiveActivity

/// One request with its end, in 128 bytes, for programs that check millions of requests. Numbers are little
/// endian, and missing values are 0.
///
///       0  u64  number, from 1; 0: no record is written here yet
///       8  i64  time when the request arrived, milliseconds since 1970
///      16  i64  time when its end was known
///      24  i64  timestamp of the payload, seconds since 1970
///      32  16   apns-id or apns-request-id, in the order in which it is written
///      48  16   the beginning of the SHA-256 of the token, or of the channel's id as written
///      64  u16  status of the answer
///      66  u8   end: 0 answered, not known to be sent; 1 answered and sent; 2 answered and lost;
///               3 reset; 4 not processed, above a GOAWAY's last stream; 5 silence
///      67  u8   1: the push was delivered to the phones
///      68  u8   kind: 1 push, 2 broadcast, 3 to 6 channel created, read, deleted, listed, 7 other;
///               255 the simulator started, at the time of byte 8
///      69  u8   event: 1 start, 2 update, 3 end
///      70  u8   environment: 1 production, 2 sandbox
///      72  u32  connection, from 1
///      76  u32  stream
///      80  u32  error code of a reset
///      88  40   reason, ASCII
///
/// Integers are written in memory order, because Flotilla runs only on little-endian machines.
package struct RequestRecord: Sendable, Hashable {
    package static let bytes = 128
    static let reasonBytesMax = 40

    package enum RecordOutcome: UInt8, Sendable {
        case answered = 0
        case sent
        case lost
        case reset
        case notProcessed
        case silence
    }

    package enum RecordKind: UInt8, Sendable {
        case push = 1
        case broadcast
        case createChannel
        case readChannel
        case deleteChannel
        case listChannels
        case other
        case simulatorStarted = 255
    }

    package var number: UInt64 = 0
    package var receivedAt: Int64 = 0
    package var endedAt: Int64 = 0
    package var timestamp: Int64 = 0
    package var id = PushID(high: 0, low: 0)
    /// The beginning of the hash of the token or channel.
    package var targetHigh: UInt64 = 0
    package var targetLow: UInt64 = 0
    package var status: UInt16 = 0
    package var outcome = RecordOutcome.answered
    package var isDelivered = false
    package var kind = RecordKind.other
    package var event: PushEvent?
    package var isSandbox = false
    package var connection: UInt32 = 0
    package var stream: UInt32 = 0
    package var resetCode: UInt32 = 0
    package var reason = ""

    package init() {}
}

extension RequestRecord {
    init(_ entry: JournalEntry) {
        let facts = entry.facts
        receivedAt = facts.receivedAt
        timestamp = facts.timestamp ?? 0
        id = entry.id
        switch facts.target {
        case nil: break
        case .token(let token): (targetHigh, targetLow) = Self.hash(of: token.bytes)
        case .channel(let channel): (targetHigh, targetLow) = Self.hash(of: Array(channel.utf8))
        }
        isDelivered = entry.isDelivered
        kind = RecordKind(facts.kind)
        event = facts.event
        isSandbox = facts.environment == .sandbox
        connection = UInt32(clamping: facts.connection)
        stream = UInt32(bitPattern: facts.stream)
        setOutcome(from: entry)
    }

    /// Sets the fields that are known at the end.
    mutating func setOutcome(from entry: JournalEntry) {
        endedAt = entry.endedAt
        switch entry.outcome {
        case .answered(let status, let reason, let left):
            self.status = UInt16(clamping: status)
            self.reason = reason ?? ""
            outcome = left ? .sent : .answered
        case .reset(let code):
            resetCode = code.rawValue
            outcome = .reset
        case .notProcessed: outcome = .notProcessed
        case .silence: outcome = .silence
        }
    }

    private static func hash(of bytes: [UInt8]) -> (UInt64, UInt64) {
        var hash = InlineArray<4, UInt64>(repeating: 0)
        var words = hash.mutableSpan
        unsafe words.withUnsafeMutableBytes { hash in
            unsafe bytes.withUnsafeBytes { unsafe SHA256.digest(of: $0, into: hash) }
        }
        return (UInt64(bigEndian: hash[0]), UInt64(bigEndian: hash[1]))
    }
}

extension RequestRecord.RecordKind {
    fileprivate init(_ kind: RequestFacts.RequestKind) {
        self =
            switch kind {
            case .push: .push
            case .broadcast: .broadcast
            case .createChannel: .createChannel
            case .readChannel: .readChannel
            case .deleteChannel: .deleteChannel
            case .listChannels: .listChannels
            case .other: .other
            }
    }
}

// MARK: Bytes

extension RequestRecord {
    /// Writes the record to zeroed memory. The number comes last, so that a record with a number is complete.
    func write(to memory: UnsafeMutableRawPointer) {
        unsafe memory.storeBytes(of: receivedAt, toByteOffset: 8, as: Int64.self)
        unsafe memory.storeBytes(of: timestamp, toByteOffset: 24, as: Int64.self)
        unsafe memory.storeBytes(of: id.high.bigEndian, toByteOffset: 32, as: UInt64.self)
        unsafe memory.storeBytes(of: id.low.bigEndian, toByteOffset: 40, as: UInt64.self)
        unsafe memory.storeBytes(of: targetHigh.bigEndian, toByteOffset: 48, as: UInt64.self)
        unsafe memory.storeBytes(of: targetLow.bigEndian, toByteOffset: 56, as: UInt64.self)
        unsafe memory.storeBytes(of: isDelivered ? 1 : 0, toByteOffset: 67, as: UInt8.self)
        unsafe memory.storeBytes(of: kind.rawValue, toByteOffset: 68, as: UInt8.self)
        unsafe memory.storeBytes(of: eventCode, toByteOffset: 69, as: UInt8.self)
        unsafe memory.storeBytes(of: isSandbox ? 2 : 1, toByteOffset: 70, as: UInt8.self)
        unsafe memory.storeBytes(of: connection, toByteOffset: 72, as: UInt32.self)
        unsafe memory.storeBytes(of: stream, toByteOffset: 76, as: UInt32.self)
        unsafe writeOutcome(to: memory)
        unsafe memory.storeBytes(of: number, toByteOffset: 0, as: UInt64.self)
    }

    /// Writes the fields that are known late.
    func writeOutcome(to memory: UnsafeMutableRawPointer) {
        unsafe memory.storeBytes(of: endedAt, toByteOffset: 16, as: Int64.self)
        unsafe memory.storeBytes(of: status, toByteOffset: 64, as: UInt16.self)
        unsafe memory.storeBytes(of: resetCode, toByteOffset: 80, as: UInt32.self)
        for (index, byte) in reason.utf8.prefix(Self.reasonBytesMax).enumerated() {
            unsafe memory.storeBytes(of: byte, toByteOffset: 88 + index, as: UInt8.self)
        }
        unsafe memory.storeBytes(of: outcome.rawValue, toByteOffset: 66, as: UInt8.self)
    }

    /// Reads a record. Returns nil if no record is written, or if this version does not know its values.
    package init?(memory: UnsafeRawPointer) {
        number = unsafe memory.loadUnaligned(as: UInt64.self)
        guard number > 0,
            let end = unsafe RecordOutcome(rawValue: memory.load(fromByteOffset: 66, as: UInt8.self)),
            let kind = unsafe RecordKind(rawValue: memory.load(fromByteOffset: 68, as: UInt8.self))
        else { return nil }
        self.outcome = end
        self.kind = kind
        func word(at offset: Int) -> UInt64 {
            unsafe UInt64(bigEndian: memory.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        receivedAt = unsafe memory.loadUnaligned(fromByteOffset: 8, as: Int64.self)
        endedAt = unsafe memory.loadUnaligned(fromByteOffset: 16, as: Int64.self)
        timestamp = unsafe memory.loadUnaligned(fromByteOffset: 24, as: Int64.self)
        id = PushID(high: word(at: 32), low: word(at: 40))
        (targetHigh, targetLow) = (word(at: 48), word(at: 56))
        status = unsafe memory.loadUnaligned(fromByteOffset: 64, as: UInt16.self)
        isDelivered = unsafe memory.load(fromByteOffset: 67, as: UInt8.self) == 1
        event = unsafe Self.events[Int(memory.load(fromByteOffset: 69, as: UInt8.self) & 3)]
        isSandbox = unsafe memory.load(fromByteOffset: 70, as: UInt8.self) == 2
        connection = unsafe memory.loadUnaligned(fromByteOffset: 72, as: UInt32.self)
        stream = unsafe memory.loadUnaligned(fromByteOffset: 76, as: UInt32.self)
        resetCode = unsafe memory.loadUnaligned(fromByteOffset: 80, as: UInt32.self)
        let text = unsafe UnsafeRawBufferPointer(start: memory + 88, count: Self.reasonBytesMax)
        reason = unsafe String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static let events: [PushEvent?] = [nil, .start, .update, .end]

    private var eventCode: UInt8 {
        switch event {
        case nil: 0
        case .start: 1
        case .update: 2
        case .end: 3
        }
    }
}
