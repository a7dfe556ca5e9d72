internal import JSON
internal import Kafka
internal import Store

/// The data that one lane keeps of one topic on disk: rows and the offset that was read. One transaction
/// changes both. It is pinned to its loop's thread.
///
/// After any error the file is closed and opened again. Records that were not written are then read again.
protocol LaneFile: AnyObject {
    var beginning: OpeningState { get }
    var position: AppliedPosition { get set }

    /// Takes a new record.
    ///
    /// - Returns: The outcome of the record, for the metrics.
    func apply(_ record: borrowing Kafka.Record, with reader: JSONReader) throws -> String
    /// Writes the taken records together with their offset, in one transaction.
    func commit() throws
    /// Removes some of the rows that are older than `time`.
    ///
    /// - Returns: The number of removed rows.
    func deleteRows(before time: Int64) throws -> Int
    func close() throws
    /// Makes the next opening start from an empty file and report the reason.
    func markUnusable(because reason: String) throws
}
