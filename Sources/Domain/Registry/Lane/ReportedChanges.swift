internal import Store

/// The changed rows that a lane has reported and whose offsets the group has not committed yet.
///
/// If the process dies, or if its transaction fails, the records behind the committed offset are read again, and the
/// tables already contain them. The previous state of their rows is lost, so this table tells which of them had a change
/// to report. Without it every record would count as a new token, and a token whose proof or repetition was read again
/// would get the newest state a second time.
///
/// A row of the table belongs to one commit of the lane. Its key is the offset behind the commit's records, big-endian.
/// Its value has the keys of the changes (`ChangeDecoder`), each with its length in front.
struct ReportedChanges {
    private static let offsetBytes = 8
    /// The most rows that one commit removes.
    private static let removalsMax = 1000

    private let table: Table

    init(in tables: LaneTables) { table = tables.reported }

    /// Adds the changes of a commit.
    ///
    /// - Parameter offset: The offset behind the records of the commit.
    func add(
        _ changes: [ChangedRow], at offset: Int64, in transaction: inout WriteTransaction
    ) throws(StoreError) {
        if changes.isEmpty { return }
        var value: [UInt8] = []
        for change in changes {
            let key = change.changeKey
            value.append(length: key.count)
            value.append(key.span)
        }
        try transaction.put(Self.key(of: offset).span, value: value.span, in: table)
    }

    /// Returns the keys of the changes in all commits that end behind an offset.
    func keys(behind offset: Int64, in snapshot: borrowing ReadSnapshot) throws(StoreError) -> Set<[UInt8]> {
        var keys: Set<[UInt8]> = []
        var cursor = try snapshot.cursor(of: table, from: Self.key(of: offset + 1).span)
        while cursor.isOnRow {
            let value = try cursor.value
            var position = 0
            while position < value.count { keys.insert(Array(value.readCountedBytes(at: &position))) }
            try cursor.advance()
        }
        return keys
    }

    /// Removes commits that end at or below an offset, because the group has committed them.
    func remove(upTo offset: Int64, in transaction: inout WriteTransaction) throws(StoreError) {
        try transaction.remove(
            KeyRange(from: [], upTo: Self.key(of: offset + 1)), in: table, rowsMax: Self.removalsMax)
    }

    private static func key(of offset: Int64) -> [UInt8] {
        var key: [UInt8] = []
        key.append(number: offset, byteCount: offsetBytes)
        return key
    }
}
