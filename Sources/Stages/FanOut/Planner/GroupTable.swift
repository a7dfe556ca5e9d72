package import LiveActivity
package import Store

/// The planner's rows while it plans: the committed rows with its changes on top. Only reads from disk can
/// fail.
package protocol GroupTable {
    func row(of key: GroupKey) throws(StoreError) -> GroupRow?
    func seen(_ send: String, app: String) throws(StoreError) -> SeenSend?
    mutating func set(_ row: GroupRow, of key: GroupKey)
    mutating func set(_ seen: SeenSend, send: String, app: String)
}
