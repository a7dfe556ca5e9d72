internal import APNs
internal import HTTP2
internal import LiveActivity

/// Who is told of each request, once, when its end is known. Confined to the simulator's event loop.
protocol JournalSink: AnyObject {
    func ended(_ entry: consuming JournalEntry)

    /// A request is about to be answered: its record, if there is one, is to be there before the answer is.
    func answering(_ entry: inout JournalEntry)
}

extension JournalSink {
    func answering(_ entry: inout JournalEntry) {}
}

/// One request and what became of it.
struct JournalEntry: Sendable {
    enum End: Sendable, Hashable {
        /// `left` says whether the whole answer left this process before its stream or its connection
        /// ended.
        case answered(status: Int, reason: String?, left: Bool)
        case reset(ErrorCode)
        /// Above the last stream of a GOAWAY: as if it had never come.
        case notProcessed
        /// Never answered.
        case silence

        /// The whole of the answer did.
        mutating func left() {
            if case .answered(let status, let reason, _) = self {
                self = .answered(status: status, reason: reason, left: true)
            }
        }
    }

    /// What is known before the end. Behind a reference, because an entry is handed on several times for each push:
    /// a copy of all of it would count six references each time.
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
    /// What it takes in memory, roughly.
    let bytes: Int
    var end: End
    /// Whether the phones were given the push.
    var isDelivered: Bool
    /// When the end was known, milliseconds since 1970.
    var endedAt: Int64
    /// The index of its record in the file of records.
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

    /// With what the allocator takes for itself.
    private static let bytesAlone = 384

    var facts: RequestFacts { known.facts }
    var request: RecordedRequest { known.recorded }
    /// The apns-id or the apns-request-id that the answer carries.
    var id: PushID { known.id }
}
