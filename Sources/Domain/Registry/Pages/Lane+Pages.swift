package import Store

/// Reading of a lane in pages.
extension Lane {
    /// The limit of rows that one page examines. Without it, a selection that leaves out most rows would keep
    /// a read transaction open for long. So a page may be empty and still not be the last.
    package static let examinedRowsMax = 16_384

    /// Replaces the content of the page with the next rows of a selection. Returns the cursor of the next
    /// page, or nil if this page is the last. A page that reaches the end of the table ends there, even if the walk
    /// continues at the first key.
    ///
    /// - Parameters:
    ///   - bound: The page ends before this position, if the walk has not passed it.
    ///   - rowsMax: The limit of rows in the page.
    package func fillPage(
        with selection: TokenSelection, from cursor: PageCursor, upTo bound: [UInt8]? = nil,
        into page: inout TokenPage, rowsMax: Int = TokenPage.rowsMaxDefault
    ) throws(StoreError) -> PageCursor? {
        precondition(rowsMax > 0, "rowsMax must be positive")
        page.removeAll()
        let (tables, names) = (tables, names)
        return try file.read { snapshot throws(StoreError) in
            var walk = PageWalk(selection, of: tables, names: names, rowsMax: rowsMax)
            return try walk.run(from: cursor, upTo: bound, into: &page, snapshot: snapshot)
        }
    }

    /// Whether the lane has any activity of the group, even one that is not served.
    package func hasActivities(of group: String, app: String) throws(StoreError) -> Bool {
        try memberCount(of: group, app: app) > 0
    }

    /// Returns the number of activities that report the group, even of those that are not served.
    package func memberCount(of group: String, app: String) throws(StoreError) -> Int {
        let (tables, names) = (tables, names)
        return try file.read { snapshot throws(StoreError) in
            guard let number = try names.existingNumber(for: Array(app.utf8).span, snapshot: snapshot) else {
                return 0
            }
            var key: [UInt8] = []
            OrderedNumber.append(number, to: &key)
            guard TableKey.appendGroup(Array(group.utf8).span, to: &key) else { return 0 }
            return try MemberCounts.count(of: key.span, in: tables.groups, snapshot: snapshot)
        }
    }

    /// Returns the number of rows that the activities have without a group, even of rows that are not served.
    package func countOfActivitiesWithoutGroup(
        among activities: [String], app: String
    ) throws(StoreError) -> Int {
        let (tables, names) = (tables, names)
        return try file.read { snapshot throws(StoreError) in
            guard let number = try names.existingNumber(for: Array(app.utf8).span, snapshot: snapshot) else {
                return 0
            }
            var count = 0
            for activity in activities {
                var prefix: [UInt8] = []
                OrderedNumber.append(number, to: &prefix)
                guard NameCode.append(Array(activity.utf8).span, to: &prefix) else { continue }
                var rows = try PrefixRows(of: snapshot, in: tables.activities, prefix: prefix)
                while rows.isInside {
                    if try rows.value[0] == NameCode.Tag.none { count += 1 }
                    try rows.next()
                }
            }
            return count
        }
    }
}
