internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Registry
internal import Sends
internal import Store

// The beginning of an expansion: the lane notes the send in the rows of its scopes. One planner at a time writes the
// expansions of a group into one partition, so a lane begins them in the order of their sequence. It begins all
// recipients of an expansion before it reads the next record. So every later token or send finds the newest state.

extension Expander {
    /// Begins an expansion: replaces named activities by their owners, chooses where the walk begins, and notes the
    /// send in the rows of its scopes.
    func begin(_ walk: inout ExpansionWalk) throws(StoreError) {
        try nameOwners(in: &walk)
        try reopenGenerations(in: &walk.expansion)
        walk.expansion.cursor = try firstCursor(of: walk)?.walkBytes
        if walk.expansion.isDryRun { return }
        guard case .recipients(let list) = walk.expansion.targets else { return try noteInGroupRow(walk) }
        // A start for named recipients also changes the group's row. An update or an END for them does not.
        if walk.expansion.content.event == .start, walk.expansion.key.recipient == nil {
            try noteInGroupRow(walk)
        }
        try noteInRecipientRows(of: list[...], walk)
    }

    private func noteInGroupRow(_ walk: ExpansionWalk) throws(StoreError) {
        let expansion = walk.expansion
        let found = try table.scope(for: walk.scopeKey)
        var scope = found ?? .unsubscribed
        if try completesSubscription(expansion, knownBefore: found) { scope.subscription = .answered }
        scope.noteSend(
            with: expansion.state(version: expansion.version, timestamp: expansion.timestamp),
            as: expansion.content.event, generation: expansion.generation, walk: expansion.cursor)
        if scope != found ?? .unsubscribed { set(scope, under: walk.scopeKey) }
    }

    /// Whether the expansion does what the answer to the lane's subscription would do: bring the group's newest state
    /// to all its activities in the lane. An update or an END does. A start updates no activity, so it does only if
    /// there is none: it opens the group's generation, and the lane has neither a row of the group nor an activity of
    /// it.
    private func completesSubscription(
        _ expansion: Expansion, knownBefore scope: LaneScope?
    ) throws(StoreError) -> Bool {
        guard expansion.content.event == .start, let group = expansion.key.group else { return true }
        guard expansion.version == expansion.generation, scope == nil else { return false }
        return try !registry.hasActivities(of: group, app: expansion.key.app)
    }

    /// Notes the send in the rows of recipients: of a list, or of the owner of a private group. It can be repeated.
    func noteInRecipientRows(
        of list: ArraySlice<Expansion.ScopedRecipient>, _ walk: ExpansionWalk
    ) throws(StoreError) {
        let (expansion, event) = (walk.expansion, walk.expansion.content.event)
        // The only row of a private group is its owner's.
        let isShared = expansion.key.recipient == nil
        let whole = isShared ? try table.scope(for: walk.scopeKey) ?? .unsubscribed : LaneScope()
        // A start that joins the group's generation changes no row of the recipient.
        let changed = list.filter { event != .start || $0.scope != .group }
        for scoped in changed {
            let key = expansion.key.narrowed(to: scoped.recipient).bytes
            let found = try table.scope(for: key)
            let rows = RecipientRows(whole: whole, own: found)
            let timestamp = rows.timestamp(
                of: event, version: scoped.version, generation: scoped.generation, planned: scoped.timestamp)
            var scope = found ?? LaneScope()
            // The state that comes back if this update is cancelled. The lane keeps it only for recipients of a shared
            // group. For a private group the planner keeps and restores it.
            let replaced = isShared ? scope.standing(without: rows.cancelledSends) : nil
            scope.noteSend(
                with: expansion.state(version: scoped.version, timestamp: timestamp), as: event,
                generation: scoped.generation, replacing: replaced)
            if scope != found ?? LaneScope() { set(scope, under: key) }
        }
        if isShared { try noteRows(of: changed.map(\.recipient.text), in: expansion.key) }
    }

    /// A start joins the group's generation, but for some of its recipients an END has already ended that. Gives each
    /// of them a separate generation. The planner did not see the END: it named an activity, and only the lane knows
    /// the owner.
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

    /// Notes the progress of the walk of a scope's newest send. The walk serves new tokens that come after its cursor.
    /// The lane's catch-up serves new tokens before the cursor.
    func noteProgress(of walk: ExpansionWalk, nextPage next: PageCursor?) throws(StoreError) {
        let expansion = walk.expansion
        if case .recipients = expansion.targets { return }
        if expansion.content.event == .start { return }
        guard var scope = try table.scope(for: walk.scopeKey), scope.walk?.version == expansion.version else {
            return
        }
        scope.walk = next.map { LaneScope.Walk(version: expansion.version, cursor: $0.walkBytes) }
        set(scope, under: walk.scopeKey)
    }
}

extension LaneScope {
    /// Notes a send of the scope. The row only grows: a record that was sent to the lane again changes no newer value.
    ///
    /// - Parameters:
    ///   - walk: the first cursor of the walk, if the send walks the whole scope.
    ///   - replaced: the state that an update replaces, if a cancel of the update must restore it.
    mutating func noteSend(
        with state: ScopeState, as event: PushEvent, generation: Int64, walk: [UInt8]? = nil,
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
            deadline: deadline, expiration: expiration, acceptedAt: acceptedAt)
        state.isConflatable = isConflatable
        return state
    }

    func isCancelled(by scope: LaneScope) -> Bool {
        content.event != .end && scope.cancelledSends.contains(send)
    }
}

extension ScopeState {
    /// Whether the state was cancelled. Only an update loses its state with its cancel. The state of a cancelled start
    /// stays valid for recipients of other starts.
    func isCancelled(in cancelled: Set<String>) -> Bool {
        content.event == .update && cancelled.contains(send)
    }
}
