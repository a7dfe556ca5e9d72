/// How far a selection has been walked in a lane: small, made of bytes, and good in any process that has
/// the lane, because it speaks of recipients and not of the lane's own numbers. A walk begins anywhere,
/// goes on to the end, begins again at the first, and ends where it began; rows that come or go
/// meanwhile are met at most once, and every row that is there throughout exactly once.
package struct PageCursor: Sendable, Hashable {
    /// The order of recipients; another way of making keys is another number.
    private static let version: UInt8 = 1

    /// Where the walk began, and ends.
    let origin: [UInt8]
    /// The first key not yet looked at.
    var next: [UInt8]
    /// Whether the end of the table is behind it; where the selection names activities, whether `next` is
    /// a key among the rows of one; such a walk has no origin.
    var isWrapped: Bool
    /// Which of the named activities, where the selection names some.
    var activity: Int

    init(origin: [UInt8], next: [UInt8], isWrapped: Bool, activity: Int) {
        self.origin = origin
        self.next = next
        self.isWrapped = isWrapped
        self.activity = activity
    }

    /// The beginning of a walk. Any bucket is a fair start: recipients are spread evenly over them, so
    /// a number that is another one for each send lets nobody be last every time.
    package init(startingAt bucket: UInt16 = 0) {
        let origin = bucket == 0 ? [] : [UInt8(bucket >> 8), UInt8(bucket & 0xFF)]
        self.init(origin: origin, next: origin, isWrapped: false, activity: 0)
    }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = [Self.version, isWrapped ? 1 : 0]
        bytes.append(length: activity)
        bytes.append(length: origin.count)
        return bytes + origin + next
    }

    /// Nil for what another program's cursor may be; the walk then has to begin anew.
    package init?(bytes: [UInt8]) {
        guard bytes.count >= 4, bytes[0] == Self.version, bytes[1] < 2 else { return nil }
        var offset = 2
        guard let activity = Self.length(bytes, &offset), let count = Self.length(bytes, &offset),
            count <= bytes.count - offset
        else { return nil }
        self.init(
            origin: Array(bytes[offset..<offset + count]), next: Array(bytes[(offset + count)...]),
            isWrapped: bytes[1] == 1, activity: activity)
        // Beyond the end it is before the beginning, and before the end it is not; another walk would meet
        // rows twice, or miss some.
        guard origin.isEmpty || next.lexicographicallyPrecedes(origin) == isWrapped else { return nil }
    }

    /// Two bytes at most: `Audience.namesMax` activities, and no key is longer.
    private static func length(_ bytes: [UInt8], _ offset: inout Int) -> Int? {
        guard offset < bytes.count else { return nil }
        let first = Int(bytes[offset])
        offset += 1
        if first < 0x80 { return first }
        guard offset < bytes.count, bytes[offset] < 0x80 else { return nil }
        defer { offset += 1 }
        return first & 0x7F | Int(bytes[offset]) << 7
    }
}
