package import APNs
internal import Cryptography
internal import HTTP2
internal import Identifiers
package import Payloads

/// A record of one request with its outcome, in 128 bytes, for programs that check millions of requests.
/// `RequestRecordFile` writes it, and `RequestRecordReader` reads it. Numbers are little-endian, and missing
/// values are 0. The fields, with their positions in bytes:
///
///       0  u64  number, from 1; 0: no record is written here yet
///       8  i64  time when the request arrived, milliseconds since 1970
///      16  i64  time when its outcome was known
///      24  i64  timestamp of the payload, seconds since 1970
///      32  16   apns-id or apns-request-id, in the order in which it is written
///      48  16   the first 16 bytes of the SHA-256 of the token's bytes, or of the channel's id (base64)
///      64  u16  status of the answer
///      66  u8   outcome: 0 answered, not known to be sent; 1 answered and sent; 2 answered and lost;
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
package struct RequestRecord: Sendable, Hashable {
    package static let byteCount = 128
    static let reasonBytesMax = 40

    package enum RecordOutcome: UInt8, Sendable {
        /// Answered, but it is not known whether the answer was sent.
        case answered = 0
        case sent
        /// Answered, but the stream or the connection ended before the answer was sent.
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
        /// No request: the simulator started. Separates the records of two processes.
        case simulatorStarted = 255
    }

    package var number: UInt64 = 0
    package var receivedAt: Int64 = 0
    package var endedAt: Int64 = 0
    package var timestamp: Int64 = 0
    package var id = PushID(high: 0, low: 0)
    /// The first 16 bytes of the hash of the token or channel, in two words.
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

    /// Sets the fields that are known with the outcome.
    mutating func setOutcome(from entry: JournalEntry) {
        endedAt = entry.endedAt
        switch entry.outcome {
        case .answered(let status, let reason, let isSent):
            self.status = UInt16(clamping: status)
            self.reason = reason ?? ""
            outcome = isSent ? .sent : .answered
        case .reset(let code):
            resetCode = code.rawValue
            outcome = .reset
        case .notProcessed: outcome = .notProcessed
        case .silence: outcome = .silence
        }
    }

    /// Returns the first 16 bytes of the SHA-256, in two words.
    private static func hash(of bytes: [UInt8]) -> (high: UInt64, low: UInt64) {
        var digest = InlineArray<4, UInt64>(repeating: 0)
        var span = digest.mutableSpan
        unsafe span.withUnsafeMutableBytes { digestBytes in
            unsafe bytes.withUnsafeBytes { unsafe SHA256.digest(of: $0, into: digestBytes) }
        }
        return (UInt64(bigEndian: digest[0]), UInt64(bigEndian: digest[1]))
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
