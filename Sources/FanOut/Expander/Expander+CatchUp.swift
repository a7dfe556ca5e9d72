internal import LiveActivity
package import Registry
package import Store

// A token that comes when its scope's newest send has passed: the lane brings it what the others have.

extension Expander {
    /// What became new in the registry by the rows that this turn commits.
    package mutating func hear(_ news: borrowing LaneNews) throws(StoreError) {
        heardGroup = nil
        for index in 0..<news.count {
            let kinds = news.kinds(index)
            guard kinds.contains(.token) || kinds.contains(.group) else { continue }
            try catchUp(news.row(index), app: news.app(index))
        }
    }

    private mutating func catchUp(_ row: borrowing TokenPageRow, app id: String) throws(StoreError) {
        guard let activity = row.activity, !row.token.isEmpty, !row.hasMovedAway,
            let app = catalog.app(id), app.environments.contains(row.environment),
            let recipient = Recipient(text: String(decoding: [UInt8](copying: row.recipient), as: UTF8.self))
        else { return }
        let alone = GroupKey(app: id, activity: activity)
        var scopes: [(key: GroupKey, scope: LaneScope)] = []
        var isJoined = false
        var group: String?
        if let told = row.group {
            group = try hear(of: told, app: id, into: &scopes)
        } else if let joined = try join(row, activity, of: recipient, app: id) {
            group = try hear(of: Array(joined.utf8).span, app: id, into: &scopes)
            isJoined = true
        }
        if let group {
            let own = GroupKey(app: id, group: group).of(recipient)
            if let scope = try table.scope(own.bytes) { scopes.append((own, scope)) }
        }
        try enterOwn(
            row, of: recipient, as: group.map { .group($0) } ?? .activity(activity),
            life: scopes.map(\.scope.generation).max(), endedAt: scopes.map(\.scope.endedAt).max() ?? 0,
            app: id)
        if let scope = try table.scope(alone.bytes) { scopes.append((alone, scope)) }
        guard let newest = Newest(scopes), isWanted(until: newest.state.deadline) else { return }
        if let walk = newest.scope.walk, walk.version == newest.state.version,
            let cursor = WalkCursor(bytes: walk.cursor), cursor.hasYetToMeet(row, joined: isJoined)
        {
            return
        }
        if let group, newest.isFirstLife,
            try wasStarted(
                row, in: newest.life, with: newest.state.version, LedgerKeyWriter(app: id, group: group))
        {
            return
        }
        output.add(
            row, type: row.attributesType, as: variant(of: newest, recipient, app), lane: lane,
            isUrgent: false)
    }

    /// What the lane knows of a whole group.
    ///
    /// - Returns: its name.
    private mutating func hear(
        of name: Span<UInt8>, app: String, into scopes: inout [(key: GroupKey, scope: LaneScope)]
    ) throws(StoreError) -> String {
        let heard: HeardGroup
        if let known = heardGroup, known.name.holds(name), known.app == app {
            heard = known
        } else {
            let bytes = [UInt8](copying: name)
            let text = String(decoding: bytes, as: UTF8.self)
            let key = GroupKey(app: app, group: text)
            heard = HeardGroup(app: app, name: bytes, text: text, key: key, scope: try table.scope(key.bytes))
            heardGroup = heard
            ask(for: key, knowing: heard.scope)
        }
        if let scope = heard.scope { scopes.append((heard.key, scope)) }
        return heard.text
    }

    /// A phone shows what its start carried. Not asked where an earlier life of the scope has ended: the token
    /// may be of an activity of that one.
    mutating func wasStarted(
        _ row: borrowing TokenPageRow, in life: Int64, with version: Int64, _ keys: LedgerKeyWriter
    ) throws(StoreError) -> Bool {
        keys.start(of: row.recipient, on: row.installation, generation: Array(String(life).utf8), into: &key)
        guard let start = try table.start(key) else { return false }
        return start.version >= version
    }

    private mutating func variant(of newest: Newest, _ recipient: Recipient, _ app: App) -> JobOutput.Variant
    {
        let state = newest.state
        let isOwn = newest.key.recipient != nil
        let name = VariantName(
            send: state.send, event: newest.content.event, version: state.version, generation: newest.life,
            scope: isOwn ? .recipient : .group, timestamp: newest.timestamp, state: .own(state.content))
        if let variant = variants[name] ?? nil { return variant }
        let head = SheetHead(
            topic: app.pushTopic, priority: state.priority, expiration: state.expiration,
            app: newest.key.app, environment: .production, send: state.send, group: newest.key.group,
            scope: isOwn ? .recipient : .group, generation: newest.life, version: state.version,
            event: newest.content.event, deadline: state.deadline, acceptedAt: state.acceptedAt)
        let variant = output.variant(
            head, body: PayloadBuilder.body(newest.content, timestamp: newest.timestamp))
        variants[name] = variant
        return variant
    }

    // MARK: Joining

    /// The group of an activity that came without one: that of the newest start of its type on its
    /// installation, when its first token came. It stays there, whatever is started later.
    private mutating func join(
        _ row: borrowing TokenPageRow, _ activity: String, of recipient: Recipient, app: String
    ) throws(StoreError) -> String? {
        let key = GroupKey(app: app, activity: activity)
        var scope = try table.scope(key.bytes) ?? LaneScope()
        if let joined = scope.joined { return joined.group }
        guard let type = row.attributesType,
            let found = try table.newestStart(
                app: app, recipient: recipient,
                installation: String(decoding: [UInt8](copying: row.installation), as: UTF8.self),
                type: String(decoding: [UInt8](copying: type), as: UTF8.self))
        else { return nil }
        scope.joined = found.group.map { GroupKey(app: app, group: $0) }
        set(scope, under: key.bytes)
        return found.group
    }
}

/// What the lane knows of the group of the token before. Nearly always the next one is of it, too: phones report what
/// one send has started, and to decode its row anew for each cost a quarter of the expander's time.
struct HeardGroup {
    let app: String
    let name: [UInt8]
    let text: String
    let key: GroupKey
    let scope: LaneScope?
}

/// The newest that holds for an activity, of all scopes that it is in.
private struct Newest {
    let key: GroupKey
    let scope: LaneScope
    let state: ScopeState
    /// The state's version, or of an end that newer updates may have overtaken on the way to the phone, theirs.
    let timestamp: Int64
    /// The generation that the activity is in, as far as the lane knows.
    let life: Int64
    let isFirstLife: Bool

    init?(_ scopes: [(key: GroupKey, scope: LaneScope)]) {
        let life = scopes.map(\.scope.generation).max() ?? 0
        let endedAt = scopes.map(\.scope.endedAt).max() ?? 0
        let hasEnded = endedAt > life
        let cancelled = Set(scopes.flatMap(\.scope.cancelled))
        let candidates = scopes.compactMap {
            key, scope -> (key: GroupKey, scope: LaneScope, state: ScopeState)? in
            guard let state = scope.standing(without: cancelled),
                hasEnded ? state.content.event == .end : state.content.event != .end && state.version >= life
            else { return nil }
            return (key, scope, state)
        }
        guard let found = candidates.max(by: { $0.state.version < $1.state.version }) else { return nil }
        (key, scope, state, self.life) = (found.key, found.scope, found.state, life)
        timestamp = hasEnded ? scopes.map(\.scope.version).max() ?? state.version : state.version
        isFirstLife = endedAt == 0
    }

    var content: PushContent { state.content.saidToWhatIsThere }
}

extension PushContent {
    /// As it is said to an activity that is there: of a start, the state that it came with.
    var saidToWhatIsThere: PushContent {
        guard event == .start else { return self }
        var content = PushContent(.update)
        content.contentState = contentState
        content.staleDate = staleDate
        content.relevanceScore = relevanceScore
        return content
    }
}
