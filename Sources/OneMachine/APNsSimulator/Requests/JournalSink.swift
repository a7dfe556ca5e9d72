internal import APNs
internal import HTTP2
internal import LiveActivity

/// The receiver of each request, once, when its end is known. Confined to the simulator's event loop.
protocol JournalSink: AnyObject {
    func didEnd(_ entry: consuming JournalEntry)

    /// Called before a request is answered, so that its record is written before the answer is sent.
    func willAnswer(_ entry: inout JournalEntry)
}

extension JournalSink {
    func willAnswer(_ entry: inout JournalEntry) {}
}

/// One request with its end.
struct JournalEntry: Sendable {
    enum Outcome: Sendable, Hashable {
        /// `left` tells whether the whole answer was sent before its stream or its connection ended.
        case answered(status: Int, reason: String?, isSent: Bool)
        case reset(HTTP2ErrorCode)
        /// The request was above the last stream of a GOAWAY, so it counts as never received.
        case notProcessed
        /// Never answered.
        case silence

        /// Records that the whole answer was sent.
        mutating func markSent() {
            if case .answered(let status, let reason, _) = self {
                self = .answered(status: status, reason: reason, isSent: true)
            }
        }
    }

    /// The facts known before the end. They are behind a reference, because each entry is passed on several
    /// times. A full copy would count six references each time.
    private final class SharedFacts: Sendable {
        let facts: RequestFacts
        let recorded: RecordedRequest
        let id: PushID

        init(facts: RequestFacts, recorded: RecordedRequest, id: PushID) {
            self.facts = facts
            self.recorded = recorded
            self.id = id
        }
    }

    private let sharedFacts: SharedFacts
    /// Approximate size in memory.
    let memoryBytes: Int
    var outcome: Outcome
    /// Whether the push was delivered to the phones.
    var isDelivered: Bool
    /// Time when the end was known, in milliseconds since 1970.
    var endedAt: Int64
    /// Index of its record in the file of records.
    var record: Int?

    init(
        facts: RequestFacts, request: RecordedRequest, id: PushID, end: Outcome, isDelivered: Bool,
        endedAt: Int64
    ) {
        sharedFacts = SharedFacts(facts: facts, recorded: request, id: id)
        let target = if case .token(let token) = facts.target { token.bytes.count } else { 0 }
        memoryBytes = Self.bytesAlone + request.memoryBytes + target
        self.outcome = end
        self.isDelivered = isDelivered
        self.endedAt = endedAt
    }

    /// Fixed size of an entry, including the allocator's overhead.
    private static let bytesAlone = 384

    var facts: RequestFacts { sharedFacts.facts }
    var request: RecordedRequest { sharedFacts.recorded }
    /// The apns-id or apns-request-id of the answer.
    var id: PushID { sharedFacts.id }
}
