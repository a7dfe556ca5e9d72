internal import JSON
internal import Kafka
internal import Store

/// What one lane keeps of one topic on disk: rows, and how far the topic was read, changed in one transaction.
/// Pinned to its loop's thread.
///
/// Whatever goes wrong with it, it is closed and opened again: what was taken and not entered is read again.
protocol LaneFile: AnyObject {
    var beginning: Beginning { get }
    var mark: ReadMark { get set }

    /// A record that was not met before.
    ///
    /// - Returns: what became of it, for the metrics.
    func hear(_ record: borrowing Kafka.Record, with reader: JSONReader) throws -> String
    /// Enters what was taken, with the offset it stands for, in one step.
    func settle() throws
    /// Removes some rows that are older.
    ///
    /// - Returns: how many.
    func forget(before time: Int64) throws -> Int
    func close() throws
    /// The next opening begins from nothing and says why.
    func condemn(_ reason: String) throws
}
