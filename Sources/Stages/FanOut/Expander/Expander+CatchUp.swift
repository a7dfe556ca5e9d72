internal import CatalogRecords
internal import Identifiers
internal import Jobs
internal import Payloads
package import Registry
internal import Sends
package import Store

// The catch-up of late tokens. If a token arrives after the newest send of its scope, the lane sends it that state.
// `ScopeTransitions` decides what a late token gets.

extension Expander {
    /// Takes the registry's news that this transaction commits.
    package mutating func catchUp(with news: borrowing LaneChanges) throws(StoreError) {
        cachedGroup = nil
        for index in 0..<news.count {
            let kinds = news.kinds(at: index)
            guard kinds.contains(.token) || kinds.contains(.group) else { continue }
            try catchUp(news.row(at: index), app: news.app(at: index))
        }
    }

    private mutating func catchUp(_ row: borrowing TokenPageRow, app id: String) throws(StoreError) {
        guard let activity = row.activity, let event = ScopeEvent(of: row), event != .logout else { return }
        // The lane subscribes even if the catalog does not serve the token. A later catalog may serve it.
        var group: CachedGroup?
        if let reported = row.group { group = try findGroup(named: reported, app: id) }
        guard let app = catalog.app(id), app.environments.contains(row.environment),
            let recipient = Recipient(text: String(decoding: [UInt8](copying: row.recipient), as: UTF8.self))
        else { return }
        var isJoined = false
        if group == nil, let joined = try join(row, activity, of: recipient, app: id) {
            group = try findGroup(named: Array(joined.utf8).span, app: id)
            isJoined = true
        }
        var scopes = try scopes(of: activity, in: group, recipient)
        // The report is noted under the generation of the group's rows. The activity's own scope does not count for it.
        let start = try noteReport(
            of: row, of: recipient, as: group.map { .group($0.text) } ?? .activity(activity),
            generation: scopes.generation, endVersion: scopes.endVersion, app: id)
        try addScope(ofActivityAlone: activity, app: id, to: &scopes)
        guard let newest = NewestState(scopes, for: event), isWanted(until: newest.state.deadline) else {
            return
        }
        if let walk = newest.scope.walk, walk.version == newest.state.version,
            let cursor = PageCursor(walkBytes: walk.cursor), cursor.willReach(row, joined: isJoined)
        {
            return
        }
        // If the start of the activity has carried the newest state, nothing is sent. But the token may be of an
        // activity from before an END, which has not got that state.
        if let group, let start, start.version >= newest.state.version,
            newest.phase.after(.lateTokenOfStart).action == .nothing,
            try !mayHaveUnreportedActivities(on: row, scopes, LedgerKeyWriter(app: id, group: group.text))
        {
            // All earlier activities have reported. So the first report after the start, which the start still awaits,
            // is of the started activity. A later report may be of an earlier activity that still lives.
            let isOfStart = start.report == .awaited
            if isOfStart || !mayHaveEarlierActivities(endVersion: newest.endVersion) { return }
            return try send(newest, of: recipient, onInstallationOf: row, in: group, app)
        }
        let timestamp = try raiseTimestamp(of: newest, in: scopes, activity)
        output.add(
            row, type: row.attributesType, as: variant(of: newest, timestamp: timestamp, app),
            isUrgent: false)
    }

    /// Sends the newest state to all activities of a group on one installation. One of them may be from before an END
    /// and lack this state, and the reports do not tell which one. The others get a state that they show already.
    private mutating func send(
        _ newest: NewestState, of recipient: Recipient,
        onInstallationOf row: borrowing TokenPageRow, in group: CachedGroup, _ app: App
    ) throws(StoreError) {
        var selection = TokenSelection(
            app: group.app, tokens: .possibleMembers(group: group.text), environments: app.environments,
            now: now)
        selection.recipients = NamedRecipients([recipient])
        let installation = [UInt8](copying: row.installation)
        var page = TokenPage()
        var cursor: PageCursor? = PageCursor()
        while let place = cursor {
            cursor = try registry.fillPage(with: selection, from: place, into: &page)
            for index in 0..<page.count where installation.equals(page[index].installation) {
                let joined = try joined(page[index], app: group.app)
                guard page[index].belongs(to: group.text, joined: joined),
                    let activity = page[index].activity
                else { continue }
                // Another activity can have a newer state, such as an END by its id. It got that state with its token.
                var scopes = try scopes(of: activity, in: group, recipient)
                try addScope(ofActivityAlone: activity, app: group.app, to: &scopes)
                guard NewestState(scopes, for: .lateToken)?.state.version == newest.state.version else {
                    continue
                }
                let timestamp = try raiseTimestamp(of: newest, in: scopes, activity)
                output.add(
                    page[index], type: page[index].attributesType,
                    as: variant(of: newest, timestamp: timestamp, app), isUrgent: false)
            }
        }
    }

    /// Returns the lane's row of a group with a member. The next token is nearly always of the same group.
    private mutating func findGroup(named name: Span<UInt8>, app: String) throws(StoreError) -> CachedGroup {
        if let cachedGroup, cachedGroup.name.equals(name), cachedGroup.app == app { return cachedGroup }
        let bytes = [UInt8](copying: name)
        let text = String(decoding: bytes, as: UTF8.self)
        let key = ScopeKey(app: app, group: text)
        let found = CachedGroup(
            app: app, name: bytes, text: text, key: key, scope: try subscribedScope(of: key, named: text))
        cachedGroup = found
        return found
    }

    private func scopes(
        of activity: String, in group: CachedGroup?, _ recipient: Recipient
    ) throws(StoreError) -> ActivityScopes {
        guard let group else { return ActivityScopes() }
        var scopes = ActivityScopes()
        let own = group.key.narrowed(to: recipient)
        (scopes.whole, scopes.ownKey) = (group.scope, own)
        scopes.add(group.scope, under: group.key)
        scopes.own = try table.scope(for: own.bytes)
        if let scope = scopes.own { scopes.add(scope, under: own) }
        if group.scope.namesWithRows.mayContain(Array(activity.utf8).span),
            let kept = try table.scope(for: group.key.bytes(ofNamedActivity: activity))
        {
            scopes.keptVersion = kept.version
            scopes.add(kept, under: own)
        }
        return scopes
    }

    /// Adds the scope that an activity has without a group.
    private func addScope(
        ofActivityAlone activity: String, app: String, to scopes: inout ActivityScopes
    ) throws(StoreError) {
        let key = ScopeKey(app: app, activity: activity)
        if let scope = try table.scope(for: key.bytes) { scopes.add(scope, under: key) }
    }

    // MARK: Activities of earlier generations

    /// Whether activities of a generation that ended with this version may still live. Then a token may belong to one
    /// of them, although the installation was started again since.
    func mayHaveEarlierActivities(endVersion: Int64) -> Bool {
        LaneScope.EndedGeneration(generation: 0, endVersion: endVersion).mayHaveActivities(at: now)
    }

    /// Whether the installation may have an activity of an ended generation that has not reported its token yet. An
    /// installation that was not started in a generation has no row in the ledger of that generation.
    private mutating func mayHaveUnreportedActivities(
        on row: borrowing TokenPageRow, _ scopes: ActivityScopes, _ keys: LedgerKeyWriter
    ) throws(StoreError) -> Bool {
        for scope in [scopes.whole, scopes.own].compactMap(\.self)
        where mayHaveEarlierActivities(endVersion: scope.endVersion) {
            // The ledger of the recipient before knows the starts before the installation moved.
            if row.movedAt != nil || !scope.knowsEndedGenerations { return true }
            for ended in scope.endedGenerations where ended.mayHaveActivities(at: now) {
                keys.writeLedgerKey(
                    of: row.recipient, on: row.installation, generation: Array(String(ended.generation).utf8),
                    into: &rowKey)
                if let start = try table.start(for: rowKey), start.report != .arrived { return true }
            }
        }
        return false
    }

    /// Whether the start of this generation already carried the version, so that the phone shows it. The caller asks
    /// only if the scope has no activities of an earlier generation.
    mutating func wasStarted(
        _ row: borrowing TokenPageRow, in generation: Int64, with version: Int64, _ keys: LedgerKeyWriter
    ) throws(StoreError) -> Bool {
        keys.writeLedgerKey(
            of: row.recipient, on: row.installation, generation: Array(String(generation).utf8),
            into: &rowKey)
        guard let start = try table.start(for: rowKey) else { return false }
        return start.version >= version
    }

    // MARK: Pushes

    /// Raises the timestamp of the push above older ones, and keeps a raised one in the recipient's row. Returns the
    /// timestamp, raised or not.
    private mutating func raiseTimestamp(
        of newest: NewestState, in scopes: ActivityScopes, _ activity: String
    ) throws(StoreError) -> Int64 {
        let state = newest.state
        let rows = RecipientRows(whole: scopes.whole ?? newest.scope, own: scopes.own)
        let hasEnded = newest.phase == .ended
        let timestamp =
            hasEnded
            ? rows.timestamp(ofEnd: state.version, planned: state.timestamp)
            : rows.timestamp(of: state.version, planned: state.timestamp)
        guard let own = scopes.ownKey else { return timestamp }
        if scopes.keptVersion == state.version {
            try noteKeptState(
                of: activity, hasEnded: hasEnded, timestamp: timestamp, version: state.version,
                in: scopes.own, under: own)
        } else if let row = scopes.own, !hasEnded, timestamp > state.timestamp {
            rowKey = own.bytes
            keep(timestamp, of: state.version, in: row)
        }
        return timestamp
    }

    private mutating func variant(of newest: NewestState, timestamp: Int64, _ app: App) -> JobOutput.Variant {
        let (state, content) = (newest.state, newest.state.content.forExistingActivity)
        let head = SheetHead(
            topic: app.pushTopic, priority: state.priority, expiration: state.expiration,
            app: newest.key.app, environment: .production, send: state.send, group: newest.key.group,
            scope: newest.key.recipient == nil ? .group : .recipient, generation: newest.generation,
            version: state.version, event: content.event, deadline: state.deadline,
            acceptedAt: state.acceptedAt)
        return variant(of: SharedPush(head: head, content: content, timestamp: timestamp))
    }

    // MARK: Joining

    /// Returns the group of an activity that reported none. It is the group of the newest start of its type
    /// on its installation, at the time of the activity's first token. It never changes, even if something is
    /// started later.
    private mutating func join(
        _ row: borrowing TokenPageRow, _ activity: String, of recipient: Recipient, app: String
    ) throws(StoreError) -> String? {
        let key = ScopeKey(app: app, activity: activity)
        var scope = try table.scope(for: key.bytes) ?? LaneScope()
        if let joined = scope.joinedGroup { return joined.group }
        // The index of the group needs the activity's name, which a longer key does not have.
        guard key.bytes.count <= ScopeKey.bytesMax, let type = row.attributesType,
            let found = try table.newestStart(
                app: app, recipient: recipient,
                installation: String(decoding: [UInt8](copying: row.installation), as: UTF8.self),
                type: String(decoding: [UInt8](copying: type), as: UTF8.self))
        else { return nil }
        scope.joinedGroup = found.group.map { ScopeKey(app: app, group: $0) }
        set(scope, under: key.bytes)
        if let joined = scope.joinedGroup, let group = joined.group {
            try noteJoin(of: recipient, to: joined, named: group)
        }
        return found.group
    }

    /// Notes in the rows of a group, and of the recipient in it, that an activity has joined it. The sends to a private
    /// group look only at its owner's row.
    private mutating func noteJoin(
        of recipient: Recipient, to key: ScopeKey, named group: String
    ) throws(StoreError) {
        let ownKey = key.narrowed(to: recipient).bytes
        if var own = try table.scope(for: ownKey), !own.hasJoined {
            own.hasJoined = true
            set(own, under: ownKey)
        }
        // The lane subscribes again when the row was not written for long. The write below would hide that, so
        // `subscribedScope` comes first.
        var whole = try subscribedScope(of: key, named: group)
        if whole.hasJoined { return }
        whole.hasJoined = true
        set(whole, under: key.bytes)
        cachedGroup = nil
    }
}

/// The lane's row for the group of the previous token. The next token is nearly always of the same group,
/// because phones report the activities of one send. Decoding the row again for each token cost a quarter of
/// the expander's time.
struct CachedGroup {
    let app: String
    let name: [UInt8]
    let text: String
    let key: ScopeKey
    let scope: LaneScope
}

/// The rows of a lane that decide about one activity.
private struct ActivityScopes {
    /// The rows of the group, of the recipient in it, of the state that a send has left for the activity before its
    /// token was known, and of the activity without a group, as far as they exist.
    private(set) var all: [(key: ScopeKey, scope: LaneScope)] = []
    /// The newest generation and the newest END of all rows.
    private(set) var generation: Int64 = 0
    private(set) var endVersion: Int64 = 0
    var whole: LaneScope?
    var own: LaneScope?
    /// The key of the recipient's row in the group. Nil without a group.
    var ownKey: ScopeKey?
    var keptVersion: Int64?

    mutating func add(_ scope: LaneScope, under key: ScopeKey) {
        all.append((key, scope))
        generation = max(generation, scope.generation)
        endVersion = max(endVersion, scope.endVersion)
    }
}

extension LaneScope {
    /// Whether `endedGenerations` has all generations whose activities may still live.
    fileprivate var knowsEndedGenerations: Bool {
        endedGenerations.last?.endVersion == endVersion && endedGenerations.count < Self.endedGenerationsMax
    }
}

extension LaneScope.EndedGeneration {
    /// Whether activities of the generation may still live.
    ///
    /// - Parameter now: milliseconds since 1970.
    func mayHaveActivities(at now: Int64) -> Bool {
        endVersion > 0 && now - SendSequence.milliseconds(of: endVersion) < LaneScope.activityMilliseconds
    }
}

/// The newest state that applies to an activity, from all its scopes.
private struct NewestState {
    let key: ScopeKey
    let scope: LaneScope
    let state: ScopeState
    /// The activity's generation, as far as the lane knows.
    let generation: Int64
    let phase: ScopePhase
    let endVersion: Int64

    /// Returns nil if the token gets nothing.
    init?(_ activity: ActivityScopes, for event: ScopeEvent) {
        let (scopes, newestGeneration) = (activity.all, activity.generation)
        endVersion = activity.endVersion
        phase = ScopePhase(start: newestGeneration, end: endVersion)
        let action = phase.after(event).action
        guard action == .sendNewestState || action == .sendNewestEnd else { return nil }
        let hasEnded = action == .sendNewestEnd
        let cancelled = Set(scopes.flatMap(\.scope.cancelledSends))
        let candidates = scopes.compactMap {
            key, scope -> (key: ScopeKey, scope: LaneScope, state: ScopeState)? in
            guard let state = scope.standing(without: cancelled),
                hasEnded
                    ? state.content.event == .end
                    : state.content.event != .end && state.version >= newestGeneration
            else { return nil }
            return (key, scope, state)
        }
        guard let found = candidates.max(by: { $0.state.version < $1.state.version }) else { return nil }
        (key, scope, state, generation) = (found.key, found.scope, found.state, newestGeneration)
    }
}

extension ScopeEvent {
    /// The event of a changed row of the registry. Nil if the row has no token.
    fileprivate init?(of row: borrowing TokenPageRow) {
        if row.token.isEmpty { return nil }
        if row.hasMovedAway {
            self = .logout
        } else {
            self = row.movedAt == nil ? .lateToken : .login
        }
    }
}
