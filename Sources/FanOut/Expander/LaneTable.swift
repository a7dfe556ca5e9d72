package import LiveActivity
package import Store

/// A lane's rows of `starts` as the expander sees them while it works: what is committed, under what it has
/// changed since. Keys are those of the topic. Only reading from disk can fail.
package protocol LaneTable {
    func scope(_ key: [UInt8]) throws(StoreError) -> LaneScope?
    func start(_ key: [UInt8]) throws(StoreError) -> LedgerRow?
    /// Whether there is such a row: asked for each start.
    func hasStart(_ key: [UInt8]) throws(StoreError) -> Bool
    /// The start of the type on the recipient's installation that was entered last.
    func newestStart(
        app: String, recipient: Recipient, installation: String, type: String
    ) throws(StoreError) -> LedgerKey?
    mutating func set(_ scope: LaneScope, under key: [UInt8])
    mutating func set(_ start: LedgerRow, under key: [UInt8])
    /// A row of the ledger that is encoded already: a page's rows all say the same.
    mutating func set(start: EncodedStart, under key: [UInt8])
}

/// The row that all starts of one content share in the ledger.
package struct EncodedStart: Sendable {
    package let row: LedgerRow
    package let bytes: [UInt8]

    package init(_ row: LedgerRow) {
        self.row = row
        bytes = row.encoded()
    }
}
