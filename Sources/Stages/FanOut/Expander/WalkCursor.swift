package import Registry
internal import Store

/// The position of an expansion in its lane, which `Expansion.cursor` holds.
package struct WalkCursor: Sendable, Hashable {
    /// The first byte of the stored form. Earlier versions of this program wrote 1 and 2.
    private static let layout: UInt8 = 3

    package var pageCursor: PageCursor

    package init(pageCursor place: PageCursor) { self.pageCursor = place }

    /// The golden ratio's fraction. Each of its multiples falls into the largest gap between the earlier
    /// ones. So no recipient is always last.
    private static let goldenFraction = 0.618_033_988_749_894_9

    /// Makes the first cursor of an update, from the number of earlier updates in its generation.
    package init(ordinal: Int) {
        let fraction = (Double(ordinal) * Self.goldenFraction).truncatingRemainder(dividingBy: 1)
        self.init(pageCursor: PageCursor(startingAt: UInt16(fraction * 65_536)))
    }

    /// Makes the first cursor of an update that supersedes an open walk. It begins where that walk has come to. So
    /// updates that come faster than their walks together visit every member in one pass.
    package init(continuing walk: WalkCursor) {
        self.init(pageCursor: PageCursor(startingAt: walk.pageCursor.range.lower))
    }

    package var bytes: [UInt8] { [Self.layout] + pageCursor.bytes }

    /// Returns nil for bytes that another program version may have written. The walk then begins again.
    package init?(bytes: [UInt8]) {
        guard bytes.first == Self.layout, let place = PageCursor(bytes: Array(bytes.dropFirst())) else {
            return nil
        }
        self.init(pageCursor: place)
    }

    /// Whether the walk will still reach a row of the group, reported or joined.
    package func willReach(_ row: borrowing TokenPageRow, joined: Bool) -> Bool {
        guard joined, let activity = row.activity else { return pageCursor.willVisit(row) }
        return pageCursor.willVisit(GroupIndex.Kind.joinedActivity.position(of: Array(activity.utf8)))
    }
}
