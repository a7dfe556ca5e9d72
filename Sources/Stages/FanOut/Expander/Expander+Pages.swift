internal import Identifiers
internal import Payloads
internal import Registry
internal import Sends
internal import Store

// From a page of tokens to jobs.

/// The decision about a recipient's tokens.
enum RecipientDecision {
    /// A newer send supersedes this one.
    case drop
    case exclude(String)
    case send(JobOutput.Variant, generation: Int64, version: Int64)
}

/// The expander's own reasons why a reachable token gets no job. The registry has more reasons.
enum ExpansionExclusion {
    /// The ledger has a start on the installation in this generation.
    static let started = "started"
    /// The recipient's generation in the group has ended, or the activity by its id.
    static let ended = "ended"
    /// The send names a user without a token for it. It counts a person and not a token, so `targeted` does not include
    /// it.
    static let withoutToken = "without_token"
}

extension Expander {
    /// Counts the rows of a page, decides for each token, and adds the jobs to the output.
    ///
    /// - Parameters:
    ///   - named: the recipients of a list, by their texts.
    ///   - isOfJoined: whether the page is of activities that have joined the group.
    func take(
        _ page: borrowing TokenPage, of walk: inout ExpansionWalk,
        named: [[UInt8]: Expansion.ScopedRecipient] = [:], isOfJoined: Bool = false
    ) throws(StoreError) {
        walk.rows += page.count + page.exclusions.total
        walk.expansion.tally.count(page.exclusions)
        if page.isEmpty { return }
        let (key, whole) = (walk.expansion.key, walk.whole)
        let isStart = walk.expansion.content.event == .start
        // All tokens of a page get the same decision, unless recipients are named or have their own rows.
        let shared = named.isEmpty ? try decide(for: nil, own: nil, whole: whole, in: walk) : nil
        let isAlike = named.isEmpty && whole.namesWithRows.isEmpty
        var decision = shared ?? .drop
        var recipient: [UInt8] = []
        var endedActivities: [LaneScope.EndedActivity] = []
        for index in 0..<page.count {
            if !isStart, try !isIncluded(page[index], key, isOfJoined: isOfJoined) { continue }
            walk.expansion.tally.targeted += 1
            if !isAlike, recipient.isEmpty || !recipient.equals(page[index].recipient) {
                recipient = [UInt8](copying: page[index].recipient)
                if !named.isEmpty { walk.reached.insert(recipient) }
                var own: LaneScope?
                if let keys = walk.keys, !named.isEmpty || whole.namesWithRows.mayContain(recipient.span) {
                    keys.writeScopeKey(of: recipient.span, into: &rowKey)
                    own = try table.scope(for: rowKey)
                }
                endedActivities = own?.endedActivities ?? []
                if own == nil, let shared {
                    decision = shared
                } else {
                    decision = try decide(for: named[recipient], own: own, whole: whole, in: walk)
                }
            }
            switch decision {
            case .drop: walk.expansion.tally.dropped += 1
            case .exclude(let reason): walk.expansion.tally.exclude(as: reason)
            case .send(let variant, let generation, let version):
                // An END by the activity's id counts for its own generation. If the phone has missed that END, the
                // activity still runs, and a later generation includes it again.
                if !endedActivities.isEmpty, let activity = page[index].activity,
                    endedActivities.contains(where: { $0.activity == activity && $0.endVersion > generation })
                {
                    walk.expansion.tally.exclude(as: ExpansionExclusion.ended)
                } else if try isStarted(page[index], in: generation, with: version, &walk) {
                    walk.expansion.tally.exclude(as: ExpansionExclusion.started)
                } else {
                    add(page[index], as: variant, of: &walk)
                }
            }
        }
    }

    /// Whether an activity of the page gets the sends of the scope here. Activities without a reported group are of a
    /// group only if they have joined it. Those that have joined a group and reported one since are in another page.
    private func isIncluded(
        _ row: borrowing TokenPageRow, _ key: ScopeKey, isOfJoined: Bool
    ) throws(StoreError) -> Bool {
        if row.group != nil { return !isOfJoined }
        guard let group = key.group else { return true }
        return try isMember(row, of: group, app: key.app)
    }

    private func add(
        _ row: borrowing TokenPageRow, as variant: JobOutput.Variant, of walk: inout ExpansionWalk
    ) {
        walk.expansion.tally.countJob(on: row.os)
        if walk.expansion.isDryRun {
            walk.expansion.tally.jobsByEnvironment[row.environment.rawValue, default: 0] += 1
            walk.expansion.tally.largestBodyBytes = max(
                walk.expansion.tally.largestBodyBytes, output.bodyBytes(of: variant))
            return
        }
        let type = walk.expansion.content.event == .start ? nil : row.attributesType
        output.add(row, type: type, as: variant, isUrgent: walk.expansion.isForOneRecipient)
    }

    // MARK: The ledger

    /// Whether a start on the installation has brought what the expansion brings: its start, or the state in the answer
    /// to a subscription. A start of the expansion is noted in the ledger.
    private func isStarted(
        _ row: borrowing TokenPageRow, in generation: Int64, with version: Int64, _ walk: inout ExpansionWalk
    ) throws(StoreError) -> Bool {
        guard let keys = walk.keys else { return false }
        if walk.expansion.content.event == .start {
            if walk.sharedStart?.generation != generation || walk.sharedStart?.start.row.version != version {
                walk.sharedStart = SharedStart(generation, version: version, by: walk.expansion, at: latest)
            }
            guard let shared = walk.sharedStart else { return false }
            return try !noteStart(on: row, as: shared, keys: keys, by: walk.expansion)
        }
        guard walk.expansion.targets == .newMembers,
            !mayHaveEarlierActivities(endVersion: walk.whole.endVersion),
            let start = try start(of: row, in: generation, keys)
        else { return false }
        return start.version >= version
    }

    /// Adds a start to the ledger. Returns false if this generation already has a start on the installation.
    private func noteStart(
        on row: borrowing TokenPageRow, as shared: SharedStart, keys: LedgerKeyWriter, by expansion: Expansion
    ) throws(StoreError) -> Bool {
        if isStartedElsewhere(row, as: shared, by: expansion) { return false }
        keys.writeLedgerKey(
            of: row.recipient, on: row.installation, generation: shared.generationText, into: &rowKey)
        let isStarted = try table.hasStart(for: rowKey)
        if isStarted, !expansion.forcesRestart { return false }
        if expansion.isDryRun { return true }
        guard isStarted, let known = try table.start(for: rowKey) else {
            table.set(shared.start, under: rowKey)
            return true
        }
        // There may be two activities now, and one of them may show the state of the older start. So the older version
        // counts.
        var changed = shared.start.row
        changed.version = min(known.version, changed.version)
        changed.report = .ambiguous
        table.set(EncodedStart(changed), under: rowKey)
        return true
    }

    /// Whether a previous recipient of the installation may have received this start. That is the case if the send was
    /// accepted before the installation moved. Without `restart`, a generation that opened before the move also counts.
    private func isStartedElsewhere(
        _ row: borrowing TokenPageRow, as shared: SharedStart, by expansion: Expansion
    ) -> Bool {
        guard !row.hasMovedAway, let movedAt = row.movedAt else { return false }
        if expansion.acceptedAt < movedAt { return true }
        return !expansion.forcesRestart && shared.openedAt < movedAt
    }
}

/// The parts that the ledger rows of a page share.
struct SharedStart {
    let generation: Int64
    let generationText: [UInt8]
    let start: EncodedStart
    /// The time at which the generation opened, in milliseconds since 1970.
    let openedAt: Int64

    init(_ generation: Int64, version: Int64, by expansion: Expansion, at now: Int64) {
        self.generation = generation
        generationText = Array(String(generation).utf8)
        let isOwn = generation != expansion.generation
        if isOwn, generation == version {
            // This start opens the recipient's own generation.
            openedAt = expansion.acceptedAt
        } else if !isOwn, let time = expansion.openedAt {
            openedAt = time
        } else {
            openedAt = SendSequence.milliseconds(of: generation)
        }
        start = EncodedStart(
            LedgerRow(version: version, startedAt: now, type: expansion.content.attributesType ?? ""))
    }
}

extension ExclusionCounts {
    /// Whether a report names a reason for at least one excluded row.
    var haveReportedReason: Bool { ExclusionReason.allCases.contains { self[$0] > 0 && $0.tallyName != nil } }
}

extension LaneTally {
    mutating func exclude(as reason: String) { excludedByReason[reason, default: 0] += 1 }

    /// Counts exclusions. Recipients outside the audience are not counted.
    mutating func count(_ exclusions: ExclusionCounts) {
        if exclusions.total == 0 { return }
        for reason in ExclusionReason.allCases where exclusions[reason] > 0 {
            guard let name = reason.tallyName else { continue }
            excludedByReason[name, default: 0] += exclusions[reason]
            targeted += exclusions[reason]
        }
    }
}

extension ExclusionReason {
    /// Returns nil for rows outside the audience, and for recipients that another row reaches.
    var tallyName: String? {
        switch self {
        case .shadowed: "shadowed"
        case .activitiesOff: "activities_off"
        case .dismissed: "dismissed"
        case .otherEnvironment: "other_environment"
        case .expired: "expired"
        case .systemTooOld: "system_too_old"
        case .movedAway: "moved_away"
        case .notSelected, .reachedByTypedToken, .unregistered: nil
        }
    }
}
