/// The progress of a selection's walk in a lane. It is small and serialized to bytes. It is valid in any
/// process that has the lane, because it contains recipients and not the lane's internal numbers. A walk
/// starts anywhere, continues to the end, wraps to the first key, and ends where it started. Rows that come
/// or go during the walk are met at most once. Rows that stay are met exactly once.
package struct PageCursor: Sendable, Hashable {
    /// The version of the order of recipients. A new way to build keys needs a new version.
    private static let version: UInt8 = 1

    /// The key at which the walk started, and ends.
    let origin: [UInt8]
    /// The first key that is not examined yet.
    var next: [UInt8]
    /// Whether the walk passed the end of the table. If the selection names activities: whether `next` is a
    /// key among the rows of an activity. Such a walk has no origin.
    var isWrapped: Bool
    /// The index of the named activity, if the selection names activities.
    var activity: Int

    init(origin: [UInt8], next: [UInt8], isWrapped: Bool, activity: Int) {
        self.origin = origin
        self.next = next
        self.isWrapped = isWrapped
        self.activity = activity
    }

    /// Creates the start of a walk. Recipients are spread evenly over the buckets, so every bucket is a fair
    /// start. A different number for each send ensures that no recipient is always the last.
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

    /// Returns nil for the cursor of another version. The walk must then start again.
    package init?(bytes: [UInt8]) {
        guard bytes.count >= 4, bytes[0] == Self.version, bytes[1] < 2 else { return nil }
        var offset = 2
        guard let activity = Self.length(in: bytes, at: &offset),
            let count = Self.length(in: bytes, at: &offset),
            count <= bytes.count - offset
        else { return nil }
        self.init(
            origin: Array(bytes[offset..<offset + count]), next: Array(bytes[(offset + count)...]),
            isWrapped: bytes[1] == 1, activity: activity)
        // A wrapped cursor must be before its origin, and an unwrapped one must not be. Otherwise the walk
        // would meet rows twice or miss some.
        guard origin.isEmpty || next.lexicographicallyPrecedes(origin) == isWrapped else { return nil }
    }

    /// Reads a length of at most two bytes. Neither `Audience.namesMax` nor the longest key needs more.
    private static func length(in bytes: [UInt8], at offset: inout Int) -> Int? {
        guard offset < bytes.count else { return nil }
        let first = Int(bytes[offset])
        offset += 1
        if first < 0x80 { return first }
        guard offset < bytes.count, bytes[offset] < 0x80 else { return nil }
        defer { offset += 1 }
        return first & 0x7F | Int(bytes[offset]) << 7
    }
}
