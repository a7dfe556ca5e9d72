internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Registry
internal import Sends
internal import Store

// From the targets of an expansion to pages of the registry.

extension Expander {
    /// The most tokens of named recipients that are walked together, in one transaction. The next transaction continues
    /// with the rest.
    private static var namedTokensMax: Int { 20_000 }

    /// The most tokens that a walk reads before it looks at the time.
    private static var tokensAtATime: Int { 2000 }

    /// The most joined activities that are read together.
    static var joinedAtATimeMax: Int { 1000 }

    /// Returns the cursor at which the walk of an update or an END of a whole scope begins. If the walk of an older
    /// send is open, the new walk begins where the older one has come to, so that frequent updates together visit every
    /// member. Otherwise each update begins at another place of the lane, so that no member is always last. Nil for
    /// other expansions.
    func firstCursor(of expansion: Expansion, under scopeKey: [UInt8]) throws(StoreError) -> PageCursor? {
        switch expansion.targets {
        case .recipients, .activities: return nil
        case .everyone, .segments, .tags, .combination, .group, .newMembers: break
        }
        if expansion.content.event == .start { return nil }
        let open = try table.scope(for: scopeKey)?.walk
        guard let open, open.version < expansion.version, let walk = PageCursor(walkBytes: open.cursor) else {
            return PageCursor(ofUpdateNumber: expansion.precedingUpdates)
        }
        return PageCursor(startingAt: walk.range.lower)
    }

    /// Walks an audience that is not a list: everyone, a segment, a group, or an activity without a group.
    /// Returns the cursor to continue at.
    mutating func walkAudience(
        of walk: inout ExpansionWalk, under scopeKey: [UInt8], by page: inout TokenPage
    ) throws(StoreError) -> PageCursor? {
        let whole = try table.scope(for: scopeKey) ?? .unsubscribed
        if whole.endsWalk(of: walk.expansion) {
            try countRest(of: &walk, in: whole)
            return nil
        }
        guard let selection = selection(of: walk, recipients: nil) else { return nil }
        // Members lie in two places, in one order of positions: in the registry, and in the index of joined activities.
        // Each round takes the next part of that order. It reads the index first. If the index has more activities than
        // are read at once, the part ends before the first of the rest. The page of the registry may end it earlier.
        var cursor = walk.cursor
        while true {
            let joined = try joinedMembers(of: walk, whole, in: cursor.range)
            let next = try registry.fillPage(
                with: selection, from: cursor, upTo: joined.restPosition, into: &page,
                rowsMax: min(max(1, walk.rowsLeft), Self.tokensAtATime))
            try take(page, of: &walk, whole: whole, named: [:])
            let ids = joined.ids(before: cursor.pageEnd(before: next))
            try walkJoined(ids, of: &walk, whole: whole, by: &page)
            guard let next else { return nil }
            guard walk.mayContinue else { return next }
            cursor = next
        }
    }

    // MARK: Joined activities

    /// Reads the activities that have joined the group without reporting it, from the beginning of a range.
    private func joinedMembers(
        of walk: ExpansionWalk, _ whole: LaneScope, in range: KeyRange
    ) throws(StoreError) -> JoinedMembers {
        guard mayHaveJoined(walk, whole) else { return JoinedMembers() }
        let countMax = min(max(1, walk.rowsLeft), Self.joinedAtATimeMax)
        let joined = try table.joinedActivities(of: walk.expansion.key, in: range, countMax: countMax + 1)
        return JoinedMembers(
            activities: joined.prefix(countMax), restPosition: joined.dropFirst(countMax).first?.position)
    }

    /// Walks the activities of a part that have joined the group. The registry has their rows under no group, so they
    /// are looked up by their ids.
    private mutating func walkJoined(
        _ activities: [String], of walk: inout ExpansionWalk, whole: LaneScope, by page: inout TokenPage
    ) throws(StoreError) {
        if activities.isEmpty { return }
        let selection = TokenSelection(
            app: walk.expansion.key.app, tokens: .activities(activities), environments: walk.app.environments,
            now: now)
        var cursor: PageCursor? = PageCursor()
        while let place = cursor {
            cursor = try registry.fillPage(with: selection, from: place, into: &page)
            try take(page, of: &walk, whole: whole, named: [:], isOfJoined: true)
        }
    }

    // MARK: Lists

    /// Walks named recipients, some at a time. Finished recipients leave the expansion. Returns the cursor to continue
    /// at, within the rows of the first recipients that are left.
    mutating func walkList(
        _ list: [Expansion.ScopedRecipient], of walk: inout ExpansionWalk, under scopeKey: [UInt8],
        by page: inout TokenPage
    ) throws(StoreError) -> PageCursor? {
        // `nameRecipients` has replaced named activities by their owners, and most lanes have none of them.
        if list.isEmpty { return nil }
        var left = list[...]
        var cursor = walk.cursor
        repeat {
            let some = nextRecipients(in: left, of: walk.expansion)
            // An earlier version of this program wrote the rows of a list page by page. In a continuation of that
            // version, the rows of these recipients may be missing.
            if !walk.isFirstPage, !walk.expansion.isDryRun {
                try begin(walk.expansion, for: some, under: scopeKey)
            }
            if let next = try walkRecipients(some, from: cursor, of: &walk, under: scopeKey, by: &page) {
                walk.expansion.targets = .recipients(Array(left))
                return next
            }
            // A recipient without tokens costs a lookup, too.
            walk.rows += some.count
            left = left.dropFirst(some.count)
            cursor = PageCursor()
        } while !left.isEmpty && walk.mayContinue
        if left.isEmpty { return nil }
        walk.expansion.targets = .recipients(Array(left))
        return cursor
    }

    /// Returns the recipients to walk next. A start reads the dismissals of a generation, so recipients of
    /// one generation go together.
    private func nextRecipients(
        in left: ArraySlice<Expansion.ScopedRecipient>, of expansion: Expansion
    ) -> ArraySlice<Expansion.ScopedRecipient> {
        let some = left.prefix(recipientsAtATime)
        guard expansion.content.event == .start, let first = some.first else { return some }
        return some.prefix { $0.generation == first.generation }
    }

    /// Walks recipients together, to the end of their rows or up to `namedTokensMax`. Returns the cursor to continue at.
    private mutating func walkRecipients(
        _ some: ArraySlice<Expansion.ScopedRecipient>, from start: PageCursor, of walk: inout ExpansionWalk,
        under scopeKey: [UInt8], by page: inout TokenPage
    ) throws(StoreError) -> PageCursor? {
        let scope = try table.scope(for: scopeKey) ?? .unsubscribed
        // For a private group, `scope` is the owner's own row, which is read again as such. So the row of the whole
        // group is empty.
        let whole = walk.expansion.key.recipient == nil ? scope : LaneScope()
        let named = Dictionary(some.map { (Array($0.recipient.text.utf8), $0) }, uniquingKeysWith: { $1 })
        walk.reached.removeAll(keepingCapacity: true)
        guard
            let selection = selection(
                of: walk, recipients: NamedRecipients(some.map(\.recipient)),
                generation: some.first?.generation, mayHaveJoined: mayHaveJoined(walk, scope))
        else { return nil }
        let rowsBefore = walk.rows
        var cursor = start
        // The recipients that are walked together are finished together. So `rowsMax` limits only a page here.
        while walk.rows - rowsBefore < Self.namedTokensMax {
            let next = try registry.fillPage(
                with: selection, from: cursor, into: &page,
                rowsMax: min(max(1, walk.rowsMax), Self.tokensAtATime))
            try take(page, of: &walk, whole: whole, named: named)
            guard let next else {
                try countWithoutToken(of: some, in: &walk, by: &page)
                return nil
            }
            cursor = next
        }
        return cursor
    }

    /// Counts the recipients that have no token, and no row that was excluded for a reported reason.
    private func countWithoutToken(
        of some: ArraySlice<Expansion.ScopedRecipient>, in walk: inout ExpansionWalk, by page: inout TokenPage
    ) throws(StoreError) {
        for scoped in some where !walk.reached.contains(Array(scoped.recipient.text.utf8)) {
            let alone = NamedRecipients([scoped.recipient])
            let selection = selection(of: walk, recipients: alone, generation: scoped.generation)
            guard let selection else { continue }
            _ = try registry.fillPage(with: selection, from: PageCursor(), into: &page, rowsMax: 1)
            if !page.isEmpty || page.exclusions.haveReportedReason { continue }
            walk.expansion.tally.excludedByReason[ExpansionExclusion.withoutToken, default: 0] += 1
        }
    }

    /// Returns the group that an activity without a reported group has joined.
    func joined(_ row: borrowing TokenPageRow, app: String) throws(StoreError) -> ScopeKey? {
        guard row.group == nil, let activity = row.activity else { return nil }
        return try table.scope(for: ScopeKey(app: app, activity: activity).bytes)?.joinedGroup
    }

    /// Whether the row's activity has reported the group, or has joined it and reported none.
    func isMember(_ row: borrowing TokenPageRow, of group: String, app: String) throws(StoreError) -> Bool {
        if let reported = row.group { return Array(group.utf8).equals(reported) }
        return try joined(row, app: app)?.group?.isExactlyEqual(to: group) ?? false
    }

    /// Whether the walk must look for activities that have joined the group without reporting it.
    func mayHaveJoined(_ walk: ExpansionWalk, _ scope: LaneScope) -> Bool {
        walk.expansion.content.event != .start && walk.expansion.key.group != nil && scope.hasJoined
    }

    /// Returns nil if the audience is empty.
    ///
    /// - Parameters:
    ///   - generation: the generation of the named recipients, if it is not the scope's.
    ///   - mayHaveJoined: whether activities of the named recipients may have joined the group.
    private func selection(
        of walk: ExpansionWalk, recipients: NamedRecipients?, generation: Int64? = nil,
        mayHaveJoined: Bool = false
    ) -> TokenSelection? {
        let expansion = walk.expansion
        let tokens: TokenSelection.Tokens
        switch (expansion.content.event, expansion.key.subject) {
        case (.start, _): tokens = .starts(type: expansion.content.attributesType ?? "")
        case (_, .activity(let name)): tokens = .activities([name])
        case (_, .group(let name)):
            tokens = mayHaveJoined ? .possibleMembers(group: name) : .updates(group: name)
        }
        var selection = TokenSelection(
            app: expansion.key.app, tokens: tokens, environments: walk.app.environments, now: now)
        selection.recipients = recipients
        switch expansion.targets {
        case .tags(let tags): selection.program = .anyTag(of: tags)
        case .segments(let names):
            let rules = names.compactMap { catalog.segment($0, of: expansion.key.app) }
            if rules.isEmpty { return nil }
            selection.program = SegmentProgram(.or(rules))
        case .combination(let combination):
            let rule = combination.rule { catalog.segment($0, of: expansion.key.app) }
            guard let rule else { return nil }
            selection.program = SegmentProgram(rule)
        case .everyone, .group, .newMembers, .recipients, .activities: break
        }
        guard expansion.content.event == .start else { return selection }
        selection.startAcceptedAt = expansion.acceptedAt
        if !expansion.forcesRestart, let group = expansion.key.group {
            let joinedGeneration = generation ?? expansion.generation
            selection.dismissals = TokenSelection.Dismissals(
                of: group, since: SendSequence.milliseconds(of: joinedGeneration))
        }
        return selection
    }
}

extension ExpansionWalk {
    /// The cursor at which the page begins.
    var cursor: PageCursor {
        expansion.cursor.flatMap { PageCursor(walkBytes: $0) }
            ?? PageCursor(ofUpdateNumber: expansion.precedingUpdates)
    }
}

/// The next activities of a walk that have joined a group.
private struct JoinedMembers {
    /// The activities that were read at once, in the order of their positions.
    var activities: ArraySlice<JoinedActivity> = []
    /// The position of the first one that was not read. Nil if there is no other in the range.
    var restPosition: [UInt8]?

    /// Returns the ids of the activities before a position.
    func ids(before end: [UInt8]?) -> [String] {
        activities.prefix { activity in end.map { activity.position.lexicographicallyPrecedes($0) } ?? true }
            .map(\.id)
    }
}
