package import LiveActivity
package import Store

/// The rows of one partition as the transaction in hand makes them.
package protocol TimerTable {
    /// All timers of an owner, in no order.
    mutating func timers(of owner: ScheduleOwner, app: String) throws(StoreError) -> [TimerRow]
    mutating func seen(_ key: [UInt8]) throws(StoreError) -> SeenOrder?
    /// Only when its owner's were asked for.
    mutating func set(_ row: TimerRow)
    mutating func set(_ seen: SeenOrder, key: [UInt8])
    mutating func remove(_ row: TimerRow)
    /// Those that went within the last minute.
    func lately(_ choice: ScheduleOrder.Choice, of owner: ScheduleOwner, app: String, at time: Int64) -> Int
}
