package import Store

/// The position of a selection's walk through a lane, between two pages.
///
/// A walk through a table starts anywhere, continues to the end, wraps to the first key, and ends where it started. A
/// walk through named activities takes one after the other. A row that comes or goes during the walk is met at most
/// once. A row that stays is met exactly once.
///
/// A cursor is stored as `bytes` and is valid in any process that has the lane: it contains the parts of the keys from
/// the recipient on, without the lane's own numbers of apps and types in front.
package struct PageCursor: Sendable, Hashable {
    enum Position: Sendable, Hashable {
        /// In a walk through a table. `origin` is the key at which the walk started, and ends. `next` is the first key
        /// that is not examined yet. `isWrapped` tells whether the walk has passed the end of the table. A walk of named
        /// activities has such a position only before its first page, and ignores it.
        case table(origin: [UInt8], next: [UInt8], isWrapped: Bool)
        /// In the rows of a named activity, by its index in the selection's list. `next` is the first key that is not
        /// examined yet. The rows of the earlier activities are examined.
        case activity(index: Int, next: [UInt8])
    }

    /// The version of the order of recipients. A new way to build keys needs a new version.
    private static let version: UInt8 = 1
    /// The version, the flag, and at least one byte for each of the two numbers.
    private static let byteCountMin = 4

    let position: Position

    init(_ position: Position) { self.position = position }

    /// Creates the start of a walk at a `RecipientBucket`. Bucket 0 begins at the first key, so its walk need not wrap.
    package init(startingAt bucket: UInt16 = 0) {
        let origin = bucket == 0 ? [] : [UInt8(bucket >> 8), UInt8(bucket & 0xFF)]
        self.init(startingAt: origin)
    }

    /// Creates the start of a walk at a position of another walk.
    package init(startingAt key: [UInt8]) {
        self.init(.table(origin: key, next: key, isWrapped: false))
    }

    /// The key at which a walk through a table started. An empty key is the first one.
    var origin: [UInt8] {
        switch position {
        case .table(let origin, _, _): origin
        case .activity: []
        }
    }

    /// The first key that is not examined yet.
    var next: [UInt8] {
        switch position {
        case .table(_, let next, _), .activity(_, let next): next
        }
    }

    /// Returns the cursor behind the rows before this key, in the same part of the walk.
    func moved(to next: [UInt8]) -> PageCursor {
        switch position {
        case .table(let origin, _, let isWrapped):
            PageCursor(.table(origin: origin, next: next, isWrapped: isWrapped))
        case .activity(let index, _): PageCursor(.activity(index: index, next: next))
        }
    }

    /// The positions up to the end of the table, or up to the origin if the walk has passed that end. Empty within the
    /// rows of a named activity.
    package var range: KeyRange {
        switch position {
        case .table(let origin, let next, let isWrapped): KeyRange(from: next, upTo: isWrapped ? origin : nil)
        case .activity(_, let next): KeyRange(from: next, upTo: [])
        }
    }

    /// The cursor with which the walk goes on at the first key after it has come to the end of the table. Nil if the walk
    /// ends there.
    var wrapped: PageCursor? {
        guard case .table(let origin, _, isWrapped: false) = position, !origin.isEmpty else { return nil }
        return PageCursor(.table(origin: origin, next: [], isWrapped: true))
    }

    /// Returns the upper bound of the positions of a page that begins at this cursor. Nil means the end of the table.
    package func pageEnd(before nextPage: PageCursor?) -> [UInt8]? {
        guard let nextPage, position.isSamePart(as: nextPage.position) else { return range.upper }
        return nextPage.next
    }

    /// The stored form: the version, a flag, the index of the activity, the length of `origin`, `origin`, `next`. The flag
    /// is 0 if a walk through a table has not wrapped, and 1 otherwise. A walk that has wrapped has an origin, and so
    /// differs from the rows of an activity.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = [Self.version]
        switch position {
        case .table(_, _, let isWrapped):
            bytes.append(isWrapped ? 1 : 0)
            bytes.append(length: 0)
        case .activity(let index, _):
            bytes.append(1)
            bytes.append(length: index)
        }
        bytes.append(length: origin.count)
        return bytes + origin + next
    }

    /// Returns nil for the cursor of another version. The walk must then start again.
    package init?(bytes: [UInt8]) {
        guard bytes.count >= Self.byteCountMin, bytes[0] == Self.version, bytes[1] < 2 else { return nil }
        let flag = bytes[1] == 1
        var offset = 2
        guard let activityIndex = Self.length(in: bytes, at: &offset),
            let originBytes = Self.length(in: bytes, at: &offset),
            originBytes <= bytes.count - offset
        else { return nil }
        let origin = Array(bytes[offset..<offset + originBytes])
        let next = Array(bytes[(offset + originBytes)...])
        if flag, origin.isEmpty {
            self.init(.activity(index: activityIndex, next: next))
            return
        }
        // A wrapped cursor must be before its origin, and an unwrapped one must not be. Otherwise the walk
        // would meet rows twice or miss some.
        guard activityIndex == 0, next.lexicographicallyPrecedes(origin) == flag else { return nil }
        self.init(.table(origin: origin, next: next, isWrapped: flag))
    }

    /// Reads a length or an index that `append(length:)` wrote, of at most two bytes. Neither `Audience.namesMax` nor
    /// the longest key needs more. Returns nil for bytes that are no such number.
    private static func length(in bytes: [UInt8], at offset: inout Int) -> Int? {
        guard offset < bytes.count else { return nil }
        let first = Int(bytes[offset])
        offset += 1
        if first < 0x80 { return first }
        guard offset < bytes.count, bytes[offset] < 0x80 else { return nil }
        let second = Int(bytes[offset])
        offset += 1
        return first & 0x7F | second << 7
    }
}

extension PageCursor.Position {
    /// Whether the keys of both positions are in one order: before or after the end of the table, or in activities.
    fileprivate func isSamePart(as other: Self) -> Bool {
        switch (self, other) {
        case (.table(_, _, let isWrapped), .table(_, _, let isOtherWrapped)): isWrapped == isOtherWrapped
        case (.activity, .activity): true
        case (.table, .activity), (.activity, .table): false
        }
    }
}
