internal import Store

/// The changes that one transaction makes to the numbers of activities of groups. A group's number counts all of its
/// rows in `updates`, also those that are not served. So the expander can count the recipients that a walk has not
/// visited when it ends early.
struct MemberCounts {
    /// The size of a number in the table.
    private static let byteCount = 8

    /// The changes, by app and group in their encoded form.
    private var changes: [[UInt8]: Int] = [:]

    /// - Parameter key: A key of `updates`.
    mutating func add(_ change: Int, toGroupOf key: Span<UInt8>) {
        changes[Array(Self.group(of: key)), default: 0] += change
    }

    /// Writes the new numbers. A group without rows has no number.
    mutating func write(to table: Table, in transaction: inout WriteTransaction) throws(StoreError) {
        for (group, change) in changes where change != 0 {
            let count = try Self.count(of: group.span, in: table, snapshot: transaction.snapshot) + change
            if count > 0 {
                try transaction.put(group.span, value: Self.value(count).span, in: table)
            } else {
                try transaction.remove(group.span, in: table)
            }
        }
        changes.removeAll()
    }

    /// Returns the part of a key of `updates` that names app and group.
    @_lifetime(copy key)
    static func group(of key: Span<UInt8>) -> Span<UInt8> {
        var end = 0
        _ = OrderedNumber.read(key, at: &end)
        NameCode.skip(key, at: &end)
        return key.extracting(0..<end)
    }

    static func value(_ count: Int) -> [UInt8] {
        var value: [UInt8] = []
        value.append(number: Int64(count), byteCount: byteCount)
        return value
    }

    static func count(
        of group: Span<UInt8>, in table: Table, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> Int {
        guard let value = try snapshot.value(of: group, in: table), value.count == byteCount else { return 0 }
        return Int(value.number(at: 0, byteCount: byteCount))
    }
}
