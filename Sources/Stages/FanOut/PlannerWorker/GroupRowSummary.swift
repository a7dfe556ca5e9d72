internal import JSON
internal import RecordFormat
internal import Sends

/// The parts of a row that a walk through all rows needs. They are read in place, without a copy of the
/// content states.
enum GroupRowSummary {
    case seenSend(at: Int64)
    case subscribedGroups(end: Int64)
    case group(lastAt: Int64, membersUntil: Int64, isHeld: Bool, note: SupersededVersions?)

    /// Returns nil for a row that cannot be read. Such a row stays as it is.
    static func decode(key: Span<UInt8>, value: Span<UInt8>, with reader: JSONReader) -> GroupRowSummary? {
        let isSeenSend = unsafe key.withUnsafeBytes { unsafe SendIdempotencyRow.isKey($0) }
        if isSeenSend {
            let seen = try? unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe SendIdempotencyRow.decode(bytes, with: reader)
            }
            return seen.map { .seenSend(at: $0.writtenAt) }
        }
        let isSubscribedGroups = unsafe key.withUnsafeBytes { unsafe SubscribedGroups.isKey($0) }
        if isSubscribedGroups {
            let groups = try? unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
                try unsafe SubscribedGroups.decode(bytes, with: reader)
            }
            return groups.map { .subscribedGroups(end: $0.end) }
        }
        let groupKey = unsafe key.withUnsafeBytes { unsafe ScopeKey(bytes: $0) }
        guard let groupKey else { return nil }
        return try? unsafe value.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe GroupRow.read(bytes, with: reader) { record in
                var row = GroupRow()
                row.lastSendAt = record["lastAt"].timeMilliseconds()
                row.updateVersion = record["updatedAt"].optional?.version() ?? 0
                row.endVersion = record["endedAt"].optional?.version() ?? 0
                row.cancelledSends = record["cancelled"].cancelledSends()
                return .group(
                    lastAt: row.lastSendAt,
                    membersUntil: record["membersUntil"].optional?.timeMilliseconds() ?? 0,
                    isHeld: !record["held"].isMissing,
                    note: SupersededVersions(row, of: groupKey, at: row.lastSendAt))
            }
        }
    }
}
