internal import LiveActivity
internal import Registry
internal import Store

// The scope rows of a lane. They are written with the first page of an expansion, so that every later token
// or send finds them.

extension Expander {
    /// Begins an expansion in its scope's row. The row only grows. A late expansion that urgent ones have
    /// overtaken changes no newer values.
    ///
    /// - Parameter key: the key of the expansion's scope, as everywhere here. It is made once for a page.
    mutating func begin(
        with expansion: Expansion, under key: [UInt8], isUrgent: Bool
    ) throws(StoreError) {
        if case .recipients = expansion.targets {
            // Recipients of a list begin one by one. Only a start also changes the group's row.
            guard expansion.content.event == .start, expansion.key.recipient == nil else { return }
        }
        let found = try table.scope(key)
        var scope = found ?? .unheard
        if expansion.content.event == .update, expansion.isTakenBack(by: scope) { return }
        let before = scope
        if expansion.saysOwnState {
            scope.hasStarts = true
            scope.generation = max(scope.generation, expansion.generation)
            if scope.version < expansion.version { scope.mayLackUpdates = true }
            if scope != before { set(scope, under: key) }
            return
        }
        if try isWhole(expansion, knowing: found, isUrgent: isUrgent) { scope.mayLackUpdates = false }
        scope.begin(
            with: expansion, generation: expansion.generation, version: expansion.version,
            walk: expansion.content.event == .start ? nil : WalkCursor(ordinal: expansion.ordinal).bytes)
        if scope != before { set(scope, under: key) }
    }

    /// Whether the lane now has everything that the group was sent. Earlier expansions have arrived, unless
    /// this one is urgent and has overtaken them. A start does not update existing activities, so those still
    /// wait for an answer.
    private func isWhole(
        _ expansion: Expansion, knowing scope: LaneScope?, isUrgent: Bool
    ) throws(StoreError) -> Bool {
        if isUrgent { return false }
        guard expansion.content.event == .start, let group = expansion.key.group else { return true }
        if scope != nil { return false }
        return try !registry.hasActivities(of: group, app: expansion.key.app)
    }

    /// Begins an expansion for one recipient of a list, or for the owner of a private group.
    mutating func begin(
        with expansion: Expansion, of recipient: Expansion.ScopedRecipient, whole: inout LaneScope,
        under name: [UInt8]
    ) throws(StoreError) {
        let isOwner = expansion.key.recipient == recipient.recipient
        let key = isOwner ? name : expansion.key.of(recipient.recipient).bytes
        let found = try table.scope(key)
        var scope = found ?? LaneScope()
        let event = expansion.content.event
        if event == .start, recipient.scope == .group, expansion.key.recipient == nil { return }
        // A cancelled start opens its generation all the same, in any order of the two. The planner does the
        // same.
        if event == .update, expansion.isTakenBack(by: whole) || expansion.isTakenBack(by: scope) { return }
        // A start that joins a recipient's own generation is not news, and its content is the group's.
        let opens =
            event != .start || expansion.key.recipient != nil || recipient.version == recipient.generation
        // If the send that opened that generation is still on its way, this start is the first that the lane
        // sees of it.
        let isNews = opens || scope.newest?.content.event == .end && recipient.generation > scope.endedAt
        let version = opens ? recipient.version : max(expansion.version, recipient.generation)
        let before = scope
        if isNews {
            if event == .update, !scope.hasEnded(life: recipient.generation) {
                scope.replace(by: expansion, version: recipient.version, in: whole)
            }
            scope.begin(with: expansion, generation: recipient.generation, version: version, walk: nil)
        } else {
            scope.generation = max(scope.generation, recipient.generation)
        }
        if scope != before { set(scope, under: key) }
        if expansion.key.recipient == nil, !whole.hasRecipients {
            whole.hasRecipients = true
            set(whole, under: name)
        }
    }

    /// Notes the progress of the walk of a scope's newest send. The walk serves new tokens that come after
    /// its cursor. The lane's catch-up serves new tokens before the cursor.
    mutating func note(
        _ next: WalkCursor?, of expansion: Expansion, under key: [UInt8]
    ) throws(StoreError) {
        if case .recipients = expansion.targets {
            return try noteList(expansion, under: key, isOpen: next != nil)
        }
        if expansion.content.event == .start { return }
        guard var scope = try table.scope(key), scope.walk?.version == expansion.version else { return }
        scope.walk = next.map { LaneScope.Walk(version: expansion.version, cursor: $0.bytes) }
        set(scope, under: key)
    }

    // MARK: Lists

    private mutating func noteList(
        _ expansion: Expansion, under key: [UInt8], isOpen: Bool
    ) throws(StoreError) {
        if expansion.key.recipient != nil { return }
        var scope = try table.scope(key) ?? .unheard
        let before = scope.openLists
        scope.openLists.removeAll { $0.send == expansion.send && !isOpen || !isWanted(until: $0.deadline) }
        if isOpen, !scope.openLists.contains(where: { $0.send == expansion.send }) {
            if scope.openLists.count >= LaneScope.openListsMax { scope.openLists.removeFirst() }
            scope.openLists.append(LaneScope.OpenList(send: expansion.send, deadline: expansion.deadline))
        }
        if scope.openLists != before { set(scope, under: key) }
    }

    // MARK: Starts that wait

    /// Notes an END for one named activity. It overtakes expansions for many recipients, so later starts
    /// check whether it has arrived.
    mutating func noteEnd(_ expansion: Expansion, under key: [UInt8]) throws(StoreError) {
        guard expansion.content.event == .end, case .activities = expansion.targets,
            expansion.key.group != nil, !expansion.dryRun
        else { return }
        var scope = try table.scope(key) ?? .unheard
        if scope.urgentEndAt >= expansion.version { return }
        scope.urgentEndAt = expansion.version
        set(scope, under: key)
    }

    /// Whether a start must wait for earlier lists or an END that are not finished. Their remaining
    /// recipients have no rows yet. Without the wait, such a recipient could be started with an old state, or
    /// not be started again.
    mutating func mustWait(_ expansion: inout Expansion, under key: [UInt8]) throws(StoreError) -> Bool {
        guard expansion.content.event == .start, expansion.key.recipient == nil, !expansion.dryRun else {
            return false
        }
        let scope = try table.scope(key) ?? LaneScope()
        let open = scope.openLists.filter { isWanted(until: $0.deadline) }.map(\.send)
        // Only lists that were open at its first turn count. Otherwise a constant flow of lists would delay
        // it for ever.
        let isFirstTurn = expansion.waitsUntil == nil
        expansion.waitsFor = isFirstTurn ? open : open.filter(expansion.waitsFor.contains)
        let until = expansion.waitsUntil ?? now / 1000 + Expansion.waitSeconds
        let isBehindEnd = scope.urgentEndAt < expansion.behindEnd ?? 0 && isWanted(until: until)
        guard isBehindEnd || !expansion.waitsFor.isEmpty else { return false }
        expansion.waitsUntil = until
        // Later starts of the same users stay behind this one.
        if case .recipients = expansion.targets { try noteList(expansion, under: key, isOpen: true) }
        return true
    }
}

extension Expansion {
    /// The longest wait of a start in its lane for an END from another topic, in seconds.
    fileprivate static let waitSeconds: Int64 = 60
}

extension LaneScope {
    /// - Parameter walk: the first cursor of the walk, if the expansion walks the whole scope.
    fileprivate mutating func begin(
        with expansion: Expansion, generation: Int64, version: Int64, walk: [UInt8]?
    ) {
        let event = expansion.content.event
        if event == .start { hasStarts = true }
        if event == .end { endedAt = max(endedAt, version) }
        // A start that joins a generation only adds recipients. The newest state stays.
        let opens = event != .start || generation > self.generation || version > self.version
        self.generation = max(self.generation, generation)
        // An ended scope stays ended until a start, in any order of arrival. The planner does not know an END
        // by an activity's name. An update after that END may belong to the generation that such a start
        // opens.
        let hasEnded = hasEnded(life: generation)
        if hasEnded, event == .update, version > endedAt {
            if version > replaced?.version ?? 0 { replaced = expansion.state(version: version) }
            return
        }
        if hasEnded, event == .end, version == endedAt, version < self.version {
            if newest?.content.event != .end { replaced = newest }
            newest = expansion.state(version: version)
            return
        }
        if event == .start, generation > endedAt, let early = replaced, early.version > generation,
            newest?.content.event == .end
        {
            self.generation = max(self.generation, generation)
            self.version = max(self.version, early.version)
            updated = max(updated, early.version)
            (newest, replaced, self.walk) = (early, expansion.state(version: version), nil)
            return
        }
        if event != .start { updated = max(updated, version) }
        // The start that opens a generation sets its first state, even if another start has joined the
        // generation before it arrived.
        let isFirstWord = event == .start && version == generation && newest?.content.event == .start
        guard opens && version > self.version || isFirstWord && version == self.version else { return }
        self.version = version
        newest = expansion.state(version: version)
        // A state that is newer than this version waits for the generation after an END.
        if !expansion.keepsReplaced, replaced?.version ?? 0 < version { replaced = nil }
        self.walk = walk.map { Walk(version: version, cursor: $0) }
    }
}

extension LaneScope {
    fileprivate func hasEnded(life: Int64) -> Bool { endedAt > max(generation, life) }

    /// Keeps the older of two states in either order of arrival, because an urgent update overtakes an update
    /// to a list.
    fileprivate mutating func replace(by expansion: Expansion, version: Int64, in whole: LaneScope) {
        let standing = standing(without: Set(whole.cancelled + cancelled))
        if version > self.version, expansion.keepsReplaced {
            replaced = standing.flatMap { $0.content.event == .end ? nil : $0 }
        } else if version < self.version, version > replaced?.version ?? 0 {
            replaced = expansion.state(version: version)
        }
    }

    /// Returns the state that applies: the newest one that was not cancelled, if the lane has kept it.
    func standing(without cancelled: Set<String>) -> ScopeState? {
        [newest, replaced].lazy.compactMap { $0 }.first { !$0.isTakenBack(in: cancelled) }
    }
}

extension Expansion {
    fileprivate func state(version: Int64) -> ScopeState {
        ScopeState(
            send: send, version: version, content: content, priority: priority, deadline: deadline,
            expiration: expiration, acceptedAt: acceptedAt)
    }

    func isTakenBack(by scope: LaneScope) -> Bool {
        content.event != .end && scope.cancelled.contains(send)
    }
}

extension ScopeState {
    /// Whether the state was cancelled. Only an update loses its state with its cancel. The state of a
    /// cancelled start stays valid for recipients of other starts.
    func isTakenBack(in cancelled: Set<String>) -> Bool {
        content.event == .update && cancelled.contains(send)
    }
}
