internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Registry
internal import Sends
internal import Store

// From the targets of an expansion to pages of the registry.

extension Expander {
    /// The most tokens of a group of named recipients in one transaction. The next transaction continues with
    /// the rest.
    private static var tokensAtATimeMax: Int { 20_000 }

    /// Walks an audience that is not a list: everyone, a segment, a group, or an activity without a group.
    /// Returns the cursor to continue at.
    ///
    /// - Parameter name: the key of the expansion's scope, as everywhere here.
    mutating func walkAudience(
        of walk: inout ExpansionWalk, under name: [UInt8], by page: inout TokenPage
    ) throws(StoreError) -> WalkCursor? {
        let whole = try table.scope(for: name) ?? LaneScope()
        var cursor = walk.cursor
        while true {
            guard let selection = selection(of: walk, cursor.phase, recipients: nil) else { return nil }
            let next = try registry.fillPage(
                with: selection, from: cursor.pageCursor, into: &page, rowsMax: max(1, walk.rowsLeft))
            walk.rows += page.count + page.exclusions.total
            try take(page, in: cursor.phase, of: &walk, whole: whole, named: [:])
            if let next {
                cursor.pageCursor = next
                return cursor
            }
            guard cursor.phase == .reported, mayHaveJoined(walk, whole) else { return nil }
            cursor = WalkCursor(
                phase: .joined, pageCursor: WalkCursor(ordinal: walk.expansion.precedingUpdates).pageCursor)
            if walk.rowsLeft <= 0 { return cursor }
        }
    }

    /// Walks named recipients, some at a time, so that each of them begins and is walked in one transaction.
    /// Finished recipients leave the expansion.
    mutating func walkList(
        _ list: [Expansion.ScopedRecipient], of walk: inout ExpansionWalk, under name: [UInt8],
        by page: inout TokenPage
    ) throws(StoreError) -> WalkCursor? {
        // Most lanes have no activity of a send to named activities.
        if list.isEmpty { return nil }
        var left = list[...]
        var cursor = walk.cursor
        repeat {
            let some = try nextRecipients(in: left, of: walk.expansion)
            if let next = try walkRecipients(some, from: cursor, of: &walk, under: name, by: &page) {
                walk.expansion.targets = .recipients(Array(left))
                return next
            }
            walk.rows += some.count
            left = left.dropFirst(some.count)
            cursor = WalkCursor(ordinal: 0)
        } while !left.isEmpty && walk.rowsLeft > 0
        if left.isEmpty { return nil }
        walk.expansion.targets = .recipients(Array(left))
        return cursor
    }

    /// Returns the recipients to walk next. A start reads the dismissals of a generation, so recipients of
    /// one generation go together.
    private func nextRecipients(
        in left: ArraySlice<Expansion.ScopedRecipient>, of expansion: Expansion
    ) throws(StoreError) -> [Expansion.ScopedRecipient] {
        let some = left.prefix(recipientsAtATime)
        guard expansion.content.event == .start else { return Array(some) }
        var found: [Expansion.ScopedRecipient] = []
        for scoped in some {
            let scoped = try inOwnGeneration(scoped, of: expansion)
            if let first = found.first, first.generation != scoped.generation { break }
            found.append(scoped)
        }
        return found
    }

    /// Puts the recipient into its own generation, if an END by an activity's name has ended its part of the
    /// group's generation. This start opens the new generation, or an earlier start did.
    private func inOwnGeneration(
        _ scoped: Expansion.ScopedRecipient, of expansion: Expansion
    ) throws(StoreError) -> Expansion.ScopedRecipient {
        guard let reopens = expansion.reopenedGeneration,
            let own = try table.scope(for: expansion.key.narrowed(to: scoped.recipient).bytes),
            own.endVersion > scoped.generation, own.endVersion < reopens
        else { return scoped }
        var scoped = scoped
        scoped.scope = .recipient
        if own.generation > own.endVersion {
            scoped.generation = own.generation
        } else {
            (scoped.generation, scoped.version) = (reopens, reopens)
            scoped.timestamp = expansion.timestamp
        }
        return scoped
    }

    private mutating func walkRecipients(
        _ some: [Expansion.ScopedRecipient], from start: WalkCursor, of walk: inout ExpansionWalk,
        under name: [UInt8], by page: inout TokenPage
    ) throws(StoreError) -> WalkCursor? {
        let isPrivate = walk.expansion.key.recipient != nil
        var whole = isPrivate ? LaneScope() : try table.scope(for: name) ?? .unseen
        var named: [[UInt8]: Expansion.ScopedRecipient] = [:]
        var mayHaveJoined = mayHaveJoined(walk, whole)
        for scoped in some {
            named[Array(scoped.recipient.text.utf8)] = scoped
            if walk.expansion.isDryRun { continue }
            try begin(with: walk.expansion, of: scoped, whole: &whole, under: name)
            if isPrivate, let own = try table.scope(for: name) {
                mayHaveJoined = self.mayHaveJoined(walk, own)
            }
        }
        let recipients = NamedRecipients(some.map(\.recipient))
        walk.reached.removeAll(keepingCapacity: true)
        var cursor = start
        var looked = 0
        while true {
            guard
                let selection = selection(
                    of: walk, cursor.phase, recipients: recipients, generation: some[0].generation)
            else { return nil }
            let next = try registry.fillPage(
                with: selection, from: cursor.pageCursor, into: &page, rowsMax: max(1, walk.rowsMax))
            looked += page.count + page.exclusions.total
            walk.rows += page.count + page.exclusions.total
            try take(page, in: cursor.phase, of: &walk, whole: whole, named: named)
            if let next {
                cursor.pageCursor = next
            } else if cursor.phase == .reported, mayHaveJoined {
                cursor = WalkCursor(phase: .joined, pageCursor: PageCursor())
            } else {
                try countWithoutToken(of: some, in: &walk, by: &page)
                return nil
            }
            if looked >= Self.tokensAtATimeMax { return cursor }
        }
    }

    /// Counts the recipients without any token and without a row that gives a reason.
    private func countWithoutToken(
        of some: [Expansion.ScopedRecipient], in walk: inout ExpansionWalk, by page: inout TokenPage
    ) throws(StoreError) {
        for scoped in some where !walk.reached.contains(Array(scoped.recipient.text.utf8)) {
            let alone = NamedRecipients([scoped.recipient])
            let selection = selection(of: walk, .reported, recipients: alone, generation: scoped.generation)
            guard let selection else { continue }
            _ = try registry.fillPage(with: selection, from: PageCursor(), into: &page, rowsMax: 1)
            if !page.isEmpty || page.exclusions.haveReportedReason { continue }
            walk.expansion.tally.excludedByReason[ExpansionExclusion.withoutToken, default: 0] += 1
        }
    }

    /// Replaces named activities by their recipients, because only a lane knows the owner of an activity. All
    /// activities of a recipient in the group then stay alike.
    mutating func nameRecipients(
        of expansion: inout Expansion, _ app: App, by page: inout TokenPage
    ) throws(StoreError) {
        guard case .activities(let names) = expansion.targets, let group = expansion.key.group else { return }
        var selection = TokenSelection(
            app: expansion.key.app, tokens: .activities(names), environments: app.environments, now: now)
        selection.osMin = nil
        var found: [Expansion.ScopedRecipient] = []
        var known: Set<[UInt8]> = []
        var cursor: PageCursor? = PageCursor()
        while let place = cursor {
            cursor = try registry.fillPage(with: selection, from: place, into: &page)
            for index in 0..<page.count {
                let text = [UInt8](copying: page[index].recipient)
                if known.contains(text) { continue }
                guard try group.isGroup(of: page[index], joined: joined(page[index], app: expansion.key.app)),
                    let recipient = Recipient(text: String(decoding: text, as: UTF8.self))
                else { continue }
                known.insert(text)
                found.append(
                    Expansion.ScopedRecipient(
                        recipient, scope: .recipient, generation: expansion.generation,
                        version: expansion.version, timestamp: expansion.timestamp))
            }
        }
        expansion.targets = .recipients(found)
    }

    /// Returns the group that an activity without a reported group has joined.
    func joined(_ row: borrowing TokenPageRow, app: String) throws(StoreError) -> ScopeKey? {
        guard row.group == nil, let activity = row.activity else { return nil }
        return try table.scope(for: ScopeKey(app: app, activity: activity).bytes)?.joinedGroup
    }

    /// Whether the walk must look for activities that have joined the group without reporting it.
    private func mayHaveJoined(_ walk: ExpansionWalk, _ scope: LaneScope) -> Bool {
        walk.expansion.content.event != .start && walk.expansion.key.group != nil && scope.hasStarts
    }

    /// Returns nil if the audience is empty.
    ///
    /// - Parameter generation: the generation of the named recipients, if it is not the scope's.
    private func selection(
        of walk: ExpansionWalk, _ phase: WalkCursor.Phase, recipients: NamedRecipients?,
        generation: Int64? = nil
    ) -> TokenSelection? {
        let expansion = walk.expansion
        let tokens: TokenSelection.Tokens
        switch (expansion.content.event, expansion.key.subject, phase) {
        case (.start, _, _): tokens = .starts(type: expansion.content.attributesType ?? "")
        case (_, .activity(let name), _): tokens = .activities([name])
        case (_, .group(let name), .reported): tokens = .updates(group: name)
        case (_, .group, .joined): tokens = .updates(group: nil)
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
        case .everyone, .group, .recipients, .activities: break
        }
        guard expansion.content.event == .start else { return selection }
        selection.startAcceptedAt = expansion.acceptedAt
        if !expansion.forcesRestart, let group = expansion.key.group {
            let life = generation ?? expansion.generation
            selection.dismissals = TokenSelection.Dismissals(
                of: group, since: SendSequence.milliseconds(of: life))
        }
        return selection
    }
}

extension ExpansionWalk {
    /// The cursor at which the page begins.
    var cursor: WalkCursor {
        expansion.cursor.flatMap { WalkCursor(bytes: $0) } ?? WalkCursor(ordinal: expansion.precedingUpdates)
    }
}

extension String {
    /// Whether a row belongs to this group, reported or joined.
    func isGroup(of row: borrowing TokenPageRow, joined: ScopeKey?) -> Bool {
        guard let told = row.group else { return joined?.group?.isExactlyEqual(to: self) ?? false }
        return Array(utf8).equals(told)
    }
}

extension TokenPageRow {
    private static var updatePrefix: Int { 7 }

    /// The activity's id. Nil for a row of a start token.
    var activity: String? {
        let entry = entryText
        guard entry.count > Self.updatePrefix, entry[0] == UInt8(ascii: "u") else { return nil }
        return String(
            decoding: [UInt8](copying: entry.extracting(Self.updatePrefix..<entry.count)), as: UTF8.self)
    }
}
