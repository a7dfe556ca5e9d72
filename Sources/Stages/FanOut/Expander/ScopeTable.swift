package import Identifiers
internal import RecordFormat
package import Sends
package import Store

/// The rows of `starts` of a lane as the expander sees them: the committed rows with its changes on top. Keys
/// are those of the topic. Only reads from disk can fail.
package protocol ScopeTable {
    func scope(for key: [UInt8]) throws(StoreError) -> LaneScope?
    func start(for key: [UInt8]) throws(StoreError) -> LedgerRow?
    /// Whether the row exists. Called for each start.
    func hasStart(for key: [UInt8]) throws(StoreError) -> Bool
    /// Returns the newest start of the type on the recipient's installation.
    func newestStart(
        app: String, recipient: Recipient, installation: String, type: String
    ) throws(StoreError) -> LedgerKey?
    /// Returns the first activities that have joined a group, in the order of their positions.
    ///
    /// - Parameter range: the positions to look at.
    func joinedActivities(
        of group: ScopeKey, in range: KeyRange, countMax: Int
    ) throws(StoreError) -> [JoinedActivity]
    mutating func set(_ scope: LaneScope, under key: [UInt8])
    mutating func set(_ start: LedgerRow, under key: [UInt8])
    /// Sets a ledger row that is already encoded, because all rows of a page are equal.
    mutating func set(start: EncodedStart, under key: [UInt8])
}

/// The ledger row that all starts with one content share.
package final class EncodedStart: Sendable {
    package let row: LedgerRow
    package let bytes: [UInt8]

    package init(_ row: LedgerRow) {
        self.row = row
        bytes = row.encoded()
    }
}
