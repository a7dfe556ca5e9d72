internal import LiveActivity
internal import Registry
internal import Store

// A lane's rows of scopes: written with an expansion's first page, so that whatever comes behind it, a token
// or a newer send, finds them.

extension Expander {
    /// What the lane knows of the scope from now on. It only grows: an expansion that comes late, because urgent
    /// ones have overtaken it, changes nothing that is newer.
    ///
    /// - Parameter key: of the expansion's scope, as everywhere here; made once for all of a page.
    mutating func begin(
        with expansion: Expansion, under key: [UInt8], isUrgent: Bool
    ) throws(StoreError) {
        if case .recipients = expansion.targets {
            // Each of them begins when its turn comes; of the whole group only a start says something.
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

    /// Whether nothing that the group was told is missing in the lane any more. What was planned before has come
    /// before, unless this has overtaken it. A start is nothing to activities that are there: they wait for an answer.
    private func isWhole(
        _ expansion: Expansion, knowing scope: LaneScope?, isUrgent: Bool
    ) throws(StoreError) -> Bool {
        if isUrgent { return false }
        guard expansion.content.event == .start, let group = expansion.key.group else { return true }
        if scope != nil { return false }
        return try !registry.hasActivities(of: group, app: expansion.key.app)
    }

    /// The same for one recipient of a list, or the owner of a private group.
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
        // A start that is taken back has opened its life all the same, whichever of the two came first: planners say so.
        if event == .update, expansion.isTakenBack(by: whole) || expansion.isTakenBack(by: scope) { return }
        // A start that joins a life of the recipient's own says nothing new, and its content is the group's.
        let opens =
            event != .start || expansion.key.recipient != nil || recipient.version == recipient.generation
        // But where what opened that life is still on its way, it is the first that the lane hears of it.
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

    /// Notes how far the walk of a scope's newest send has come: a token that comes behind that place is
    /// brought what it needs by the lane itself, one before it by the walk.
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

    /// An end that names one activity overtakes what is for many: starts that were planned behind it ask whether it is here.
    mutating func noteEnd(_ expansion: Expansion, under key: [UInt8]) throws(StoreError) {
        guard expansion.content.event == .end, case .activities = expansion.targets,
            expansion.key.group != nil, !expansion.dryRun
        else { return }
        var scope = try table.scope(key) ?? .unheard
        if scope.urgentEndAt >= expansion.version { return }
        scope.urgentEndAt = expansion.version
        set(scope, under: key)
    }

    /// Whether a start has to go behind what was planned before it and is not through. Recipients to whom such a list has
    /// not come have no rows yet: they would be started with what the group was told before, or not started again.
    mutating func mustWait(_ expansion: inout Expansion, under key: [UInt8]) throws(StoreError) -> Bool {
        guard expansion.content.event == .start, expansion.key.recipient == nil, !expansion.dryRun else {
            return false
        }
        let scope = try table.scope(key) ?? LaneScope()
        let open = scope.openLists.filter { isWanted(until: $0.deadline) }.map(\.send)
        // Only for those of its first turn: where lists come all the time, it would never go.
        let isFirstTurn = expansion.waitsUntil == nil
        expansion.waitsFor = isFirstTurn ? open : open.filter(expansion.waitsFor.contains)
        let until = expansion.waitsUntil ?? now / 1000 + Expansion.waitSeconds
        let isBehindEnd = scope.urgentEndAt < expansion.behindEnd ?? 0 && isWanted(until: until)
        guard isBehindEnd || !expansion.waitsFor.isEmpty else { return false }
        expansion.waitsUntil = until
        // Later starts of the same users keep their place behind it.
        if case .recipients = expansion.targets { try noteList(expansion, under: key, isOpen: true) }
        return true
    }
}

extension Expansion {
    /// How long a start waits in its lane for an end that is on another way there.
    fileprivate static let waitSeconds: Int64 = 60
}

extension LaneScope {
    /// - Parameter walk: where its walk over the whole scope begins, if it is one.
    fileprivate mutating func begin(
        with expansion: Expansion, generation: Int64, version: Int64, walk: [UInt8]?
    ) {
        let event = expansion.content.event
        if event == .start { hasStarts = true }
        if event == .end { endedAt = max(endedAt, version) }
        // Joining a life changes nothing but whom it has: the newest state stays.
        let opens = event != .start || generation > self.generation || version > self.version
        self.generation = max(self.generation, generation)
        // What has ended stays so until a start, whatever else was planned, or came first: of an end by an activity's name
        // no planner knows. An update from behind it may be of the life that such a start opens.
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
        // What opens a life says what it began with, also behind a start that has joined it before.
        let isFirstWord = event == .start && version == generation && newest?.content.event == .start
        guard opens && version > self.version || isFirstWord && version == self.version else { return }
        self.version = version
        newest = expansion.state(version: version)
        // What is newer waits for the life that follows an end.
        if !expansion.keepsReplaced, replaced?.version ?? 0 < version { replaced = nil }
        self.walk = walk.map { Walk(version: version, cursor: $0) }
    }
}

extension LaneScope {
    fileprivate func hasEnded(life: Int64) -> Bool { endedAt > max(generation, life) }

    /// The older of two states is kept, whichever comes first: an urgent update overtakes one to a list.
    fileprivate mutating func replace(by expansion: Expansion, version: Int64, in whole: LaneScope) {
        let standing = standing(without: Set(whole.cancelled + cancelled))
        if version > self.version, expansion.keepsReplaced {
            replaced = standing.flatMap { $0.content.event == .end ? nil : $0 }
        } else if version < self.version, version > replaced?.version ?? 0 {
            replaced = expansion.state(version: version)
        }
    }

    /// What holds of the scope: the newest that was not taken back, as far as the lane has kept it.
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
    /// Only an update's state goes with it: what a start said of its scope stays true for whoever is started by
    /// another.
    func isTakenBack(in cancelled: Set<String>) -> Bool {
        content.event == .update && cancelled.contains(send)
    }
}
