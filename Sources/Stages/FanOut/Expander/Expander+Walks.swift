internal import Catalog
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

    /// Returns the cursor at which the walk of an update or an END of a whole scope begins. If the walk of an older
    /// send is open, the new walk begins where the older one has come to, so that frequent updates together visit every
    /// member. Otherwise each update begins at another place of the lane, so that no member is always last. Nil for
    /// other expansions.
    func firstCursor(of walk: ExpansionWalk) throws(StoreError) -> PageCursor? {
        let expansion = walk.expansion
        switch expansion.targets {
        case .recipients, .activities: return nil
        case .everyone, .segments, .tags, .combination, .group, .newMembers: break
        }
        if expansion.content.event == .start { return nil }
        guard let open = try table.scope(for: walk.scopeKey)?.walk, open.version < expansion.version,
            let cursor = PageCursor(walkBytes: open.cursor)
        else { return PageCursor(ofUpdateNumber: expansion.precedingUpdates) }
        return PageCursor(startingAt: cursor.range.lower)
    }

    /// Walks an audience that is not a list: everyone, a segment, a group, or an activity without a group. Returns the
    /// cursor to continue at.
    func walkAudience(of walk: inout ExpansionWalk) throws(StoreError) -> PageCursor? {
        if walk.scope.endsWalk(of: walk.expansion) {
            try countRest(of: &walk)
            return nil
        }
        guard let selection = selection(of: walk, recipients: nil) else { return nil }
        // Members lie in two places, in one order of positions: in the registry, and in the index of joined activities.
        // Each round takes the next part of that order. It reads the index first. If the index has more activities than
        // are read at once, the part ends before the first of the rest. The page of the registry may end it earlier.
        var cursor = walk.cursor
        while true {
            let joined = try joinedMembers(of: walk, in: cursor.range)
            let next = try registry.fillPage(
                with: selection, from: cursor, upTo: joined.restPosition, into: &buffer.page,
                rowsMax: min(max(1, walk.rowsLeft), Self.tokensAtATime))
            try take(buffer.page, of: &walk)
            try walkJoined(joined.ids(before: cursor.pageEnd(before: next)), of: &walk)
            guard let next else { return nil }
            guard walk.mayContinue else { return next }
            cursor = next
        }
    }

    // MARK: Lists

    /// Walks named recipients, some at a time. Finished recipients leave the expansion. Returns the cursor to continue
    /// at, within the rows of the first recipients that are left.
    func walkList(
        _ list: [Expansion.ScopedRecipient], of walk: inout ExpansionWalk
    ) throws(StoreError) -> PageCursor? {
        // `nameOwners` has replaced named activities by their owners, and most lanes have none of them.
        if list.isEmpty { return nil }
        var left = list[...]
        var cursor = walk.cursor
        repeat {
            let some = nextRecipients(in: left, of: walk.expansion)
            // An earlier version of this program wrote the rows of a list page by page. In a continuation of that
            // version, the rows of these recipients may be missing.
            if !walk.isFirstPage, !walk.expansion.isDryRun { try noteInRecipientRows(of: some, walk) }
            if let next = try walkRecipients(some, from: cursor, of: &walk) {
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

    /// Returns the recipients to walk next. A start reads the dismissals of a generation, so recipients of one
    /// generation go together.
    private func nextRecipients(
        in left: ArraySlice<Expansion.ScopedRecipient>, of expansion: Expansion
    ) -> ArraySlice<Expansion.ScopedRecipient> {
        let some = left.prefix(recipientsAtATime)
        guard expansion.content.event == .start, let first = some.first else { return some }
        return some.prefix { $0.generation == first.generation }
    }

    /// Walks recipients together, to the end of their rows or up to `namedTokensMax`. Returns the cursor to continue
    /// at.
    private func walkRecipients(
        _ some: ArraySlice<Expansion.ScopedRecipient>, from start: PageCursor, of walk: inout ExpansionWalk
    ) throws(StoreError) -> PageCursor? {
        let named = Dictionary(some.map { (Array($0.recipient.text.utf8), $0) }, uniquingKeysWith: { $1 })
        walk.reached.removeAll(keepingCapacity: true)
        let selection = selection(
            of: walk, recipients: NamedRecipients(some.map(\.recipient)),
            generation: some.first?.generation, mayHaveJoined: mayHaveJoined(walk))
        guard let selection else { return nil }
        let rowsBefore = walk.rows
        var cursor = start
        // The recipients that are walked together are finished together. So `rowsMax` limits only a page here.
        while walk.rows - rowsBefore < Self.namedTokensMax {
            let next = try registry.fillPage(
                with: selection, from: cursor, into: &buffer.page,
                rowsMax: min(max(1, walk.rowsMax), Self.tokensAtATime))
            try take(buffer.page, of: &walk, named: named)
            guard let next else {
                try countWithoutToken(of: some, in: &walk)
                return nil
            }
            cursor = next
        }
        return cursor
    }

    /// Counts the recipients that have no token, and no row that was excluded for a reported reason.
    private func countWithoutToken(
        of some: ArraySlice<Expansion.ScopedRecipient>, in walk: inout ExpansionWalk
    ) throws(StoreError) {
        for scoped in some where !walk.reached.contains(Array(scoped.recipient.text.utf8)) {
            let alone = NamedRecipients([scoped.recipient])
            let selection = selection(of: walk, recipients: alone, generation: scoped.generation)
            guard let selection else { continue }
            _ = try registry.fillPage(with: selection, from: PageCursor(), into: &buffer.page, rowsMax: 1)
            if !buffer.page.isEmpty || buffer.page.exclusions.haveReportedReason { continue }
            walk.expansion.tally.exclude(as: ExpansionExclusion.withoutToken)
        }
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
            let rules = names.compactMap { catalog.segment(named: $0, of: expansion.key.app)?.rule }
            if rules.isEmpty { return nil }
            selection.program = SegmentProgram(.or(rules))
        case .combination(let combination):
            let rule = combination.rule { catalog.segment(named: $0, of: expansion.key.app)?.rule }
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
