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
        let alone = ScopeKey(app: id, activity: activity)
        var scopes: [(key: ScopeKey, scope: LaneScope)] = []
        var isJoined = false
        var group: String?
        // The lane subscribes even if the catalog does not serve the token. A later catalog may serve it.
        if let told = row.group { group = try addGroupScope(named: told, app: id, to: &scopes) }
        guard let app = catalog.app(id), app.environments.contains(row.environment),
            let recipient = Recipient(text: String(decoding: [UInt8](copying: row.recipient), as: UTF8.self))
        else { return }
        if group == nil, let joined = try join(row, activity, of: recipient, app: id) {
            group = try addGroupScope(named: Array(joined.utf8).span, app: id, to: &scopes)
            isJoined = true
        }
        if let group {
            let own = ScopeKey(app: id, group: group).narrowed(to: recipient)
            if let scope = try table.scope(for: own.bytes) { scopes.append((own, scope)) }
        }
        try addAppStartedActivity(
            row, of: recipient, as: group.map { .group($0) } ?? .activity(activity),
            generation: scopes.map(\.scope.generation).max(),
            endedAt: scopes.map(\.scope.endVersion).max() ?? 0,
            app: id)
        if let scope = try table.scope(for: alone.bytes) { scopes.append((alone, scope)) }
        guard let newest = NewestState(scopes, for: event), isWanted(until: newest.state.deadline) else {
            return
        }
        if let walk = newest.scope.walk, walk.version == newest.state.version,
            let cursor = WalkCursor(bytes: walk.cursor), cursor.willReach(row, joined: isJoined)
        {
            return
        }
        if let group, !mayHaveEarlierActivities(endedAt: newest.endVersion),
            newest.phase.after(.lateTokenOfStart).action == .nothing,
            try wasStarted(
                row, in: newest.generation, with: newest.state.version, LedgerKeyWriter(app: id, group: group)
            )
        {
            return
        }
        let timestamp = timestamp(of: newest, for: recipient, in: scopes)
        output.add(
            row, type: row.attributesType, as: variant(of: newest, timestamp: timestamp, app), lane: lane,
            isUrgent: false)
    }

    /// Adds the lane's row of a whole group to `scopes`.
    ///
    /// - Returns: the group's name.
    private mutating func addGroupScope(
        named name: Span<UInt8>, app: String, to scopes: inout [(key: ScopeKey, scope: LaneScope)]
    ) throws(StoreError) -> String {
        let heard: CachedGroup
        if let known = cachedGroup, known.name.equals(name), known.app == app {
            heard = known
        } else {
            let bytes = [UInt8](copying: name)
            let text = String(decoding: bytes, as: UTF8.self)
            let key = ScopeKey(app: app, group: text)
            heard = CachedGroup(
                app: app, name: bytes, text: text, key: key, scope: try subscribedScope(of: key, named: text))
            cachedGroup = heard
        }
        scopes.append((heard.key, heard.scope))
        return heard.text
    }

    /// Whether activities of a generation that ended with this version may still live. Then a token may belong to one of
    /// them, although the installation was started again since.
    func mayHaveEarlierActivities(endedAt end: Int64) -> Bool {
        end > 0 && now - SendSequence.milliseconds(of: end) < LaneScope.activityMilliseconds
    }

    /// Whether the start of this generation already carried the version, so that the phone shows it. The caller asks
    /// only if the scope has no activities of an earlier generation.
    mutating func wasStarted(
        _ row: borrowing TokenPageRow, in life: Int64, with version: Int64, _ keys: LedgerKeyWriter
    ) throws(StoreError) -> Bool {
        keys.writeLedgerKey(
            of: row.recipient, on: row.installation, generation: Array(String(life).utf8), into: &key)
        guard let start = try table.start(for: key) else { return false }
        return start.version >= version
    }

    /// Returns the timestamp of the push, and keeps it in the recipient's row if it is raised.
    ///
    /// - Parameter scopes: the rows of the token: of its group, and of the recipient in it.
    private mutating func timestamp(
        of newest: NewestState, for recipient: Recipient, in scopes: [(key: ScopeKey, scope: LaneScope)]
    ) -> Int64 {
        let (state, own) = (newest.state, scopes.first { $0.key.recipient == recipient })
        let whole = scopes.first { $0.key.isSharedGroup }?.scope ?? (own == nil ? newest.scope : LaneScope())
        let rows = RecipientRows(whole: whole, own: own?.scope)
        if newest.phase == .ended { return rows.timestamp(ofEnd: state.version, planned: state.timestamp) }
        let timestamp = rows.timestamp(of: state.version, planned: state.timestamp)
        if let own, timestamp > state.timestamp {
            key = own.key.bytes
            keep(timestamp, of: state.version, in: own.scope)
        }
        return timestamp
    }

    private mutating func variant(of newest: NewestState, timestamp: Int64, _ app: App) -> JobOutput.Variant {
        let state = newest.state
        let isOwn = newest.key.recipient != nil
        let name = VariantName(
            send: state.send, event: newest.content.event, version: state.version,
            generation: newest.generation,
            scope: isOwn ? .recipient : .group, timestamp: timestamp, state: .own(state.content))
        if let variant = variants[name] ?? nil { return variant }
        let head = SheetHead(
            topic: app.pushTopic, priority: state.priority, expiration: state.expiration,
            app: newest.key.app, environment: .production, send: state.send, group: newest.key.group,
            scope: isOwn ? .recipient : .group, generation: newest.generation, version: state.version,
            event: newest.content.event, deadline: state.deadline, acceptedAt: state.acceptedAt)
        let variant = output.makeVariant(
            head: head, body: PayloadBuilder.body(for: newest.content, timestamp: timestamp))
        variants[name] = variant
        return variant
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
        return found.group
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

/// The newest state that applies to an activity, from all its scopes.
private struct NewestState {
    let key: ScopeKey
    let scope: LaneScope
    let state: ScopeState
    /// The activity's generation, as far as the lane knows.
    let generation: Int64
    let phase: ScopePhase
    /// The version of the newest END of its scopes, or 0 if there was none.
    let endVersion: Int64

    /// Returns nil if the token gets nothing.
    init?(_ scopes: [(key: ScopeKey, scope: LaneScope)], for event: ScopeEvent) {
        let life = scopes.map(\.scope.generation).max() ?? 0
        endVersion = scopes.map(\.scope.endVersion).max() ?? 0
        phase = ScopePhase(start: life, end: endVersion)
        let action = phase.after(event).action
        guard action == .sendNewestState || action == .sendNewestEnd else { return nil }
        let hasEnded = action == .sendNewestEnd
        let cancelled = Set(scopes.flatMap(\.scope.cancelledSends))
        let candidates = scopes.compactMap {
            key, scope -> (key: ScopeKey, scope: LaneScope, state: ScopeState)? in
            guard let state = scope.standing(without: cancelled),
                hasEnded ? state.content.event == .end : state.content.event != .end && state.version >= life
            else { return nil }
            return (key, scope, state)
        }
        guard let found = candidates.max(by: { $0.state.version < $1.state.version }) else { return nil }
        (key, scope, state, self.generation) = (found.key, found.scope, found.state, life)
    }

    var content: PushContent { state.content.forExistingActivity }
}

extension PushContent {
    /// The content for an activity that already exists. A start becomes an update with the start's state.
    var forExistingActivity: PushContent {
        guard event == .start else { return self }
        var content = PushContent(.update)
        content.contentState = contentState
        content.staleDate = staleDate
        content.relevanceScore = relevanceScore
        return content
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
