internal import Identifiers
internal import Store

/// The walk that fills one page with rows of a selection, within one read transaction.
struct PageWalk: ~Copyable {
    private let selection: TokenSelection
    private let eligibility: Eligibility
    private let tables: LaneTables
    private let names: NameTable
    private let rowsMax: Int
    private var filler: PageFiller
    /// The code of no group.
    private static let noGroup = [NameCode.Tag.none]
    /// The number of rows that the walk may still examine. A lookup of a name counts as a row.
    private var examinationsLeft = Lane.examinedRowsMax

    init(_ selection: TokenSelection, of tables: LaneTables, names: NameTable, rowsMax: Int) {
        self.selection = selection
        self.tables = tables
        self.names = names
        self.rowsMax = rowsMax
        eligibility = Eligibility(selection)
        filler = PageFiller(names: names)
    }

    /// Fills the page. Returns the cursor of the next page, or nil if the selection has no more rows.
    mutating func run(
        from cursor: PageCursor, upTo bound: [UInt8]?, into page: inout TokenPage,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> PageCursor? {
        guard let number = try names.existingNumber(for: Array(selection.app.utf8).span, snapshot: snapshot)
        else { return nil }
        var app: [UInt8] = []
        OrderedNumber.append(number, to: &app)
        switch selection.tokens {
        case .starts(let type):
            let source = try startSource(for: type, app: app, snapshot: snapshot)
            return try walkAround(source, from: cursor, upTo: bound, filling: &page, snapshot: snapshot)
        case .updates(let group):
            guard let source = updateSource(for: group, app: app) else { return nil }
            return try walkAround(source, from: cursor, upTo: bound, filling: &page, snapshot: snapshot)
        case .possibleMembers(let group):
            guard var source = updateSource(for: group, app: app) else { return nil }
            source.otherPrefix = app + Self.noGroup
            return try walkAround(source, from: cursor, upTo: bound, filling: &page, snapshot: snapshot)
        case .activities(let activities):
            return try walkActivities(activities, of: app, from: cursor, filling: &page, snapshot: snapshot)
        }
    }

    private func isFull(_ page: borrowing TokenPage) -> Bool {
        page.count >= rowsMax || examinationsLeft <= 0
    }

    // MARK: Sources of rows

    /// The rows from which a selection takes its rows: all rows with one key prefix, or the rows with two
    /// prefixes, which are merged in order.
    private struct RowSource {
        let app: [UInt8]
        let table: Table
        /// The prefix that is preferred if an installation has a row with each prefix. Nil if no such row can
        /// exist.
        let preferredPrefix: [UInt8]?
        var otherPrefix: [UInt8]?
        /// The code of the group of the rows with the preferred prefix, or nil for starts.
        let group: [UInt8]?
        /// The type to start. A row with the other prefix serves every type, but may except this one.
        var startType: [UInt8]?
    }

    /// Returns the start tokens of a type, and those that serve every type.
    private func startSource(
        for type: String, app: [UInt8], snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> RowSource {
        let typeName = Array(type.utf8)
        var typePrefix: [UInt8]?
        if let number = try names.existingNumber(for: typeName.span, snapshot: snapshot) {
            var prefix = app
            OrderedNumber.append(number, to: &prefix)
            typePrefix = prefix
        }
        var everyTypePrefix = app
        OrderedNumber.append(NameTable.noName, to: &everyTypePrefix)
        return RowSource(
            app: app, table: tables.starts, preferredPrefix: typePrefix, otherPrefix: everyTypePrefix,
            group: nil, startType: typeName)
    }

    /// Returns the update tokens of a group, or of activities without a group. Nil if the name is invalid.
    private func updateSource(for group: String?, app: [UInt8]) -> RowSource? {
        var groupCode: [UInt8] = []
        let name = Array((group ?? "").utf8)
        guard TableKey.appendGroup(group == nil ? nil : name.span, to: &groupCode) else { return nil }
        return RowSource(
            app: app, table: tables.updates, preferredPrefix: app + groupCode, otherPrefix: nil,
            group: groupCode)
    }

    // MARK: Walks through a source

    /// Walks to the bound, or to the end of the cursor's range.
    private mutating func walkAround(
        _ source: RowSource, from start: PageCursor, upTo bound: [UInt8]?, filling page: inout TokenPage,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> PageCursor? {
        let range = start.range
        // The bound counts only if it is before the end of the range.
        let isBounded =
            if let bound { range.upper.map { bound.lexicographicallyPrecedes($0) } ?? true } else { false }
        let end = isBounded ? bound : range.upper
        if let next = try walkRange(
            KeyRange(from: range.lower, upTo: end), of: source, filling: &page, snapshot: snapshot)
        {
            return start.moved(to: next)
        }
        guard isBounded, let bound else { return start.wrapped }
        return start.moved(to: bound)
    }

    /// Walks through a range of keys, or through the named recipients in it. The keys are without the prefix of
    /// the source. Returns the first key that it did not examine, or nil at the end.
    private mutating func walkRange(
        _ range: KeyRange, of source: RowSource, filling page: inout TokenPage,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> [UInt8]? {
        guard let recipients = selection.recipients else {
            return try mergeRows(of: source, within: range, filling: &page, snapshot: snapshot)
        }
        for recipient in recipients.codes[recipients.firstIndex(from: range.lower)...] {
            let first = recipient.lexicographicallyPrecedes(range.lower) ? range.lower : recipient
            if let upper = range.upper, !first.lexicographicallyPrecedes(upper) { return nil }
            if isFull(page) { return first }
            // A recipient without rows in this lane costs a lookup too.
            examinationsLeft -= 1
            // The recipient's rows end at the first key that does not begin with its code, or at the end of the range.
            var end = recipient.firstKeyAfterPrefix
            if let upper = range.upper, end.map({ upper.lexicographicallyPrecedes($0) }) ?? true {
                end = upper
            }
            if let next = try mergeRows(
                of: source, within: KeyRange(from: first, upTo: end), filling: &page, snapshot: snapshot)
            {
                return next
            }
        }
        return nil
    }

    /// Walks through the rows with both prefixes of a source in parallel, in the order of holders. Returns
    /// the first key that it did not examine, or nil at the end.
    private mutating func mergeRows(
        of source: RowSource, within range: KeyRange, filling page: inout TokenPage,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> [UInt8]? {
        var preferredRows = try PrefixRows(
            of: snapshot, in: source.table, prefix: source.preferredPrefix, within: range)
        var otherRows = try PrefixRows(
            of: snapshot, in: source.table, prefix: source.otherPrefix, within: range)
        if !preferredRows.isInside, !otherRows.isInside { return nil }
        var profiles = try ProfileWalk(
            testedBy: selection.program, app: source.app, in: tables.profiles, from: range.lower,
            snapshot: snapshot)
        var dismissals = try DismissalWalk(
            selection.dismissals, app: source.app, in: tables.updates, from: range.lower, snapshot: snapshot)
        let group = source.group?.span
        let noGroup = Self.noGroup
        while preferredRows.isInside || otherRows.isInside {
            // Negative or zero: the next row has the preferred prefix. Zero: both rows have the same holder.
            let order =
                if !otherRows.isInside {
                    -1
                } else if !preferredRows.isInside {
                    1
                } else {
                    preferredRows.suffix.compare(to: otherRows.suffix)
                }
            let suffix = order <= 0 ? preferredRows.suffix : otherRows.suffix
            if isFull(page) { return Array(suffix) }
            examinationsLeft -= 1
            let value = try order <= 0 ? preferredRows.value : otherRows.value
            var exclusion: ExclusionReason?
            // The tags and segments come first. A row that they do not select is left out for that reason only.
            if profiles.isNeeded, try !profiles.matches(suffix, value: value) { exclusion = .notSelected }
            if exclusion == nil { exclusion = self.exclusion(of: value, isOtherRow: order > 0, in: source) }
            if exclusion == nil, dismissals.isNeeded, try dismissals.contains(suffix) {
                exclusion = .dismissed
            }
            let isWithoutGroup = order > 0 && source.group != nil
            if let exclusion {
                // Most activities without a group belong to other groups, so their exclusions are not counted.
                if !isWithoutGroup { page.exclusions.add(exclusion) }
            } else if isWithoutGroup {
                try filler.append(suffix, value: value, group: noGroup.span, to: &page, snapshot: snapshot)
            } else {
                try filler.append(suffix, value: value, group: group, to: &page, snapshot: snapshot)
            }
            if order <= 0 { try preferredRows.next() }
            // A served token of the type replaces the holder's token for every type. If the token of the type
            // is left out, the other token comes next.
            let isReplaced = order == 0 && exclusion == nil
            if isReplaced { page.exclusions.add(.reachedByTypedToken) }
            if order > 0 || isReplaced { try otherRows.next() }
        }
        return nil
    }

    /// Returns the reason to leave out a row, as far as the row itself decides.
    ///
    /// - Parameter isOtherRow: Whether the row has the source's other prefix.
    private func exclusion(
        of value: Span<UInt8>, isOtherRow: Bool, in source: RowSource
    ) -> ExclusionReason? {
        if let exclusion = eligibility.exclusion(of: value) { return exclusion }
        guard isOtherRow, let type = source.startType else { return nil }
        return TokenValue.canStart(type.span, with: value) ? nil : .unregistered
    }

    // MARK: Named activities

    /// Walks through the activities in the order of their list.
    private mutating func walkActivities(
        _ activities: [String], of app: [UInt8], from start: PageCursor, filling page: inout TokenPage,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> PageCursor? {
        var (index, lower): (Int, [UInt8]) =
            switch start.position {
            case .table: (0, [])
            case .activity(let index, let next): (index, next)
            }
        while index < activities.count {
            if let next = try appendRows(
                ofActivity: activities[index], app: app, from: lower, filling: &page, snapshot: snapshot)
            {
                return PageCursor(.activity(index: index, next: next))
            }
            (index, lower) = (index + 1, [])
        }
        return nil
    }

    /// Walks through the rows of an activity, which has one for each installation that shows it. Returns the
    /// first key that it did not examine, or nil at the end.
    private mutating func appendRows(
        ofActivity activity: String, app: [UInt8], from lower: [UInt8], filling page: inout TokenPage,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> [UInt8]? {
        if isFull(page) { return lower }
        // An activity without rows in this lane costs a lookup too.
        examinationsLeft -= 1
        var prefix = app
        guard NameCode.append(Array(activity.utf8).span, to: &prefix) else { return nil }
        var holders = try PrefixRows(
            of: snapshot, in: tables.activities, prefix: prefix, within: KeyRange(from: lower))
        var updateKey: [UInt8] = []
        while holders.isInside {
            if isFull(page) { return Array(holders.suffix) }
            let group = try holders.value
            TableKey.writeUpdateKey(ofActivity: holders.key, group: group, into: &updateKey)
            examinationsLeft -= 1
            if selection.recipients?.contains(recipientOf: holders.suffix) ?? true,
                let value = try snapshot.value(of: updateKey.span, in: tables.updates)
            {
                if let exclusion = eligibility.exclusion(of: value) {
                    page.exclusions.add(exclusion)
                } else {
                    let suffix = updateKey.span.extracting(app.count + group.count..<updateKey.count)
                    filler.resetGroup()
                    try filler.append(suffix, value: value, group: group, to: &page, snapshot: snapshot)
                }
            }
            try holders.next()
        }
        return nil
    }
}
