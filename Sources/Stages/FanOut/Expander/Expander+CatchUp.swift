internal import CatalogRecords
internal import Identifiers
internal import Jobs
internal import Payloads
package import Registry
internal import Sends
package import Store

// The catch-up of late tokens. If a token arrives after the newest send of its scope, the lane sends it that state.
// `NewestState` finds the state, and `LateTokenPush` decides which activities get it.

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
        // First the group's scopes alone: the report is noted under their generation. The activity's own scope, which is
        // added after that, can have another one. `startBefore` is the ledger's row of the start of the group's
        // generation, as it was before this report.
        let startBefore = try noteReport(
            of: row, of: recipient, as: group.map { .group($0.text) } ?? .activity(activity),
            generation: scopes.generation, endVersion: scopes.endVersion, app: id)
        try addScope(ofActivityAlone: activity, app: id, to: &scopes)
        guard let newest = NewestState(scopes, for: event), isWanted(until: newest.state.deadline),
            !newest.walkWillReach(row, isJoined: isJoined)
        else { return }
        if let group, let startBefore {
            switch try push(of: newest, on: row, after: startBefore, scopes, in: group) {
            case .nothing: return
            case .allActivities:
                return try sendToAllActivities(newest, of: recipient, onInstallationOf: row, in: group, app)
            case .token: break
            }
        }
        try send(newest, to: row, of: activity, in: scopes, app)
    }

    /// Gathers the facts for `LateTokenPush`.
    private mutating func push(
        of newest: NewestState, on row: borrowing TokenPageRow, after startBefore: LedgerRow,
        _ scopes: ActivityScopes, in group: CachedGroup
    ) throws(StoreError) -> LateTokenPush {
        // The start carried the newest state, and no END has come since.
        let startCarriedState =
            startBefore.version >= newest.state.version
            && newest.phase.after(.lateTokenOfStart).action == .nothing
        return LateTokenPush(
            startCarriedState: startCarriedState,
            // Without the first fact this one does not count, and its reads are saved.
            mayHaveUnreportedActivities: try startCarriedState
                ? mayHaveUnreportedActivities(on: row, scopes, in: group) : false,
            isFirstReportOfStart: startBefore.report == .awaited,
            mayHaveEarlierActivities: mayHaveEarlierActivities(endVersion: newest.endVersion))
    }

    private mutating func send(
        _ newest: NewestState, to row: borrowing TokenPageRow, of activity: String,
        in scopes: ActivityScopes, _ app: App
    ) throws(StoreError) {
        let timestamp = try raiseTimestamp(of: newest, in: scopes, activity)
        output.add(
            row, type: row.attributesType, as: variant(of: newest, timestamp: timestamp, app),
            isUrgent: false)
    }

    /// Sends the newest state of a group to all activities that a recipient has in it on one installation.
    private mutating func sendToAllActivities(
        _ newest: NewestState, of recipient: Recipient,
        onInstallationOf row: borrowing TokenPageRow, in group: CachedGroup, _ app: App
    ) throws(StoreError) {
        var selection = TokenSelection(
            app: group.key.app, tokens: .possibleMembers(group: group.text), environments: app.environments,
            now: now)
        selection.recipients = NamedRecipients([recipient])
        let installation = [UInt8](copying: row.installation)
        var page = TokenPage()
        var cursor: PageCursor? = PageCursor()
        while let place = cursor {
            cursor = try registry.fillPage(with: selection, from: place, into: &page)
            for index in 0..<page.count where installation.equals(page[index].installation) {
                guard try isMember(page[index], of: group.text, app: group.key.app),
                    let activity = page[index].activity
                else { continue }
                var scopes = try scopes(of: activity, in: group, recipient)
                try addScope(ofActivityAlone: activity, app: group.key.app, to: &scopes)
                // An activity may have a newer state, such as an END by its id. It got that state with its token.
                let shown = NewestState(scopes, for: .lateToken)?.state.version
                if shown != newest.state.version { continue }
                try send(newest, to: page[index], of: activity, in: scopes, app)
            }
        }
    }

    /// Returns the lane's row of a group with a member. The next token is nearly always of the same group.
    private mutating func findGroup(named name: Span<UInt8>, app: String) throws(StoreError) -> CachedGroup {
        if let cachedGroup, cachedGroup.name.equals(name), cachedGroup.key.app == app { return cachedGroup }
        let bytes = [UInt8](copying: name)
        let text = String(decoding: bytes, as: UTF8.self)
        let key = ScopeKey(app: app, group: text)
        let found = CachedGroup(
            name: bytes, text: text, key: key, scope: try subscribedScope(of: key, named: text))
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
        // A send has named this activity before its token was known, and left its state (`Expander+NamedActivities`). It
        // counts as a state of the recipient.
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
        on row: borrowing TokenPageRow, _ scopes: ActivityScopes, in group: CachedGroup
    ) throws(StoreError) -> Bool {
        let keys = LedgerKeyWriter(app: group.key.app, group: group.text)
        for scope in [scopes.whole, scopes.own].compactMap(\.self)
        where mayHaveEarlierActivities(endVersion: scope.endVersion) {
            // Starts from before the installation moved are in the ledger of its former recipient, which is not read.
            if row.movedAt != nil || !scope.knowsEndedGenerations { return true }
            for ended in scope.endedGenerations where ended.mayHaveActivities(at: now) {
                let start = try start(of: row, in: ended.generation, keys)
                if let start, start.report != .arrived { return true }
            }
        }
        return false
    }

    /// Returns the ledger's row of a generation's start on the row's installation.
    mutating func start(
        of row: borrowing TokenPageRow, in generation: Int64, _ keys: LedgerKeyWriter
    ) throws(StoreError) -> LedgerRow? {
        keys.writeLedgerKey(
            of: row.recipient, on: row.installation, generation: Array(String(generation).utf8),
            into: &rowKey)
        return try table.start(for: rowKey)
    }

    // MARK: Pushes

    /// Returns the timestamp of the push, raised above those of older pushes if needed. The recipient's row keeps a raised
    /// timestamp. If the activity gets a state that was kept for it, the row notes that, too.
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
            // `keep` writes the row with this key.
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

    /// Returns the group of an activity that reported none. It is the group of the newest start of its type on its
    /// installation, at the time of the activity's first token. It never changes, even if something is started later.
    private mutating func join(
        _ row: borrowing TokenPageRow, _ activity: String, of recipient: Recipient, app: String
    ) throws(StoreError) -> String? {
        let key = ScopeKey(app: app, activity: activity)
        var scope = try table.scope(for: key.bytes) ?? LaneScope()
        if let joined = scope.joinedGroup { return joined.group }
        // The index of the group reads the activity's name from the key of this row. A very long key is replaced by its
        // digest, without the name. So an activity with a key above the limit joins no group.
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
        // `subscribedScope` comes first: it subscribes again if the row was not written for long, and the write below
        // makes the row look recent.
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
    let name: [UInt8]
    let text: String
    let key: ScopeKey
    let scope: LaneScope
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
