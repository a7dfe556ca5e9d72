internal import APNs
internal import HTTP2
internal import Identifiers

/// An entry of the journal: one request to the simulated APNs with its outcome.
struct JournalEntry: Sendable {
    enum Outcome: Sendable, Hashable {
        /// `isSent` tells whether the whole answer was sent before its stream or its connection ended.
        case answered(status: Int, reason: String?, isSent: Bool)
        /// The stream was reset with this code.
        case reset(HTTP2ErrorCode)
        /// The request was above the last stream of a GOAWAY, so it counts as never received.
        case notProcessed
        /// The request got no answer, as a fault demanded.
        case silence

        /// Records that the whole answer was sent.
        mutating func markSent() {
            if case .answered(let status, let reason, _) = self {
                self = .answered(status: status, reason: reason, isSent: true)
            }
        }
    }

    /// The facts that are known before the outcome. They are behind one reference, because an entry is copied
    /// several times: without it, each copy would retain and release six references.
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
    /// Time when the outcome was known, in milliseconds since 1970.
    var endedAt: Int64
    /// Index of the request's record in the `RequestRecordFile`. Nil if it has none.
    var recordIndex: Int?

    init(
        facts: RequestFacts, request: RecordedRequest, id: PushID, outcome: Outcome, isDelivered: Bool,
        endedAt: Int64
    ) {
        sharedFacts = SharedFacts(facts: facts, recorded: request, id: id)
        let tokenBytes = if case .token(let token) = facts.target { token.bytes.count } else { 0 }
        memoryBytes = Self.fixedBytes + request.memoryBytes + tokenBytes
        self.outcome = outcome
        self.isDelivered = isDelivered
        self.endedAt = endedAt
    }

    /// Approximate size of an entry without its request and its token, including the allocator's overhead.
    private static let fixedBytes = 384

    var facts: RequestFacts { sharedFacts.facts }
    var request: RecordedRequest { sharedFacts.recorded }
    /// The apns-id or apns-request-id of the answer.
    var id: PushID { sharedFacts.id }
}
