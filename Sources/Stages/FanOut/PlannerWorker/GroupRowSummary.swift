internal import JSON
internal import RecordFormat
internal import Sends

/// The facts of a row that a walk through all rows needs. They are read in place, without a copy of the content states.
struct GroupRowSummary {
    /// The stamp of the row's last send, in milliseconds since 1970. Nil if the row is for no send.
    var lastSendAt: Int64?
    /// The time from which the row can be forgotten, in milliseconds since 1970.
    var end: Int64
    /// The scope, if it holds a send.
    var heldScope: ScopeKey?
    var note: SupersededVersions?

    /// Returns nil for a row that cannot be read. Such a row stays as it is.
    static func decode(key: Span<UInt8>, value: Span<UInt8>, with reader: JSONReader) -> GroupRowSummary? {
        unsafe key.withUnsafeBytes { key in
            try? unsafe value.withUnsafeBytes { value throws(RecordDecodingError) in
                if unsafe SendIdempotencyRow.isKey(key) {
                    let at = try unsafe SendIdempotencyRow.decode(value, with: reader).writtenAt
                    return GroupRowSummary(lastSendAt: at, end: at + Idempotency.retentionMilliseconds)
                }
                if unsafe SubscribedGroups.isKey(key) {
                    return GroupRowSummary(end: try unsafe SubscribedGroups.decode(value, with: reader).end)
                }
                guard let key = unsafe ScopeKey(bytes: key) else { return nil }
                return try unsafe GroupRow.read(value, with: reader) { GroupRowSummary($0, of: key) }
            }
        }
    }

    private init(lastSendAt: Int64? = nil, end: Int64) {
        self.lastSendAt = lastSendAt
        self.end = end
    }

    private init(_ record: JSONObject, of key: ScopeKey) {
        var row = GroupRow()
        row.lastSendAt = record["lastAt"].timeMilliseconds()
        row.membersUntil = record["membersUntil"].optional?.timeMilliseconds() ?? 0
        row.updateVersion = record["updatedAt"].optional?.version() ?? 0
        row.endVersion = record["endedAt"].optional?.version() ?? 0
        row.cancelledSends = record["cancelled"].cancelledSends()
        self.init(lastSendAt: row.lastSendAt, end: row.end)
        heldScope = record["held"].isMissing ? nil : key
        note = SupersededVersions(row, of: key, at: row.lastSendAt)
    }
}
