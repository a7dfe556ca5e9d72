internal import Store

extension RowCursor {
    /// The number of rows to step over before a seek. A step costs a tenth of a seek.
    private static var stepsBeforeSeekMax: Int { 8 }

    /// Moves forward to a key, or to the first key behind it, and returns whether the key exists.
    @_lifetime(self: copy self)
    mutating func advance(to target: Span<UInt8>) throws(StoreError) -> Bool {
        var steps = 0
        while isOnRow {
            let order = key.compare(to: target)
            if order >= 0 { return order == 0 }
            steps += 1
            if steps <= Self.stepsBeforeSeekMax { try advance() } else { try seek(to: target) }
        }
        return false
    }

    @_lifetime(self: copy self)
    mutating func advance(to target: [UInt8]) throws(StoreError) -> Bool { try advance(to: target.span) }
}
