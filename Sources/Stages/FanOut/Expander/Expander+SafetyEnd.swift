internal import CatalogRecords
internal import Identifiers
internal import Jobs
internal import Payloads
package import Registry
package import Sends
package import Store

// The safety END. The system ends an activity after eight hours, with the state that it then shows. Shortly
// before, the lane ends it with the newest state of its scope.

/// The END of an activity before the system's own END.
package enum SafetyEnd {
    /// The time from the start to the safety END.
    package static let milliseconds: Int64 = (7 * 60 + 50) * 60_000
    /// The send id in jobs and receipts if no send has set a state of the scope.
    static let send = "safety-end"
    /// The generation in the ledger of activities that their app started.
    static let appStartedGeneration: Int64 = 0
    /// The time after which a safety END is useless, because the system has ended the activity.
    static let deadlineSeconds: Int64 = 3600

    package static func isDue(_ row: LedgerRow, at now: Int64) -> Bool {
        row.safetyEndVersion == 0 && isDue(startedAt: row.startedAt, at: now)
    }

    /// Whether the safety END is due for a start at `start`, if it has not ended.
    static func isDue(startedAt start: Int64, at now: Int64) -> Bool { now >= start + milliseconds }
}

extension Expander {
    /// Ends the activities of a start, and records that in the ledger.
    package mutating func addSafetyEnd(for key: LedgerKey, page: inout TokenPage) throws(StoreError) {
        let bytes = key.bytes
        guard var start = try table.start(for: bytes), SafetyEnd.isDue(start, at: now),
            let app = catalog.app(key.app)
        else { return }
        var scopes: [LaneScope] = []
        for scope in key.scopes {
            if let scope = try table.scope(for: scope.bytes) { scopes.append(scope) }
        }
        let cancelled = Set(scopes.flatMap(\.cancelledSends))
        let newest = scopes.compactMap { $0.standing(without: cancelled) }.max { $0.version < $1.version }
        let endVersion = scopes.lazy.map(\.endVersion).max() ?? 0
        let version = max(now, scopes.compactMap(\.newestState?.version).max() ?? 0)
        let timestamp = max(now / 1000, scopes.lazy.map(\.timestamp).max() ?? 0)
        let hasEnded = key.hasEnded(start, byEndOf: endVersion)
        start.safetyEndVersion = hasEnded ? endVersion : version
        table.set(start, under: bytes)
        // The current activity may be of a later generation.
        if hasEnded { return }
        let installation = Array(key.installation.utf8)
        var variant: JobOutput.Variant?
        var selection = TokenSelection(
            app: key.app, tokens: key.tokens, environments: app.environments, now: now)
        selection.recipients = NamedRecipients([key.recipient])
        var cursor: PageCursor? = PageCursor()
        while let place = cursor {
            cursor = try registry.fillPage(with: selection, from: place, into: &page)
            for index in 0..<page.count where installation.equals(page[index].installation) {
                guard try isStart(key, of: page[index]) else { continue }
                let made =
                    variant
                    ?? safetyEnd(of: key, showing: newest, version: version, timestamp: timestamp, by: app)
                variant = made
                output.add(page[index], type: page[index].attributesType, as: made, isUrgent: false)
            }
        }
    }

    /// Whether the row's activity comes from this start. An activity that was added without a group and has
    /// reported or joined one since then belongs to that group.
    private func isStart(_ key: LedgerKey, of row: borrowing TokenPageRow) throws(StoreError) -> Bool {
        switch key.subject {
        case .group(let group): return try isMember(row, of: group, app: key.app)
        case .activity: return try row.group == nil ? joined(row, app: key.app) == nil : false
        }
    }

    private mutating func safetyEnd(
        of key: LedgerKey, showing newest: ScopeState?, version: Int64, timestamp: Int64, by app: App
    ) -> JobOutput.Variant {
        var content = PushContent(.end)
        content.contentState = newest?.content.contentState
        // The upper bound of the time, because senders drop a job whose deadline is too early.
        let deadline = latest / 1000 + SafetyEnd.deadlineSeconds
        let head = SheetHead(
            topic: app.pushTopic, priority: newest?.priority ?? .safetyEnd, expiration: deadline,
            app: key.app, environment: .production, send: newest?.send ?? SafetyEnd.send, group: key.group,
            scope: .recipient, generation: key.generation, version: version, event: .end, deadline: deadline,
            acceptedAt: now)
        return variant(of: SharedPush(head: head, content: content, timestamp: timestamp))
    }

    /// Notes in the ledger that an activity has reported a token. An activity that its app started is added, because
    /// the ledger has no start for it, and it also needs a safety END.
    ///
    /// - Parameters:
    ///   - generation: the newest generation of its group that the lane knows.
    ///   - endVersion: the version of the newest END of its scopes.
    /// - Returns: the ledger's row of this generation on the installation, as it was before.
    mutating func noteReport(
        of row: borrowing TokenPageRow, of recipient: Recipient, as subject: ScopeKey.Subject,
        generation: Int64, endVersion: Int64, app: String
    ) throws(StoreError) -> LedgerRow? {
        let installation = String(decoding: [UInt8](copying: row.installation), as: UTF8.self)
        let key = LedgerKey(
            app: app, subject: subject, recipient: recipient, generation: SafetyEnd.appStartedGeneration,
            installation: installation)
        if generation != SafetyEnd.appStartedGeneration {
            var started = key
            started.generation = generation
            let startedKey = started.bytes
            if let start = try table.start(for: startedKey) {
                if start.report == .awaited {
                    var arrived = start
                    arrived.report = .arrived
                    table.set(arrived, under: startedKey)
                }
                return start
            }
        }
        guard let type = row.attributesType else { return nil }
        let bytes = key.bytes
        // A row that has ended belongs to an earlier activity. There is nearly always no row, and `hasStart`
        // is cheaper than a read.
        if try table.hasStart(for: bytes), let known = try table.start(for: bytes),
            known.safetyEndVersion == 0, !key.hasEnded(known, byEndOf: endVersion)
        {
            return nil
        }
        var started = LedgerRow(
            version: 0, startedAt: latest, type: String(decoding: [UInt8](copying: type), as: UTF8.self))
        started.report = .arrived
        table.set(started, under: bytes)
        return nil
    }
}
extension LedgerKey {
    /// The scopes whose newest state the activity shows.
    fileprivate var scopes: [ScopeKey] {
        switch subject {
        case .group(let group):
            let whole = ScopeKey(app: app, group: group)
            return [whole, whole.narrowed(to: recipient)]
        case .activity(let activity): return [ScopeKey(app: app, activity: activity)]
        }
    }

    /// Whether an END with this version has ended the activity, because it came after its start.
    fileprivate func hasEnded(_ row: LedgerRow, byEndOf version: Int64) -> Bool {
        if generation != SafetyEnd.appStartedGeneration { return version > generation }
        return SendSequence.milliseconds(of: version) > row.startedAt
    }

    /// The tokens to ask the registry for.
    fileprivate var tokens: TokenSelection.Tokens {
        switch subject {
        case .group(let group): .possibleMembers(group: group)
        case .activity(let activity): .activities([activity])
        }
    }
}
