package import JSON
internal import Kafka
package import RecordFormat
package import Store
package import Telemetry

/// The committed rows of one partition of a compacted topic, from its view and its overlay. The overlay wins, because
/// its rows are newer.
package final class CommittedRows {
    package let partition: Int32
    private let views: TopicViews
    private let reader: JSONReader
    private let log: Log
    private let unreadableRowMessage: StaticString
    /// The error of a row that a newer program version wrote, if there was one.
    package private(set) var newerRecord: RecordDecodingError?
    /// The encoded size of the rows that were read.
    package private(set) var readByteCount = 0

    /// - Parameter unreadableRowMessage: the log message for a row that cannot be read, with the consequence.
    package init(
        partition: Int32, views: TopicViews, reader: JSONReader, log: Log, unreadableRowMessage: StaticString
    ) {
        self.partition = partition
        self.views = views
        self.reader = reader
        self.log = log
        self.unreadableRowMessage = unreadableRowMessage
    }

    /// Returns the row of a key, or nil if it does not exist or cannot be read.
    package func row<Row: JSONRecord>(for key: HashedKey) throws(StoreError) -> Row? {
        if let record = views.overlays[partition]?[key] { return decode(record) }
        guard let view = views[partition] else { return nil }
        var row: Row?
        try view.withSnapshot { snapshot throws(StoreError) in
            try view.lookUp(key.bytes.span, in: snapshot) { value in
                row = unsafe value.withUnsafeBytes { unsafe decode($0) }
            }
        }
        return row
    }

    /// Calls `each` with the key of every row that begins with `prefix`, and with the row. The row is nil if it is
    /// deleted or cannot be read.
    ///
    /// - Parameters:
    ///   - unread: the keys with this prefix that the view may not have yet.
    ///   - pageRows: the number of rows that are read from the view at a time.
    package func readRows<Row: JSONRecord>(
        withPrefix prefix: [UInt8], unread: some Sequence<HashedKey>, pageRows: Int,
        forEach each: (HashedKey, Row?) -> Void
    ) throws(StoreError) {
        let overlay = views.overlays[partition]
        if let view = views[partition] {
            var range = KeyRange(prefix: prefix)
            var hasMore = true
            while hasMore {
                hasMore = try view.readPage(of: &range, rows: pageRows) { key, value in
                    let key = HashedKey([UInt8](copying: key))
                    if overlay?[key] == nil { each(key, unsafe value.withUnsafeBytes { unsafe decode($0) }) }
                }
            }
        }
        for key in unread {
            if let record = overlay?[key] { each(key, decode(record)) }
        }
    }

    /// Decodes a record of the overlay. Returns nil for a tombstone, which is empty.
    private func decode<Row: JSONRecord>(_ record: [UInt8]) -> Row? {
        record.isEmpty ? nil : unsafe record.withUnsafeBytes { unsafe decode($0) }
    }

    private func decode<Row: JSONRecord>(_ bytes: UnsafeRawBufferPointer) -> Row? {
        readByteCount += bytes.count
        do throws(RecordDecodingError) {
            return try unsafe Row.decode(bytes, with: reader)
        } catch {
            // The row's checksum is right, so the topic holds exactly this value.
            if case .unknownVersion = error { newerRecord = error }
            log.error(unreadableRowMessage, .field("partition", partition), .field("error", error))
            return nil
        }
    }
}
