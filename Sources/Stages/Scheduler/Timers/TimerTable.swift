package import Schedules
package import Store

/// The rows that `TimerCommands` reads and changes: the timers and the idempotency rows of one partition of `timers`, with
/// the changes of the current transaction. In the stage the table is `TransactionTimers`.
package protocol TimerTable {
    /// Returns all timers of an owner, in no order.
    mutating func timers(of owner: ScheduleOwner, app: String) throws(StoreError) -> [TimerRow]
    /// Returns the timers of all owners whose sends name the user, in no order.
    mutating func timers(naming user: String, app: String) throws(StoreError) -> [TimerRow]
    /// - Parameter key: the key of the row (`ScheduleIdempotencyRow.key`).
    mutating func idempotencyRow(for key: [UInt8]) throws(StoreError) -> ScheduleIdempotencyRow?
    /// Sets a timer. The timers of its owner must have been read in this transaction, so that the table knows the due time
    /// that the timer had before, if it is not new.
    mutating func set(_ row: TimerRow)
    /// - Parameter key: the key of the row (`ScheduleIdempotencyRow.key`).
    mutating func set(_ row: ScheduleIdempotencyRow, key: [UInt8])
    /// Removes a timer that was read in this transaction.
    mutating func remove(_ row: TimerRow)
    /// Returns the number of the owner's timers that match the selection and fired within the minute before `time`, in
    /// milliseconds since 1970.
    func recentlyFiredCount(
        matching selection: ScheduleCommand.TimerSelection, of owner: ScheduleOwner, app: String,
        at time: Int64
    ) -> Int
}
