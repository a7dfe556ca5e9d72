internal import APNs
internal import HTTP2

/// Who is told of each request, once, when its end is known. Confined to the simulator's event loop.
protocol JournalSink: AnyObject {
    func ended(_ entry: JournalEntry)

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
    }

    var facts: RequestFacts
    var request: RecordedRequest
    /// The apns-id or the apns-request-id that the answer carries.
    var id: PushID
    var end: End
    /// Whether the phones were given the push.
    var isDelivered: Bool
    /// When the end was known, milliseconds since 1970.
    var endedAt: Int64
    /// The index of its record in the file of records.
    var record: Int?
}
