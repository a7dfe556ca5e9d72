internal import LiveActivity
internal import Registry
internal import Store

// From a page of tokens to jobs.

/// What becomes of a recipient's tokens.
enum Judgement {
    /// Something newer takes the send's place.
    case drop
    case exclude(String)
    case send(JobOutput.Variant, generation: Int64, version: Int64)
}

/// Why a token that could be reached is not: the expander's own reasons, beside the registry's.
enum ExpansionExclusion {
    /// The ledger has a start of the installation in this life.
    static let started = "started"
    /// The recipient's life in the group has ended.
    static let ended = "ended"
    /// The send names a user who has no token for it. A person, and no token: `targeted` is without them.
    static let withoutToken = "without_token"
}

extension Expander {
    /// - Parameter named: the recipients of a list, by their texts.
    mutating func take(
        _ page: borrowing TokenPage, in phase: WalkCursor.Phase, of walk: inout Walk, whole: LaneScope,
        named: [[UInt8]: Expansion.ScopedRecipient]
    ) throws(StoreError) {
        // What has not told its group is mostly of other groups.
        if phase == .told { walk.expansion.tally.count(page.exclusions) }
        if page.isEmpty { return }
        let isStart = walk.expansion.content.event == .start
        var ledger: LedgerPart?
        // All of a page are judged alike, unless recipients of the lane have rows of their own.
        let isAlike = named.isEmpty && !whole.hasRecipients
        var judgement = isAlike ? try judge(nil, own: nil, whole: whole, in: walk) : .drop
        var recipient: [UInt8] = []
        let keys = walk.expansion.key.group.map { LedgerKeyWriter(app: walk.expansion.key.app, group: $0) }
        for index in 0..<page.count {
            if phase == .joined,
                try !isJoined(page[index], walk.expansion.key)
            {
                continue
            }
            walk.expansion.tally.targeted += 1
            if !isAlike, recipient.isEmpty || !recipient.holds(page[index].recipient) {
                recipient = [UInt8](copying: page[index].recipient)
                if !named.isEmpty { walk.reached.insert(recipient) }
                var own: LaneScope?
                if let keys {
                    keys.scope(of: recipient.span, into: &key)
                    own = try table.scope(key)
                }
                judgement = try judge(named[recipient], own: own, whole: whole, in: walk)
            }
            switch judgement {
            case .drop: walk.expansion.tally.dropped += 1
            case .exclude(let reason): walk.expansion.tally.excluded[reason, default: 0] += 1
            case .send(let variant, let generation, let version):
                if isStart, let keys {
                    if ledger?.generation != generation || ledger?.start.row.version != version {
                        ledger = LedgerPart(generation, version: version, by: walk.expansion, at: latest)
                    }
                    guard let ledger, try enter(page[index], as: ledger, keys, by: walk.expansion) else {
                        walk.expansion.tally.excluded[ExpansionExclusion.started, default: 0] += 1
                        continue
                    }
                }
                if walk.expansion.isAnswer, whole.endedAt == 0, let keys,
                    try wasStarted(page[index], in: generation, with: version, keys)
                {
                    continue
                }
                add(page[index], as: variant, of: &walk)
            }
        }
    }

    private func isJoined(_ row: borrowing TokenPageRow, _ key: GroupKey) throws(StoreError) -> Bool {
        guard let group = key.group else { return false }
        return try group.isGroup(of: row, joined: joined(row, app: key.app))
    }

    private mutating func add(
        _ row: borrowing TokenPageRow, as variant: JobOutput.Variant, of walk: inout Walk
    ) {
        walk.expansion.tally.expand(on: row.os)
        if walk.expansion.dryRun {
            walk.expansion.tally.environments[row.environment.rawValue, default: 0] += 1
            walk.expansion.tally.bodyBytes = max(
                walk.expansion.tally.bodyBytes, output.bodyBytes(of: variant))
            return
        }
        let type = walk.expansion.content.event == .start ? nil : row.attributesType
        output.add(row, type: type, as: variant, lane: lane, isUrgent: walk.isUrgent)
    }

    // MARK: The ledger

    /// What the ledger's rows of a page share.
    private struct LedgerPart {
        let generation: Int64
        let text: [UInt8]
        let start: EncodedStart
        /// Milliseconds since 1970, as the life's generation says it where it is a recipient's own.
        let openedAt: Int64

        init(_ generation: Int64, version: Int64, by expansion: Expansion, at now: Int64) {
            self.generation = generation
            text = Array(String(generation).utf8)
            let isOwn = generation != expansion.generation
            let opens = isOwn && generation == version
            openedAt = opens ? expansion.acceptedAt : (isOwn ? nil : expansion.openedAt) ?? generation * 1000
            start = EncodedStart(
                LedgerRow(version: version, at: now, type: expansion.content.attributesType ?? ""))
        }
    }

    /// Enters a start; false where this life has one on the installation already.
    private mutating func enter(
        _ row: borrowing TokenPageRow, as ledger: LedgerPart, _ keys: LedgerKeyWriter, by expansion: Expansion
    ) throws(StoreError) -> Bool {
        if isStartedElsewhere(row, in: ledger, by: expansion) { return false }
        keys.start(
            of: row.recipient, on: row.installation, generation: ledger.text, into: &key)
        let isStarted = try table.hasStart(key)
        if isStarted, !expansion.restart { return false }
        if expansion.dryRun { return true }
        if isStarted, let known = try table.start(key), known.version < ledger.start.row.version {
            // There may be two now, and one that has yet to say its token shows the older of what they came with.
            var row = ledger.start.row
            row.version = known.version
            table.set(row, under: key)
        } else {
            table.set(start: ledger.start, under: key)
        }
        return true
    }

    /// An installation that has come from another recipient brings along what was started there: whatever was
    /// accepted, or had begun, before it came.
    private func isStartedElsewhere(
        _ row: borrowing TokenPageRow, in ledger: LedgerPart, by expansion: Expansion
    ) -> Bool {
        guard !row.hasMovedAway, let movedAt = row.movedAt else { return false }
        if expansion.acceptedAt < movedAt { return true }
        return !expansion.restart && ledger.openedAt < movedAt
    }
}

extension Exclusions {
    /// Rows that a report names a reason of.
    var areTold: Bool { Exclusion.allCases.contains { self[$0] > 0 && $0.tallyName != nil } }
}

extension LaneTally {
    /// Who was never meant is not counted.
    mutating func count(_ exclusions: Exclusions) {
        if exclusions.total == 0 { return }
        for reason in Exclusion.allCases where exclusions[reason] > 0 {
            guard let name = reason.tallyName else { continue }
            excluded[name, default: 0] += exclusions[reason]
            targeted += exclusions[reason]
        }
    }
}

extension Exclusion {
    /// Nil for rows of whom the send is not for, or whom it reaches by another row.
    var tallyName: String? {
        switch self {
        case .shadowed: "shadowed"
        case .activitiesOff: "activities_off"
        case .dismissed: "dismissed"
        case .otherEnvironment: "other_environment"
        case .expired: "expired"
        case .systemTooOld: "system_too_old"
        case .movedAway: "moved_away"
        case .notChosen, .reachedByOwn, .unregistered: nil
        }
    }
}
