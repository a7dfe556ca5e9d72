internal import Catalog
internal import CatalogRecords
internal import Identifiers
internal import Jobs
internal import Payloads
package import Registry
internal import Sends
package import Store

// The catch-up of late tokens. If a token arrives after the newest send of its scope, the lane sends it that state.

extension Expander {
    /// Takes the registry's news that this transaction commits.
    package func catchUp(with news: borrowing LaneChanges) throws(StoreError) {
        cachedGroup = nil
        for index in 0..<news.count where !news.kinds(at: index).isDisjoint(with: [.token, .group]) {
            try catchUp(news.row(at: index), app: news.app(at: index))
        }
    }

    /// Takes one late token: finds the rows of its activity and the newest state in them, and pushes that state.
    private func catchUp(_ row: borrowing TokenPageRow, app id: String) throws(StoreError) {
        guard let activity = row.activity, let event = ScopeEvent(of: row), event != .logout else { return }
        // The lane subscribes even if the catalog does not serve the token. A later catalog may serve it.
        var group: CachedGroup?
        if let reported = row.group { group = try findGroup(named: reported, app: id) }
        guard let app = catalog.apps[id], app.environments.contains(row.environment),
            let recipient = Recipient(text: String(copying: row.recipient))
        else { return }
        if group == nil, let joined = try join(row, activity, of: recipient, app: id) {
            group = try findGroup(named: Array(joined.utf8).span, app: id)
        }
        let scopes = try scopes(of: activity, in: group, recipient, app: id)
        let startBefore = try noteReport(
            of: row, of: recipient, as: group.map { .group($0.text) } ?? .activity(activity),
            generation: scopes.generationInGroup, endVersion: scopes.endVersionInGroup, app: id)

        // A walk that still comes to the row brings the state.
        let hasJoined = row.group == nil && group != nil
        guard let newest = NewestState(scopes, for: event), isWanted(until: newest.state.deadline),
            !newest.walkWillReach(row, hasJoined: hasJoined)
        else { return }

        // If the start has brought the newest state to the installation, the started activity shows it. But the token
        // may be of an activity from before an END, which may still live and lack the state. A report does not tell
        // which of the two it is of.
        if let group, let startBefore, newest.wasCarried(by: startBefore),
            try !mayHaveUnreportedActivities(on: row, scopes, in: group)
        {
            // Every earlier activity has reported a token before. So the first report since the start is of the started
            // activity, and so is every report if no earlier activity lives.
            if startBefore.report == .awaited || !mayHaveEarlierActivities(endVersion: newest.endVersion) {
                return
            }
            // The token is a new one, of the started activity or of an earlier one. So all activities get the state.
            return try sendToAllActivities(newest, of: recipient, onInstallationOf: row, in: group, app)
        }
        try send(newest, to: row, of: activity, in: scopes, app)
    }

    /// Sends the newest state of a group to all activities that a recipient has in it on one installation. Those that
    /// show the state already get it again.
    private func sendToAllActivities(
        _ newest: NewestState, of recipient: Recipient,
        onInstallationOf late: borrowing TokenPageRow, in group: CachedGroup, _ app: App
    ) throws(StoreError) {
        var selection = TokenSelection(
            app: group.key.app, tokens: .possibleMembers(group: group.text), environments: app.environments,
            now: now)
        selection.recipients = NamedRecipients([recipient])
        let installation = [UInt8](copying: late.installation)
        try forEachRow(of: selection) { row throws(StoreError) in
            guard installation.equals(row.installation), let activity = row.activity,
                try isMember(row, of: group.text, app: group.key.app)
            else { return }
            let scopes = try scopes(of: activity, in: group, recipient, app: group.key.app)
            // An activity may have a newer state, such as an END by its id. It got that state with its token.
            let shown = NewestState(scopes, for: .lateToken)?.state.version
            if shown == newest.state.version { try send(newest, to: row, of: activity, in: scopes, app) }
        }
    }

    // MARK: Pushes

    private func send(
        _ newest: NewestState, to row: borrowing TokenPageRow, of activity: String,
        in scopes: ActivityScopes, _ app: App
    ) throws(StoreError) {
        let (state, content) = (newest.state, newest.state.content.forExistingActivity)
        let rows = RecipientRows(whole: scopes.whole ?? newest.scope, own: scopes.own)
        // Above the timestamps of older pushes, and below those of newer ones.
        let timestamp = rows.timestamp(
            of: newest.phase == .ended ? .end : .update, version: state.version,
            generation: newest.generation, planned: state.timestamp)
        try noteInRecipientRow(newest, timestamp: timestamp, of: activity, in: scopes)
        let head = SheetHead(
            topic: app.pushTopic, priority: state.priority, expiration: state.expiration,
            app: newest.key.app, environment: .production, send: state.send, group: newest.key.group,
            scope: newest.key.recipient == nil ? .group : .recipient, generation: newest.generation,
            version: state.version, event: content.event, deadline: state.deadline,
            acceptedAt: state.acceptedAt)
        let push = SharedPush(head: head, content: content, timestamp: timestamp)
        output.add(row, type: row.attributesType, as: variant(of: push), isUrgent: false)
    }

    /// Notes in the recipient's row what its next pushes must know of a push to a late token.
    private func noteInRecipientRow(
        _ newest: NewestState, timestamp: Int64, of activity: String, in scopes: ActivityScopes
    ) throws(StoreError) {
        guard let key = scopes.ownKey, let recipient = key.recipient else { return }
        let version = newest.state.version
        // A send has left this state for the activity alone, so no walk notes it in the recipient's row.
        let isKept = scopes.keptVersion == version
        var own = scopes.own ?? LaneScope()
        if newest.phase == .ended {
            // No update follows the END of the activity.
            let ended = LaneScope.EndedActivity(activity, endVersion: version)
            guard isKept, !own.endedActivities.contains(ended) else { return }
            own.endedActivities = own.endedActivities.suffix(LaneScope.endedActivitiesMax - 1) + [ended]
        } else {
            // Later updates must go above this timestamp. If it is the planned one, the row has it since the send began.
            let isRaised = scopes.own != nil && timestamp > newest.state.timestamp
            guard isKept || isRaised, version > own.timestampVersion else { return }
            (own.timestamp, own.timestampVersion) = (timestamp, version)
        }
        set(own, under: key.bytes)
        if scopes.own == nil { try noteRows(of: [recipient.text], in: key.wholeGroup) }
    }

    // MARK: Rows

    /// Returns the lane's row of a group with a member. The next token is nearly always of the same group.
    private func findGroup(named name: Span<UInt8>, app: String) throws(StoreError) -> CachedGroup {
        if let cachedGroup, cachedGroup.name.equals(name), cachedGroup.key.app == app { return cachedGroup }
        let bytes = [UInt8](copying: name)
        let text = String(decoding: bytes, as: UTF8.self)
        let key = ScopeKey(app: app, group: text)
        let found = CachedGroup(name: bytes, text: text, key: key, scope: try subscribedScope(of: key))
        cachedGroup = found
        return found
    }

    private func scopes(
        of activity: String, in group: CachedGroup?, _ recipient: Recipient, app: String
    ) throws(StoreError) -> ActivityScopes {
        var scopes = ActivityScopes()
        if let group {
            let own = group.key.narrowed(to: recipient)
            (scopes.whole, scopes.ownKey) = (group.scope, own)
            scopes.add(group.scope, under: group.key)
            scopes.own = try table.scope(for: own.bytes)
            if let scope = scopes.own { scopes.add(scope, under: own) }
            // The state that a send has left for the activity counts as a state of the recipient.
            if group.scope.namesWithRows.mayContain(Array(activity.utf8).span),
                let kept = try table.scope(for: group.key.bytes(ofNamedActivity: activity))
            {
                scopes.keptVersion = kept.version
                scopes.add(kept, under: own)
            }
        }
        (scopes.generationInGroup, scopes.endVersionInGroup) = (scopes.generation, scopes.endVersion)
        let alone = ScopeKey(app: app, activity: activity)
        if let scope = try table.scope(for: alone.bytes) { scopes.add(scope, under: alone) }
        return scopes
    }

    // MARK: Activities of earlier generations

    /// Whether activities of a generation that ended with this version may still live. Then a token may belong to one
    /// of them, although the installation was started again since.
    func mayHaveEarlierActivities(endVersion: Int64) -> Bool {
        LaneScope.EndedGeneration(generation: 0, endVersion: endVersion).mayHaveActivities(at: now)
    }

    /// Whether the installation may have an activity of an ended generation that has not reported its token yet. An
    /// installation that was not started in a generation has no row in the ledger of that generation.
    private func mayHaveUnreportedActivities(
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
    func start(
        of row: borrowing TokenPageRow, in generation: Int64, _ keys: LedgerKeyWriter
    ) throws(StoreError) -> LedgerRow? {
        keys.writeLedgerKey(
            of: row.recipient, on: row.installation, generation: Array(String(generation).utf8),
            into: &rowKey)
        return try table.start(for: rowKey)
    }
}

/// The lane's row for the group of the previous token. The next token is nearly always of the same group, because
/// phones report the activities of one send. Decoding the row again for each token cost a quarter of the expander's
/// time.
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
