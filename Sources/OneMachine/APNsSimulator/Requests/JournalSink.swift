internal import APNs
internal import HTTP2
internal import LiveActivity

/// The receiver of each request, once, when its end is known. Confined to the simulator's event loop.
protocol JournalSink: AnyObject {
    func ended(_ entry: consuming JournalEntry)

    /// Called before a request is answered, so that its record is written before the answer is sent.
    func answering(_ entry: inout JournalEntry)
}

extension JournalSink {
    func answering(_ entry: inout JournalEntry) {}
}

/// One request with its end.
struct JournalEntry: Sendable {
    enum End: Sendable, Hashable {
        /// `left` tells whether the whole answer was sent before its stream or its connection ended.
        case answered(status: Int, reason: String?, left: Bool)
        case reset(ErrorCode)
        /// The request was above the last stream of a GOAWAY, so it counts as never received.
        case notProcessed
        /// Never answered.
        case silence

        /// Records that the whole answer was sent.
        mutating func left() {
            if case .answered(let status, let reason, _) = self {
                self = .answered(status: status, reason: reason, left: true)
            }
        }
    }

    /// The facts known before the end. They are behind a reference, because each entry is passed on several
    /// times. A full copy would count six references each time.
    private final class Request: Sendable {
        let facts: RequestFacts
        let recorded: RecordedRequest
        let id: PushID

        init(_ facts: RequestFacts, _ recorded: RecordedRequest, id: PushID) {
            self.facts = facts
            self.recorded = recorded
            self.id = id
        }
    }

    private let known: Request
    /// Approximate size in memory.
    let bytes: Int
    var end: End
    /// Whether the push was delivered to the phones.
    var isDelivered: Bool
    /// Time when the end was known, in milliseconds since 1970.
    var endedAt: Int64
    /// Index of its record in the file of records.
    var record: Int?

    init(
        facts: RequestFacts, request: RecordedRequest, id: PushID, end: End, isDelivered: Bool,
        endedAt: Int64
    ) {
        known = Request(facts, request, id: id)
        let target = if case .token(let token) = facts.target { token.bytes.count } else { 0 }
        bytes = Self.bytesAlone + request.bytesKept + target
        self.end = end
        self.isDelivered = isDelivered
        self.endedAt = endedAt
    }

    /// Fixed size of an entry, including the allocator's overhead.
    private static let bytesAlone = 384

    var facts: RequestFacts { known.facts }
    var request: RecordedRequest { known.recorded }
    /// The apns-id or apns-request-id of the answer.
    var id: PushID { known.id }
}
