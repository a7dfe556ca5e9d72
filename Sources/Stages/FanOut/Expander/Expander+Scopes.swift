internal import Payloads
internal import Registry
internal import Sends
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
        let found = try table.scope(for: key)
        var scope = found ?? .unseen
        if expansion.content.event == .update, expansion.isCancelled(by: scope) { return }
        let before = scope
        if expansion.carriesOwnState {
            scope.hasStarts = true
            scope.generation = max(scope.generation, expansion.generation)
            if scope.version < expansion.version, scope.subscription == .answered {
                scope.subscription = .missing
            }
            if scope != before { set(scope, under: key) }
            return
        }
        if try isWhole(expansion, knowing: found, isUrgent: isUrgent) { scope.subscription = .answered }
        scope.begin(
            with: expansion, generation: expansion.generation, version: expansion.version,
            timestamp: expansion.timestamp, walk: expansion.cursor)
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
        let key = isOwner ? name : expansion.key.narrowed(to: recipient.recipient).bytes
        let found = try table.scope(for: key)
        var scope = found ?? LaneScope()
        let event = expansion.content.event
        if event == .start, recipient.scope == .group, expansion.key.recipient == nil { return }
        // A cancelled start opens its generation all the same, in any order of the two. The planner does the
        // same.
        if event == .update, expansion.isCancelled(by: whole) || expansion.isCancelled(by: scope) { return }
        // A start that joins a recipient's own generation is not news, and its content is the group's.
        let opens =
            event != .start || expansion.key.recipient != nil || recipient.version == recipient.generation
        // If the send that opened that generation is still on its way, this start is the first that the lane
        // sees of it.
        let isNews =
            opens || scope.newestState?.content.event == .end && recipient.generation > scope.endVersion
        let version = opens ? recipient.version : max(expansion.version, recipient.generation)
        let before = scope
        if isNews {
            let planned = opens ? recipient.timestamp : expansion.timestamp
            let rows = RecipientRows(whole: isOwner ? LaneScope() : whole, own: found)
            let timestamp =
                switch event {
                case .start: rows.timestamp(ofStart: recipient.generation, planned: planned)
                case .update: rows.timestamp(of: version, planned: planned)
                case .end: rows.timestamp(ofEnd: version, planned: planned)
                }
            if event == .update, !scope.hasEnded(life: recipient.generation) {
                scope.replace(by: expansion, version: recipient.version, timestamp: timestamp, in: whole)
            }
            scope.begin(
                with: expansion, generation: recipient.generation, version: version, timestamp: timestamp,
                walk: nil)
        } else {
            scope.generation = max(scope.generation, recipient.generation)
        }
        if scope != before { set(scope, under: key) }
        if expansion.key.recipient == nil, !whole.hasRecipientRows {
            whole.hasRecipientRows = true
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
        guard var scope = try table.scope(for: key), scope.walk?.version == expansion.version else { return }
        scope.walk = next.map { LaneScope.Walk(version: expansion.version, cursor: $0.bytes) }
        set(scope, under: key)
    }

    // MARK: Lists

    private mutating func noteList(
        _ expansion: Expansion, under key: [UInt8], isOpen: Bool
    ) throws(StoreError) {
        if expansion.key.recipient != nil { return }
        var scope = try table.scope(for: key) ?? .unseen
        let before = scope.pendingNamedSends
        scope.pendingNamedSends.removeAll {
            $0.send == expansion.send && !isOpen || !isWanted(until: $0.deadline)
        }
        if isOpen, !scope.pendingNamedSends.contains(where: { $0.send == expansion.send }) {
            if scope.pendingNamedSends.count >= LaneScope.pendingNamedSendsMax {
                scope.pendingNamedSends.removeFirst()
            }
            scope.pendingNamedSends.append(
                LaneScope.PendingNamedSend(send: expansion.send, deadline: expansion.deadline))
        }
        if scope.pendingNamedSends != before { set(scope, under: key) }
    }

    // MARK: Starts that wait

    /// Notes an END for one named activity. It overtakes expansions for many recipients, so later starts
    /// check whether it has arrived.
    mutating func noteEnd(_ expansion: Expansion, under key: [UInt8]) throws(StoreError) {
        guard expansion.content.event == .end, case .activities = expansion.targets,
            expansion.key.group != nil, !expansion.isDryRun
        else { return }
        var scope = try table.scope(for: key) ?? .unseen
        if scope.urgentEndVersion >= expansion.version { return }
        scope.urgentEndVersion = expansion.version
        set(scope, under: key)
    }

    /// Whether a start must wait for earlier lists or an END that are not finished. Their remaining
    /// recipients have no rows yet. Without the wait, such a recipient could be started with an old state, or
    /// not be started again.
    mutating func mustWait(_ expansion: inout Expansion, under key: [UInt8]) throws(StoreError) -> Bool {
        guard expansion.content.event == .start, expansion.key.recipient == nil, !expansion.isDryRun else {
            return false
        }
        let scope = try table.scope(for: key) ?? LaneScope()
        let open = scope.pendingNamedSends.filter { isWanted(until: $0.deadline) }.map(\.send)
        // Only lists that were open at its first turn count. Otherwise a constant flow of lists would delay
        // it for ever.
        let isFirstTurn = expansion.waitDeadline == nil
        expansion.awaitedSends = isFirstTurn ? open : open.filter(expansion.awaitedSends.contains)
        let until = expansion.waitDeadline ?? now / 1000 + Expansion.waitSeconds
        let isBehindEnd = scope.urgentEndVersion < expansion.awaitedEndVersion ?? 0 && isWanted(until: until)
        guard isBehindEnd || !expansion.awaitedSends.isEmpty else { return false }
        expansion.waitDeadline = until
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
        with expansion: Expansion, generation: Int64, version: Int64, timestamp: Int64, walk: [UInt8]?
    ) {
        let event = expansion.content.event
        let state = expansion.state(version: version, timestamp: timestamp)
        if version > timestampVersion { (self.timestamp, timestampVersion) = (timestamp, version) }
        if event == .start, version == generation, generation >= self.generation {
            generationTimestamp = timestamp
        }
        if event == .start { hasStarts = true }
        if event == .end { endVersion = max(endVersion, version) }
        // A start that joins a generation only adds recipients. The newest state stays.
        let opens = event != .start || generation > self.generation || version > self.version
        self.generation = max(self.generation, generation)
        // An ended scope stays ended until a start, in any order of arrival. The planner does not know an END
        // by an activity's name. An update after that END may belong to the generation that such a start
        // opens.
        let hasEnded = hasEnded(life: generation)
        if hasEnded, event == .update, version > endVersion {
            if version > replacedState?.version ?? 0 { replacedState = state }
            return
        }
        if hasEnded, event == .end, version == endVersion, version < self.version {
            if newestState?.content.event != .end { replacedState = newestState }
            newestState = state
            return
        }
        if event == .start, generation > endVersion, let early = replacedState, early.version > generation,
            newestState?.content.event == .end
        {
            self.generation = max(self.generation, generation)
            self.version = max(self.version, early.version)
            updateVersion = max(updateVersion, early.version)
            (newestState, replacedState, self.walk) = (early, state, nil)
            return
        }
        if event != .start { updateVersion = max(updateVersion, version) }
        // The start that opens a generation sets its first state, even if another start has joined the
        // generation before it arrived.
        let isFirstWord = event == .start && version == generation && newestState?.content.event == .start
        guard opens && version > self.version || isFirstWord && version == self.version else { return }
        self.version = version
        newestState = state
        // A state that is newer than this version waits for the generation after an END.
        if !expansion.keepsReplacedState, replacedState?.version ?? 0 < version { replacedState = nil }
        self.walk = walk.map { Walk(version: version, cursor: $0) }
    }
}

extension LaneScope {
    /// Whether an update of this generation belongs to a start that the lane has not seen.
    fileprivate func hasEnded(life: Int64) -> Bool {
        ScopePhase(start: max(generation, life), end: endVersion).action(of: .update) == .keepForNextStart
    }

    /// Keeps the older of two states in either order of arrival, because an urgent update overtakes an update
    /// to a list.
    fileprivate mutating func replace(
        by expansion: Expansion, version: Int64, timestamp: Int64, in whole: LaneScope
    ) {
        let standing = standing(without: Set(whole.cancelledSends + cancelledSends))
        if version > self.version, expansion.keepsReplacedState {
            replacedState = standing.flatMap { $0.content.event == .end ? nil : $0 }
        } else if version < self.version, version > replacedState?.version ?? 0 {
            replacedState = expansion.state(version: version, timestamp: timestamp)
        }
    }

    /// Returns the state that applies: the newest one that was not cancelled, if the lane has kept it.
    func standing(without cancelled: Set<String>) -> ScopeState? {
        [newestState, replacedState].lazy.compactMap { $0 }.first { !$0.isCancelled(in: cancelled) }
    }
}

extension Expansion {
    fileprivate func state(version: Int64, timestamp: Int64) -> ScopeState {
        var state = ScopeState(
            send: send, version: version, timestamp: timestamp, content: content, priority: priority,
            deadline: deadline,
            expiration: expiration, acceptedAt: acceptedAt)
        state.isConflatable = isConflatable
        return state
    }

    func isCancelled(by scope: LaneScope) -> Bool {
        content.event != .end && scope.cancelledSends.contains(send)
    }
}

extension ScopeState {
    /// Whether the state was cancelled. Only an update loses its state with its cancel. The state of a
    /// cancelled start stays valid for recipients of other starts.
    func isCancelled(in cancelled: Set<String>) -> Bool {
        content.event == .update && cancelled.contains(send)
    }
}
