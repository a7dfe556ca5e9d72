internal import Kafka
internal import Store

/// The next rows of a table in the order of their keys, read in one transaction.
struct RowPage {
    struct Row {
        let key: [UInt8]
        /// The time in front of the value, in milliseconds since 1970.
        let at: Int64
        let value: [UInt8]
    }

    private(set) var rows: [Row] = []
    /// The keys behind the page. Nil if the range has no more rows.
    private(set) var rest: KeyRange?

    /// Reads up to `rowsMax` rows of a range. Throws if one of them is damaged, because an answer without it would be
    /// wrong.
    init(
        of table: String, in file: LMDBEnvironment, within range: KeyRange, rowsMax: Int
    ) throws(StoreError) {
        let prefixByteCount = RowChecksum.byteCount + RetentionSweep.timeByteCount
        var rows: [Row] = []
        var unread = range
        var isDamaged = false
        let hasMore = try file.read { view throws(StoreError) in
            try view.readPage(of: file.table(named: table), range: &unread, rowsMax: rowsMax) { key, stored in
                guard stored.count >= prefixByteCount, RowChecksum.isValid(key: key, stored: stored) else {
                    isDamaged = true
                    return
                }
                rows.append(
                    Row(
                        key: [UInt8](copying: key),
                        at: Int64(clamping: BigEndian.number(in: stored, at: RowChecksum.byteCount)),
                        value: [UInt8](copying: stored.extracting(droppingFirst: prefixByteCount))))
            }
        }
        if isDamaged { throw .changedRow(path: file.path) }
        self.rows = rows
        rest = hasMore ? unread : nil
    }
}
