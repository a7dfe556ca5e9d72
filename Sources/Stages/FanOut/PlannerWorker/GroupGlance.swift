internal import JSON
internal import LiveActivity

/// The parts of a row that a walk through all rows needs. They are read in place, without a copy of the
/// content states.
enum GroupGlance {
    case seen(at: Int64)
    case group(lastAt: Int64, isHeld: Bool, note: SupersededNote?)

    /// Returns nil for a row that cannot be read. Such a row stays as it is.
    static func look(_ key: Span<UInt8>, _ value: Span<UInt8>, with reader: JSONReader) -> GroupGlance? {
        let isSeen = unsafe key.withUnsafeBytes { unsafe SeenSend.isKey($0) }
        if isSeen {
            let seen = try? unsafe value.withUnsafeBytes { bytes throws(RecordError) in
                try unsafe SeenSend.decode(bytes, with: reader)
            }
            return seen.map { .seen(at: $0.at) }
        }
        let groupKey = unsafe key.withUnsafeBytes { unsafe GroupKey(bytes: $0) }
        guard let groupKey else { return nil }
        return try? unsafe value.withUnsafeBytes { bytes throws(RecordError) in
            try unsafe GroupRow.read(bytes, with: reader) { record in
                var row = GroupRow()
                row.lastAt = record["lastAt"].time()
                row.updatedAt = record["updatedAt"].optional?.version() ?? 0
                row.endedAt = record["endedAt"].optional?.version() ?? 0
                row.cancelled = record["cancelled"].cancelled()
                return .group(
                    lastAt: row.lastAt, isHeld: !record["held"].isMissing,
                    note: SupersededNote(row, of: groupKey, at: row.lastAt))
            }
        }
    }
}
