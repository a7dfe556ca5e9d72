package import Store

/// The position of a selection's walk through a lane, between two pages. A walk starts anywhere, continues to
/// the end, wraps to the first key, and ends where it started. A row that comes or goes during the walk is
/// met at most once. A row that stays is met exactly once.
///
/// A cursor is stored as `bytes` and is valid in any process that has the lane: it contains keys from the
/// recipient on, without the lane's own numbers of apps and types in front.
package struct PageCursor: Sendable, Hashable {
    /// The version of the order of recipients. A new way to build keys needs a new version.
    private static let version: UInt8 = 1
    /// The version, `isWrapped`, and at least one byte for each of the two lengths.
    private static let byteCountMin = 4

    /// The key at which the walk started, and ends.
    let origin: [UInt8]
    /// The first key that is not examined yet.
    var next: [UInt8]
    /// Whether the walk has passed the end of the table. A selection that names activities has a walk through each of
    /// them, without an origin. Its cursor uses this field for another purpose: it is true if the page ended within the
    /// rows of the activity at `activityIndex`, before `next`.
    var isWrapped: Bool
    /// The index of the next activity in the selection's list, if the selection names activities.
    var activityIndex: Int

    init(origin: [UInt8], next: [UInt8], isWrapped: Bool, activityIndex: Int = 0) {
        self.origin = origin
        self.next = next
        self.isWrapped = isWrapped
        self.activityIndex = activityIndex
    }

    /// Creates the start of a walk at a `RecipientBucket`. If each send has another bucket, no recipient is
    /// always the last.
    package init(startingAt bucket: UInt16 = 0) {
        let origin = bucket == 0 ? [] : [UInt8(bucket >> 8), UInt8(bucket & 0xFF)]
        self.init(startingAt: origin)
    }

    /// Creates the start of a walk at a position of another walk.
    package init(startingAt position: [UInt8]) {
        self.init(origin: position, next: position, isWrapped: false)
    }

    /// Creates the position of a page's end within the rows of a named activity.
    init(withinActivityAt index: Int, next: [UInt8]) {
        self.init(origin: [], next: next, isWrapped: true, activityIndex: index)
    }

    /// The positions up to the end of the table, or up to the origin if the walk has passed that end.
    package var range: KeyRange { KeyRange(from: next, upTo: isWrapped ? origin : nil) }

    /// The cursor behind `range`. Nil if the walk ends there.
    var behindRange: PageCursor? {
        isWrapped || origin.isEmpty ? nil : PageCursor(origin: origin, next: [], isWrapped: true)
    }

    /// The end of a page: the positions from this cursor up to the next page. Nil means the end of `range`.
    package func pageEnd(before nextPage: PageCursor?) -> [UInt8]? {
        guard let nextPage, nextPage.isWrapped == isWrapped else { return range.upper }
        return nextPage.next
    }

    /// The stored form: the version, `isWrapped` as 0 or 1, the index of the activity, the length of
    /// `origin`, `origin`, `next`.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = [Self.version, isWrapped ? 1 : 0]
        bytes.append(length: activityIndex)
        bytes.append(length: origin.count)
        return bytes + origin + next
    }

    /// Returns nil for the cursor of another version. The walk must then start again.
    package init?(bytes: [UInt8]) {
        guard bytes.count >= Self.byteCountMin, bytes[0] == Self.version, bytes[1] < 2 else { return nil }
        var offset = 2
        guard let activityIndex = Self.length(in: bytes, at: &offset),
            let originBytes = Self.length(in: bytes, at: &offset),
            originBytes <= bytes.count - offset
        else { return nil }
        let originEnd = offset + originBytes
        self.init(
            origin: Array(bytes[offset..<originEnd]), next: Array(bytes[originEnd...]),
            isWrapped: bytes[1] == 1, activityIndex: activityIndex)
        // A wrapped cursor must be before its origin, and an unwrapped one must not be. Otherwise the walk
        // would meet rows twice or miss some.
        guard origin.isEmpty || next.lexicographicallyPrecedes(origin) == isWrapped else { return nil }
    }

    /// Reads a length that `append(length:)` wrote, of at most two bytes. Neither `Audience.namesMax` nor the
    /// longest key needs more. Returns nil for bytes that are no such length.
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
