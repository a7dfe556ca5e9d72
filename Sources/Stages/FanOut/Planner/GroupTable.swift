package import Sends
package import Store

/// The planner's rows while it plans: the committed rows with its changes on top. Only reads from disk can
/// fail.
package protocol GroupTable {
    func row(of key: ScopeKey) throws(StoreError) -> GroupRow?
    func seenSend(id send: String, app: String) throws(StoreError) -> SendIdempotencyRow?
    func subscribedGroups(of app: String) throws(StoreError) -> SubscribedGroups?
    mutating func set(_ row: GroupRow, of key: ScopeKey)
    mutating func set(_ seen: SendIdempotencyRow, send: String, app: String)
    mutating func set(_ groups: SubscribedGroups, of app: String)
}
