internal import HTTP2

/// Who is told of each request, once, when its end is known. Confined to the simulator's event loop.
protocol JournalSink: AnyObject {
    func ended(_ entry: JournalEntry)
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

    struct Header: Sendable, Hashable {
        var name: String
        /// `authorization` is a secret: its scheme and the claims it carries are kept, the signature is not.
        var value: String
    }

    var facts: RequestFacts
    var method: String
    /// With the token, if there is one: what a person may see of it is the reader's business.
    var path: String
    var headers: [Header]
    var bodyBytes: Int
    /// SHA-256.
    var bodyHash: [UInt8]
    /// The apns-id or the apns-request-id that the answer carries.
    var id: String
    var end: End
    /// Whether the phones were given the push.
    var isDelivered: Bool
    /// When the end was known, milliseconds since 1970.
    var endedAt: Int64
}
