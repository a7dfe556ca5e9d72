package import LiveActivity
package import Store

/// The planner's rows as it sees them while it plans: what is committed, under what it has changed since.
/// Only reading from disk can fail.
package protocol GroupTable {
    func row(of key: GroupKey) throws(StoreError) -> GroupRow?
    func seen(_ send: String, app: String) throws(StoreError) -> SeenSend?
    mutating func set(_ row: GroupRow, of key: GroupKey)
    mutating func set(_ seen: SeenSend, send: String, app: String)
}
