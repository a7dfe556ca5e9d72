package import Schedules
package import Store

/// The rows of one partition of `timers`, with the changes of the current transaction: the timers, and the idempotency
/// keys of schedules.
package protocol TimerTable {
    /// Returns all timers of an owner, in no order.
    mutating func timers(of owner: ScheduleOwner, app: String) throws(StoreError) -> [TimerRow]
    /// Returns all timers of other owners whose sends name the user, in no order.
    mutating func timers(naming user: String, app: String) throws(StoreError) -> [TimerRow]
    mutating func idempotencyRow(for key: [UInt8]) throws(StoreError) -> ScheduleIdempotencyRow?
    /// Sets a timer. The owner's timers must have been read before.
    mutating func set(_ row: TimerRow)
    mutating func set(_ row: ScheduleIdempotencyRow, key: [UInt8])
    mutating func remove(_ row: TimerRow)
    /// Returns the number of matching timers that fired within the minute before `time`.
    func recentlyFiredCount(
        matching selection: ScheduleCommand.TimerSelection, of owner: ScheduleOwner, app: String,
        at time: Int64
    ) -> Int
}
