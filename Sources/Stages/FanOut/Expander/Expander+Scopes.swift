internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Registry
internal import Sends
internal import Store

// The beginning of an expansion in the rows of its scopes. One planner at a time writes the expansions of a group into
// one partition, so a lane begins them in the order of their sequence. It begins all recipients of an expansion before
// it reads the next record. So every later token or send finds the newest state.
//
// The parameter `scopeKey` is the key of the expansion's scope, which is made once for a page.

extension Expander {
    /// Begins an expansion: replaces named activities by their owners, chooses the first cursor of the walk, and writes
    /// the rows of the scopes.
    mutating func begin(
        _ expansion: inout Expansion, under scopeKey: [UInt8], _ app: App, by page: inout TokenPage
    ) throws(StoreError) {
        try nameRecipients(of: &expansion, under: scopeKey, app, by: &page)
        try reopenGenerations(in: &expansion)
        if expansion.cursor == nil {
            expansion.cursor = try firstCursor(of: expansion, under: scopeKey)?.walkBytes
        }
        if expansion.isDryRun { return }
        guard case .recipients(let list) = expansion.targets else {
            return try beginWhole(expansion, under: scopeKey)
        }
        // A start for named recipients also changes the group's row. An update or an END for them does not.
        if expansion.content.event == .start, expansion.key.recipient == nil {
            try beginWhole(expansion, under: scopeKey)
        }
        try begin(expansion, for: list[...], under: scopeKey)
    }

    private mutating func beginWhole(_ expansion: Expansion, under scopeKey: [UInt8]) throws(StoreError) {
        let found = try table.scope(for: scopeKey)
        var scope = found ?? .unsubscribed
        if try completesSubscription(expansion, knownBefore: found) { scope.subscription = .answered }
        scope.begin(
            expansion.state(version: expansion.version, timestamp: expansion.timestamp),
            as: expansion.content.event, generation: expansion.generation, walk: expansion.cursor)
        if scope != found ?? .unsubscribed { set(scope, under: scopeKey) }
    }

    /// Whether the expansion does what the answer to the lane's subscription would do: bring the group's newest state to
    /// all its activities in the lane. An update or an END does. A start updates no activity, so it does only if there is
    /// none: it opens the group's generation, and the lane has neither a row of the group nor an activity of it.
    private func completesSubscription(
        _ expansion: Expansion, knownBefore scope: LaneScope?
    ) throws(StoreError) -> Bool {
        guard expansion.content.event == .start, let group = expansion.key.group else { return true }
        let opensGeneration = expansion.version == expansion.generation
        return try opensGeneration && scope == nil
            ? !registry.hasActivities(of: group, app: expansion.key.app) : false
    }

    /// Begins an expansion for recipients of a list, or for the owner of a private group. It can be repeated.
    mutating func begin(
        _ expansion: Expansion, for list: ArraySlice<Expansion.ScopedRecipient>, under scopeKey: [UInt8]
    ) throws(StoreError) {
        if expansion.key.recipient != nil {
            for owner in list { try beginRecipient(owner, of: expansion, whole: nil, under: scopeKey) }
            return
        }
        let whole = try table.scope(for: scopeKey) ?? .unsubscribed
        // A start that joins the group's generation changes no row of the recipient.
        let begun = list.filter { expansion.content.event != .start || $0.scope != .group }
        for scoped in begun {
            let key = expansion.key.narrowed(to: scoped.recipient).bytes
            try beginRecipient(scoped, of: expansion, whole: whole, under: key)
        }
        try noteRows(of: begun.map(\.recipient.text), in: expansion.key)
    }

    /// Begins an expansion in a recipient's row.
    ///
    /// - Parameters:
    ///   - whole: the row of the shared group. Nil for a private group, whose only row is its owner's.
    ///   - key: the key of the recipient's row.
    private mutating func beginRecipient(
        _ scoped: Expansion.ScopedRecipient, of expansion: Expansion, whole: LaneScope?, under key: [UInt8]
    ) throws(StoreError) {
        let found = try table.scope(for: key)
        var scope = found ?? LaneScope()
        let event = expansion.content.event
        let rows = RecipientRows(whole: whole ?? LaneScope(), own: found)
        let timestamp = rows.timestamp(
            of: event, version: scoped.version, generation: scoped.generation, planned: scoped.timestamp)
        // The state that comes back if this update is cancelled. The lane keeps it only for recipients of a shared
        // group. For a private group the planner keeps and restores it.
        let replaced = whole == nil ? nil : scope.standing(without: rows.cancelledSends)
        scope.begin(
            expansion.state(version: scoped.version, timestamp: timestamp), as: event,
            generation: scoped.generation, replacing: replaced)
        if scope != found ?? LaneScope() { set(scope, under: key) }
    }

    /// Gives a separate generation to each recipient of a start for which an END has already ended the group's
    /// generation. The planner did not see that END: it named an activity, and only the lane knows the owner.
    private func reopenGenerations(in expansion: inout Expansion) throws(StoreError) {
        guard expansion.content.event == .start, expansion.key.recipient == nil,
            case .recipients(var list) = expansion.targets
        else { return }
        for index in list.indices {
            guard let own = try table.scope(for: expansion.key.narrowed(to: list[index].recipient).bytes),
                own.endVersion > list[index].generation, own.endVersion < expansion.sequence
            else { continue }
            list[index].scope = .recipient
            if own.generation > own.endVersion {
                // An earlier start has opened the generation after that END, and this start joins it.
                list[index].generation = own.generation
            } else {
                // This start opens it.
                (list[index].generation, list[index].version) = (expansion.sequence, expansion.sequence)
                list[index].timestamp = expansion.timestamp
            }
        }
        expansion.targets = .recipients(list)
    }

    /// Notes the progress of the walk of a scope's newest send. The walk serves new tokens that come after
    /// its cursor. The lane's catch-up serves new tokens before the cursor.
    mutating func note(
        _ next: PageCursor?, of expansion: Expansion, under scopeKey: [UInt8]
    ) throws(StoreError) {
        if case .recipients = expansion.targets { return }
        if expansion.content.event == .start { return }
        guard var scope = try table.scope(for: scopeKey), scope.walk?.version == expansion.version else {
            return
        }
        scope.walk = next.map { LaneScope.Walk(version: expansion.version, cursor: $0.walkBytes) }
        set(scope, under: scopeKey)
    }
}

extension LaneScope {
    /// Begins a send of the scope. The row only grows: a record that was sent to the lane again changes no newer value.
    ///
    /// - Parameters:
    ///   - walk: the first cursor of the walk, if the send walks the whole scope.
    ///   - replaced: the state that an update replaces, if a cancel of the update must restore it.
    mutating func begin(
        _ state: ScopeState, as event: PushEvent, generation: Int64, walk: [UInt8]? = nil,
        replacing replaced: ScopeState? = nil
    ) {
        switch event {
        case .start:
            let opens = state.version == generation && generation > self.generation
            self.generation = max(self.generation, generation)
            // A start that joins a generation only adds recipients. The newest state stays.
            guard opens else { return }
            generationTimestamp = state.timestamp
        case .update:
            // The planner does not know an END by an activity's name.
            let phase = ScopePhase(start: max(self.generation, generation), end: endVersion)
            if phase.action(of: .update) != .sendState { return }
            self.generation = max(self.generation, generation)
            updateVersion = max(updateVersion, state.version)
        case .end:
            self.generation = max(self.generation, generation)
            if state.version > endVersion { noteEnd(at: state.version) }
            endVersion = max(endVersion, state.version)
            updateVersion = max(updateVersion, state.version)
        }
        guard state.version > version else { return }
        version = state.version
        // The phones of a recipient may already have the later timestamp of a newer send to the whole group
        // (`timestampVersion`). Then that stays.
        if version > timestampVersion { (timestamp, timestampVersion) = (state.timestamp, version) }
        replacedState = event == .update && replaced?.content.event != .end ? replaced : nil
        newestState = state
        self.walk = walk.map { Walk(version: version, cursor: $0) }
    }

    /// Notes that an END closes the generation. Generations whose activities are gone are forgotten.
    private mutating func noteEnd(at version: Int64) {
        let living = endedGenerations.filter {
            $0.mayHaveActivities(at: SendSequence.milliseconds(of: version))
        }
        endedGenerations =
            living.suffix(Self.endedGenerationsMax - 1) + [
                EndedGeneration(generation: generation, endVersion: version)
            ]
    }

    /// Returns the state that applies: the newest one that was not cancelled, if the lane has kept it.
    func standing(without cancelled: Set<String>) -> ScopeState? {
        [newestState, replacedState].lazy.compactMap { $0 }.first { !$0.isCancelled(in: cancelled) }
    }
}

extension Expansion {
    func state(version: Int64, timestamp: Int64) -> ScopeState {
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
