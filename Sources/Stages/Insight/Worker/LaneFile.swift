internal import JSON
internal import Kafka
internal import Store

/// The result of one step of deletion.
struct DeletedRows: Equatable {
    var count = 0
    /// Whether a further step may find old rows.
    var mayHaveMore = false

    static func + (first: DeletedRows, second: DeletedRows) -> DeletedRows {
        DeletedRows(
            count: first.count + second.count, mayHaveMore: first.mayHaveMore || second.mayHaveMore)
    }
}

/// The data of one topic that a lane keeps on disk: rows, and the offset up to which the topic was read. One
/// transaction changes both. A file is used on the loop's thread only.
///
/// After any error the file is closed and opened again. Records that were not written are then read again.
protocol LaneFile: AnyObject {
    /// The state in which the file was found.
    var openingState: OpeningState { get }
    var position: AppliedPosition { get set }

    /// Takes a new record. It is written by the next `commit`.
    ///
    /// - Returns: The outcome of the record, for the metrics.
    func apply(_ record: borrowing Kafka.Record, with reader: JSONReader) throws -> RecordOutcome
    /// Writes the taken records together with their offset, in one transaction.
    func commit() throws
    /// Removes some of the rows that are older than `time`.
    func deleteRows(before time: Int64) throws -> DeletedRows
    func close() throws
    /// Makes the next opening start from an empty file and report the reason.
    func markUnusable(because reason: String) throws
}
