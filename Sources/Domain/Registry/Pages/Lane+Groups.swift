package import Store

/// A walk through the groups that have activities in a lane.
extension Lane {
    /// A position between two groups.
    package struct GroupCursor: Sendable, Equatable {
        /// The prefix in `updates` of the last group. Empty before the first group.
        fileprivate var lastGroup: [UInt8] = []

        package init() {}
    }

    package struct GroupName: Sendable, Equatable {
        package var app: String
        package var group: String
    }

    /// Returns the next groups with activities, even if none of these is served. Returns nothing behind the last group.
    ///
    /// - Parameter cursor: It moves behind the returned groups.
    package func groups(behind cursor: inout GroupCursor, countMax: Int) throws(StoreError) -> [GroupName] {
        let (tables, names) = (tables, names)
        var last = cursor.lastGroup
        let groups: [GroupName] = try file.read { snapshot throws(StoreError) in
            var found: [GroupName] = []
            let start = last.firstKeyAfterPrefix ?? []
            var rows = try snapshot.cursor(of: tables.updates, from: start.span)
            while rows.isOnRow, found.count < countMax {
                var appEnd = 0
                let app = OrderedNumber.read(rows.key, at: &appEnd)
                var groupEnd = appEnd
                NameCode.skip(rows.key, at: &groupEnd)
                last = Array(rows.key.extracting(0..<groupEnd))
                if let group = try Self.groupName(of: rows.key, at: appEnd, value: rows.value) {
                    var appID: [UInt8] = []
                    try names.appendName(of: app, to: &appID, snapshot: snapshot)
                    found.append(
                        GroupName(
                            app: String(decoding: appID, as: UTF8.self),
                            group: String(decoding: group, as: UTF8.self)))
                }
                guard let bound = last.firstKeyAfterPrefix else { return found }
                try rows.seek(to: bound.span)
            }
            return found
        }
        cursor.lastGroup = last
        return groups
    }

    /// Returns the name of the group in a key. Nil for an activity without a group.
    private static func groupName(of key: Span<UInt8>, at offset: Int, value: Span<UInt8>) -> [UInt8]? {
        if key[offset] == NameCode.Tag.none { return nil }
        var name: [UInt8] = []
        var offset = offset
        if NameCode.read(key, at: &offset, to: &name) { return name }
        guard let longName = TokenValue.optionalField(.group, in: value) else { return nil }
        return Array(longName)
    }
}
